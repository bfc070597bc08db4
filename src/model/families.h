// What a model_type of a Hugging Face config says about its layers, and which are refused.
#pragma once

#include <string>
#include <string_view>

#include "config/node.h"
#include "model/transformer.h"

namespace hysim::model {

/// Which layers hold experts.
enum class FfnPattern {
  dense,          // none
  moe,            // every layer
  sparse_step,    // every decoder_sparse_step-th, but none of mlp_only_layers
  leading_dense,  // all but the first first_k_dense_replace
};

/// Which attention projections have a bias.
enum class AttentionBias {
  none,
  by_key,      // all that attention_bias covers, when it is true
  qkv,         // queries, keys and values unless a key says otherwise
  everywhere,  // these and the output
};

/// When the key sliding_window counts.
enum class Window { ignored, when_given, by_flag };

struct Family {
  std::string_view model_type;
  AttentionKind attention = AttentionKind::gqa;
  FfnPattern ffn = FfnPattern::dense;
  AttentionBias bias = AttentionBias::none;
  Window window = Window::ignored;
  bool qk_norm = false;
};

/// The family of a supported model_type, or null.
const Family* find_family(std::string_view model_type);
/// "deepseek_v2, deepseek_v3, ..."
std::string supported_model_types();
/// Why `model_type` cannot be modelled: the block kinds it needs, or the nearest known name.
std::string refusal(std::string_view model_type);
/// The block kind that `key` with this value asks for and that cannot be modelled, or "".
std::string_view refused_block(std::string_view key, const config::Node& value);

}  // namespace hysim::model
