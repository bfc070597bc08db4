// Reads the layer pattern of a config from its rules and its per-layer lists.
// A list and a rule that are both given must agree: loaders differ in which one they follow.
#include "model/pattern.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "config/words.h"

namespace hysim::model {
namespace {

using config::in_quotes;

constexpr std::int64_t kMaxPeriod = 1024;
constexpr std::int64_t kMaxTokens = std::int64_t{1} << 40;

using Flags = std::vector<bool>;

std::string found(const config::Node& node) {
  return node.is_string() ? in_quotes(node.as_string()) : std::string(node.kind_name());
}

/// Faults unless `key` is a list with one element a layer.
bool is_layer_list(Keys& keys, std::string_view key, std::int64_t layers) {
  const config::Node& list = *keys.value(key);
  if (!list.is_array()) {
    keys.fault(key,
               in_quotes(key) + " must be a list with one element a layer, found " + found(list));
    return false;
  }
  const std::size_t size = list.as_array().size();
  if (size == static_cast<std::size_t>(layers)) return true;
  keys.fault(key, in_quotes(key) + " lists " + std::to_string(size) +
                      " layers, but the model has " + std::to_string(layers));
  return false;
}

/// A list of `yes` and `no`, one a layer; nothing when absent or faulty.
std::optional<Flags> read_words(Keys& keys, std::string_view key, std::int64_t layers,
                                std::string_view yes, std::string_view no) {
  if (!keys.given(key) || !is_layer_list(keys, key, layers)) return std::nullopt;
  const auto& list = keys.value(key)->as_array();
  Flags flags;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string_view word = list[i].is_string() ? list[i].as_string() : std::string_view();
    if (word != yes && word != no) {
      keys.fault(
          key, i,
          "must be " + in_quotes(yes) + " or " + in_quotes(no) + ", found " + found(list[i]));
      return std::nullopt;
    }
    flags.push_back(word == yes);
  }
  return flags;
}

/// A list of 0 and 1, one a layer; nothing when faulty.
std::optional<Flags> read_bits(Keys& keys, std::string_view key, std::int64_t layers) {
  if (!is_layer_list(keys, key, layers)) return std::nullopt;
  const auto& list = keys.value(key)->as_array();
  Flags flags;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::int64_t bit = list[i].is_integer() ? list[i].as_integer() : -1;
    if (bit != 0 && bit != 1) {
      keys.fault(key, i, "must be 0 or 1, found " + found(list[i]));
      return std::nullopt;
    }
    flags.push_back(bit == 1);
  }
  return flags;
}

/// Faults at the first layer where `list` differs from `rule`.
void check_agreement(Keys& keys, std::string_view key, const Flags& list, const Flags& rule,
                     std::string_view rule_name) {
  const auto at = std::mismatch(list.begin(), list.end(), rule.begin(), rule.end()).first;
  if (at == list.end()) return;
  const auto layer = static_cast<std::size_t>(at - list.begin());
  std::string message = "layer " + std::to_string(layer) + " disagrees with ";
  keys.fault(key, layer, message.append(rule_name));
}

/// "FSSF": F computes, S shares.
std::optional<Flags> read_letters(Keys& keys, std::string_view key, std::int64_t layers) {
  const config::Node& value = *keys.value(key);
  const std::string letters = value.is_string() ? value.as_string() : "";
  if (letters.size() != static_cast<std::size_t>(layers) ||
      letters.find_first_not_of("FS") != std::string::npos) {
    keys.fault(key, in_quotes(key) + " must be one letter F (full) or S (shared) a layer");
    return std::nullopt;
  }
  Flags flags;
  for (const char letter : letters) flags.push_back(letter == 'F');
  return flags;
}

