// The calculation behind one evaluation: the same step as Evaluator::evaluate makes, as formulas
// over inputs. A test holds every number here against the evaluation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/program.h"
#include "graph/schedule.h"
#include "predict/evaluate.h"
#include "predict/sheet.h"

namespace hysim::predictor {

/// One leaf's number and why it is on the critical path or hidden.
struct CalculatedLeaf {
  std::optional<NodeId> time;  // nothing: no part of the step
  std::vector<std::string> notes;
};

/// Document keys of the settings a step rests on: "scenario/workload/global_batch_size".
struct StepSettings {
  std::int64_t global_batch_size = 1;
  std::int64_t micro_batch_size = 1;
  std::int64_t dp = 1;
};

struct StepCalculation {
  Calculation lines;
  std::vector<CalculatedLeaf> critical;    // one a leaf of the evaluator
  std::vector<CalculatedLeaf> overlapped;  // the same
  NodeId step = 0;
};

/// `evaluation` is the evaluator's for the same program and machine: it says which stage is
/// critical and what the formulas must give.
StepCalculation calculate_step(const graph::Program& program, const Machine& machine,
                               const std::vector<std::string>& leaves, const Evaluation& evaluation,
                               const StepSettings& settings);

/// How often the time of every chunk and of a send lies on the path that ends a stage's last op.
struct PathCounts {
  std::vector<double> forward;   // one a chunk
  std::vector<double> backward;  // the same
  std::vector<double> weight;    // the same, or empty where weight gradients are part of backward
  double send = 0.0;
};
/// One a stage: counts x times add up to PipelineResult::stage_end. Read off the schedule itself,
/// which is linear in its times as long as the path stays. Empty when no path is found.
std::vector<PathCounts> path_counts(const graph::PipelineTimes& times);

}  // namespace hysim::predictor
