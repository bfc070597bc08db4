// Reads a Hugging Face config.json as downloaded: keys that shape the text model are checked, all
// others (tokens, rope, quantization, vision towers, library versions) are ignored.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/node.h"
#include "config/reader.h"
#include "config/words.h"
#include "model/families.h"
#include "model/keys.h"
#include "model/pattern.h"
#include "model/transformer.h"

namespace hysim::model {
namespace {

using config::in_quotes;

// Ranges are wide, but products of them stay below 2^63.
constexpr std::int64_t kMaxWidth = std::int64_t{1} << 20;  // feed-forward and low-rank widths
constexpr std::int64_t kMaxHidden = std::int64_t{1} << 17;
constexpr std::int64_t kMaxHeads = std::int64_t{1} << 12;
constexpr std::int64_t kMaxHeadDim = std::int64_t{1} << 12;
constexpr std::int64_t kMaxLayers = 1024;
constexpr std::int64_t kMaxExperts = std::int64_t{1} << 13;
constexpr std::int64_t kMaxSharedExperts = 64;
constexpr std::int64_t kMaxVocab = std::int64_t{1} << 26;
constexpr std::int64_t kMaxPositions = std::int64_t{1} << 31;

/// The part of a config that describes the text model.
struct Body {
  const config::Node* node;
  std::string pointer;
};

/// Multimodal configs nest the text model in text_config.
Body find_body(const config::Node& root) {
  const config::Node* nested = root.find("text_config");
  const bool flat = root.find("hidden_size") != nullptr || root.find("n_embd") != nullptr;
  if (flat || nested == nullptr || nested->is_null()) return {&root, ""};
  return {nested, "/text_config"};
}

/// The family of `body`; throws for a model_type that is missing, unknown or refused.
const Family& read_family(const config::Node& root, const Body& body, config::Faults& faults) {
  const bool own = body.node->find("model_type") != nullptr;
  config::Reader reader(own ? *body.node : root, own ? body.pointer : "", faults);
  const std::string model_type = reader.required_string("model_type");
  faults.throw_if_any();
  const Family* family = find_family(model_type);
  if (family == nullptr) reader.fault("model_type", refusal(model_type));
  faults.throw_if_any();

  Keys keys(*body.node, body.pointer, faults);
  for (const auto& [key, value] : body.node->as_object()) {
    const std::string_view block = refused_block(key, value);
    if (block.empty()) continue;
    std::string message = in_quotes(key) + " asks for ";
    keys.fault(key, message.append(block).append(", which this release cannot model yet"));
  }
  faults.throw_if_any();
  return *family;
}

void read_biases(Keys& keys, AttentionBias bias, Attention& attention) {
  switch (bias) {
    case AttentionBias::none:
      break;
    case AttentionBias::by_key:
      attention.qkv_bias = keys.boolean({"attention_bias"}, false);
      attention.out_bias = attention.qkv_bias;
      break;
    case AttentionBias::qkv:
      attention.qkv_bias = keys.boolean({"qkv_bias", "attention_bias"}, true);
      break;
    case AttentionBias::everywhere:
      attention.qkv_bias = true;
      attention.out_bias = true;
      break;
  }
}

Attention read_attention(Keys& keys, const Family& family) {
  Attention a;
  a.num_heads = keys.required({"num_attention_heads", "n_head"}, 1, kMaxHeads);
  a.qk_norm = family.qk_norm;
  read_biases(keys, family.bias, a);
  if (family.attention == AttentionKind::gqa) {
    // Multi-head attention came first: llama and gpt2 files may leave the key out.
    const bool optional = family.model_type == "llama" || family.model_type == "gpt2";
    a.num_kv_heads = optional && !keys.given("num_key_value_heads")
                         ? a.num_heads
                         : keys.required({"num_key_value_heads"}, 1, kMaxHeads);
    a.head_dim = keys.optional({"head_dim"}, 0, 1, kMaxHeadDim);
    return a;
  }
  // head_dim is not read: files and loaders disagree on which part of a head it names.
  a.num_kv_heads = a.num_heads;
  a.q_lora_rank = keys.optional({"q_lora_rank"}, 0, 1, kMaxWidth);
  a.kv_lora_rank = keys.required({"kv_lora_rank"}, 1, kMaxWidth);
  a.qk_nope_head_dim = keys.required({"qk_nope_head_dim"}, 1, kMaxHeadDim);
  a.qk_rope_head_dim = keys.required({"qk_rope_head_dim"}, 0, kMaxHeadDim);
  a.v_head_dim = keys.required({"v_head_dim"}, 1, kMaxHeadDim);
  a.head_dim = a.qk_nope_head_dim + a.qk_rope_head_dim;
  return a;
}

Indexer read_indexer(Keys& keys) {
  Indexer indexer;
  indexer.num_heads = keys.required({"index_n_heads"}, 1, kMaxHeads);
  indexer.head_dim = keys.required({"index_head_dim"}, 1, kMaxHeadDim);
  indexer.top_k = keys.required({"index_topk"}, 1, kMaxPositions);
  return indexer;
}

Moe read_moe(Keys& keys, const Family& family, std::int64_t ffn) {
  Moe moe;
  if (family.ffn == FfnPattern::dense) return moe;
  const bool deepseek = family.ffn == FfnPattern::leading_dense;
  moe.num_experts =
      deepseek
          ? keys.required({"n_routed_experts", "num_local_experts", "num_experts"}, 1, kMaxExperts)
          : keys.required({"num_experts", "num_local_experts", "n_routed_experts"}, 1, kMaxExperts);
  moe.experts_per_token =
      keys.required({"num_experts_per_tok", "num_experts_per_token"}, 1, kMaxExperts);
  moe.expert_ffn =
      family.ffn == FfnPattern::moe ? ffn : keys.required({"moe_intermediate_size"}, 1, kMaxWidth);
  if (family.model_type == "qwen2_moe") {
    moe.shared_ffn = keys.required({"shared_expert_intermediate_size"}, 0, kMaxWidth);
    moe.shared_gate = moe.shared_ffn > 0;
  } else if (deepseek) {
    moe.shared_ffn = keys.optional({"n_shared_experts"}, 0, 0, kMaxSharedExperts) * moe.expert_ffn;
    if (keys.string("topk_method", "") != "greedy") {
      moe.groups = keys.optional({"n_group"}, 1, 1, kMaxExperts);
      moe.groups_picked = keys.optional({"topk_group"}, 1, 1, kMaxExperts);
    }
  }
  return moe;
}

/// Everything but the layer pattern, with the ranges of single keys checked.
Transformer read_dimensions(Keys& keys, const Family& family) {
  const bool gpt2 = family.model_type == "gpt2";
  Transformer model;
  model.model_type = family.model_type;
  model.hidden = keys.required({"hidden_size", "n_embd"}, 1, kMaxHidden);
  model.layers.resize(
      static_cast<std::size_t>(keys.required({"num_hidden_layers", "n_layer"}, 1, kMaxLayers)));
  model.vocab = keys.required({"vocab_size"}, 1, kMaxVocab);
  model.max_positions = keys.required({"max_position_embeddings", "n_positions"}, 1, kMaxPositions);
  model.dense_ffn =
      gpt2 ? keys.optional({"intermediate_size", "n_inner"}, 4 * model.hidden, 1, kMaxWidth)
           : keys.required({"intermediate_size"}, 1, kMaxWidth);
  // Only gpt2 has a form without gate; the others gate whatever the activation.
  const std::string act = keys.string("hidden_act", gpt2 ? "gelu" : "silu");
  model.gated_ffn = !gpt2 || act == "silu" || act == "swiglu";
  model.ffn_bias = gpt2 || (family.model_type == "llama" && keys.boolean({"mlp_bias"}, false));
  model.norm_bias = gpt2;
  model.learned_positions = gpt2;
  model.attention = read_attention(keys, family);
  if (family.attention == AttentionKind::dsa) model.indexer = read_indexer(keys);
  model.moe = read_moe(keys, family, model.dense_ffn);
  model.mtp_layers = keys.optional({"num_nextn_predict_layers"}, 0, 0, kMaxLayers);
  return model;
}

std::string text(std::int64_t value) { return std::to_string(value); }

void check_attention(Keys& keys, Transformer& model, const Family& family) {
  Attention& a = model.attention;
  if (family.attention != AttentionKind::gqa) {
    const std::int64_t qk = keys.optional({"qk_head_dim"}, a.head_dim, 1, 2 * kMaxHeadDim);
    if (qk != a.head_dim) {
      keys.fault("qk_head_dim", "\"qk_head_dim\" must be qk_nope_head_dim + qk_rope_head_dim = " +
                                    text(a.head_dim) + ", found " + text(qk));
    }
    if (family.attention == AttentionKind::dsa && a.q_lora_rank == 0) {
      keys.fault("q_lora_rank",
                 "\"q_lora_rank\" is needed: the indexer takes its queries from this latent");
    }
    return;
  }
  const std::string_view heads = keys.find({"num_attention_heads", "n_head"});
  if (a.head_dim == 0) {
    a.head_dim = model.hidden / a.num_heads;
    if (model.hidden % a.num_heads != 0) {
      keys.fault(heads, text(a.num_heads) + " heads do not divide hidden_size " +
                            text(model.hidden) + ", and no head_dim is given");
    }
  }
  if (a.num_heads % a.num_kv_heads != 0) {
    keys.fault("num_key_value_heads", text(a.num_kv_heads) + " key-value heads do not divide " +
                                          text(a.num_heads) + " attention heads");
  }
}

void check_moe(Keys& keys, const Moe& moe) {
  if (moe.num_experts == 0) return;
  const std::string_view top_k = keys.find({"num_experts_per_tok", "num_experts_per_token"});
  if (moe.experts_per_token > moe.num_experts) {
    keys.fault(top_k, "a token picks " + text(moe.experts_per_token) + " of only " +
                          text(moe.num_experts) + " experts");
  }
  if (moe.groups_picked > moe.groups) {
    keys.fault("topk_group", "a token picks " + text(moe.groups_picked) + " of only " +
                                 text(moe.groups) + " groups");
  } else if (moe.num_experts % moe.groups != 0) {
    keys.fault("n_group",
               text(moe.groups) + " groups do not divide " + text(moe.num_experts) + " experts");
  } else if (moe.experts_per_token <= moe.num_experts &&
             moe.experts_per_token > moe.num_experts / moe.groups * moe.groups_picked) {
    keys.fault(top_k, "a token picks " + text(moe.experts_per_token) + " experts, but " +
                          text(moe.groups_picked) + " groups hold only " +
                          text(moe.num_experts / moe.groups * moe.groups_picked));
  }
}

std::vector<std::string> read_sources(const config::Node& root) {
  std::vector<std::string> sources;
  const config::Node* note = root.find("_source");
  if (note == nullptr) return sources;
  if (note->is_string()) sources.push_back(note->as_string());
  if (!note->is_array()) return sources;
  for (const config::Node& line : note->as_array()) {
    if (line.is_string()) sources.push_back(line.as_string());
  }
  return sources;
}

}  // namespace

Transformer parse_transformer(std::string_view text, std::string_view path, std::string_view name) {
  const config::Node root = config::parse(text, path);
  config::Faults faults;
  const Body body = root.is_object() ? find_body(root) : Body{&root, ""};
  if (!body.node->is_object()) {
    faults.add(*body.node, body.pointer,
               "a model must be the object of a Hugging Face config.json, found " +
                   std::string(body.node->kind_name()));
    faults.throw_if_any();
  }
  const Family& family = read_family(root, body, faults);

  Keys keys(*body.node, body.pointer, faults);
  Transformer model = read_dimensions(keys, family);
  // Files may give this beside text_config. gpt2 ties unless told otherwise.
  Keys outer(root, "", faults);
  Keys& tie = keys.given("tie_word_embeddings") ? keys : outer;
  model.tied_embedding = tie.boolean({"tie_word_embeddings"}, family.model_type == "gpt2");
  faults.throw_if_any();

  const auto layers = static_cast<std::int64_t>(model.layers.size());
  check_attention(keys, model, family);
  check_moe(keys, model.moe);
  model.attention.sliding_window = read_window(keys, family, layers);
  model.layers = read_layers(keys, family, layers);
  faults.throw_if_any();

  model.name = name;
  model.sources = read_sources(root);
  return model;
}

}  // namespace hysim::model
