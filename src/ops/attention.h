// Attention cores: dense (flash) over all visible keys and sparse over selected latent rows.
// FLOPs count visible or selected pairs only. Softmax work is inside the laws' fractions.
#pragma once

#include <cstdint>

#include "ops/work.h"

namespace hysim::ops {

/// Shape of a dense core on one rank: GQA, or MLA in its up-projected form.
struct DenseAttention {
  std::int64_t pairs = 0;  // visible (query, key) pairs
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t heads = 0;  // query heads on this rank
  std::int64_t kv_heads = 0;
  std::int64_t qk_dim = 0;
  std::int64_t v_dim = 0;
};

/// FLOP 2 pairs heads (qk_dim + v_dim).
Work dense_attention_forward(const DenseAttention& shape);
/// 2.5 times the forward FLOP: scores again, dP, dQ, dK, dV (flash attention).
Work dense_attention_backward(const DenseAttention& shape);

/// Shape of absorbed multi-query attention over selected latent rows (MLA + DSA).
struct SparseAttention {
  std::int64_t pairs = 0;  // selected (query, key) pairs
  std::int64_t queries = 0;
  std::int64_t keys = 0;    // rows of the latent table
  std::int64_t heads = 0;   // on this rank
  std::int64_t latent = 0;  // kv_lora_rank: values, and most of the key
  std::int64_t rope = 0;    // qk_rope_head_dim: the rest of the key
};

enum class SparseBackend { cudnn, tilelang };

/// Heads a kernel computes: cuDNN and FlashMLA pad to multiples of 64 on Hopper, TileLang to a
/// power of two of at least 16. Source: KERNELS facts 1.7, 1.8 (FlashMLA, Megatron-LM).
std::int64_t padded_heads(std::int64_t heads, SparseBackend backend);

/// FLOP 2 pairs heads (2 latent + rope); each selected row of (latent + rope) bf16 values is
/// gathered once for all heads. Example: 2048 pairs, 64 heads, 512 + 64: 285.2 MFLOP, 2.36 MB.
Work sparse_attention_forward(const SparseAttention& shape, SparseBackend backend);
/// FLOP 2 pairs heads (5 latent + 3 rope): scores again, dP, dQ, dK, dV. Rows are gathered again
/// and dKV is accumulated row by row in fp32.
Work sparse_attention_backward(const SparseAttention& shape, SparseBackend backend);

}  // namespace hysim::ops
