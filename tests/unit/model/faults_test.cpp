// Bad configs: every fault says where it is, what was found and what would be right.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "hysim/errors.h"
#include "unit/model/model_files.h"

namespace hysim {
namespace {

using config::Node;

std::vector<Diagnostic> faults_in(std::string_view text) {
  try {
    model::parse_transformer(text, "config.json", "test");
  } catch (const InputError& error) {
    return error.diagnostics();
  }
  return {};
}

std::vector<Diagnostic> faults_in(const Node& config) {
  return faults_in(config::to_text(config, 2));
}

/// A bundled config with one key changed; a null value removes it.
Node changed(const std::string& name, std::string_view key, Node value) {
  Node config = test::bundled_config(name);
  if (value.is_null()) {
    config.erase(key);
  } else {
    config.set(key, std::move(value));
  }
  return config;
}

/// Expects one fault, at `pointer`, on the line where its last key stands, that says `message`.
void expect_fault(const Node& config, const std::string& pointer, std::string_view message) {
  const std::string text = config::to_text(config, 2);
  const auto faults = faults_in(text);
  ASSERT_EQ(faults.size(), 1U) << pointer << ": " << message
                               << (faults.empty() ? "" : "; found " + faults.front().text());
  EXPECT_EQ(faults[0].pointer, pointer) << faults[0].message;
  EXPECT_NE(faults[0].message.find(message), std::string::npos) << faults[0].message;
  EXPECT_EQ(faults[0].file, "config.json");
  const std::string key =
      pointer.empty() ? "{" : "\"" + pointer.substr(pointer.rfind('/') + 1) + "\"";
  const std::size_t at = text.find(key);
  ASSERT_NE(at, std::string::npos);
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<long>(at), '\n');
  EXPECT_EQ(faults[0].line, line);
}

TEST(ModelFaults, AKeyThatMattersIsMissing) {
  for (const char* key : {"hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size",
                          "intermediate_size", "max_position_embeddings"}) {
    expect_fault(changed("llama3-8b", key, Node()), "", "missing key \"" + std::string(key) + "\"");
  }
  for (const char* key : {"kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim",
                          "n_routed_experts", "num_experts_per_tok", "moe_intermediate_size",
                          "index_n_heads", "index_head_dim", "index_topk"}) {
    expect_fault(changed("glm-5.1", key, Node()), "", "missing key \"" + std::string(key) + "\"");
  }
  expect_fault(changed("qwen3-8b", "num_key_value_heads", Node()), "",
               "missing key \"num_key_value_heads\"");
}

TEST(ModelFaults, AKeyHasTheWrongType) {
  expect_fault(changed("llama3-8b", "num_attention_heads", Node::string("32")),
               "/num_attention_heads", "must be an integer");
  expect_fault(changed("llama3-8b", "hidden_size", Node::number(4096.5)), "/hidden_size",
               "must be an integer");
  expect_fault(changed("llama3-8b", "tie_word_embeddings", Node::string("yes")),
               "/tie_word_embeddings", "must be true or false");
  expect_fault(changed("qwen2.5-7b", "attention_bias", Node::integer(1)), "/attention_bias",
               "must be true or false");
  expect_fault(changed("llama3-8b", "hidden_act", Node::integer(1)), "/hidden_act",
               "must be a string");
}

TEST(ModelFaults, AKeyIsOutOfRange) {
  expect_fault(changed("llama3-8b", "num_hidden_layers", Node::integer(-32)), "/num_hidden_layers",
               "from 1 to 1024");
  expect_fault(changed("llama3-8b", "vocab_size", Node::integer(0)), "/vocab_size", "from 1");
  expect_fault(changed("llama3-8b", "hidden_size", Node::integer(1'000'000'000)), "/hidden_size",
               "must be an integer from 1 to 131072");
  expect_fault(changed("deepseek-v3", "first_k_dense_replace", Node::integer(62)),
               "/first_k_dense_replace", "from 0 to 61");
  expect_fault(changed("glm-5.1", "q_lora_rank", Node::integer(-1)), "/q_lora_rank", "from 1");
}

TEST(ModelFaults, HeadsDoNotDivide) {
  Node config = changed("llama3-8b", "num_attention_heads", Node::integer(24));
  config.erase("head_dim");
  expect_fault(config, "/num_attention_heads",
               "24 heads do not divide hidden_size 4096, and no head_dim is given");
  expect_fault(changed("llama3-8b", "num_key_value_heads", Node::integer(5)),
               "/num_key_value_heads", "5 key-value heads do not divide 32 attention heads");
  expect_fault(changed("glm-5.1", "qk_head_dim", Node::integer(192)), "/qk_head_dim",
               "must be qk_nope_head_dim + qk_rope_head_dim = 256, found 192");
}

TEST(ModelFaults, TheRouterPicksWhatIsNotThere) {
  expect_fault(changed("mixtral-8x7b", "num_experts_per_tok", Node::integer(9)),
               "/num_experts_per_tok", "a token picks 9 of only 8 experts");
  expect_fault(changed("deepseek-v3", "topk_group", Node::integer(9)), "/topk_group",
               "a token picks 9 of only 8 groups");
  expect_fault(changed("deepseek-v3", "n_group", Node::integer(7)), "/n_group",
               "7 groups do not divide 256 experts");
  Node config = changed("deepseek-v3", "topk_group", Node::integer(1));
  config.set("num_experts_per_tok", Node::integer(33));
  expect_fault(config, "/num_experts_per_tok",
               "a token picks 33 experts, but 1 groups hold only 32");
}

TEST(ModelFaults, TheIndexerNeedsAQueryLatent) {
  Node config = test::bundled_config("deepseek-v3.2");
  config.set("q_lora_rank", Node::null());
  expect_fault(config, "/q_lora_rank", "the indexer takes its queries from this latent");
}

TEST(ModelFaults, TwoNamesOfOneThingDisagree) {
  expect_fault(changed("gpt3-175b", "n_embd", Node::integer(768)), "/n_embd",
               "\"n_embd\" differs from \"hidden_size\"");
  expect_fault(changed("deepseek-v3", "num_local_experts", Node::integer(128)),
               "/num_local_experts", "differs from \"n_routed_experts\"");
}

TEST(ModelFaults, UnknownAndRefusedModelTypes) {
  expect_fault(changed("llama3-8b", "model_type", Node::string("lama")), "/model_type",
               "unknown model_type \"lama\"; did you mean \"llama\"? supported model_types");
  expect_fault(changed("llama3-8b", "model_type", Node::string("deepseek_v4")), "/model_type",
               "deepseek_v4 needs CSA and HCA attention");
  expect_fault(changed("llama3-8b", "model_type", Node::integer(3)), "/model_type",
               "must be a string");
  expect_fault(changed("llama3-8b", "model_type", Node()), "", "missing key \"model_type\"");
}

TEST(ModelFaults, ABlockKindIsAskedForByItsKeys) {
  expect_fault(changed("llama3-8b", "linear_num_value_heads", Node::integer(32)),
               "/linear_num_value_heads",
               "\"linear_num_value_heads\" asks for GDN linear attention, which this release "
               "cannot model yet");
  expect_fault(changed("glm-5.1", "index_kpool", Node::integer(4)), "/index_kpool",
               "DSA over pooled index keys");
  expect_fault(changed("glm-5.1", "mhc", Node::boolean(true)), "/mhc", "mHC residuals");
  EXPECT_TRUE(faults_in(changed("glm-5.1", "mhc", Node::boolean(false))).empty());
}

TEST(ModelFaults, WhatIsNoConfigAtAll) {
  auto faults = faults_in("\n [1, 2]");
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].text(),
            "config.json:2:2: a model must be the object of a Hugging Face config.json, found an "
            "array");
  faults = faults_in("{\"text_config\": 3}");
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].pointer, "/text_config");
  EXPECT_EQ(faults_in("").size(), 1U);
  EXPECT_EQ(faults_in("{").size(), 1U);
  faults = faults_in("{}");
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_NE(faults[0].message.find("missing key \"model_type\""), std::string::npos);
}

