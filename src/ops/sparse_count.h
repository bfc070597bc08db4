// The ways in which reports count the FLOP of sparse attention.
#pragma once

#include <cstdint>

#include "hysim/units.h"
#include "model/transformer.h"
#include "ops/model_flops.h"

namespace hysim::ops {

/// Ways to count the attention of sparse (DSA) layers, which reports mix up: they differ by up to
/// 20 times at a million tokens. Other layers are counted alike.
enum class SparseCount {
  absorbed,      // selected pairs in the latent, as kernels execute them: Megatron-Bridge's, MFU's
  up_projected,  // selected pairs in the heads' own dimensions: Megatron-LM PR 6148's
  dense,         // every causal pair and no indexer: of tools that do not know sparse attention
};

/// model_flops_per_sequence by one of them; without, it counts `absorbed`.
Flops model_flops_per_sequence(const model::Transformer& model, std::int64_t seq_len,
                               IndexerLoss loss, std::int64_t mtp_layers, SparseCount count);

}  // namespace hysim::ops
