// DeepSeek sparse attention: MLA and an indexer that scores all earlier tokens. The indexer's
// queries come from MLA's query latent; every TP rank holds all of it.
#include "model/blocks.h"

namespace hysim::model {

std::vector<Tensor> dsa_tensors(const Transformer& model, IndexRole role) {
  using detail::matrix;
  using detail::small;
  using detail::Tp;
  std::vector<Tensor> tensors = mla_tensors(model);
  if (role != IndexRole::computes) return tensors;
  const Indexer& x = model.indexer;
  const std::int64_t latent = model.attention.q_lora_rank;
  for (Tensor tensor : {
           matrix("idx_wq_b", latent * x.num_heads * x.head_dim, Tp::replicated),
           matrix("idx_wk", model.hidden * x.head_dim, Tp::replicated),
           small("idx_k_norm", x.head_dim, Tp::replicated),
           small("idx_k_norm_bias", x.head_dim, Tp::replicated),
           matrix("idx_weights", model.hidden * x.num_heads, Tp::replicated),
       }) {
    tensor.indexer = true;
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace hysim::model
