#include "predict/megatron/model.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "config/words.h"
#include "predict/megatron/pattern.h"

namespace hysim::predictor {

namespace {

using config::Node;
using model::AttentionKind;
using model::FfnKind;
using model::IndexRole;
using model::LayerSpec;
using model::Transformer;

constexpr std::int64_t kDefaultPositions = std::int64_t{1} << 17;

Node text(std::string_view value) { return Node::string(std::string(value)); }

/// Megatron's default width: 4 x hidden, or with SwiGLU two thirds of it in steps of 64.
std::int64_t default_ffn(std::int64_t hidden, bool swiglu) {
  return swiglu ? 4 * hidden * 2 / 3 / 64 * 64 : 4 * hidden;
}

/// Words "sparse" and "dense", one a layer, of --moe-layer-freq.
Node layer_types(MegatronLookup& lookup, std::int64_t layers) {
  const std::string written = lookup.text("moe-layer-freq", "1");
  const auto flags = parse_layer_frequency(written, layers);
  if (!flags) {
    lookup.fault("moe-layer-freq", "--moe-layer-freq must be a number or a list of 0 and 1 for " +
                                       std::to_string(layers) +
                                       " layers such as ([0]*3+[1]*58), found " +
                                       config::in_quotes(written));
    return Node::array();
  }
  Node::Array types;
  for (const bool moe : *flags) types.push_back(text(moe ? "sparse" : "dense"));
  return Node::array(std::move(types));
}

bool all_sparse(const Node& types) {
  return std::all_of(types.as_array().begin(), types.as_array().end(),
                     [](const Node& word) { return word.as_string() == "sparse"; });
}

/// Writes what all families share and asks for the rest once.
class ConfigWriter {
 public:
  ConfigWriter(MegatronLookup& lookup, std::int64_t vocab) : lookup_(lookup), vocab_(vocab) {}

  Node write() {
    read_shape();
    if (!lookup_.faults().empty()) return {};
    if (mla_) {
      write_mla();
    } else if (learned_) {
      write_gpt2();
    } else {
      write_gqa();
    }
    return lookup_.faults().empty() ? std::move(config_) : Node();
  }

 private:
  void set(std::string_view key, std::int64_t value) { config_.set(key, Node::integer(value)); }
  void set(std::string_view key, bool value) { config_.set(key, Node::boolean(value)); }
  void set(std::string_view key, const char* value) { config_.set(key, text(value)); }

  void need(std::string_view name) {
    if (lookup_.given(name)) return;
    lookup_.fault(name, "--" + std::string(name) +
                            " is needed to know the model; name a bundled "
                            "one instead with --model");
  }

  void read_shape() {
    for (const std::string_view name : {"num-layers", "hidden-size", "num-attention-heads"}) {
      need(name);
    }
    layers_ = lookup_.integer("num-layers", 1);
    hidden_ = lookup_.integer("hidden-size", 1);
    heads_ = lookup_.integer("num-attention-heads", 1);
    if (layers_ > 1024) lookup_.fault("num-layers", "--num-layers must be at most 1024");
    swiglu_ = lookup_.flag("swiglu");
    // Megatron-LM's YAML and Bridge name the activation instead.
    const std::string activation = lookup_.text("activation-func", swiglu_ ? "swiglu" : "gelu");
    swiglu_ = swiglu_ || activation == "swiglu" || activation == "silu";
    ffn_ = lookup_.integer("ffn-hidden-size", default_ffn(hidden_, swiglu_));
    biases_ = !lookup_.flag("disable-bias-linear");
    qkv_bias_ = lookup_.flag("add-qkv-bias");
    qk_norm_ = lookup_.flag("qk-layernorm");
    learned_ = lookup_.text("position-embedding-type", "learned_absolute") == "learned_absolute";
    layer_norm_ = lookup_.text("normalization", "LayerNorm") == "LayerNorm";
    mla_ = lookup_.flag("multi-latent-attention");
    moe_ = lookup_.given("num-experts");
    set("hidden_size", hidden_);
    set("num_hidden_layers", layers_);
    set("num_attention_heads", heads_);
    set("intermediate_size", ffn_);
    set("vocab_size", lookup_.integer("vocab-size", vocab_));
    set("max_position_embeddings",
        lookup_.integer("max-position-embeddings",
                        std::max(kDefaultPositions, lookup_.integer("seq-length", 1))));
    set("tie_word_embeddings", !lookup_.flag("untie-embeddings-and-output-weights"));
    const std::int64_t mtp = lookup_.integer("mtp-num-layers", 0, 0);
    if (mtp > 0) set("num_nextn_predict_layers", mtp);
  }

