#include "hysim/prepared.h"

#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "config/words.h"
#include "graph/program.h"
#include "graph/scale.h"
#include "predict/evaluate.h"
#include "predict/request.h"
#include "predict/run.h"
#include "predict/scenario.h"

namespace hysim {

namespace {

using namespace predictor;

Job job_of(const Resources& resources, const ScenarioText& text, const std::string& variant,
           const std::vector<SetText>& sets) {
  const Scenario scenario = parse_scenario(text);
  const Variant& asked = variant_or_first(scenario, variant);
  const std::vector<Override> overrides = parse_sets(sets, scenario.variants);
  check_settings(scenario, overrides, &resources);
  require_effects(scenario, {asked}, sets, overrides);
  return resolve(resources, scenario, asked.name,
                 variant_document(scenario, asked.steps, asked.name, overrides));
}

}  // namespace

struct PreparedPrediction::Parts {
  Job job;
  graph::Program unscaled;
  graph::Program program;
  Evaluator evaluator;
  Machine nominal;
  Machine drawn;
  Workspace workspace;
  Evaluation result;

  explicit Parts(Job resolved)
      : job(std::move(resolved)),
        unscaled(graph::build_training_step(job.plan, job.cluster.gpus_per_node)),
        program(unscaled),
        evaluator(program) {
    set_machine(job, config::Sampler(), nominal);
  }

  Seconds step(const Machine& machine) {
    evaluator.evaluate(machine, false, workspace, result);
    return Seconds(result.step);
  }
};

PreparedPrediction::PreparedPrediction(const Resources& resources, const ScenarioText& scenario,
                                       const std::string& variant, const std::vector<SetText>& sets)
    : parts_(std::make_unique<Parts>(job_of(resources, scenario, variant, sets))) {}
PreparedPrediction::~PreparedPrediction() = default;
PreparedPrediction::PreparedPrediction(PreparedPrediction&&) noexcept = default;
PreparedPrediction& PreparedPrediction::operator=(PreparedPrediction&&) noexcept = default;

Seconds PreparedPrediction::step_time() { return parts_->step(parts_->nominal); }

Seconds PreparedPrediction::step_time(std::uint64_t seed, std::uint64_t draw) {
  set_machine(parts_->job, config::Sampler(seed, draw), parts_->drawn);
  return parts_->step(parts_->drawn);
}

void PreparedPrediction::scale(const std::string& name, double factor) {
  const graph::ScaleName* const found = graph::find_scale_name(name);
  if (found == nullptr) throw std::invalid_argument(graph::unknown_scale_name(name));
  if (!graph::touches(parts_->program, *found)) {
    throw std::invalid_argument("this step has nothing of " + config::in_quotes(name));
  }
  if (!(factor >= 0.0) || !std::isfinite(factor)) {
    throw std::invalid_argument("a factor must be a number and not negative");
  }
  graph::apply_scale(parts_->program, *found, factor);
}

void PreparedPrediction::reset() { parts_->program = parts_->unscaled; }

}  // namespace hysim
