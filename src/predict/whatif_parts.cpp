#include "predict/whatif_parts.h"

#include <utility>

#include "predict/request.h"

namespace hysim::predictor {

namespace {

WhatIfSide make_side(Job job, const WhatIfRequest& request, const Executor& executor) {
  WhatIfSide side;
  side.program = graph::build_training_step(job.plan, job.cluster.gpus_per_node);
  side.nominal = machine(job, config::Sampler());
  side.run = std::make_shared<const Run>(
      run(std::move(job), {request.seed, request.draws, false}, executor));
  return side;
}

}  // namespace

WhatIfSides whatif_sides(const Resources& resources, const ScenarioText& text,
                         const WhatIfRequest& request, const Executor& executor) {
  require_draws(request.draws);
  Inputs inputs(resources);
  inputs.add(text);
  const Scenario scenario = parse_scenario(text);
  std::vector<Variant> asked = {variant_or_first(scenario, request.variant)};
  if (!request.baseline.empty()) asked.push_back(find_variant(scenario, request.baseline));
  const std::vector<Override> overrides = parse_sets(request.sets, scenario.variants);
  check_settings(scenario, overrides, &resources);
  require_effects(scenario, asked, request.sets, overrides);
  const auto side = [&](const Variant& variant) {
    const config::Node settings =
        variant_document(scenario, variant.steps, variant.name, overrides);
    return make_side(resolve(inputs.resources(), scenario, variant.name, settings), request,
                     executor);
  };
  WhatIfSides sides;
  sides.variant = side(asked.front());
  sides.warnings = sides.variant.run->job.warnings;
  if (asked.size() > 1) {
    sides.baseline = side(asked.back());
    for (Warning warning : sides.baseline->run->job.warnings) {
      warning.message = asked.back().name + ": " + warning.message;
      sides.warnings.push_back(std::move(warning));
    }
  }
  sides.files = inputs.files();
  return sides;
}

graph::Program scaled(graph::Program program, const graph::ScaleName& name, double factor) {
  graph::apply_scale(program, name, factor);
  return program;
}

Machine machine(const Job& job, const config::Sampler& sampler) {
  Machine numbers;
  set_machine(job, sampler, numbers);
  return numbers;
}

double step_of(const graph::Program& program, const Machine& numbers) {
  return Evaluator(program).evaluate(numbers, false).step;
}

double part_seconds(const Run& run, const graph::ScaleName& name) {
  double seconds = 0.0;
  for (std::size_t i = 0; i < run.leaves.size(); ++i) {
    if (!graph::covers(name, run.leaves[i])) continue;
    seconds += run.nominal.critical[i] + run.nominal.overlapped[i];
  }
  return seconds;
}

std::string parts_list(const graph::Program& program) {
  std::string list;
  for (const graph::ScaleName& name : graph::scale_names()) {
    if (name.family || !graph::touches(program, name)) continue;
    list += (list.empty() ? "" : ", ") + std::string(name.name);
  }
  return list;
}

}  // namespace hysim::predictor
