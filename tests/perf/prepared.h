// A variant of a bundled scenario, ready to be evaluated.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/sourced.h"
#include "graph/program.h"
#include "predict/evaluate.h"
#include "predict/run.h"
#include "predict/scenario.h"

namespace hysim::test {

inline predictor::Job bundled_job(const std::string& scenario, const std::string& variant,
                                  const std::vector<SetText>& sets = {}) {
  const Resources bundle = embedded_resources();
  const predictor::Scenario parsed = predictor::parse_scenario(load_scenario(bundle, scenario));
  std::vector<predictor::Override> overrides;
  for (const SetText& set : sets) {
    overrides.push_back(predictor::parse_override(set, parsed.variants));
  }
  for (const predictor::Variant& v : parsed.variants) {
    if (!variant.empty() && v.name != variant) continue;
    return predictor::resolve(bundle, parsed, v.name,
                              predictor::variant_document(parsed, v.steps, v.name, overrides));
  }
  return {};
}

/// A program, its evaluator and the nominal machine.
struct Prepared {
  predictor::Job job;
  graph::Program program;
  predictor::Evaluator evaluator;
  predictor::Machine nominal;

  explicit Prepared(predictor::Job checked)
      : job(std::move(checked)),
        program(graph::build_training_step(job.plan, job.cluster.gpus_per_node)),
        evaluator(program) {
    predictor::set_machine(job, config::Sampler(), nominal);
  }
  Prepared(const Prepared&) = delete;  // the evaluator refers to the program
  Prepared& operator=(const Prepared&) = delete;
};

}  // namespace hysim::test
