// Sharded data parallelism (ZeRO-2, ZeRO-3, FSDP) without a pipeline: when the weights of every
// unit are gathered and its gradients reduced, given how long each takes. A unit is a layer.
// Gathers and reductions share one communicator and run in the order in which they are asked for.
// Wrong where a framework bounds its buffers otherwise; see ShardedTimes.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/program.h"

namespace hysim::graph {

/// Seconds of one unit and micro-batch.
struct ShardedUnit {
  double forward = 0.0;
  double backward = 0.0;  // recomputation included: it uses the weights gathered for backward
  double gather = 0.0;    // of its weights
  double reduce = 0.0;    // of its gradients
};

struct ShardedTimes {
  std::vector<ShardedUnit> units;  // in model order
  std::int64_t micro_batches = 1;
  /// ZeRO-3: weights are gathered in every micro-batch, before forward and, with `reshard`, again
  /// before backward. ZeRO-2: once a step, one unit after the other from its start on.
  bool shards_weights = true;
  bool reshard = true;
  /// The gather of unit i + prefetch is asked for when unit i begins; 0: when the unit before it
  /// has ended. Nothing is asked for ahead of its micro-batch.
  std::int64_t prefetch = 1;
  /// Backward goes on while gradients are reduced. Two units' gradients are held whole at most: a
  /// unit waits for the reduction of the second before it.
  bool overlap_reduce = true;
};

/// What a program of zero 2 or 3 says of it, units left out.
ShardedTimes sharding_of(const Program& program);

/// Seconds from the first forward to the end of the last backward and the last reduction. Every
/// micro-batch reduces its gradients, as torch's FSDP2, Megatron-FSDP and DeepSpeed do. The cost
/// grows with the logarithm of the number of micro-batches.
/// Example: gathers shorter than the computation beside them, one micro-batch, prefetch 1: the
/// computation, the first gather and the last reduction.
double run_sharded(const ShardedTimes& times);
/// The same with memory for the ends of gathers to use again.
double run_sharded(const ShardedTimes& times, std::vector<double>& scratch);

/// Seconds of the wire over the step: gathers and reductions.
double sharded_gather_seconds(const ShardedTimes& times);
double sharded_reduce_seconds(const ShardedTimes& times);

}  // namespace hysim::graph
