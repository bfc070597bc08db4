// Mixture of experts: a replicated router, routed experts that EP splits, shared experts that TP
// splits like a dense block.
#include "model/blocks.h"

namespace hysim::model {

std::vector<Tensor> moe_tensors(const Transformer& model) {
  using detail::matrix;
  using detail::Tp;
  const Moe& moe = model.moe;
  std::vector<Tensor> tensors = {matrix("router", moe.num_experts * model.hidden, Tp::replicated)};
  const auto add = [&](const std::string& name, std::int64_t count, bool routed) {
    tensors.push_back(matrix(name, count, routed ? Tp::replicated : Tp::split));
    tensors.back().routed_expert = routed;
  };
  const std::int64_t routed = moe.num_experts * model.hidden * moe.expert_ffn;
  if (model.gated_ffn) add("exp_gate", routed, true);
  add("exp_up", routed, true);
  add("exp_down", routed, true);
  if (moe.shared_ffn == 0) return tensors;
  const std::int64_t shared = model.hidden * moe.shared_ffn;
  if (model.gated_ffn) add("shared_gate", shared, false);
  add("shared_up", shared, false);
  add("shared_down", shared, false);
  if (moe.shared_gate) {
    tensors.push_back(matrix("shared_expert_gate", model.hidden, Tp::replicated));
  }
  return tensors;
}

}  // namespace hysim::model
