// Task lists of one layer on one rank for one micro-batch.
#pragma once

#include "graph/program.h"
#include "ops/activations.h"
#include "ops/routing.h"

namespace hysim::graph {

/// What every layer builder needs: the plan, the rank's share of a micro-batch, its groups.
struct LayerContext {
  const Plan* plan = nullptr;
  std::vector<ops::Segment> segments;  // of the slowest CP rank, all sequences of a micro-batch
  ops::LayerShape shape;               // tokens, keys, tp, etp
  topology::GroupShape tp, cp, ep, etp;
  /// The parts of the cp group: whose keys are gathered, who exchanges heads, who form a ring.
  topology::GroupShape cp_gather, cp_exchange, cp_ring;
  /// What a dense attention core of this rank works on once heads are exchanged.
  std::vector<ops::Segment> core_segments;
  std::int64_t ring_rank = 0;  // the slowest of a ring

  std::int64_t tokens() const { return shape.tokens; }
  /// Tokens of tensors that sequence parallelism splits.
  std::int64_t split_tokens() const {
    return shape.sequence_parallel ? shape.tokens / shape.tp : shape.tokens;
  }
  /// Keys a row selects: a sequence no longer than the indexer's top-k has no more.
  std::int64_t top_k() const;
  ops::SelectionShape selection() const;
};

LayerContext make_context(const Plan& plan, std::int64_t gpus_per_node);

/// Forward, backward (with recomputation first if `recompute`) and memory of a layer.
/// `lends_indices`: later layers reuse its top-k indices, so they are kept in any case.
LayerProgram build_layer(Program& program, const LayerContext& context,
                         const model::LayerSpec& spec, bool recompute, bool lends_indices);
/// Input embedding; output norm, logits and loss.
LayerProgram build_embedding(Program& program, const LayerContext& context);
LayerProgram build_head(Program& program, const LayerContext& context);
/// An MTP layer: norms, the 2h -> h projection, an ordinary layer, and its own logits and loss.
LayerProgram build_mtp(Program& program, const LayerContext& context, bool recompute);

/// Bytes of the tokens one rank sends to the experts of an MoE layer (or gets back).
collectives::Collective expert_exchange(const LayerContext& context, double bytes_per_value);

}  // namespace hysim::graph
