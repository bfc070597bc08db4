// The dense feed-forward block: gate, up and down, or up and down.
#include "model/blocks.h"

namespace hysim::model {

std::vector<Tensor> dense_ffn_tensors(const Transformer& model) {
  using detail::matrix;
  using detail::small;
  using detail::Tp;
  const std::int64_t count = model.hidden * model.dense_ffn;
  std::vector<Tensor> tensors;
  if (model.gated_ffn) tensors.push_back(matrix("ffn_gate", count, Tp::split));
  tensors.push_back(matrix("ffn_up", count, Tp::split));
  tensors.push_back(matrix("ffn_down", count, Tp::split));
  if (model.ffn_bias) {
    if (model.gated_ffn) tensors.push_back(small("ffn_gate_bias", model.dense_ffn, Tp::split));
    tensors.push_back(small("ffn_up_bias", model.dense_ffn, Tp::split));
    tensors.push_back(small("ffn_down_bias", model.hidden, Tp::replicated));
  }
  return tensors;
}

}  // namespace hysim::model
