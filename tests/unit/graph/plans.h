// Small models and plans that keep tests fast, and ways to look into a Program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "graph/layer.h"
#include "graph/plan.h"
#include "graph/program.h"
#include "model/transformer.h"
#include "topology/groups.h"

namespace hysim::test {

/// A GLM-5 in miniature: learned sparse attention, leading dense layers, experts.
struct TinySparse {
  std::int64_t layers = 4;
  std::int64_t dense_layers = 1;
  std::int64_t index_freq = 1;
  std::int64_t index_offset = 1;  // with freq 2: layers 0, 2, 4, ... compute
  std::int64_t top_k = 64;
  std::int64_t index_heads = 4;
  std::int64_t experts = 8;
  std::int64_t experts_per_token = 2;
  std::int64_t hidden = 64;
  std::int64_t vocab = 256;

  model::Transformer make() const {
    const auto key = [](const char* name, std::int64_t value) {
      return std::string(", \"") + name + "\": " + std::to_string(value);
    };
    std::string text = R"({"model_type": "glm_moe_dsa", "num_nextn_predict_layers": 1)";
    text += key("hidden_size", hidden) + key("num_hidden_layers", layers);
    text += key("num_attention_heads", 8) + key("num_key_value_heads", 8);
    text += key("q_lora_rank", 32) + key("kv_lora_rank", 16) + key("qk_nope_head_dim", 8);
    text += key("qk_rope_head_dim", 4) + key("v_head_dim", 8) + key("intermediate_size", 128);
    text += key("moe_intermediate_size", 32) + key("first_k_dense_replace", dense_layers);
    text += key("n_routed_experts", experts) + key("n_shared_experts", 1);
    text += key("num_experts_per_tok", experts_per_token) + key("vocab_size", vocab);
    text += key("max_position_embeddings", 1 << 20) + key("index_n_heads", index_heads);
    text += key("index_head_dim", 16) + key("index_topk", top_k);
    text += key("index_topk_freq", index_freq);
    if (index_freq > 1) text += key("index_skip_topk_offset", index_offset);
    return model::parse_transformer(text + "}", "tiny-sparse.json", "tiny-sparse");
  }
};

/// A Llama in miniature.
inline model::Transformer tiny_dense(std::int64_t layers = 4) {
  return model::parse_transformer(
      R"({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 8,
          "num_key_value_heads": 4, "head_dim": 8, "intermediate_size": 128, "vocab_size": 256,
          "max_position_embeddings": 4096, "tie_word_embeddings": false,
          "num_hidden_layers": )" +
          std::to_string(layers) + "}",
      "tiny-dense.json", "tiny-dense");
}

/// A DeepSeek-V3 in miniature: latent attention without selection.
inline model::Transformer tiny_latent(std::int64_t layers = 4) {
  return model::parse_transformer(
      R"({"model_type": "deepseek_v3", "hidden_size": 64, "num_attention_heads": 8,
          "num_key_value_heads": 8, "q_lora_rank": 32, "kv_lora_rank": 16, "qk_nope_head_dim": 8,
          "qk_rope_head_dim": 4, "v_head_dim": 8, "intermediate_size": 128,
          "moe_intermediate_size": 32, "first_k_dense_replace": 1, "n_routed_experts": 8,
          "n_shared_experts": 1, "num_experts_per_tok": 2, "vocab_size": 256,
          "max_position_embeddings": 4096, "num_hidden_layers": )" +
          std::to_string(layers) + "}",
      "tiny-latent.json", "tiny-latent");
}

/// Layers spread evenly, ranks numbered as Megatron-LM does.
inline void lay_out(graph::Plan& plan) {
  plan.parallelism.layers_per_chunk =
      graph::even_layout(static_cast<std::int64_t>(plan.model.layers.size()), plan.chunks());
  topology::parse_rank_order("tp-cp-ep-dp-pp", plan.parallelism.rank_order);
}

/// One GPU, no recomputation, nothing overlapped; change what the test is about.
inline graph::Plan one_gpu(model::Transformer model, std::int64_t seq_len = 256) {
  graph::Plan plan;
  plan.model = std::move(model);
  plan.workload.seq_len = seq_len;
  plan.training.recompute = graph::Recompute::none;
  plan.parallelism.sequence_parallel = false;
  plan.overlap = {false, false, false, false};
  lay_out(plan);
  return plan;
}

/// The same on groups of the given sizes, with `micro_batches` sequences a pipeline.
inline graph::Plan on_groups(model::Transformer model, const topology::GroupSizes& sizes,
                             std::int64_t micro_batches = 1, std::int64_t seq_len = 256) {
  graph::Plan plan = one_gpu(std::move(model), seq_len);
  plan.parallelism.sizes = sizes;
  plan.parallelism.sequence_parallel = sizes.tp > 1;
  plan.workload.global_batch_size = micro_batches * sizes.dp;
  lay_out(plan);
  return plan;
}

/// Tasks of a list on a leaf, "selection/topk/recompute".
inline int tasks(const graph::Program& program, const graph::TaskList& list,
                 std::string_view leaf) {
  int found = 0;
  for (const graph::Task& task : list) {
    found += program.leaves[static_cast<std::size_t>(task.leaf)] == leaf ? 1 : 0;
  }
  return found;
}

/// Tasks whose leaf begins with `prefix`.
inline int tasks_under(const graph::Program& program, const graph::TaskList& list,
                       std::string_view prefix) {
  int found = 0;
  for (const graph::Task& task : list) {
    const std::string& leaf = program.leaves[static_cast<std::size_t>(task.leaf)];
    found += std::string_view(leaf).substr(0, prefix.size()) == prefix ? 1 : 0;
  }
  return found;
}

/// Tensor and vector FLOP of the tasks whose leaf begins with `prefix` ("" for all).
inline double flops_under(const graph::Program& program, const graph::TaskList& list,
                          std::string_view prefix) {
  double flops = 0.0;
  for (const graph::Task& task : list) {
    const std::string& leaf = program.leaves[static_cast<std::size_t>(task.leaf)];
    if (std::string_view(leaf).substr(0, prefix.size()) != prefix) continue;
    if (const auto* work = std::get_if<ops::Work>(&task.work)) flops += work->total_flops().si();
  }
  return flops;
}

inline int communication_tasks(const graph::TaskList& list) {
  int found = 0;
  for (const graph::Task& task : list) {
    found += std::holds_alternative<collectives::Collective>(task.work) ? 1 : 0;
  }
  return found;
}

/// One layer of a plan on nodes of 8 GPUs.
struct BuiltLayer {
  graph::Program program;
  graph::LayerProgram layer;

  /// FLOP of the leaves that begin with any of `prefixes`.
  double forward_flops(std::initializer_list<const char*> prefixes) const {
    return flops(layer.forward, prefixes);
  }
  double backward_flops(std::initializer_list<const char*> prefixes) const {
    return flops(layer.backward, prefixes);
  }

 private:
  double flops(const graph::TaskList& list, std::initializer_list<const char*> prefixes) const {
    double sum = 0.0;
    for (const char* prefix : prefixes) sum += flops_under(program, list, prefix);
    return sum;
  }
};
inline BuiltLayer built(const graph::Plan& plan, const model::LayerSpec& spec) {
  BuiltLayer result;
  result.layer = graph::build_layer(result.program, graph::make_context(plan, 8), spec,
                                    plan.training.recompute == graph::Recompute::full, false);
  return result;
}

}  // namespace hysim::test
