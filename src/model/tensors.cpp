// Composes the tensors of a layer, of the ends of the stack and of a multi-token prediction layer.
#include <utility>

#include "model/blocks.h"
#include "model/transformer.h"

namespace hysim::model {
namespace {

void append(std::vector<Tensor>& to, std::vector<Tensor> from) {
  for (Tensor& tensor : from) to.push_back(std::move(tensor));
}

void append_norm(std::vector<Tensor>& to, const Transformer& model, const std::string& name) {
  to.push_back(detail::small(name, model.hidden, detail::Tp::replicated));
  if (model.norm_bias) {
    to.push_back(detail::small(name + "_bias", model.hidden, detail::Tp::replicated));
  }
}

std::vector<Tensor> attention_tensors(const Transformer& model, const LayerSpec& layer) {
  switch (layer.attention) {
    case AttentionKind::mla:
      return mla_tensors(model);
    case AttentionKind::dsa:
      return dsa_tensors(model, layer.index);
    case AttentionKind::gqa:
      break;
  }
  return gqa_tensors(model);
}

}  // namespace

std::vector<Tensor> layer_tensors(const Transformer& model, const LayerSpec& layer) {
  std::vector<Tensor> tensors = attention_tensors(model, layer);
  append_norm(tensors, model, "norm1");
  append_norm(tensors, model, "norm2");
  append(tensors, layer.ffn == FfnKind::moe ? moe_tensors(model) : dense_ffn_tensors(model));
  return tensors;
}

std::vector<Tensor> embedding_tensors(const Transformer& model) {
  using detail::embedding;
  using detail::Tp;
  std::vector<Tensor> tensors = {embedding("tok_embed", model.vocab * model.hidden, Tp::split)};
  if (model.learned_positions) {
    tensors.push_back(embedding("pos_embed", model.max_positions * model.hidden, Tp::replicated));
  }
  return tensors;
}

std::vector<Tensor> head_tensors(const Transformer& model) {
  std::vector<Tensor> tensors;
  append_norm(tensors, model, "final_norm");
  if (!model.tied_embedding) {
    tensors.push_back(detail::matrix("lm_head", model.vocab * model.hidden, detail::Tp::split));
  }
  return tensors;
}

LayerSpec mtp_layer(const Transformer& model) {
  LayerSpec layer = model.layers.back();
  if (layer.attention == AttentionKind::dsa) layer.index = IndexRole::computes;
  return layer;
}

std::vector<Tensor> mtp_extra_tensors(const Transformer& model) {
  std::vector<Tensor> tensors;
  append_norm(tensors, model, "mtp_embed_norm");
  append_norm(tensors, model, "mtp_hidden_norm");
  tensors.push_back(detail::matrix("mtp_proj", 2 * model.hidden * model.hidden, detail::Tp::split));
  append_norm(tensors, model, "mtp_final_norm");
  return tensors;
}

}  // namespace hysim::model
