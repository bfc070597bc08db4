// Saved and transient bytes of a layer, tensor by tensor, against figures derived apart for three
// layouts of GLM-5.1 at 1M tokens, and against the activation formulas of arXiv 2205.05198.
#include "ops/activations.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "unit/model/model_files.h"

namespace hysim::ops {
namespace {

using model::AttentionKind;
using model::FfnKind;
using model::IndexRole;
using model::LayerSpec;
using model::Transformer;

std::map<std::string, double> items_of(const Transformer& m, const LayerSpec& layer,
                                       const LayerShape& shape) {
  std::map<std::string, double> items;
  for (const auto& list :
       {saved_activations(m, layer, shape), transient_activations(m, layer, shape)}) {
    for (const NamedBytes& item : list) items[item.name] += item.bytes.si();
  }
  return items;
}

constexpr LayerSpec kDsaMoe{AttentionKind::dsa, IndexRole::computes, FfnKind::moe};

// Working set of one recomputed DSA + MoE layer of GLM-5.1, S = 1048576, bytes:
// A: TP1 CP64; B: TP1 CP32; C: TP8 CP16 with sequence parallelism.
TEST(Activations, WorkingSetOfTheHeadlineLayouts) {
  struct Layout {
    std::string name;
    LayerShape shape;
    std::map<std::string, double> expected;
    double sum;
  };
  const std::int64_t keys = 1 << 20;
  const std::vector<Layout> layouts = {
      {"A",
       {16384, keys, 1, 1, false, false, true},
       {{"norms_and_residual", 603979776},
        {"query_latent", 67108864},
        {"query", 536870912},
        {"query_absorbed", 1207959552},
        {"attention_output", 1073741824},
        {"value_up", 536870912},
        {"gathered_latent", 1207959552},
        {"gathered_index_keys", 268435456},
        {"dkv_fp32", 2415919104},
        {"moe_dispatched_tokens", 1610612736},
        {"moe_fc1_output", 1073741824},
        {"moe_activation", 536870912},
        {"moe_fc2_output", 1610612736},
        {"shared_expert", 201326592}},
       12952010752.0},
      {"B",
       {32768, keys, 1, 1, false, false, true},
       {{"norms_and_residual", 1207959552},
        {"query_latent", 134217728},
        {"query", 1073741824},
        {"query_absorbed", 2415919104},
        {"attention_output", 2147483648},
        {"value_up", 1073741824},
        {"gathered_latent", 1207959552},
        {"gathered_index_keys", 268435456},
        {"dkv_fp32", 2415919104},
        {"moe_dispatched_tokens", 3221225472},
        {"moe_fc1_output", 2147483648},
        {"moe_activation", 1073741824},
        {"moe_fc2_output", 3221225472},
        {"shared_expert", 402653184}},
       22011707392.0},
      {"C",
       {65536, keys, 8, 1, true, false, true},
       {{"norms_and_residual", 301989888},
        {"query_latent", 268435456},
        {"query", 268435456},
        {"query_absorbed", 603979776},
        {"attention_output", 536870912},
        {"value_up", 268435456},
        {"gathered_latent", 1207959552},
        {"gathered_index_keys", 268435456},
        {"dkv_fp32", 2415919104},
        {"moe_dispatched_tokens", 805306368},
        {"moe_fc1_output", 536870912},
        {"moe_activation", 268435456},
        {"moe_fc2_output", 805306368},
        {"shared_expert", 100663296}},
       8657043456.0},
  };
  const Transformer glm = test::bundled("glm-5.1");
  for (const Layout& layout : layouts) {
    std::map<std::string, double> items = items_of(glm, kDsaMoe, layout.shape);
    // The budget counts the layer's input among checkpoints and leaves out the log-sum-exp.
    const double tokens = static_cast<double>(layout.shape.tokens);
    EXPECT_DOUBLE_EQ(items.at(kLayerInput), items.at("norms_and_residual") / 3.0);
    EXPECT_DOUBLE_EQ(items.at("log_sum_exp"),
                     4.0 * tokens * 64.0 / static_cast<double>(layout.shape.tp));
    items.erase(kLayerInput);
    items.erase("log_sum_exp");
    double sum = 0.0;
    for (const auto& [name, bytes] : items) {
      const auto expected = layout.expected.find(name);
      ASSERT_NE(expected, layout.expected.end()) << layout.name << ": " << name;
      EXPECT_DOUBLE_EQ(bytes, expected->second) << layout.name << ": " << name;
      sum += bytes;
    }
    EXPECT_EQ(items.size(), layout.expected.size()) << layout.name;
    EXPECT_DOUBLE_EQ(sum, layout.sum) << layout.name;
  }
}

// GELU layer of arXiv 2205.05198, fp16, 1-byte dropout masks, s tokens of b sequences, hidden h,
// a heads, TP t:  s b h (34 + 5 a s/h)  without parallelism. The 34 are, in bytes over s b h,
//   attention 11: input 2, query and key 4, value 2, output 2, dropout mask 1
//   MLP       19: input 2, first output 8, GELU output 8, dropout mask 1
//   norms      4: two inputs.
// Ours has no dropout (the two masks, 2 s b h) and flash attention, which keeps the fp32
// log-sum-exp, 4 B a head and token, in place of the 5 a s^2 b of scores: 32 s b h + 4 a s b.
// TP splits what lies between the parallel products (24 s b h and the attention part), sequence
// parallelism the rest.
TEST(Activations, DenseLayerEqualsTheFormulasOfThePaper) {
  struct Row {
    std::string model;
    double s, b, h, a, t;
    double no_parallel, tp_only, tp_sp, tp_sp_selective, full_recompute, full_recompute_sp;
  };
  const std::vector<Row> rows = {
      {"gpt3-175b", 2048, 1, 12288, 96, 8, 2868903936, 578813952, 358612992, 106954752, 50331648,
       6291456},
      {"megatron-22b", 2048, 4, 6144, 64, 8, 7079985152, 1325400064, 884998144, 213909504,
       100663296, 12582912},
      {"megatron-530b", 2048, 1, 20480, 128, 8, 4110417920, 880803840, 513802240, 178257920,
       83886080, 10485760},
      {"megatron-1t", 2048, 1, 25600, 160, 8, 5138022400, 1101004800, 642252800, 222822400,
       104857600, 13107200},
  };
  const LayerSpec dense{AttentionKind::gqa, IndexRole::none, FfnKind::dense};
  for (const Row& row : rows) {
    const Transformer m = test::bundled(row.model);
    ASSERT_EQ(static_cast<double>(m.hidden), row.h) << row.model;
    ASSERT_EQ(static_cast<double>(m.attention.num_heads), row.a) << row.model;
    const double sbh = row.s * row.b * row.h;
    const double scores = 5.0 * row.a * row.s * row.s * row.b;
    const double log_sum_exp = 4.0 * row.a * row.s * row.b;
    LayerShape shape;
    shape.tokens = static_cast<std::int64_t>(row.s * row.b);
    shape.sequence_tokens = shape.tokens;
    const auto saved = [&] { return sum(saved_activations(m, dense, shape)).si(); };

    EXPECT_DOUBLE_EQ(row.no_parallel, 34.0 * sbh + scores) << row.model;
    EXPECT_DOUBLE_EQ(saved(), row.no_parallel - scores - 2.0 * sbh + log_sum_exp) << row.model;
    EXPECT_DOUBLE_EQ(saved(), 32.0 * sbh + log_sum_exp) << row.model;
    EXPECT_DOUBLE_EQ(checkpoint_bytes(m, shape).si(), row.full_recompute) << row.model;

    shape.tp = static_cast<std::int64_t>(row.t);
    EXPECT_DOUBLE_EQ(saved(), row.tp_only - scores / row.t - 2.0 * sbh + log_sum_exp / row.t)
        << row.model;

    shape.sequence_parallel = true;
    EXPECT_DOUBLE_EQ(saved(), row.tp_sp - scores / row.t - 2.0 * sbh / row.t + log_sum_exp / row.t)
        << row.model;
    EXPECT_DOUBLE_EQ(saved(), row.tp_sp_selective - (2.0 * sbh - log_sum_exp) / row.t) << row.model;
    EXPECT_DOUBLE_EQ(checkpoint_bytes(m, shape).si(), row.full_recompute_sp) << row.model;
  }
}

// Index gradients of the fused KL loss: q (H d), k (d) and weights (H) of a token in bf16
// (MODELS section 7), 16.6 KB a token for GLM-5.1, only where the layer computes its own indices.
TEST(Activations, IndexGradientsAreKeptWhereTheIndexerIsTrained) {
  const Transformer glm = test::bundled("glm-5.1");
  LayerShape shape;
  shape.tokens = 1000;
  shape.sequence_tokens = 1000;
  EXPECT_EQ(items_of(glm, kDsaMoe, shape).count("index_gradients"), 0U);
  shape.trains_indexer = true;
  EXPECT_DOUBLE_EQ(items_of(glm, kDsaMoe, shape).at("index_gradients"),
                   1000.0 * 2.0 * (32.0 * 128.0 + 128.0 + 32.0));
  const LayerSpec shared{AttentionKind::dsa, IndexRole::shared, FfnKind::moe};
  EXPECT_EQ(items_of(glm, shared, shape).count("index_gradients"), 0U);
}

// Inputs of linear layers saved in fp8 with an fp32 scale per 128 values: both norm outputs and the
// activation of a Llama layer, (2 h + f) values a token, take 1.03125 B instead of 2.
TEST(Activations, Fp8SavesLinearInputsInOneByte) {
  const Transformer llama = test::bundled("llama3-8b");
  const LayerSpec dense{AttentionKind::gqa, IndexRole::none, FfnKind::dense};
  LayerShape shape;
  shape.tokens = shape.sequence_tokens = 1024;
  const double bf16 = sum(saved_activations(llama, dense, shape)).si();
  shape.fp8_linear = true;
  const double fp8 = sum(saved_activations(llama, dense, shape)).si();
  EXPECT_DOUBLE_EQ(bf16 - fp8, 1024.0 * (2.0 * 4096.0 + 14336.0) * (2.0 - 1.03125));
}

// A rank computes top_k s b etp/tp token copies; expert parallelism spreads experts, not tokens.
TEST(Activations, ExpertTokensFollowTpNotEp) {
  const Transformer m = test::bundled("qwen3-235b-a22b");
  const LayerSpec layer{AttentionKind::gqa, IndexRole::none, FfnKind::moe};
  for (const std::int64_t tp : {1, 2, 4}) {
    for (const std::int64_t etp : {1, 2}) {
      LayerShape shape;
      shape.tokens = 8192;
      shape.sequence_tokens = 8192;
      shape.tp = tp;
      shape.etp = etp;
      const std::map<std::string, double> items = items_of(m, layer, shape);
      const double copies = 8.0 * 8192.0 * static_cast<double>(etp) / static_cast<double>(tp);
      const double width = 1536.0 / static_cast<double>(etp);
      EXPECT_DOUBLE_EQ(items.at("moe_dispatched_tokens"), 2.0 * copies * 4096.0);
      EXPECT_DOUBLE_EQ(items.at("moe_fc1_output"), 2.0 * copies * 2.0 * width);
      EXPECT_DOUBLE_EQ(items.at("moe_activation"), 2.0 * copies * width);
      EXPECT_DOUBLE_EQ(items.at("moe_fc2_output"), 2.0 * copies * 4096.0);
      EXPECT_EQ(items.count("shared_expert"), 0U);
    }
  }
}

// int32 indices of one 1M-token layer: 8 GiB over all CP ranks; never divided by TP.
TEST(Activations, IndicesAre8GiBALayerOverAllRanks) {
  for (const std::int64_t cp : {1, 16, 64}) {
    LayerShape shape;
    shape.tokens = (1 << 20) / cp;
    EXPECT_DOUBLE_EQ(index_bytes(2048, shape).si() * static_cast<double>(cp), 8589934592.0);
    const double one = index_bytes(2048, shape).si();
    shape.tp = 8;
    shape.sequence_parallel = true;
    EXPECT_DOUBLE_EQ(index_bytes(2048, shape).si(), one);
  }
}

// A layer that reuses indices gathers no index keys; one without CP gathers nothing.
TEST(Activations, TransientsFollowWhatTheLayerGathers) {
  const Transformer glm = test::bundled("glm-5.2");
  LayerShape shape;
  shape.tokens = 16384;
  shape.sequence_tokens = 1 << 20;
  shape.cp_gathers = true;
  const LayerSpec shared{AttentionKind::dsa, IndexRole::shared, FfnKind::moe};
  EXPECT_EQ(items_of(glm, shared, shape).count("gathered_index_keys"), 0U);
  EXPECT_EQ(items_of(glm, kDsaMoe, shape).count("gathered_index_keys"), 1U);

  // Llama 3.1 405B, 8 key-value heads of 128, TP8: keys and values of the whole sequence in bf16,
  // and as much again for their gradients.
  const Transformer llama = test::bundled("llama3.1-405b");
  const LayerSpec dense{AttentionKind::gqa, IndexRole::none, FfnKind::dense};
  LayerShape rank;
  rank.tokens = 8192;
  rank.sequence_tokens = 131072;
  rank.tp = 8;
  EXPECT_TRUE(transient_activations(llama, dense, rank).empty());
  rank.cp_gathers = true;
  EXPECT_DOUBLE_EQ(sum(transient_activations(llama, dense, rank)).si(),
                   2.0 * (2.0 * 131072.0 * 2.0 * 128.0));
}

TEST(Activations, SumAddsEveryItem) {
  EXPECT_DOUBLE_EQ(sum({}).si(), 0.0);
  EXPECT_DOUBLE_EQ(sum({{"a", Bytes(1.0)}, {"b", Bytes(2.5)}}).si(), 3.5);
}

}  // namespace
}  // namespace hysim::ops
