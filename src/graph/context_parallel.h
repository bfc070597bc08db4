// How dense attention is split over a context-parallel group: keys gathered, sent round a ring of
// neighbours, or heads exchanged for tokens, and which attention allows which.
// The rules are those of Megatron-LM with Transformer Engine (context_parallel.py): with an
// exchange both query and key heads of a TP rank divide by it; sliding windows and rings exclude
// each other; MLA sends its up-projected keys and values, not the latents.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/layer.h"
#include "graph/plan.h"

namespace hysim::graph {

/// What cp_comm and hierarchical_cp_sizes break; empty for cp = 1.
std::vector<PlanFault> check_context_parallel(const Plan& plan);

/// Fills the parts of the cp group (`ranks`, in order) and the segments of the dense core into a
/// context that has its plan. Neighbours exchange heads; every `exchange`-th rank is of one ring.
void add_context_parallel(LayerContext& context, const std::vector<std::int64_t>& ranks,
                          std::int64_t gpus_per_node);

}  // namespace hysim::graph
