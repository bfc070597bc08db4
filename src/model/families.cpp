// The table of model_types: those this release can model, and what the others would need.
// Wrong when a vendor ships another architecture under a known model_type.
#include "model/families.h"

#include <array>
#include <utility>
#include <vector>

#include "config/reader.h"
#include "config/words.h"

namespace hysim::model {
namespace {

using config::in_quotes;

using enum AttentionKind;
using enum FfnPattern;
using enum AttentionBias;
using enum Window;
constexpr bool kQkNorm = true;

constexpr std::array kFamilies = {
    Family{"deepseek_v2", mla, leading_dense, by_key, ignored},
    Family{"deepseek_v3", mla, leading_dense, by_key, ignored},
    Family{"deepseek_v32", dsa, leading_dense, by_key, ignored},
    Family{"glm_moe_dsa", dsa, leading_dense, by_key, ignored},
    Family{"gpt2", gqa, dense, everywhere, ignored},
    Family{"kimi_k2", mla, leading_dense, by_key, ignored},
    Family{"llama", gqa, dense, by_key, ignored},
    Family{"mistral", gqa, dense, none, when_given},
    Family{"mixtral", gqa, moe, none, when_given},
    Family{"qwen2", gqa, dense, qkv, by_flag},
    Family{"qwen2_moe", gqa, sparse_step, qkv, by_flag},
    Family{"qwen3", gqa, dense, by_key, by_flag, kQkNorm},
    Family{"qwen3_moe", gqa, sparse_step, by_key, by_flag, kQkNorm},
};

struct Refused {
  std::string_view word;
  std::string_view needs;
};

constexpr std::string_view kGdn = "GDN linear attention";
constexpr std::string_view kQwen4 =
    "GDN linear attention, QSA attention, gated residuals and n-gram tables";

constexpr std::array kRefusedTypes = {
    Refused{"deepseek_v4", "CSA and HCA attention and mHC residuals"},
    Refused{"deepseek_v41", "CSA attention, mHC residuals and n-gram tables"},
    Refused{"glm5_next", "KDA linear attention, DSA over pooled index keys and mHC residuals"},
    Refused{"kimi_k3", "KDA linear attention"},
    Refused{"kimi_linear", "KDA linear attention"},
    Refused{"longcat_flash", "layers of two attentions and zero-computation experts"},
    Refused{"minicpm", "InfLLM-v2 attention"},
    Refused{"minimax_m3", "MSA attention"},
    Refused{"minimax_m3_vl", "MSA attention"},
    Refused{"qwen3_5", kGdn},
    Refused{"qwen3_5_moe", kGdn},
    Refused{"qwen3_5_moe_text", kGdn},
    Refused{"qwen3_5_text", kGdn},
    Refused{"qwen3_next", kGdn},
    Refused{"qwen4_exp", kQwen4},
    Refused{"qwen4_exp_text", kQwen4},
};

// Keys that ask for a block kind under whatever model_type.
constexpr std::array kRefusedKeys = {
    Refused{"compress_ratios", "CSA and HCA attention"},
    Refused{"engram_layer_ids", "n-gram tables"},
    Refused{"hc_count", "gated residuals"},
    Refused{"hc_mult", "mHC residuals"},
    Refused{"index_kpool", "DSA over pooled index keys"},
    Refused{"indexer_compress_ratio", "QSA attention"},
    Refused{"linear_attn_config", "KDA linear attention"},
    Refused{"linear_num_value_heads", kGdn},
    Refused{"mhc", "mHC residuals"},
    Refused{"ple_layer_ids", "n-gram tables"},
    Refused{"sparse_attention_config", "MSA attention"},
    Refused{"sparse_config", "InfLLM-v2 attention"},
    Refused{"zero_expert_num", "zero-computation experts"},
};

bool switched_off(const config::Node& value) {
  if (value.is_null()) return true;
  if (value.is_boolean()) return !value.as_boolean();
  if (value.is_integer()) return value.as_integer() == 0;
  if (value.is_array()) return value.as_array().empty();
  return value.is_object() && value.as_object().empty();
}

}  // namespace

const Family* find_family(std::string_view model_type) {
  for (const Family& family : kFamilies) {
    if (family.model_type == model_type) return &family;
  }
  return nullptr;
}

std::string supported_model_types() {
  std::string words;
  for (const Family& family : kFamilies) {
    if (!words.empty()) words.append(", ");
    words.append(family.model_type);
  }
  return words;
}

std::string refusal(std::string_view model_type) {
  std::vector<std::string> candidates;
  for (const Refused& refused : kRefusedTypes) {
    if (refused.word == model_type) {
      std::string message(model_type);
      message.append(" needs ").append(refused.needs);
      message.append(", which this release cannot model yet; supported model_types: ");
      return message.append(supported_model_types());
    }
    candidates.emplace_back(refused.word);
  }
  for (const Family& family : kFamilies) candidates.emplace_back(family.model_type);
  std::string message = "unknown model_type " + in_quotes(model_type) + "; ";
  const std::string near = config::nearest(model_type, candidates);
  if (!near.empty()) message.append("did you mean ").append(in_quotes(near)).append("? ");
  return message.append("supported model_types: ").append(supported_model_types());
}

std::string_view refused_block(std::string_view key, const config::Node& value) {
  for (const Refused& refused : kRefusedKeys) {
    if (refused.word == key) return switched_off(value) ? std::string_view() : refused.needs;
  }
  return {};
}

}  // namespace hysim::model