  void write_gpt2() {
    if (moe_ || lookup_.flag("group-query-attention") || swiglu_ || !biases_ || !layer_norm_) {
      lookup_.fault(
          "position-embedding-type",
          "learned positions (Megatron's default) are modelled with biases, LayerNorm, "
          "GELU and full heads only, as GPT-3; was --position-embedding-type rope meant?");
    }
    if (lookup_.integer("kv-channels", hidden_ / heads_) * heads_ != hidden_) {
      lookup_.fault("kv-channels", "heads of a GPT-3 must add up to its hidden size");
    }
    set("model_type", "gpt2");
    set("num_key_value_heads", heads_);
    set("hidden_act", "gelu");
  }

  void write_experts(bool deepseek) {
    types_ = layer_types(lookup_, layers_);
    const std::int64_t expert_ffn = lookup_.integer("moe-ffn-hidden-size", ffn_);
    set(deepseek ? "n_routed_experts" : "num_experts", lookup_.integer("num-experts", 1));
    set("num_experts_per_tok", lookup_.integer("moe-router-topk", 2));
    set("moe_intermediate_size", expert_ffn);
    config_.set("mlp_layer_types", types_);
    const std::int64_t shared = lookup_.integer("moe-shared-expert-intermediate-size", 0, 0);
    if (deepseek) {
      if (shared % expert_ffn != 0) {
        lookup_.fault("moe-shared-expert-intermediate-size",
                      "shared experts of " + std::to_string(shared) +
                          " are no multiple of the experts' " + std::to_string(expert_ffn));
      }
      set("n_shared_experts", shared / expert_ffn);
      set("n_group", lookup_.integer("moe-router-num-groups", 1));
      set("topk_group", lookup_.integer("moe-router-group-topk", 1));
      set("topk_method", "noaux_tc");
    } else if (shared > 0 && !qkv_bias_) {
      lookup_.fault("moe-shared-expert-intermediate-size",
                    "shared experts beside grouped-query attention are modelled as Qwen2-MoE has "
                    "them only, with --add-qkv-bias");
    } else if (shared > 0) {
      set("shared_expert_intermediate_size", shared);
    }
  }

  void write_mla() {
    if (!moe_) {
      lookup_.fault("multi-latent-attention",
                    "latent attention is modelled in models with experts only");
      return;
    }
    if (!swiglu_) lookup_.fault("multi-latent-attention", "experts without --swiglu");
    write_experts(true);
    // Defaults of MLATransformerConfig.
    const std::int64_t q_rank = lookup_.integer("q-lora-rank", 0, 0);
    if (q_rank > 0) set("q_lora_rank", q_rank);
    set("kv_lora_rank", lookup_.integer("kv-lora-rank", 32));
    set("qk_nope_head_dim", lookup_.integer("qk-head-dim", 128));
    set("qk_rope_head_dim", lookup_.integer("qk-pos-emb-head-dim", 64, 0));
    set("v_head_dim", lookup_.integer("v-head-dim", 128));
    lookup_.integer("kv-channels", 1);  // set by the dimensions above
    const std::string variant = lookup_.text("experimental-attention-variant", "");
    if (variant.empty()) {
      set("model_type", "deepseek_v3");
    } else if (variant == "dsa") {
      set("model_type", "deepseek_v32");
      for (const std::string_view name :
           {"dsa-indexer-n-heads", "dsa-indexer-head-dim", "dsa-indexer-topk"}) {
        need(name);
      }
      set("index_n_heads", lookup_.integer("dsa-indexer-n-heads", 1));
      set("index_head_dim", lookup_.integer("dsa-indexer-head-dim", 1));
      set("index_topk", lookup_.integer("dsa-indexer-topk", 1));
      set("index_topk_freq", lookup_.integer("dsa-indexer-topk-freq", 1));
      set("index_skip_topk_offset", lookup_.integer("dsa-indexer-skip-topk-offset", 0, 0));
    } else {
      lookup_.fault("experimental-attention-variant",
                    "attention " + config::in_quotes(variant) + " cannot be modelled yet");
    }
  }