/// IndexShare: layer i computes its own top-k iff max(i - offset + 1, 0) % freq == 0.
Flags computing_layers(Keys& keys, std::int64_t layers) {
  const std::int64_t freq =
      std::max<std::int64_t>(keys.optional({"index_topk_freq"}, 1, 0, kMaxPeriod), 1);
  const std::int64_t offset = keys.optional({"index_skip_topk_offset"}, 2, 0, kMaxPeriod);
  Flags flags;
  for (std::int64_t i = 0; i < layers; ++i) {
    flags.push_back(std::max<std::int64_t>(i - offset + 1, 0) % freq == 0);
  }

  constexpr std::string_view kTypes = "indexer_types";
  constexpr std::string_view kPattern = "index_topk_pattern";
  std::optional<Flags> listed = read_words(keys, kTypes, layers, "full", "shared");
  if (listed && keys.given("index_topk_freq")) {
    check_agreement(keys, kTypes, *listed, flags, "index_topk_freq and index_skip_topk_offset");
  }
  if (!keys.given(kTypes) && keys.given(kPattern)) {
    listed = keys.value(kPattern)->is_array() ? read_words(keys, kPattern, layers, "full", "shared")
                                              : read_letters(keys, kPattern, layers);
    if (listed && keys.given("index_topk_freq") && *listed != flags) {
      keys.fault(kPattern, in_quotes(kPattern) +
                               " disagrees with index_topk_freq and index_skip_topk_offset");
    }
  }
  if (listed) flags = std::move(*listed);
  if (!flags.front()) {
    keys.fault(keys.given(kTypes) ? kTypes : kPattern,
               "the first layer must compute its indices: no earlier layer has any to share");
  }
  return flags;
}

/// Qwen: layer i holds experts iff (i + 1) % decoder_sparse_step == 0 and it is not excepted.
Flags sparse_step_layers(Keys& keys, std::int64_t layers) {
  const std::int64_t step = keys.optional({"decoder_sparse_step"}, 1, 1, kMaxPeriod);
  Flags flags;
  for (std::int64_t i = 0; i < layers; ++i) flags.push_back((i + 1) % step == 0);
  constexpr std::string_view kOnly = "mlp_only_layers";
  if (!keys.given(kOnly)) return flags;
  if (!keys.value(kOnly)->is_array()) {
    keys.fault(kOnly, in_quotes(kOnly) + " must be a list of layer numbers, found " +
                          found(*keys.value(kOnly)));
    return flags;
  }
  const auto& list = keys.value(kOnly)->as_array();
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::int64_t layer = list[i].is_integer() ? list[i].as_integer() : -1;
    if (layer < 0 || layer >= layers) {
      keys.fault(kOnly, i, "must be a layer from 0 to " + std::to_string(layers - 1));
    } else {
      flags[static_cast<std::size_t>(layer)] = false;
    }
  }
  return flags;
}

/// DeepSeek: layer i holds experts iff i >= first_k_dense_replace and i % moe_layer_freq == 0.
Flags leading_dense_layers(Keys& keys, std::int64_t layers) {
  const std::int64_t first = keys.required({"first_k_dense_replace"}, 0, layers);
  constexpr std::string_view kFreq = "moe_layer_freq";
  const bool listed = keys.given(kFreq) && keys.value(kFreq)->is_array();
  const std::int64_t freq = listed ? 1 : keys.optional({kFreq}, 1, 1, kMaxPeriod);
  Flags flags;
  for (std::int64_t i = 0; i < layers; ++i) flags.push_back(i >= first && i % freq == 0);
  if (!listed) return flags;
  const std::optional<Flags> bits = read_bits(keys, kFreq, layers);
  if (!bits) return flags;
  check_agreement(keys, kFreq, *bits, flags, "first_k_dense_replace");
  return *bits;
}

Flags moe_layers(Keys& keys, FfnPattern pattern, std::int64_t layers) {
  const auto size = static_cast<std::size_t>(layers);
  if (pattern == FfnPattern::dense) return Flags(size, false);
  if (pattern == FfnPattern::moe) return Flags(size, true);

  constexpr std::string_view kTypes = "mlp_layer_types";
  const std::optional<Flags> listed = read_words(keys, kTypes, layers, "sparse", "dense");
  if (pattern == FfnPattern::sparse_step) {
    const bool ruled = keys.given("decoder_sparse_step") || keys.given("mlp_only_layers");
    if (listed && !ruled) return *listed;
    const Flags flags = sparse_step_layers(keys, layers);
    if (listed) {
      check_agreement(keys, kTypes, *listed, flags, "decoder_sparse_step and mlp_only_layers");
    }
    return flags;
  }
  if (listed && !keys.given("first_k_dense_replace")) return *listed;
  const Flags flags = leading_dense_layers(keys, layers);
  if (listed) check_agreement(keys, kTypes, *listed, flags, "first_k_dense_replace");
  return flags;
}

