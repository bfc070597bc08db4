// Kernels bound by streaming HBM traffic: norms, residuals, rotary embedding, activations,
// permutation of tokens to experts, quantisation, embedding, loss, optimizer.
// Traffic per element assumes the fusions of Megatron-LM with Transformer Engine (bias, residual
// and norm apart; SwiGLU fused); the constants are in elementwise.cpp.
#pragma once

#include <cstdint>

#include "ops/work.h"

namespace hysim::ops {

enum class Pass { forward, backward };

/// `elements` = tokens x width in all of these.
Work norm(std::int64_t elements, Pass pass);
Work residual_add(std::int64_t elements);
/// bf16 values laid out anew: each read and written once.
Work copy(std::int64_t elements);
Work rotary(std::int64_t elements, Pass pass);
/// SwiGLU (or GELU when not gated) producing `elements` outputs.
Work activation(std::int64_t elements, bool gated, Pass pass);
/// Sorting token copies by expert and back, with the weighted sum: `copies` x `hidden`.
Work permute(std::int64_t copies, std::int64_t hidden, Pass pass);
/// bf16 to fp8 with block scales, and its transpose.
Work quantize(std::int64_t elements);
/// Embedding rows: read and written in bf16; backward accumulates fp32 gradients.
Work embedding(std::int64_t tokens, std::int64_t hidden, Pass pass);
/// Cross entropy over `tokens` x `vocab` logits.
Work cross_entropy(std::int64_t tokens, std::int64_t vocab, Pass pass);
/// Adam on `parameters` of this rank: fp32 gradient, master weight and two moments read; master,
/// moments and the bf16 weight written: 30 B each.
Work adam(double parameters);
/// Gradient norm: every gradient of this rank read once.
Work gradient_norm(double parameters, double gradient_bytes);

}  // namespace hysim::ops
