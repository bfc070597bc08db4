// Model FLOPs against published counts of GLM-5.2 and against cases other tools got wrong.
#include "ops/model_flops.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "ops/indexer_loss.h"
#include "ops/segments.h"
#include "ops/selection.h"
#include "unit/model/model_files.h"

namespace hysim::ops {
namespace {

using model::AttentionKind;
using model::FfnKind;
using model::IndexRole;
using model::LayerSpec;
using model::Transformer;

double per_token(const Transformer& m, std::int64_t seq_len, IndexerLoss loss, std::int64_t mtp) {
  return model_flops_per_sequence(m, seq_len, loss, mtp).si() / static_cast<double>(seq_len);
}

/// Forward and backward of the routers, `mtp` of them in MTP layers.
double routers_per_token(const Transformer& m, std::int64_t mtp) {
  std::int64_t routers = mtp;
  for (const LayerSpec& layer : m.layers) routers += layer.ffn == FfnKind::moe ? 1 : 0;
  return 3.0 * 2.0 * static_cast<double>(m.hidden * m.moe.num_experts * routers);
}

// GLM-5.2 with one MTP layer, training GFLOP per token, as Megatron-Bridge 067f987d prints them
// (NVIDIA/Megatron-LM#6148, #7043, #7157; its dense column is the one published there as the count
// before DSA was known). Bridge leaves out the routers, 6 x 6144 x 256 flop in 76 layers or 0.717
// GFLOP a token, which are matrix products like any other and are counted here; and for dense
// attention a query sees S/2 keys there, (S+1)/2 here. Nothing else differs.
TEST(ModelFlops, Glm52AsMegatronBridgeCountsIt) {
  const Transformer glm = test::bundled("glm-5.2");
  Transformer dense = glm;
  for (LayerSpec& layer : dense.layers) {
    layer.attention = AttentionKind::mla;
    layer.index = IndexRole::none;
  }
  const double routers = routers_per_token(glm, 1);
  EXPECT_DOUBLE_EQ(routers, 76.0 * 6.0 * 6144.0 * 256.0);
  const double half_a_key = 79.0 * 3.0 * 2.0 * 0.5 * 64.0 * (192.0 + 64.0 + 256.0);
  struct Row {
    std::int64_t seq_len;
    double dense_mla, sparse_loss, dense_loss, no_loss;
  };
  for (const Row& row : std::vector<Row>{{4096, 280.90, 304.04, 305.06, 300.58},
                                         {32768, 503.57, 322.31, 350.90, 317.96},
                                         {131072, 1267.00, 332.92, 458.99, 328.47},
                                         {262144, 2284.90, 345.10, 601.27, 340.64},
                                         {1048576, 8392.35, 416.73, 1453.53, 412.26}}) {
    const auto giga = [&](const Transformer& m, IndexerLoss loss) {
      return (per_token(m, row.seq_len, loss, 1) - routers) / 1e9;
    };
    constexpr double kPrinted = 0.0051;  // two decimals
    EXPECT_NEAR(giga(dense, IndexerLoss::off) - half_a_key / 1e9, row.dense_mla, kPrinted)
        << row.seq_len;
    EXPECT_NEAR(giga(glm, IndexerLoss::sparse), row.sparse_loss, kPrinted) << row.seq_len;
    EXPECT_NEAR(giga(glm, IndexerLoss::dense), row.dense_loss, kPrinted) << row.seq_len;
    EXPECT_NEAR(giga(glm, IndexerLoss::off), row.no_loss, kPrinted) << row.seq_len;
    // With the routers: never more than 0.26 % above.
    EXPECT_NEAR(per_token(glm, row.seq_len, IndexerLoss::sparse, 1) / 1e9 / row.sparse_loss, 1.0,
                0.0026);
  }
}

// The GLM-5.2 card of Megatron-Bridge: 332.9 GFLOP a token at 131072, 339.4 at 200K (200000).
TEST(ModelFlops, Glm52CardAt131KAnd200K) {
  const Transformer glm = test::bundled("glm-5.2");
  const double routers = routers_per_token(glm, 1);
  EXPECT_NEAR((per_token(glm, 131072, IndexerLoss::sparse, 1) - routers) / 1e9, 332.9, 0.06);
  EXPECT_NEAR((per_token(glm, 200000, IndexerLoss::sparse, 1) - routers) / 1e9, 339.4, 0.06);
}

// Index sharing: one in four of 78 layers, from the third, computes indices (21), and the MTP
// layer does.
TEST(ModelFlops, SharedLayersDoNotScore) {
  Transformer glm = test::bundled("glm-5.2");
  std::vector<std::int64_t> computing;
  for (std::size_t i = 0; i < glm.layers.size(); ++i) {
    if (glm.layers[i].index == IndexRole::computes) {
      computing.push_back(static_cast<std::int64_t>(i) + 1);
    }
  }
  std::vector<std::int64_t> expected = {1, 2};
  for (std::int64_t layer = 3; layer <= 75; layer += 4) expected.push_back(layer);
  EXPECT_EQ(computing, expected);
  EXPECT_EQ(computing.size(), 21U);

  // What 22 indexers add without a loss: one forward of projections and scores each.
  const std::int64_t seq_len = 131072;
  const double with = model_flops_per_sequence(glm, seq_len, IndexerLoss::off, 1).si();
  const double projection = static_cast<double>(seq_len) * index_projection_flops_per_token(glm);
  SelectionShape shape;
  shape.segments = {{0, seq_len}};
  shape.sequence_keys = seq_len;
  shape.heads = glm.indexer.num_heads;
  shape.head_dim = glm.indexer.head_dim;
  const double scoring = index_score(shape, 1).total_flops().si();
  glm.indexer.num_heads = 0;
  glm.indexer.head_dim = 0;
  const double without = model_flops_per_sequence(glm, seq_len, IndexerLoss::off, 1).si();
  EXPECT_NEAR((with - without) / (22.0 * (projection + scoring)), 1.0, 1e-9);
}

/// What a loss adds to GLM-5.2 at 131072 tokens beyond projections and teacher, GFLOP a token.
double score_gradient(const Transformer& glm, IndexerLoss loss) {
  const std::int64_t seq_len = 131072;
  const Segment all{0, seq_len};
  const double added =
      per_token(glm, seq_len, loss, 1) - per_token(glm, seq_len, IndexerLoss::off, 1);
  IndexerLossShape shape{};
  shape.pairs = loss == IndexerLoss::sparse ? selected_pairs(all, 2048) : causal_pairs(all);
  shape.attention_heads = 64;
  shape.qk_dim = 576;
  const double teacher = indexer_teacher(shape, 1).flops.si() / static_cast<double>(seq_len);
  return (added - 22.0 * (index_projection_flops_per_token(glm) + teacher)) / 1e9;
}

// Sparse loss sends a gradient through selected pairs only: at 128K, 22 scoring layers cost 11.90
// GFLOP a token forward and 0.74 backward, not 23.81 (NVIDIA/Megatron-LM#7157). The projections
// get a weight gradient (their input is detached) and the teacher has no backward.
TEST(ModelFlops, ScoreGradientSpansThePairsOfTheLoss) {
  const Transformer glm = test::bundled("glm-5.2");
  const double forward = 22.0 * 2.0 * 8590000128.0 * 32.0 * 129.0 / 131072.0 / 1e9;
  EXPECT_NEAR(forward, 11.90, 0.005);
  EXPECT_NEAR(score_gradient(glm, IndexerLoss::sparse), 0.74, 0.005);
  EXPECT_NEAR(score_gradient(glm, IndexerLoss::dense), 23.81, 0.005);
  EXPECT_NEAR(score_gradient(glm, IndexerLoss::sparse) / forward, 2.0 * 0.031, 0.0005);
}

// Index projections of one layer: 18.743296 MFLOP a token (GLM-5), 27.918 (DeepSeek-V3.2); twice
// with a loss, once without, never three times.
TEST(ModelFlops, IndexProjectionsCountForwardAndWeightGradient) {
  EXPECT_DOUBLE_EQ(index_projection_flops_per_token(test::bundled("glm-5.1")), 18743296.0);
  EXPECT_NEAR(index_projection_flops_per_token(test::bundled("deepseek-v3.2")) / 1e6, 27.918,
              0.0005);

  Transformer one = test::bundled("glm-5.1");
  one.layers = {{AttentionKind::dsa, IndexRole::computes, FfnKind::dense}};
  Transformer shared = one;
  shared.layers = {{AttentionKind::dsa, IndexRole::shared, FfnKind::dense}};
  const double pair = 32.0 * 129.0;  // one token: one pair, scored and selected
  const auto indexer = [&](IndexerLoss loss) {
    return per_token(one, 1, loss, 0) - per_token(shared, 1, loss, 0);
  };
  EXPECT_DOUBLE_EQ(indexer(IndexerLoss::off), 18743296.0 + 2.0 * pair);
  for (const IndexerLoss loss : {IndexerLoss::sparse, IndexerLoss::dense}) {
    EXPECT_DOUBLE_EQ(indexer(loss), 2.0 * 18743296.0 + 6.0 * pair + 2.0 * 64.0 * 576.0);
  }
}

// Scoring counts S(S+1)/2 pairs, not S^2 (NVIDIA-NeMo/RL#3502).
TEST(ModelFlops, ScoringIsCausal) {
  Transformer one = test::bundled("glm-5.1");
  one.layers = {{AttentionKind::dsa, IndexRole::computes, FfnKind::dense}};
  Transformer shared = one;
  shared.layers = {{AttentionKind::dsa, IndexRole::shared, FfnKind::dense}};
  for (const std::int64_t s : {100, 4096, 131072}) {
    const double scoring = model_flops_per_sequence(one, s, IndexerLoss::off, 0).si() -
                           model_flops_per_sequence(shared, s, IndexerLoss::off, 0).si() -
                           static_cast<double>(s) * 18743296.0;
    const double pairs = static_cast<double>(s) * static_cast<double>(s + 1) / 2.0;
    EXPECT_NEAR(scoring / (2.0 * pairs * 32.0 * 129.0), 1.0, 1e-9) << s;
  }
}

// S = 2048, window 512: 448.125 keys a query against 1024.5 for full attention, 2.29 times fewer
// (NVIDIA/Megatron-LM#3280 says 256 and 4 times, which is wrong).
TEST(ModelFlops, SlidingWindowSeesItsWindow) {
  Transformer m = test::bundled("llama3-8b");
  const auto attention = [&](std::int64_t window) {
    Transformer with = m;
    with.attention.sliding_window = window;
    Transformer none = m;
    none.attention.sliding_window = 1;                         // one key a query
    const double one = 3.0 * 2.0 * 32.0 * 2.0 * 128.0 * 32.0;  // of all layers
    const double more =
        per_token(with, 2048, IndexerLoss::off, 0) - per_token(none, 2048, IndexerLoss::off, 0);
    return more / one + 1.0;
  };
  ASSERT_EQ(m.layers.size(), 32U);
  EXPECT_NEAR(attention(512), 448.125, 1e-6);
  EXPECT_NEAR(attention(0), 1024.5, 1e-6);
  EXPECT_NEAR(attention(0) / attention(512), 2.29, 0.005);
  EXPECT_NEAR(attention(2048), 1024.5, 1e-6);
}

// Forward of the matrices of a layer, MFLOP a token, derived apart.
TEST(ModelFlops, MatricesOfALayer) {
  const Transformer glm = test::bundled("glm-5.1");
  const LayerSpec dense{AttentionKind::dsa, IndexRole::computes, FfnKind::dense};
  const LayerSpec moe{AttentionKind::dsa, IndexRole::computes, FfnKind::moe};
  EXPECT_DOUBLE_EQ(layer_matrix_flops_per_token(glm, dense), 330039296.0 + 452984832.0);
  EXPECT_DOUBLE_EQ(layer_matrix_flops_per_token(glm, moe), 330039296.0 + 682622976.0);
  EXPECT_DOUBLE_EQ(head_flops_per_token(glm), 1903165440.0);
  const Transformer gpt3 = test::bundled("gpt3-175b");
  EXPECT_DOUBLE_EQ(layer_matrix_flops_per_token(gpt3, gpt3.layers.front()),
                   1207959552.0 + 2415919104.0);
  EXPECT_DOUBLE_EQ(head_flops_per_token(gpt3), 1235116032.0);
}

// An MTP layer is an ordinary layer, the 2h -> h projection and a second pass through the head.
TEST(ModelFlops, MtpAddsALayerAProjectionAndAHead) {
  const Transformer glm = test::bundled("glm-5.1");
  Transformer longer = glm;
  longer.layers.push_back(model::mtp_layer(glm));
  const double added = per_token(glm, 8192, IndexerLoss::sparse, 1) -
                       per_token(longer, 8192, IndexerLoss::sparse, 0);
  EXPECT_NEAR(added, 3.0 * (2.0 * 2.0 * 6144.0 * 6144.0 + 1903165440.0), 10.0);
}

}  // namespace
}  // namespace hysim::ops