TEST(ModelFaults, AreReportedTogetherAndInPlace) {
  const auto faults = faults_in(R"({
  "model_type": "llama",
  "num_attention_heads": "32",
  "num_hidden_layers": -1,
  "num_key_value_heads": 8,
  "vocab_size": 1000
})");
  std::vector<std::string> places;
  for (const Diagnostic& fault : faults) {
    places.push_back(std::to_string(fault.line) + ":" + std::to_string(fault.column) + " " +
                     fault.pointer);
  }
  EXPECT_EQ(places, (std::vector<std::string>{"1:1 ", "1:1 ", "1:1 ", "3:26 /num_attention_heads",
                                              "4:24 /num_hidden_layers"}));
}

TEST(ModelFaults, InTextConfigCarryItsPointer) {
  const auto faults = faults_in(R"({"model_type": "some_vl", "text_config": {
    "model_type": "llama", "hidden_size": "x", "num_hidden_layers": 2, "vocab_size": 10,
    "num_attention_heads": 4, "intermediate_size": 16, "max_position_embeddings": 64}})");
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].pointer, "/text_config/hidden_size");
  EXPECT_EQ(faults[0].line, 2);
}

// The largest values each key admits stay countable in 64 bits.
TEST(ModelFaults, ExtremesDoNotOverflow) {
  Node config = test::bundled_config("deepseek-v3.2");
  const auto set = [&](std::string_view key, std::int64_t value) {
    config.set(key, Node::integer(value));
  };
  set("hidden_size", std::int64_t{1} << 17);
  set("num_hidden_layers", 1024);
  set("vocab_size", std::int64_t{1} << 26);
  set("max_position_embeddings", std::int64_t{1} << 31);
  set("intermediate_size", std::int64_t{1} << 20);
  set("moe_intermediate_size", std::int64_t{1} << 20);
  set("n_routed_experts", std::int64_t{1} << 13);
  set("num_experts_per_tok", std::int64_t{1} << 12);
  set("n_shared_experts", 64);
  set("num_attention_heads", std::int64_t{1} << 12);
  set("q_lora_rank", std::int64_t{1} << 20);
  set("kv_lora_rank", std::int64_t{1} << 20);
  set("v_head_dim", std::int64_t{1} << 12);
  const model::ParameterCount count = model::total_parameters(test::parsed(config));
  EXPECT_GT(count.total, std::int64_t{1} << 60);
  EXPECT_EQ(count.total, count.routed_expert + count.tp_split + count.tp_replicated);
  EXPECT_LT(count.active, count.total);
}

