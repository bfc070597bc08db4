#include "ops/model_flops.h"

#include "ops/segments.h"
#include "ops/sparse_count.h"
#include "units/real.h"

namespace hysim::ops {

namespace {

using model::AttentionKind;
using model::FfnKind;
using model::IndexRole;

double attention_matrix(const model::Transformer& m, AttentionKind kind) {
  const model::Attention& a = m.attention;
  const double h = real(m.hidden);
  const double n = real(a.num_heads);
  if (kind == AttentionKind::gqa) {
    return h * real(a.head_dim) * (2.0 * n + 2.0 * real(a.num_kv_heads));
  }
  const double qk = real(a.qk_nope_head_dim + a.qk_rope_head_dim);
  const double query =
      a.q_lora_rank > 0 ? h * real(a.q_lora_rank) + real(a.q_lora_rank) * n * qk : h * n * qk;
  return query + h * real(a.kv_lora_rank + a.qk_rope_head_dim) +
         real(a.kv_lora_rank) * n * real(a.qk_nope_head_dim + a.v_head_dim) +
         n * real(a.v_head_dim) * h;
}

double ffn_matrix(const model::Transformer& m, FfnKind kind) {
  const double h = real(m.hidden);
  if (kind == FfnKind::dense) return h * real(m.dense_ffn) * (m.gated_ffn ? 3.0 : 2.0);
  return 3.0 * h *
             (real(m.moe.expert_ffn) * real(m.moe.experts_per_token) + real(m.moe.shared_ffn)) +
         h * real(m.moe.num_experts);
}

/// Training FLOP of one layer over a sequence.
double layer_training_flops(const model::Transformer& m, const model::LayerSpec& layer,
                            std::int64_t seq_len, IndexerLoss loss, SparseCount count) {
  const model::Attention& a = m.attention;
  const Segment all{0, seq_len};
  const double causal = real(causal_pairs(all));
  double flops = 3.0 * real(seq_len) * layer_matrix_flops_per_token(m, layer);
  const double n = real(a.num_heads);
  const double up_projected = real(a.qk_nope_head_dim + a.qk_rope_head_dim + a.v_head_dim);
  const bool as_dense = layer.attention == AttentionKind::dsa && count == SparseCount::dense;
  switch (as_dense ? AttentionKind::mla : layer.attention) {
    case AttentionKind::gqa: {
      const double pairs =
          a.sliding_window > 0 ? real(selected_pairs(all, a.sliding_window)) : causal;
      return flops + 3.0 * 2.0 * pairs * n * 2.0 * real(a.head_dim);
    }
    case AttentionKind::mla:
      return flops + 3.0 * 2.0 * causal * n * up_projected;
    case AttentionKind::dsa:
      break;
  }
  const double selected = real(selected_pairs(all, m.indexer.top_k));
  const double latent = real(a.kv_lora_rank);
  const double rope = real(a.qk_rope_head_dim);
  const double absorbed = 2.0 * latent + rope;
  flops += 3.0 * 2.0 * selected * n * (count == SparseCount::absorbed ? absorbed : up_projected);
  if (layer.index != IndexRole::computes) return flops;
  const double projection = real(seq_len) * index_projection_flops_per_token(m);
  const double pair_flops = real(m.indexer.num_heads) * real(m.indexer.head_dim + 1);
  flops += (loss == IndexerLoss::off ? 1.0 : 2.0) * projection + 2.0 * causal * pair_flops;
  if (loss == IndexerLoss::off) return flops;
  const double pairs = loss == IndexerLoss::sparse ? selected : causal;
  return flops + 4.0 * pairs * pair_flops + 2.0 * pairs * n * (latent + rope);
}

}  // namespace

double layer_matrix_flops_per_token(const model::Transformer& m, const model::LayerSpec& layer) {
  return 2.0 * (attention_matrix(m, layer.attention) + ffn_matrix(m, layer.ffn));
}

double index_projection_flops_per_token(const model::Transformer& m) {
  const double query_input = real(m.attention.q_lora_rank > 0 ? m.attention.q_lora_rank : m.hidden);
  const double heads = real(m.indexer.num_heads);
  const double dim = real(m.indexer.head_dim);
  return 2.0 * (query_input * heads * dim + real(m.hidden) * dim + real(m.hidden) * heads);
}

double head_flops_per_token(const model::Transformer& m) {
  return 2.0 * real(m.hidden) * real(m.vocab);
}

Flops model_flops_per_sequence(const model::Transformer& m, std::int64_t seq_len, IndexerLoss loss,
                               std::int64_t mtp_layers) {
  return model_flops_per_sequence(m, seq_len, loss, mtp_layers, SparseCount::absorbed);
}

Flops model_flops_per_sequence(const model::Transformer& m, std::int64_t seq_len, IndexerLoss loss,
                               std::int64_t mtp_layers, SparseCount count) {
  double flops = 3.0 * real(seq_len) * head_flops_per_token(m);
  for (const model::LayerSpec& layer : m.layers) {
    flops += layer_training_flops(m, layer, seq_len, loss, count);
  }
  if (mtp_layers > 0 && !m.layers.empty()) {
    const model::LayerSpec layer = model::mtp_layer(m);
    const double joining = 3.0 * real(seq_len) * 2.0 * 2.0 * real(m.hidden) * real(m.hidden);
    flops += real(mtp_layers) * (layer_training_flops(m, layer, seq_len, loss, count) + joining +
                                 3.0 * real(seq_len) * head_flops_per_token(m));
  }
  return Flops(flops);
}

}  // namespace hysim::ops