  void write_gqa() {
    if (!swiglu_) {
      lookup_.fault("num-layers", "a model with rotary positions is modelled with --swiglu only");
    }
    if (layer_norm_) {
      lookup_.not_modelled("normalization", "LayerNorm is priced as RMSNorm");
    }
    if (biases_ && lookup_.given("num-layers")) {
      lookup_.note("num-layers", "model; biases of linear layers are not counted");
    }
    const bool grouped = lookup_.flag("group-query-attention") || lookup_.given("num-query-groups");
    const std::int64_t groups = lookup_.integer("num-query-groups", heads_);
    set("num_key_value_heads", grouped ? groups : heads_);
    const std::int64_t head_dim =
        lookup_.integer("kv-channels", std::max<std::int64_t>(1, hidden_ / heads_));
    set("head_dim", head_dim);
    if (moe_) write_experts(false);
    if (qkv_bias_) {
      set("model_type", moe_ ? "qwen2_moe" : "qwen2");
      if (moe_ && config_.find("shared_expert_intermediate_size") == nullptr) {
        set("shared_expert_intermediate_size", std::int64_t{0});
      }
    } else if (qk_norm_) {
      set("model_type", moe_ ? "qwen3_moe" : "qwen3");
    } else if (!moe_) {
      set("model_type", "llama");
    } else if (all_sparse(types_)) {
      set("model_type", "mixtral");
      // Mixtral's experts are as wide as its intermediate_size.
      set("intermediate_size", config_.find("moe_intermediate_size")->as_integer());
    } else {
      lookup_.fault("moe-layer-freq",
                    "dense layers between experts are modelled with --qk-layernorm, "
                    "--add-qkv-bias or --multi-latent-attention only");
    }
  }

  MegatronLookup& lookup_;
  std::int64_t vocab_;
  Node config_ = Node::object();
  Node types_ = Node::array();
  std::int64_t layers_ = 1, hidden_ = 1, heads_ = 1, ffn_ = 1;
  bool swiglu_ = false, biases_ = false, qkv_bias_ = false, qk_norm_ = false, layer_norm_ = false,
       mla_ = false, moe_ = false, learned_ = false;
};

/// The period and offset of index sharing, or nothing when no pair makes the pattern.
std::optional<std::pair<std::int64_t, std::int64_t>> sharing(const Transformer& m) {
  const auto layers = static_cast<std::int64_t>(m.layers.size());
  const auto fits = [&](std::int64_t freq, std::int64_t offset) {
    for (std::int64_t i = 0; i < layers; ++i) {
      const bool computes = std::max<std::int64_t>(i - offset + 1, 0) % freq == 0;
      const bool found = m.layers[static_cast<std::size_t>(i)].index == IndexRole::computes;
      if (computes != found) return false;
    }
    return true;
  };
  for (std::int64_t freq = 1; freq <= layers; ++freq) {
    for (std::int64_t offset = 0; offset <= freq; ++offset) {
      if (fits(freq, offset)) return std::pair(freq, offset);
    }
  }
  return std::nullopt;
}

/// "([0]*3+[1]*58)"
std::string layer_frequency(const Transformer& m) {
  std::string text;
  for (std::size_t i = 0; i < m.layers.size();) {
    const FfnKind kind = m.layers[i].ffn;
    std::size_t end = i;
    while (end < m.layers.size() && m.layers[end].ffn == kind) ++end;
    text += (text.empty() ? "" : "+") + std::string(kind == FfnKind::moe ? "[1]*" : "[0]*") +
            std::to_string(end - i);
    i = end;
  }
  return "(" + text + ")";
}

class ArgumentWriter {
 public:
  explicit ArgumentWriter(const Transformer& m) : m_(m) {}

  MegatronModel write() {
    add("num-layers", static_cast<std::int64_t>(m_.layers.size()));
    add("hidden-size", m_.hidden);
    add("ffn-hidden-size", m_.dense_ffn);
    add("num-attention-heads", m_.attention.num_heads);
    add("vocab-size", m_.vocab);
    add("max-position-embeddings", m_.max_positions);
    add("position-embedding-type", m_.learned_positions ? "learned_absolute" : "rope");
    add("normalization", m_.norm_bias ? "LayerNorm" : "RMSNorm");
    if (m_.gated_ffn) add("swiglu");
    if (!m_.ffn_bias) add("disable-bias-linear");
    if (m_.attention.qkv_bias && !m_.norm_bias) add("add-qkv-bias");
    if (!m_.tied_embedding) add("untie-embeddings-and-output-weights");
    if (m_.attention.sliding_window > 0) {
      result_.unexpressed.push_back("a sliding window of " +
                                    std::to_string(m_.attention.sliding_window) + " tokens");
    }
    write_attention();
    write_experts();
    return std::move(result_);
  }