/// Which layers a layer_types list gives a sliding window; nothing when absent or faulty.
std::optional<Flags> listed_windows(Keys& keys, const Family& family, std::int64_t layers) {
  constexpr std::string_view kTypes = "layer_types";
  if (!keys.given(kTypes) || !is_layer_list(keys, kTypes, layers)) return std::nullopt;
  const auto& list = keys.value(kTypes)->as_array();
  Flags flags;
  bool known = true;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string_view word = list[i].is_string() ? list[i].as_string() : std::string_view();
    const bool sliding = word == "sliding_attention" && family.window != Window::ignored;
    const bool sparse =
        word == "deepseek_sparse_attention" && family.attention == AttentionKind::dsa;
    const bool full = word == "full_attention" && family.attention != AttentionKind::dsa;
    if (known && !sliding && !sparse && !full) {
      known = false;
      std::string message = "layer " + std::to_string(i) + " is " + found(list[i]) +
                            ", which this release cannot model in ";
      keys.fault(kTypes, i, message.append(family.model_type));
    }
    flags.push_back(sliding);
  }
  return known ? std::optional<Flags>(std::move(flags)) : std::nullopt;
}

}  // namespace

std::string to_string(const LayerSpec& layer) {
  std::string text;
  switch (layer.attention) {
    case AttentionKind::gqa:
      text = "gqa";
      break;
    case AttentionKind::mla:
      text = "mla";
      break;
    case AttentionKind::dsa:
      text = layer.index == IndexRole::shared ? "dsa-shared" : "dsa";
      break;
  }
  return text + (layer.ffn == FfnKind::moe ? "+moe" : "+dense");
}

std::vector<LayerSpec> read_layers(Keys& keys, const Family& family, std::int64_t layers) {
  const Flags moe = moe_layers(keys, family.ffn, layers);
  std::vector<LayerSpec> pattern(static_cast<std::size_t>(layers));
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    pattern[i].attention = family.attention;
    pattern[i].ffn = moe[i] ? FfnKind::moe : FfnKind::dense;
  }
  if (family.attention != AttentionKind::dsa) return pattern;
  const Flags computes = computing_layers(keys, layers);
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    pattern[i].index = computes[i] ? IndexRole::computes : IndexRole::shared;
  }
  return pattern;
}

std::int64_t read_window(Keys& keys, const Family& family, std::int64_t layers) {
  const std::optional<Flags> listed = listed_windows(keys, family, layers);
  if (family.window == Window::ignored) return 0;
  const bool by_flag = family.window == Window::by_flag;
  const bool on = !by_flag || keys.boolean({"use_sliding_window"}, false);
  const std::int64_t width = on ? keys.optional({"sliding_window"}, 0, 0, kMaxTokens) : 0;

  // How many layers use the window: those listed, else those from max_window_layers on.
  std::int64_t windowed = layers;
  if (listed) {
    windowed = std::count(listed->begin(), listed->end(), true);
    if (windowed > 0 && width == 0) {
      keys.fault("layer_types", "some layers are sliding_attention, but no sliding_window is set");
      return 0;
    }
  } else if (by_flag && width > 0) {
    const std::int64_t first = keys.required({"max_window_layers"}, 0, kMaxPeriod);
    windowed = std::max<std::int64_t>(layers - first, 0);
  }
  if (width == 0 || windowed == 0) return 0;
  if (windowed < layers) {
    keys.fault(listed ? "layer_types" : "max_window_layers",
               "a sliding window in " + std::to_string(windowed) + " of " + std::to_string(layers) +
                   " layers cannot be modelled yet: all of them or none");
  }
  return width;
}

}  // namespace hysim::model
