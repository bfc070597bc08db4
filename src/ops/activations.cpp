#include "ops/activations.h"

#include "ops/element_bytes.h"
#include "units/real.h"

namespace hysim::ops {

namespace {

using model::AttentionKind;
using model::FfnKind;

// With one fp32 scale per 128 values.

/// Tokens of tensors that sequence parallelism splits.
double split_tokens(const LayerShape& s) {
  return s.sequence_parallel ? real(s.tokens) / real(s.tp) : real(s.tokens);
}

void add(std::vector<NamedBytes>& items, std::string name, double bytes) {
  items.push_back({std::move(name), Bytes(bytes)});
}

/// Token copies computed by one rank's experts: EP spreads experts, not tokens, so it does not
/// appear but in how unevenly.
double routed_copies(const model::Transformer& m, const LayerShape& s) {
  const double tokens = real(s.tokens) / real(s.tp) * real(s.etp);
  return tokens * real(m.moe.experts_per_token) * s.expert_imbalance;
}

}  // namespace

std::vector<NamedBytes> saved_activations(const model::Transformer& m,
                                          const model::LayerSpec& layer, const LayerShape& s) {
  std::vector<NamedBytes> items;
  const model::Attention& a = m.attention;
  const double tokens = real(s.tokens);
  const double heads = real(a.num_heads) / real(s.tp);
  add(items, kLayerInput, kBf16Bytes * split_tokens(s) * real(m.hidden));
  // Both norm outputs, which linear layers read, and the residual sum between them.
  const double input = s.fp8_linear ? kFp8Bytes : kBf16Bytes;
  add(items, "norms_and_residual", (2.0 * input + kBf16Bytes) * split_tokens(s) * real(m.hidden));
  if (layer.attention == AttentionKind::gqa) {
    const double kv = real(a.num_kv_heads) / real(s.tp);
    add(items, "query_key_value", kBf16Bytes * tokens * real(a.head_dim) * (heads + 2.0 * kv));
    add(items, "attention_output", kBf16Bytes * tokens * real(a.head_dim) * heads);
  } else {
    const double qk = real(a.qk_nope_head_dim + a.qk_rope_head_dim);
    const double latent = real(a.kv_lora_rank + a.qk_rope_head_dim);
    add(items, "query_latent", kBf16Bytes * tokens * real(a.q_lora_rank));
    add(items, "query", kBf16Bytes * tokens * heads * qk);
    if (layer.attention == AttentionKind::dsa) {
      add(items, "gathered_latent", kBf16Bytes * real(s.sequence_tokens) * latent);
      add(items, "query_absorbed", kBf16Bytes * tokens * heads * latent);
      add(items, "attention_output", kBf16Bytes * tokens * heads * real(a.kv_lora_rank));
      add(items, "value_up", kBf16Bytes * tokens * heads * real(a.v_head_dim));
      if (s.trains_indexer && layer.index == model::IndexRole::computes) {
        // Gradients of queries, key and head weights.
        const double width =
            real(m.indexer.head_dim + 1) * real(m.indexer.num_heads) + real(m.indexer.head_dim);
        add(items, "index_gradients", kBf16Bytes * tokens * width);
      }
    } else {
      add(items, "kv_latent", kBf16Bytes * tokens * latent);
      add(items, "key_value", kBf16Bytes * tokens * heads * (qk + real(a.v_head_dim)));
      add(items, "attention_output", kBf16Bytes * tokens * heads * real(a.v_head_dim));
    }
  }
  add(items, "log_sum_exp", kFp32Bytes * tokens * heads);
  if (layer.ffn == FfnKind::dense) {
    const double up = m.gated_ffn ? 2.0 : 1.0;
    add(items, "ffn_up_and_activation",
        tokens * real(m.dense_ffn) * (kBf16Bytes * up + input) / real(s.tp));
  } else {
    const double copies = routed_copies(m, s);
    const double width = real(m.moe.expert_ffn) / real(s.etp);
    add(items, "moe_dispatched_tokens", input * copies * real(m.hidden));
    add(items, "moe_fc1_output", kBf16Bytes * copies * width * 2.0);
    add(items, "moe_activation", input * copies * width);
    if (m.moe.shared_ffn > 0) {
      add(items, "shared_expert",
          tokens * real(m.moe.shared_ffn) * (2.0 * kBf16Bytes + input) / real(s.tp));
    }
  }
  return items;
}

std::vector<NamedBytes> transient_activations(const model::Transformer& m,
                                              const model::LayerSpec& layer, const LayerShape& s) {
  std::vector<NamedBytes> items;
  const model::Attention& a = m.attention;
  const double keys = real(s.sequence_tokens);
  if (layer.attention == AttentionKind::dsa) {
    const double latent = real(a.kv_lora_rank + a.qk_rope_head_dim);
    if (layer.index == model::IndexRole::computes) {
      add(items, "gathered_index_keys", kBf16Bytes * keys * real(m.indexer.head_dim));
    }
    add(items, "dkv_fp32", kFp32Bytes * keys * latent);
  } else {
    const bool gqa = layer.attention == AttentionKind::gqa;
    const double width =
        gqa ? 2.0 * real(a.num_kv_heads) * real(a.head_dim)
            : real(a.num_heads) * real(a.qk_nope_head_dim + a.qk_rope_head_dim + a.v_head_dim);
    // Keys, values and the gradients of both.
    const double key_bytes = 2.0 * kBf16Bytes * width / real(s.tp);
    if (s.cp_gathers) add(items, "gathered_keys_and_values", key_bytes * keys);
    if (s.cp_ring > 1)
      add(items, "gathered_ring_buffers",
          2.0 * key_bytes * keys / real(s.cp_ring) / real(s.cp_exchange));
    if (s.cp_exchange > 1) {
      const double query =
          real(a.num_heads) * real(gqa ? a.head_dim : a.qk_nope_head_dim + a.qk_rope_head_dim);
      add(items, "gathered_exchange_buffers",
          kBf16Bytes * real(s.tokens) * (query + width) / real(s.tp));
    }
  }
  if (layer.ffn == FfnKind::moe) {
    add(items, "moe_fc2_output", kBf16Bytes * routed_copies(m, s) * real(m.hidden));
  }
  return items;
}

Bytes checkpoint_bytes(const model::Transformer& m, const LayerShape& s) {
  return Bytes(kBf16Bytes * split_tokens(s) * real(m.hidden));
}

Bytes index_bytes(std::int64_t top_k, const LayerShape& s) {
  return Bytes(kInt32Bytes * real(s.tokens) * real(top_k));
}

Bytes sum(const std::vector<NamedBytes>& items) {
  Bytes total;
  for (const NamedBytes& item : items) total += item.bytes;
  return total;
}

}  // namespace hysim::ops
