// A transformer as its tensors and layer pattern, read from a Hugging Face config.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hysim/resources.h"

namespace hysim::model {

enum class AttentionKind { gqa, mla, dsa };
enum class FfnKind { dense, moe };
/// Whether a dsa layer computes its own top-k indices or reuses those of an earlier layer.
enum class IndexRole { none, computes, shared };

/// One layer of the pattern.
struct LayerSpec {
  AttentionKind attention = AttentionKind::gqa;
  IndexRole index = IndexRole::none;
  FfnKind ffn = FfnKind::dense;
  friend bool operator==(const LayerSpec&, const LayerSpec&) = default;
};
/// "dsa+moe", "dsa-shared+moe", "gqa+dense"
std::string to_string(const LayerSpec& layer);

/// Head dimensions of attention. GQA uses num_kv_heads and head_dim; MLA and DSA the others.
struct Attention {
  std::int64_t num_heads = 0;
  std::int64_t num_kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t q_lora_rank = 0;  // 0: queries are projected directly
  std::int64_t kv_lora_rank = 0;
  std::int64_t qk_nope_head_dim = 0;
  std::int64_t qk_rope_head_dim = 0;
  std::int64_t v_head_dim = 0;
  bool qkv_bias = false;
  bool out_bias = false;
  bool qk_norm = false;
  std::int64_t sliding_window = 0;  // 0: full causal
};

struct Indexer {
  std::int64_t num_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t top_k = 0;
};

struct Moe {
  std::int64_t num_experts = 0;
  std::int64_t experts_per_token = 0;
  std::int64_t expert_ffn = 0;
  std::int64_t shared_ffn = 0;    // total width of the shared experts; 0: none
  bool shared_gate = false;       // Qwen2-MoE style sigmoid gate on the shared expert
  std::int64_t groups = 1;        // router groups
  std::int64_t groups_picked = 1;
};

struct Transformer {
  std::string name;
  std::string model_type;  // as in config.json
  std::int64_t hidden = 0;
  std::int64_t vocab = 0;
  std::int64_t max_positions = 0;
  std::int64_t dense_ffn = 0;
  bool gated_ffn = true;         // SwiGLU: gate and up; otherwise one up projection
  bool ffn_bias = false;
  bool norm_bias = false;        // LayerNorm with bias; otherwise RMSNorm
  bool learned_positions = false;
  bool tied_embedding = false;
  Attention attention;
  Indexer indexer;
  Moe moe;
  std::vector<LayerSpec> layers;   // num_hidden_layers of them
  std::int64_t mtp_layers = 0;     // num_nextn_predict_layers; same block as the last layer
  std::vector<std::string> sources;
};

/// How one weight tensor is counted and split.
struct Tensor {
  std::string name;
  std::int64_t count = 0;         // elements over all ranks
  enum class Kind { matrix, small, embedding } kind = Kind::matrix;
  bool split_by_tp = false;       // otherwise every TP rank holds all of it
  bool routed_expert = false;     // split by EP (and ETP) instead
  bool indexer = false;
};

/// Tensors of one layer of the pattern; of the input embedding; of final norm and head; of what
/// an MTP layer adds to an ordinary layer (two norms, the 2h -> h projection, a final norm).
std::vector<Tensor> layer_tensors(const Transformer& model, const LayerSpec& layer);
std::vector<Tensor> embedding_tensors(const Transformer& model);
std::vector<Tensor> head_tensors(const Transformer& model);
std::vector<Tensor> mtp_extra_tensors(const Transformer& model);
/// The layer inside an MTP layer: the kind of the last layer, but with an index of its own where
/// the last layer shares one.
LayerSpec mtp_layer(const Transformer& model);

struct ParameterCount {
  std::int64_t total = 0;
  std::int64_t matrices_and_embeddings = 0;
  std::int64_t active = 0;          // routed experts counted experts_per_token / num_experts
  std::int64_t routed_expert = 0;
  std::int64_t indexer = 0;
  std::int64_t tp_split = 0;        // dense tensors split by TP
  std::int64_t tp_replicated = 0;   // dense tensors every TP rank holds
  ParameterCount& operator+=(const ParameterCount& other);
};
ParameterCount count(const std::vector<Tensor>& tensors, const Transformer& model);
/// Embedding, layers, final norm and head; MTP layers are not in the total (as published).
ParameterCount total_parameters(const Transformer& model);

/// Reads a config.json as downloaded; keys that start with "_" are notes. Throws InputError; an
/// architecture this release cannot model is refused by name.
Transformer parse_transformer(std::string_view text, std::string_view path,
                              std::string_view name);
/// models/<name>.json of `resources`; throws InputError naming the nearest known model.
Transformer load_transformer(const Resources& resources, std::string_view name);

}  // namespace hysim::model
