// Model FLOPs of a training step: what MFU counts. Convention of Megatron-Bridge's flop_utils.py
// at 067f987d for sparse models: three times the forward of matrix products and attention cores
// (absorbed form, selected pairs), index projections twice, scoring forward once over all causal
// pairs, its gradient and the teacher over the pairs of the loss. Recomputation is not counted.
// Unlike Bridge, routers are counted (0.2 % of GLM-5.2) and query t of dense attention sees t keys
// where Bridge takes S/2.
#pragma once

#include <cstdint>

#include "hysim/units.h"
#include "model/transformer.h"

namespace hysim::ops {

enum class IndexerLoss { off, sparse, dense };

/// Shown with every MFU.
inline constexpr const char* kModelFlopConvention =
    "model FLOPs: 3x forward of matrices and attention over visible or selected pairs (absorbed "
    "MLA), indexer as trained, no recomputation";

/// FLOP of one sequence of `seq_len` tokens, forward and backward, `mtp_layers` included.
Flops model_flops_per_sequence(const model::Transformer& model, std::int64_t seq_len,
                               IndexerLoss loss, std::int64_t mtp_layers);

/// Forward FLOP per token of the matrices of one layer that are multiplied (routed experts as
/// activated): attention projections, feed-forward or experts and router; index projections apart.
double layer_matrix_flops_per_token(const model::Transformer& model, const model::LayerSpec& layer);
double index_projection_flops_per_token(const model::Transformer& model);
double head_flops_per_token(const model::Transformer& model);

}  // namespace hysim::ops
