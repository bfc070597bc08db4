// What a stack's limits may ask about: the resolved settings, and the model and GPU they name.
#include "predict/scenario.h"

namespace hysim::predictor {

namespace {

using config::Node;

Node word(std::string_view text) { return Node::string(std::string(text)); }

std::string_view attention_of(const model::Transformer& model) {
  switch (model.layers.empty() ? model::AttentionKind::gqa : model.layers.front().attention) {
    case model::AttentionKind::gqa:
      return "gqa";
    case model::AttentionKind::mla:
      return "mla";
    case model::AttentionKind::dsa:
      return "dsa";
  }
  return "";
}

bool shares_indices(const model::Transformer& model) {
  for (const model::LayerSpec& layer : model.layers) {
    if (layer.index == model::IndexRole::shared) return true;
  }
  return false;
}

}  // namespace

Node limit_facts(const Job& job) {
  const model::Transformer& model = job.plan.model;
  Node facts = job.resolved;
  facts.set("model", Node::object({
                         {"name", word(model.name)},
                         {"attention", word(attention_of(model))},
                         {"heads_per_rank",
                          Node::integer(model.attention.num_heads / job.plan.parallelism.sizes.tp)},
                         {"index_top_k", Node::integer(model.indexer.top_k)},
                         {"shares_indices", Node::boolean(shares_indices(model))},
                     }));
  facts.set("gpu", Node::object({{"name", word(job.gpu.name)},
                                 {"architecture", word(job.gpu.architecture)}}));
  facts.find("workload")
      ->set("unpacked_score_bytes",
            Node::number(graph::unpacked_score_bytes(job.plan.workload).si()));
  return facts;
}

}  // namespace hysim::predictor
