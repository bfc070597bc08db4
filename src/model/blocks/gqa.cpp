// Grouped-query attention (multi-head when every head has its own keys and values).
// Tensor parallelism splits heads, so query, key and value biases split and the output bias not.
#include "model/blocks.h"

namespace hysim::model {

std::vector<Tensor> gqa_tensors(const Transformer& model) {
  using detail::matrix;
  using detail::small;
  using detail::Tp;
  const Attention& a = model.attention;
  const std::int64_t q = a.num_heads * a.head_dim;
  const std::int64_t kv = a.num_kv_heads * a.head_dim;
  std::vector<Tensor> tensors = {
      matrix("q", model.hidden * q, Tp::split),
      matrix("k", model.hidden * kv, Tp::split),
      matrix("v", model.hidden * kv, Tp::split),
      matrix("o", q * model.hidden, Tp::split),
  };
  if (a.qkv_bias) {
    tensors.push_back(small("q_bias", q, Tp::split));
    tensors.push_back(small("k_bias", kv, Tp::split));
    tensors.push_back(small("v_bias", kv, Tp::split));
  }
  if (a.out_bias) tensors.push_back(small("o_bias", model.hidden, Tp::replicated));
  if (a.qk_norm) {
    tensors.push_back(small("q_norm", a.head_dim, Tp::replicated));
    tensors.push_back(small("k_norm", a.head_dim, Tp::replicated));
  }
  return tensors;
}

}  // namespace hysim::model
