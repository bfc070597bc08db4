// Multi-head latent attention: down-projections are replicated over TP, up-projections split by
// head. With q_lora_rank 0 (DeepSeek-V2-Lite) queries are projected directly.
#include "model/blocks.h"

namespace hysim::model {

std::vector<Tensor> mla_tensors(const Transformer& model) {
  using detail::matrix;
  using detail::small;
  using detail::Tp;
  const Attention& a = model.attention;
  const std::int64_t q = a.num_heads * (a.qk_nope_head_dim + a.qk_rope_head_dim);
  const std::int64_t latent = a.kv_lora_rank + a.qk_rope_head_dim;
  std::vector<Tensor> tensors;
  if (a.q_lora_rank > 0) {
    tensors.push_back(matrix("q_a", model.hidden * a.q_lora_rank, Tp::replicated));
    tensors.push_back(small("q_a_norm", a.q_lora_rank, Tp::replicated));
    tensors.push_back(matrix("q_b", a.q_lora_rank * q, Tp::split));
    if (a.qkv_bias) tensors.push_back(small("q_a_bias", a.q_lora_rank, Tp::replicated));
  } else {
    tensors.push_back(matrix("q", model.hidden * q, Tp::split));
  }
  tensors.push_back(matrix("kv_a", model.hidden * latent, Tp::replicated));
  if (a.qkv_bias) tensors.push_back(small("kv_a_bias", latent, Tp::replicated));
  tensors.push_back(small("kv_a_norm", a.kv_lora_rank, Tp::replicated));
  const std::int64_t kv = a.num_heads * (a.qk_nope_head_dim + a.v_head_dim);
  tensors.push_back(matrix("kv_b", a.kv_lora_rank * kv, Tp::split));
  tensors.push_back(matrix("o", a.num_heads * a.v_head_dim * model.hidden, Tp::split));
  if (a.out_bias) tensors.push_back(small("o_bias", model.hidden, Tp::replicated));
  return tensors;
}

}  // namespace hysim::model
