// Placing one task list on the streams of a GPU and reading off what was critical.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "graph/program.h"
#include "predict/evaluate.h"

namespace hysim::predictor {

/// Seconds one leaf contributes to a list.
struct LeafTime {
  std::int32_t leaf = 0;
  double critical = 0.0;
  double overlapped = 0.0;
  LeafBound bound = LeafBound::tensor;
  config::Evidence evidence = config::Evidence::assumed;
};

/// One list, costed. Critical times (launch gaps included) sum to `span`.
struct ListCost {
  double span = 0.0;
  double weight = 0.0;  // part of span: weight gradients that stand behind the rest of a backward
  std::vector<LeafTime> leaves;
  double launch = 0.0;  // critical seconds of gaps between kernels
  double launch_overlapped = 0.0;
  double contention = 0.0;  // critical seconds that kernels lose to a dispatch beside them
  double contention_overlapped = 0.0;
  std::array<CommTotal, kCommKinds> communication{};
};

/// Seconds a kernel of `busy` seconds from `start` takes longer because a fused dispatch holds
/// `taken` (0 ... 1) of the SMs from `begin` to `end`: it runs at 1 - taken of its rate while both
/// run.
double lost_to_dispatch(double start, double busy, double begin, double end, double taken);

/// Tasks of a stream run in list order; a task starts when its stream is free and the tasks it
/// depends on have ended. The critical path is walked back from the last end.
ListCost cost_list(const graph::TaskList& list, const Machine& machine);

/// One task placed in time.
struct Placed {
  double start = 0.0;
  double busy = 0.0;
  double launch = 0.0;
  double lost = 0.0;        // to the SMs of a dispatch beside it
  std::int32_t cause = -1;  // the task whose end set the start
  LeafBound bound = LeafBound::tensor;
  config::Evidence evidence = config::Evidence::assumed;
  bool critical = false;
  double end() const { return start + busy + launch + lost; }
};

/// The same into memory that is there already: `placed` is scratch.
void cost_list(const graph::TaskList& list, const Machine& machine, std::vector<Placed>& placed,
               ListCost& cost);

}  // namespace hysim::predictor
