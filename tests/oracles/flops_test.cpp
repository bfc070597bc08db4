// FLOP of every part of a layer, forward and backward, as the layer builder adds them up on one
// GPU, against independently derived exact integers.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "graph/layer.h"
#include "ops/model_flops.h"
#include "oracles/figures.h"
#include "unit/graph/plans.h"

namespace hysim {
namespace {

using config::Node;
using graph::Plan;
using model::AttentionKind;
using model::FfnKind;
using model::IndexRole;
using model::LayerSpec;
using ops::IndexerLoss;
using test::built;
using test::BuiltLayer;
using test::member;

const Node& figures() {
  static const Node node = test::read_figures("flops");
  return node;
}

/// FLOP of a part: [forward, backward].
std::pair<double, double> expected(const Node& items, std::string_view part) {
  const Node::Array& both = member(items, part).as_array();
  return {static_cast<double>(both.at(0).as_integer()),
          static_cast<double>(both.at(1).as_integer())};
}

class LayerFlops : public testing::TestWithParam<std::string> {
 protected:
  /// One GPU, no recomputation, the indexer trained on selected pairs.
  Plan plan(std::int64_t seq_len) const {
    Plan one = test::one_gpu(test::bundled(GetParam()), seq_len);
    one.training.indexer_loss = IndexerLoss::sparse;
    return one;
  }
  const Node& lengths() const { return member(member(figures(), "models"), GetParam()); }
  bool sparse() const {
    return lengths().as_object().front().second.find("sparse_attention") != nullptr;
  }
  LayerSpec spec(FfnKind ffn) const {
    return sparse() ? LayerSpec{AttentionKind::dsa, IndexRole::computes, ffn}
                    : LayerSpec{AttentionKind::gqa, IndexRole::none, ffn};
  }
};

void expect_part(const BuiltLayer& b, const Node& items, std::string_view part,
                 std::initializer_list<const char*> forward,
                 std::initializer_list<const char*> backward) {
  if (items.find(part) == nullptr) return;
  const auto [fwd, bwd] = expected(items, part);
  EXPECT_EQ(b.forward_flops(forward), fwd) << part << " forward";
  EXPECT_EQ(b.backward_flops(backward), bwd) << part << " backward";
}

TEST_P(LayerFlops, EveryPart) {
  for (const auto& [seq_len, items] : lengths().as_object()) {
    SCOPED_TRACE(seq_len);
    const Plan one = plan(std::stoll(seq_len));
    for (const FfnKind ffn : {FfnKind::dense, FfnKind::moe}) {
      if (ffn == FfnKind::dense && items.find("dense_ffn") == nullptr) continue;
      if (ffn == FfnKind::moe && items.find("moe") == nullptr) continue;
      const BuiltLayer b = built(one, spec(ffn));
      expect_part(b, items, "projections", {"linear/attention"}, {"linear/attention"});
      expect_part(b, items, "indexer_projections", {"linear/indexer"}, {"linear/indexer"});
      expect_part(b, items, "scoring", {"selection"}, {"selection"});
      expect_part(b, items, "sparse_attention", {"attention"}, {"attention"});
      // Without recomputation the first pass trains the indexer: its gradient runs there.
      if (sparse()) {
        EXPECT_EQ(b.forward_flops({"indexer_loss/teacher"}), expected(items, "teacher").first);
        EXPECT_EQ(b.forward_flops({"indexer_loss/gradient"}), expected(items, "gradient").second);
        EXPECT_EQ(b.backward_flops({"indexer_loss"}), 0.0);
      } else {
        expect_part(b, items, "dense_attention", {"attention"}, {"attention"});
      }
      if (ffn == FfnKind::dense) {
        expect_part(b, items, "dense_ffn", {"linear/ffn"}, {"linear/ffn"});
      } else {
        expect_part(b, items, "moe", {"linear/router", "experts"}, {"linear/router", "experts"});
      }
      // Nothing is left out: the parts are all the layer has.
      EXPECT_EQ(b.forward_flops({""}),
                b.forward_flops({"linear", "attention", "selection", "indexer_loss", "experts"}));
    }
  }
}

// The up-projected dense form that the sparse models are compared with.
TEST_P(LayerFlops, DenseAttentionOfSparseModels) {
  if (!sparse()) return;
  for (const auto& [seq_len, items] : lengths().as_object()) {
    const BuiltLayer b =
        built(plan(std::stoll(seq_len)), {AttentionKind::mla, IndexRole::none, FfnKind::dense});
    const auto [fwd, bwd] = expected(items, "dense_attention");
    EXPECT_EQ(b.forward_flops({"attention"}), fwd) << seq_len;
    EXPECT_EQ(b.backward_flops({"attention"}), bwd) << seq_len;
    // Absorbed or not, the projections are the same matrices.
    expect_part(b, items, "projections", {"linear/attention"}, {"linear/attention"});
  }
}

TEST_P(LayerFlops, Head) {
  for (const auto& [seq_len, items] : lengths().as_object()) {
    const Plan one = plan(std::stoll(seq_len));
    BuiltLayer b;
    b.layer = graph::build_head(b.program, graph::make_context(one, 8));
    expect_part(b, items, "head", {"vocabulary/logits"}, {"vocabulary/logits"});
  }
}

// Full recomputation runs the forward again: twice the forward, once the backward. The no-grad
// first pass trains nothing, so the indexer's loss runs once, in the second.
TEST_P(LayerFlops, FullRecomputationRunsTheForwardTwice) {
  for (const auto& [seq_len, items] : lengths().as_object()) {
    SCOPED_TRACE(seq_len);
    Plan one = plan(std::stoll(seq_len));
    const LayerSpec layer = spec(items.find("moe") != nullptr ? FfnKind::moe : FfnKind::dense);
    const BuiltLayer none = built(one, layer);
    one.training.recompute = graph::Recompute::full;
    const BuiltLayer full = built(one, layer);
    const double loss = none.forward_flops({"indexer_loss"});
    EXPECT_EQ(full.forward_flops({""}), none.forward_flops({""}) - loss);
    EXPECT_EQ(full.backward_flops({""}), none.backward_flops({""}) + none.forward_flops({""}));
    EXPECT_EQ(full.backward_flops({"indexer_loss"}), loss);
    if (!sparse()) continue;
    // Replay removes exactly one scoring; projections and loss stay, for the indexer is trained.
    one.kernels.selection_replay = true;
    const BuiltLayer replay = built(one, layer);
    EXPECT_EQ(replay.forward_flops({""}), full.forward_flops({""}));
    EXPECT_EQ(full.backward_flops({""}) - replay.backward_flops({""}),
              expected(items, "scoring").first);
    EXPECT_EQ(replay.backward_flops({"linear/indexer"}), full.backward_flops({"linear/indexer"}));
    // Untrained, it removes the index projections too.
    one.training.indexer_loss = IndexerLoss::off;
    const BuiltLayer off = built(one, layer);
    EXPECT_EQ(off.backward_flops({"linear/indexer", "selection", "indexer_loss"}), 0.0);
    one.kernels.selection_replay = false;
    EXPECT_EQ(built(one, layer).backward_flops({"linear/indexer", "selection"}),
              expected(items, "indexer_projections").first + expected(items, "scoring").first);
  }
}

// Model FLOP: three times the forward of every matrix product and attention core; the indexer as
// trained: projections twice, scores once, their gradient (4 pairs H (d + 1), without computing the
// scores again) and the teacher over selected pairs.
TEST_P(LayerFlops, ModelFlopsAreMadeOfTheSameParts) {
  const model::Transformer m = test::bundled(GetParam());
  for (const auto& [seq_len, items] : lengths().as_object()) {
    double flops = 3.0 * expected(items, "head").first;
    for (const LayerSpec& layer : m.layers) {
      flops += 3.0 * expected(items, "projections").first;
      flops += 3.0 * expected(items, layer.ffn == FfnKind::moe ? "moe" : "dense_ffn").first;
      if (!sparse()) {
        flops += 3.0 * expected(items, "dense_attention").first;
        continue;
      }
      flops += 3.0 * expected(items, "sparse_attention").first;
      flops += 2.0 * expected(items, "indexer_projections").first;
      flops += expected(items, "scoring").first + expected(items, "teacher").first;
      const double d = static_cast<double>(m.indexer.head_dim);
      flops += expected(items, "gradient").second * 4.0 * (d + 1.0) / (6.0 * d);
    }
    const double counted =
        ops::model_flops_per_sequence(m, std::stoll(seq_len), IndexerLoss::sparse, 0).si();
    EXPECT_NEAR(counted / flops, 1.0, 1e-12) << seq_len;
  }
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (c == '-' || c == '.') c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Oracles, LayerFlops,
                         testing::Values("glm-5.1", "deepseek-v3.2", "llama3.1-405b",
                                         "qwen3-235b-a22b", "gpt3-175b", "mixtral-8x7b"),
                         test_name);

}  // namespace
}  // namespace hysim
