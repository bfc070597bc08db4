// The layer pattern: IndexShare, expert layers, sliding windows.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "hysim/errors.h"
#include "unit/model/model_files.h"

namespace hysim {
namespace {

using config::Node;
using model::FfnKind;
using model::IndexRole;
using model::Transformer;

std::vector<int> computing(const Transformer& model) {
  std::vector<int> ids;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if (model.layers[i].index == IndexRole::computes) ids.push_back(static_cast<int>(i));
  }
  return ids;
}

std::vector<int> expert_layers(const Transformer& model) {
  std::vector<int> ids;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if (model.layers[i].ffn == FfnKind::moe) ids.push_back(static_cast<int>(i));
  }
  return ids;
}

Node words(const std::vector<std::string>& list) {
  Node::Array items;
  for (const std::string& word : list) items.push_back(Node::string(word));
  return Node::array(std::move(items));
}

Node numbers(const std::vector<std::int64_t>& list) {
  Node::Array items;
  for (const std::int64_t number : list) items.push_back(Node::integer(number));
  return Node::array(std::move(items));
}

/// A bundled config cut to six layers.
Node six_layers(const std::string& name) {
  Node config = test::bundled_config(name);
  config.set("num_hidden_layers", Node::integer(6));
  config.erase("indexer_types");
  return config;
}

std::string fault_of(const Node& config) {
  try {
    test::parsed(config);
  } catch (const InputError& error) {
    return error.diagnostics().front().pointer + ": " + error.diagnostics().front().message;
  }
  return "";
}

TEST(LayerPattern, Glm52ComputesIndicesIn21Layers) {
  const std::vector<int> ids = {0,  1,  2,  6,  10, 14, 18, 22, 26, 30, 34,
                                38, 42, 46, 50, 54, 58, 62, 66, 70, 74};
  EXPECT_EQ(computing(test::bundled("glm-5.2")), ids);
  Node by_rule = test::bundled_config("glm-5.2");
  by_rule.erase("indexer_types");
  EXPECT_EQ(computing(test::parsed(by_rule)), ids);
  Node by_list = test::bundled_config("glm-5.2");
  by_list.erase("index_topk_freq");
  by_list.erase("index_skip_topk_offset");
  EXPECT_EQ(computing(test::parsed(by_list)), ids);
}

TEST(LayerPattern, EveryLayerOfGlm51AndDeepSeekV32ComputesIndices) {
  EXPECT_EQ(computing(test::bundled("glm-5.1")).size(), 78U);
  EXPECT_EQ(computing(test::bundled("deepseek-v3.2")).size(), 61U);
  EXPECT_TRUE(computing(test::bundled("deepseek-v3")).empty());
}

TEST(LayerPattern, SharingLayersHaveNoIndexer) {
  const Transformer model = test::bundled("glm-5.2");
  EXPECT_EQ(to_string(model.layers[6]), "dsa+moe");
  EXPECT_EQ(to_string(model.layers[7]), "dsa-shared+moe");
  const auto computes = model::count(layer_tensors(model, model.layers[6]), model);
  const auto shares = model::count(layer_tensors(model, model.layers[7]), model);
  EXPECT_EQ(computes.indexer, 9'371'904);
  EXPECT_EQ(shares.indexer, 0);
  EXPECT_EQ(computes.total - shares.total, 9'371'904);
  EXPECT_EQ(model::total_parameters(model).total,
            model::total_parameters(test::bundled("glm-5.1")).total - 57 * 9'371'904);
}

// The last layer of GLM-5.2 shares, but its MTP layer has an indexer of its own.
TEST(LayerPattern, MtpLayerComputesItsOwnIndices) {
  const Transformer model = test::bundled("glm-5.2");
  EXPECT_EQ(to_string(model.layers.back()), "dsa-shared+moe");
  EXPECT_EQ(to_string(model::mtp_layer(model)), "dsa+moe");
  const Transformer v3 = test::bundled("deepseek-v3");
  EXPECT_EQ(model::mtp_layer(v3), v3.layers.back());
}

TEST(LayerPattern, ReadsThePatternInLetters) {
  Node config = six_layers("glm-5.1");
  config.erase("index_topk_freq");
  config.set("index_topk_pattern", Node::string("FFSSFS"));
  EXPECT_EQ(computing(test::parsed(config)), (std::vector<int>{0, 1, 4}));
  config.set("index_topk_pattern", Node::string("FFSSF"));
  EXPECT_EQ(fault_of(config).substr(0, 20), "/index_topk_pattern:");
}

TEST(LayerPattern, AListThatDisagreesWithTheRuleIsAFault) {
  Node config = six_layers("glm-5.2");
  config.set("indexer_types", words({"full", "full", "full", "shared", "full", "shared"}));
  EXPECT_EQ(fault_of(config),
            "/indexer_types/4: layer 4 disagrees with index_topk_freq and "
            "index_skip_topk_offset");
}

TEST(LayerPattern, TheFirstLayerCannotShare) {
  Node config = six_layers("glm-5.1");
  config.erase("index_topk_freq");
  config.set("indexer_types", words({"shared", "full", "full", "full", "full", "full"}));
  EXPECT_EQ(fault_of(config).substr(0, 38), "/indexer_types: the first layer must c");
}

