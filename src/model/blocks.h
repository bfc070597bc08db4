// Weight tensors of the block kinds, one kind a file in blocks/; layer_tensors composes them.
// Names are short and stable: other code may look a tensor up by name.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/transformer.h"

namespace hysim::model {

/// Grouped-query attention: q, k, v, o, their biases and the norms of queries and keys.
std::vector<Tensor> gqa_tensors(const Transformer& model);
/// Multi-head latent attention: queries and keys/values through low-rank latents.
std::vector<Tensor> mla_tensors(const Transformer& model);
/// The MLA tensors of a sparse-attention layer and, where it computes indices, its indexer's.
std::vector<Tensor> dsa_tensors(const Transformer& model, IndexRole role);
/// One feed-forward block of width dense_ffn.
std::vector<Tensor> dense_ffn_tensors(const Transformer& model);
/// Router, routed experts and shared experts. The router's correction bias is a buffer that no
/// gradient reaches, so it is not a tensor here.
std::vector<Tensor> moe_tensors(const Transformer& model);

namespace detail {

enum class Tp { split, replicated };

inline Tensor matrix(std::string name, std::int64_t count, Tp tp) {
  return {std::move(name), count, Tensor::Kind::matrix, tp == Tp::split, false, false};
}
inline Tensor small(std::string name, std::int64_t count, Tp tp) {
  return {std::move(name), count, Tensor::Kind::small, tp == Tp::split, false, false};
}
inline Tensor embedding(std::string name, std::int64_t count, Tp tp) {
  return {std::move(name), count, Tensor::Kind::embedding, tp == Tp::split, false, false};
}

}  // namespace detail
}  // namespace hysim::model