// Whatever stands at a key, the model is either read and countable or refused with an InputError.
TEST(ModelFaults, AnyValueAtAnyKeyIsReadOrRefused) {
  const std::vector<Node> values = {
      Node::null(),
      Node::boolean(true),
      Node::integer(0),
      Node::integer(-1),
      Node::integer(1),
      Node::integer(std::int64_t{1} << 62),
      Node::number(1.5),
      Node::string(""),
      Node::string("shared"),
      Node::array(),
      Node::array({Node::integer(1), Node::null()}),
      Node::object(),
  };
  int refused = 0;
  for (const char* name :
       {"glm-5.2", "deepseek-v3", "qwen3-30b-a3b", "mixtral-8x7b", "gpt3-175b"}) {
    const Node config = test::bundled_config(name);
    std::vector<std::string> keys = {"text_config",    "moe_layer_freq",     "mlp_only_layers",
                                     "layer_types",    "mlp_layer_types",    "index_topk_pattern",
                                     "sliding_window", "use_sliding_window", "max_window_layers"};
    for (const auto& [key, value] : config.as_object()) keys.push_back(key);
    for (const std::string& key : keys) {
      for (const Node& value : values) {
        Node copy = config;
        copy.set(key, value);
        try {
          EXPECT_GT(model::total_parameters(test::parsed(copy)).total, 0);
        } catch (const InputError& error) {
          ++refused;
          EXPECT_FALSE(error.diagnostics().empty());
        }
      }
    }
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace hysim
