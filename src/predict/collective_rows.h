// Every collective operation of one stage with the algorithm and protocol it runs by, and the
// bandwidths nccl-tests would print for it.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/program.h"
#include "hysim/prediction.h"
#include "predict/evaluate.h"

namespace hysim::predictor {

/// Operations of `stage` over a step, alike ones in one row, longest in sum first.
std::vector<CollectiveRow> collective_rows(const graph::Program& program, const Machine& machine,
                                           std::int64_t stage);

}  // namespace hysim::predictor
