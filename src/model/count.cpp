// Counts parameters: exact integers, norms and biases included, buffers not.
#include "model/transformer.h"

namespace hysim::model {

ParameterCount& ParameterCount::operator+=(const ParameterCount& other) {
  total += other.total;
  matrices_and_embeddings += other.matrices_and_embeddings;
  active += other.active;
  routed_expert += other.routed_expert;
  indexer += other.indexer;
  tp_split += other.tp_split;
  tp_replicated += other.tp_replicated;
  return *this;
}

ParameterCount count(const std::vector<Tensor>& tensors, const Transformer& model) {
  ParameterCount sum;
  for (const Tensor& tensor : tensors) {
    sum.total += tensor.count;
    if (tensor.kind != Tensor::Kind::small) sum.matrices_and_embeddings += tensor.count;
    if (tensor.indexer) sum.indexer += tensor.count;
    if (tensor.routed_expert) {
      sum.routed_expert += tensor.count;
      sum.active += tensor.count / model.moe.num_experts * model.moe.experts_per_token;
      continue;
    }
    sum.active += tensor.count;
    (tensor.split_by_tp ? sum.tp_split : sum.tp_replicated) += tensor.count;
  }
  return sum;
}

ParameterCount total_parameters(const Transformer& model) {
  ParameterCount sum = count(embedding_tensors(model), model);
  for (const LayerSpec& layer : model.layers) sum += count(layer_tensors(model, layer), model);
  sum += count(head_tensors(model), model);
  return sum;
}

}  // namespace hysim::model