TEST(LayerPattern, FaultyIndexLists) {
  Node config = six_layers("glm-5.1");
  config.set("indexer_types", words({"full", "full"}));
  EXPECT_EQ(fault_of(config),
            "/indexer_types: \"indexer_types\" lists 2 layers, but the model has 6");
  config.set("indexer_types", words({"full", "full", "full", "half", "full", "full"}));
  EXPECT_EQ(fault_of(config), "/indexer_types/3: must be \"full\" or \"shared\", found \"half\"");
}

TEST(LayerPattern, LeadingDenseLayers) {
  Node config = six_layers("deepseek-v3");
  EXPECT_EQ(expert_layers(test::parsed(config)), (std::vector<int>{3, 4, 5}));
  config.set("moe_layer_freq", Node::integer(2));
  EXPECT_EQ(expert_layers(test::parsed(config)), (std::vector<int>{4}));
  config.set("moe_layer_freq", numbers({0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(expert_layers(test::parsed(config)), (std::vector<int>{3, 4, 5}));
  config.set("moe_layer_freq", numbers({0, 1, 0, 1, 1, 1}));
  EXPECT_EQ(fault_of(config), "/moe_layer_freq/1: layer 1 disagrees with first_k_dense_replace");
}

TEST(LayerPattern, ListedFeedForwardKinds) {
  Node config = six_layers("glm-5.1");
  const std::vector<std::string> list = {"dense", "sparse", "sparse", "sparse", "sparse", "sparse"};
  config.set("mlp_layer_types", words(list));
  EXPECT_EQ(fault_of(config), "/mlp_layer_types/1: layer 1 disagrees with first_k_dense_replace");
  config.erase("first_k_dense_replace");
  EXPECT_EQ(expert_layers(test::parsed(config)), (std::vector<int>{1, 2, 3, 4, 5}));
  config.erase("mlp_layer_types");
  EXPECT_NE(fault_of(config).find("first_k_dense_replace"), std::string::npos);
}

TEST(LayerPattern, QwenSparseStep) {
  Node config = six_layers("qwen3-30b-a3b");
  EXPECT_EQ(expert_layers(test::parsed(config)).size(), 6U);
  config.set("decoder_sparse_step", Node::integer(2));
  config.set("mlp_only_layers", numbers({3}));
  EXPECT_EQ(expert_layers(test::parsed(config)), (std::vector<int>{1, 5}));
  config.set("mlp_only_layers", numbers({3, 6}));
  EXPECT_EQ(fault_of(config), "/mlp_only_layers/1: must be a layer from 0 to 5");
}

TEST(LayerPattern, EveryMixtralLayerHoldsExperts) {
  const Transformer model = test::bundled("mixtral-8x7b");
  EXPECT_EQ(expert_layers(model).size(), model.layers.size());
  EXPECT_EQ(to_string(model.layers[0]), "gqa+moe");
  EXPECT_EQ(to_string(test::bundled("llama3-8b").layers[0]), "gqa+dense");
}

TEST(SlidingWindow, MixtralTakesNullOrANumber) {
  Node config = six_layers("mixtral-8x7b");
  config.set("sliding_window", Node::null());
  EXPECT_EQ(test::parsed(config).attention.sliding_window, 0);
  config.set("sliding_window", Node::integer(4096));
  EXPECT_EQ(test::parsed(config).attention.sliding_window, 4096);
}

TEST(SlidingWindow, QwenNeedsItsFlag) {
  Node config = six_layers("qwen2.5-7b");
  config.set("sliding_window", Node::integer(4096));
  EXPECT_EQ(test::parsed(config).attention.sliding_window, 0);
  config.set("use_sliding_window", Node::boolean(true));
  config.set("max_window_layers", Node::integer(6));  // layers from here on
  EXPECT_EQ(test::parsed(config).attention.sliding_window, 0);
  config.set("max_window_layers", Node::integer(0));
  EXPECT_EQ(test::parsed(config).attention.sliding_window, 4096);
  config.set("max_window_layers", Node::integer(4));
  EXPECT_EQ(fault_of(config),
            "/max_window_layers: a sliding window in 2 of 6 layers cannot be modelled yet: all "
            "of them or none");
}

TEST(SlidingWindow, LayerTypesDecide) {
  Node config = six_layers("qwen3-8b");
  const std::string full = "full_attention";
  const std::string sliding = "sliding_attention";
  config.set("layer_types", words({full, full, full, full, full, full}));
  EXPECT_EQ(test::parsed(config).attention.sliding_window, 0);
  config.set("layer_types", words({full, full, full, full, full, sliding}));
  EXPECT_NE(fault_of(config).find("no sliding_window is set"), std::string::npos);
  config.set("layer_types", words({full, full, "linear_attention", full, full, full}));
  EXPECT_EQ(fault_of(config),
            "/layer_types/2: layer 2 is \"linear_attention\", which this release cannot model "
            "in qwen3");
}

}  // namespace
}  // namespace hysim
