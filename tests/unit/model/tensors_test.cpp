// Tensors of the block kinds: sizes worked out by hand, TP and EP classes, biases, counting.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "unit/model/model_files.h"

namespace hysim {
namespace {

using model::Tensor;
using model::Transformer;

std::map<std::string, Tensor> by_name(const std::vector<Tensor>& tensors) {
  std::map<std::string, Tensor> map;
  for (const Tensor& tensor : tensors) {
    EXPECT_TRUE(map.emplace(tensor.name, tensor).second) << tensor.name << " appears twice";
    EXPECT_GT(tensor.count, 0) << tensor.name;
  }
  return map;
}

/// h 64, 4 heads of 8 with 2 key-value heads, ffn 96.
model::Transformer small_model() {
  Transformer model;
  model.hidden = 64;
  model.vocab = 1000;
  model.max_positions = 128;
  model.dense_ffn = 96;
  model.attention.num_heads = 4;
  model.attention.num_kv_heads = 2;
  model.attention.head_dim = 8;
  model.layers.resize(3);
  return model;
}

TEST(Tensors, GroupedQueryAttentionAndDenseFfn) {
  Transformer model = small_model();
  auto map = by_name(layer_tensors(model, model.layers[0]));
  EXPECT_EQ(map.size(), 9U);
  EXPECT_EQ(map["q"].count, 64 * 32);
  EXPECT_EQ(map["k"].count, 64 * 16);
  EXPECT_EQ(map["v"].count, 64 * 16);
  EXPECT_EQ(map["o"].count, 32 * 64);
  EXPECT_EQ(map["ffn_gate"].count, 64 * 96);
  EXPECT_EQ(map["norm1"].count, 64);
  EXPECT_TRUE(map["q"].split_by_tp && map["ffn_down"].split_by_tp);
  EXPECT_FALSE(map["norm2"].split_by_tp);
  EXPECT_EQ(map["norm2"].kind, Tensor::Kind::small);
}

TEST(Tensors, BiasesAndNormsOfHeads) {
  Transformer model = small_model();
  const std::int64_t plain = count(layer_tensors(model, model.layers[0]), model).total;
  model.attention.qkv_bias = true;
  model.attention.out_bias = true;
  model.attention.qk_norm = true;
  model.ffn_bias = true;
  model.norm_bias = true;
  auto map = by_name(layer_tensors(model, model.layers[0]));
  EXPECT_EQ(map["q_bias"].count, 32);
  EXPECT_EQ(map["k_bias"].count, 16);
  EXPECT_EQ(map["o_bias"].count, 64);
  EXPECT_EQ(map["q_norm"].count, 8);
  EXPECT_EQ(map["ffn_up_bias"].count, 96);
  EXPECT_EQ(map["ffn_down_bias"].count, 64);
  EXPECT_EQ(map["norm1_bias"].count, 64);
  EXPECT_TRUE(map["q_bias"].split_by_tp && map["ffn_up_bias"].split_by_tp);
  EXPECT_FALSE(map["o_bias"].split_by_tp || map["ffn_down_bias"].split_by_tp);
  const std::int64_t attention = 32 + 16 + 16 + 64 + 8 + 8;
  EXPECT_EQ(count(layer_tensors(model, model.layers[0]), model).total,
            plain + attention + 96 + 96 + 64 + 64 + 64);
}

TEST(Tensors, UngatedFfnHasTwoMatrices) {
  Transformer model = small_model();
  model.gated_ffn = false;
  const auto map = by_name(layer_tensors(model, model.layers[0]));
  EXPECT_EQ(map.count("ffn_gate"), 0U);
  EXPECT_EQ(map.count("ffn_up"), 1U);
}

TEST(Tensors, ExpertsBelongToEpAndSharedExpertsToTp) {
  Transformer model = small_model();
  model.layers[0].ffn = model::FfnKind::moe;
  model.moe = {8, 2, 16, 32, true, 1, 1};
  auto map = by_name(layer_tensors(model, model.layers[0]));
  EXPECT_EQ(map["exp_gate"].count, 8 * 64 * 16);
  EXPECT_TRUE(map["exp_down"].routed_expert);
  EXPECT_FALSE(map["exp_down"].split_by_tp);
  EXPECT_EQ(map["shared_up"].count, 64 * 32);
  EXPECT_TRUE(map["shared_up"].split_by_tp);
  EXPECT_FALSE(map["shared_up"].routed_expert);
  EXPECT_EQ(map["shared_expert_gate"].count, 64);
  EXPECT_EQ(map["router"].count, 8 * 64);
  EXPECT_FALSE(map["router"].split_by_tp);

  const model::ParameterCount sum = count(layer_tensors(model, model.layers[0]), model);
  EXPECT_EQ(sum.routed_expert, 3 * 8 * 64 * 16);
  EXPECT_EQ(sum.total - sum.active, 3 * (8 - 2) * 64 * 16);
  EXPECT_EQ(sum.total, sum.routed_expert + sum.tp_split + sum.tp_replicated);
}

TEST(Tensors, LatentAttentionWithAndWithoutQueryLatent) {
  Transformer model = small_model();
  model.layers[0].attention = model::AttentionKind::mla;
  model.attention.kv_lora_rank = 24;
  model.attention.qk_nope_head_dim = 6;
  model.attention.qk_rope_head_dim = 2;
  model.attention.v_head_dim = 10;
  auto direct = by_name(layer_tensors(model, model.layers[0]));
  EXPECT_EQ(direct["q"].count, 64 * 4 * 8);
  EXPECT_EQ(direct["kv_a"].count, 64 * (24 + 2));
  EXPECT_EQ(direct["kv_b"].count, 24 * 4 * (6 + 10));
  EXPECT_EQ(direct["o"].count, 4 * 10 * 64);
  EXPECT_EQ(direct.count("q_a"), 0U);

  model.attention.q_lora_rank = 12;
  model.attention.qkv_bias = true;
  auto latent = by_name(layer_tensors(model, model.layers[0]));
  EXPECT_EQ(latent["q_a"].count, 64 * 12);
  EXPECT_EQ(latent["q_b"].count, 12 * 4 * 8);
  EXPECT_EQ(latent["q_a_bias"].count, 12);
  EXPECT_EQ(latent["kv_a_bias"].count, 24 + 2);
  EXPECT_FALSE(latent["q_a"].split_by_tp || latent["kv_a"].split_by_tp);
  EXPECT_TRUE(latent["q_b"].split_by_tp && latent["kv_b"].split_by_tp);
}

TEST(Tensors, EveryRankHoldsTheWholeIndexer) {
  const Transformer model = test::bundled("deepseek-v3.2");
  std::int64_t indexer = 0;
  for (const auto& [name, tensor] : by_name(layer_tensors(model, model.layers[0]))) {
    EXPECT_EQ(tensor.indexer, name.substr(0, 4) == "idx_") << name;
    if (!tensor.indexer) continue;
    EXPECT_FALSE(tensor.split_by_tp) << name;
    indexer += tensor.count;
  }
  EXPECT_EQ(indexer, 1536 * 64 * 128 + 7168 * 128 + 2 * 128 + 7168 * 64);
}

TEST(Tensors, TiedModelsHaveNoHeadMatrix) {
  Transformer model = small_model();
  EXPECT_EQ(by_name(head_tensors(model))["lm_head"].count, 1000 * 64);
  const std::int64_t untied = total_parameters(model).total;
  model.tied_embedding = true;
  EXPECT_EQ(by_name(head_tensors(model)).count("lm_head"), 0U);
  EXPECT_EQ(untied - total_parameters(model).total, 1000 * 64);
  EXPECT_EQ(by_name(embedding_tensors(model))["tok_embed"].kind, Tensor::Kind::embedding);
}

TEST(Tensors, LearnedPositionsAreReplicated) {
  Transformer model = small_model();
  model.learned_positions = true;
  auto map = by_name(embedding_tensors(model));
  EXPECT_EQ(map["pos_embed"].count, 128 * 64);
  EXPECT_FALSE(map["pos_embed"].split_by_tp);
  EXPECT_TRUE(map["tok_embed"].split_by_tp);
}

TEST(Tensors, MtpAddsThreeNormsAndAProjection) {
  const Transformer model = test::bundled("glm-5.1");
  const auto map = by_name(mtp_extra_tensors(model));
  EXPECT_EQ(map.size(), 4U);
  EXPECT_EQ(count(mtp_extra_tensors(model), model).total, 2 * 6144 * 6144 + 3 * 6144);
}

TEST(Tensors, TheSumOfPartsIsTheTotal) {
  for (const char* name : {"glm-5.2", "deepseek-v2", "qwen3-0.6b", "megatron-22b"}) {
    const Transformer model = test::bundled(name);
    model::ParameterCount sum = count(embedding_tensors(model), model);
    for (const auto& layer : model.layers) sum += count(layer_tensors(model, layer), model);
    sum += count(head_tensors(model), model);
    const model::ParameterCount total = total_parameters(model);
    EXPECT_EQ(sum.total, total.total) << name;
    EXPECT_EQ(sum.active, total.active) << name;
    EXPECT_EQ(total.total, total.routed_expert + total.tp_split + total.tp_replicated) << name;
  }
}

}  // namespace
}  // namespace hysim
