// Evaluating one job nominally and over its draws.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/sourced.h"
#include "graph/memory.h"
#include "hysim/predict.h"
#include "hysim/prediction.h"
#include "predict/evaluate.h"
#include "predict/scenario.h"

namespace hysim::predictor {

/// A job with its nominal evaluation and the samples ranges are made from. Sample i of two runs
/// with the same seed uses the same value for every input they share.
struct Run {
  Job job;
  std::string kind;  // of program
  std::vector<std::string> leaves;
  Evaluation nominal;
  double executed_flops = 0.0;                // all GPUs, one step
  std::vector<double> stage_flops;            // one rank of each stage, one micro-batch
  std::vector<double> steps;                  // seconds, one per draw
  std::vector<double> device_bytes;           // fullest stage, one per draw
  std::vector<std::vector<double>> critical;  // per leaf, one per draw
  std::vector<std::vector<double>> overlapped;
  std::vector<graph::StageBytes> stages;   // allocated bytes
  std::vector<CollectiveRow> collectives;  // of the critical stage
  Memory memory;
};

struct RunOptions {
  std::uint64_t seed = 1;
  std::int64_t draws = 0;
  bool breakdown_ranges = true;  // keep samples of every leaf, not of the step alone
};

/// The numbers of the job's GPU, network and stack: nominal or a draw. Allocates nothing when
/// `machine` was set for this job before.
void set_machine(const Job& job, const config::Sampler& sampler, Machine& machine);

Run run(Job job, const RunOptions& options, const Executor& executor);

/// Nominal value with the 10th and 90th percentile of the samples (linear interpolation), widened
/// to the nominal value where that lies outside: constants whose range lies on one side of their
/// nominal value move all draws to that side.
Ranged<double> ranged(double nominal, std::vector<double> samples);

/// The public view of a run.
Prediction to_prediction(const Run& run, std::uint64_t seed);

/// Ratio of step times, draw by draw.
Ranged<double> speedup(const Run& baseline, const Run& candidate);

}  // namespace hysim::predictor