 private:
  void add(std::string name) { result_.arguments.push_back({std::move(name), {}, {}, "", 0}); }
  void add(std::string name, std::string value) {
    result_.arguments.push_back({std::move(name), {std::move(value)}, {}, "", 0});
  }
  void add(std::string name, std::int64_t value) { add(std::move(name), std::to_string(value)); }

  void write_attention() {
    const model::Attention& a = m_.attention;
    const AttentionKind kind = m_.layers.front().attention;
    if (kind == AttentionKind::gqa) {
      if (a.num_kv_heads != a.num_heads) {
        add("group-query-attention");
        add("num-query-groups", a.num_kv_heads);
      }
      add("kv-channels", a.head_dim);
      if (a.qk_norm) add("qk-layernorm");
      return;
    }
    add("multi-latent-attention");
    add("qk-layernorm");
    if (a.q_lora_rank > 0) add("q-lora-rank", a.q_lora_rank);
    add("kv-lora-rank", a.kv_lora_rank);
    add("qk-head-dim", a.qk_nope_head_dim);
    add("qk-pos-emb-head-dim", a.qk_rope_head_dim);
    add("v-head-dim", a.v_head_dim);
    if (kind != AttentionKind::dsa) return;
    add("experimental-attention-variant", "dsa");
    add("dsa-indexer-n-heads", m_.indexer.num_heads);
    add("dsa-indexer-head-dim", m_.indexer.head_dim);
    add("dsa-indexer-topk", m_.indexer.top_k);
    if (const auto shared = sharing(m_); !shared) {
      result_.unexpressed.emplace_back("layers share indices in no period");
    } else if (shared->first > 1) {
      add("dsa-indexer-topk-freq", shared->first);
      add("dsa-indexer-skip-topk-offset", shared->second);
    }
  }

  void write_experts() {
    const model::Moe& moe = m_.moe;
    if (moe.num_experts == 0) return;
    add("num-experts", moe.num_experts);
    add("moe-layer-freq", layer_frequency(m_));
    add("moe-ffn-hidden-size", moe.expert_ffn);
    add("moe-router-topk", moe.experts_per_token);
    if (moe.shared_ffn > 0) add("moe-shared-expert-intermediate-size", moe.shared_ffn);
    if (moe.shared_gate) add("moe-shared-expert-gate");
    if (moe.groups > 1) {
      add("moe-router-num-groups", moe.groups);
      add("moe-router-group-topk", moe.groups_picked);
    }
    add("moe-grouped-gemm");
  }

  const Transformer& m_;
  MegatronModel result_;
};

}  // namespace

MegatronModel megatron_model(const Transformer& model) { return ArgumentWriter(model).write(); }

Node huggingface_config(MegatronLookup& lookup, std::int64_t vocab) {
  return ConfigWriter(lookup, vocab).write();
}

bool same_architecture(const Transformer& a, const Transformer& b, bool vocab) {
  const auto attention = [](const model::Attention& x) {
    return std::tuple(x.num_heads, x.num_kv_heads, x.head_dim, x.q_lora_rank, x.kv_lora_rank,
                      x.qk_nope_head_dim, x.qk_rope_head_dim, x.v_head_dim, x.qkv_bias, x.out_bias,
                      x.qk_norm, x.sliding_window);
  };
  const auto indexer = [](const model::Indexer& x) {
    return std::tuple(x.num_heads, x.head_dim, x.top_k);
  };
  const auto moe = [](const model::Moe& x) {
    return std::tuple(x.num_experts, x.experts_per_token, x.expert_ffn, x.shared_ffn, x.shared_gate,
                      x.groups, x.groups_picked);
  };
  const auto rest = [](const Transformer& x) {
    return std::tuple(x.hidden, x.gated_ffn, x.ffn_bias, x.norm_bias, x.learned_positions,
                      x.tied_embedding);
  };
  // The dense width means nothing where every layer holds experts.
  const bool dense = std::any_of(a.layers.begin(), a.layers.end(), [](const LayerSpec& layer) {
    return layer.ffn == FfnKind::dense;
  });
  return attention(a.attention) == attention(b.attention) &&
         indexer(a.indexer) == indexer(b.indexer) && moe(a.moe) == moe(b.moe) &&
         rest(a) == rest(b) && a.layers == b.layers && (!dense || a.dense_ffn == b.dense_ffn) &&
         (!vocab || a.vocab == b.vocab);
}

}  // namespace hysim::predictor
