// Memory of one GPU of a stage at its fullest moment, tensor by tensor.
// Moments: a layer in backward (its working set and selection workspace), and the loss (logits and
// their gradient, last stage). Of communication, gathered keys are tensors here; what NCCL holds is
// added with the software stack's share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/program.h"
#include "hysim/units.h"

namespace hysim::graph {

struct MemoryItem {
  std::string name;
  Bytes bytes;
};

struct StageBytes {
  std::vector<MemoryItem> items;  // of the fullest moment; only those above zero
  Bytes allocated;                // their sum
  Bytes host;                     // in host memory: what is offloaded, of all micro-batches
};

/// Bytes of weights (bf16), gradients and Adam state (12 B: fp32 master and two moments) of one
/// rank under ZeRO `zero`: 1 divides Adam state by the ranks that share it, 2 gradients as well, 3
/// weights as well. With bf16 gradients, P parameters and N ranks: 4P + 12P/N, 2P + 14P/N, 16P/N
/// (Rajbhandari et al. 2020, section 5).
struct ModelState {
  Bytes weights;
  Bytes gradients;
  Bytes optimizer;
};
ModelState model_state(const ParameterShare& share, double gradient_bytes, int zero,
                       std::int64_t dense_group, std::int64_t expert_group);

/// What sharding gathers whole beside the shards; of parts that more than one rank shares.
struct ShardBuffers {
  Bytes weights;    // zero 3: of the unit worked on and those prefetched, or all without resharding
  Bytes gradients;  // zero 2, 3: of two units, one in backward and one being reduced
};
ShardBuffers shard_buffers(const Program& program, std::int64_t stage);

StageBytes stage_memory(const Program& program, const Training& training, std::int64_t stage);

/// Communicators one rank of the plan takes part in.
std::int64_t communicators(const Plan& plan);

}  // namespace hysim::graph
