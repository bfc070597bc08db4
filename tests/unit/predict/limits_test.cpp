// Known limits of the Megatron stack: each is told where its thread says it holds, and not beside.
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/stack.h"
#include "unit/predict/scenarios.h"

namespace hysim::predictor {
namespace {

using test::ids_of;
using test::predict_nominal;
using test::two_variants;
using testing::Contains;
using testing::Not;
using testing::StartsWith;

using Sets = std::vector<SetText>;

Sets with(Sets sets, const Sets& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

/// Ids of GLM-5.1 at 128K tokens on 512 H20, cp 8, with `sets`.
std::vector<std::string> ids(const Sets& sets) {
  return ids_of(predict_nominal(two_variants(), sets));
}

// Megatron-LM issue 7463: 256K crashes, 32K runs.
TEST(StackLimits, CudnnDsaCrashesAt256K) {
  const auto at = [](const std::string& seq_len, const Sets& more) {
    return ids(with({"workload.seq_len=" + seq_len, "kernels.topk=radix"}, more));
  };
  EXPECT_THAT(at("256K", {}), Contains("dsa-cudnn-256k"));
  EXPECT_THAT(at("32K", {}), Not(Contains("dsa-cudnn-256k")));
  EXPECT_THAT(at("256K", {"kernels.sparse_attention=tilelang"}), Not(Contains("dsa-cudnn-256k")));
  EXPECT_THAT(ids({"workload.seq_len=256K"}), Not(Contains("dsa-cudnn-256k")));
}

// Megatron-LM PR 5099: unpacked input with cp > 1 runs the unfused indexer.
TEST(StackLimits, UnpackedInputWithCpIsPricedAsUnfused) {
  const Prediction packed = predict_nominal(two_variants());
  const Prediction unpacked = predict_nominal(two_variants(), {"workload.packing=bshd"});
  const Prediction unfused = predict_nominal(two_variants(), {"kernels.selection=naive"});
  EXPECT_THAT(ids_of(unpacked), Contains("dsa-bshd-cp"));
  EXPECT_THAT(ids_of(packed), Not(Contains("dsa-bshd-cp")));
  EXPECT_EQ(unpacked.step_time.value, unfused.step_time.value);
  EXPECT_EQ(unpacked.memory.peak_per_gpu.value, unfused.memory.peak_per_gpu.value);
  EXPECT_GT(unpacked.step_time.value.si(), packed.step_time.value.si());
  EXPECT_GT(unpacked.memory.peak_per_gpu.value.si(), packed.memory.peak_per_gpu.value.si());
}

TEST(StackLimits, UnpackedInputOfOneCpRankKeepsTileLangsTable) {
  const Sets one_rank = {"parallelism.cp=1", "workload.seq_len=32K"};
  const Prediction packed = predict_nominal(two_variants(), one_rank);
  const Prediction unpacked =
      predict_nominal(two_variants(), with(one_rank, {"workload.packing=bshd"}));
  EXPECT_EQ(unpacked.step_time.value, packed.step_time.value);
  EXPECT_THAT(ids_of(unpacked), Not(Contains(StartsWith("dsa-bshd"))));
}

// 4 B x 16384^2 is 1 GiB: the most the cuDNN kernels take of unpacked input.
TEST(StackLimits, CudnnTakesOneGibOfUnpackedScores) {
  const auto at = [](const std::string& seq_len) {
    return predict_nominal(
        two_variants(), with({"kernels.topk=radix"}, {"parallelism.cp=1", "workload.packing=bshd",
                                                      "workload.seq_len=" + seq_len}));
  };
  EXPECT_THAT(ids_of(at("16K")), Not(Contains("dsa-cudnn-bshd-1gib")));
  EXPECT_THAT(ids_of(at("17K")), Contains("dsa-cudnn-bshd-1gib"));
  // Unfused scoring writes every head's scores: far more than the table of 6 % more tokens.
  EXPECT_GT(at("17K").memory.peak_per_gpu.value.si(),
            1.5 * at("16K").memory.peak_per_gpu.value.si());
}

// miles commit bfffe48d5: fp32 scores of 32 heads take 32 GiB a layer at 16K tokens.
TEST(StackLimits, TheUnfusedBackendIsForShortSequences) {
  EXPECT_THAT(ids({"kernels.selection=naive"}), Contains("dsa-none-quadratic"));
  EXPECT_THAT(ids({"kernels.selection=naive", "workload.seq_len=8K"}),
              Not(Contains("dsa-none-quadratic")));
  EXPECT_THAT(ids({}), Not(Contains("dsa-none-quadratic")));
}

TEST(StackLimits, KernelsWantTheirHeads) {
  EXPECT_THAT(ids({}), Not(Contains("dsa-flashmla-heads")));  // 64 heads
  EXPECT_THAT(ids({"parallelism.tp=2"}), Contains("dsa-flashmla-heads"));
  const Sets tilelang = {"kernels.sparse_attention=tilelang"};
  EXPECT_THAT(ids(with(tilelang, {"parallelism.tp=4"})), Not(Contains("dsa-tilelang-heads")));
  EXPECT_THAT(ids(with(tilelang, {"parallelism.tp=8"})), Contains("dsa-tilelang-heads"));
  EXPECT_THAT(ids({"parallelism.tp=8"}), Not(Contains("dsa-tilelang-heads")));
}

// Megatron-LM issue 5643.
TEST(StackLimits, CpWithoutAnIndexerLossFailedAnAssertion) {
  EXPECT_THAT(ids({"training.indexer.loss=off"}), Contains("dsa-loss-off-cp"));
  EXPECT_THAT(ids({"training.indexer.loss=dense"}), Not(Contains("dsa-loss-off-cp")));
  EXPECT_THAT(ids({"training.indexer.loss=off", "parallelism.cp=1", "workload.seq_len=8K"}),
              Not(Contains("dsa-loss-off-cp")));
}

// Megatron-LM PR 7010: GLM-5.2 shares indices, GLM-5.1 does not.
TEST(StackLimits, SharedIndicesAndRecomputation) {
  const Prediction shared = predict_nominal(test::bundled_scenario("glm-5.2-2k-h100-352"));
  EXPECT_THAT(ids_of(shared), Contains("dsa-shared-index-recompute"));
  EXPECT_THAT(ids_of(predict_nominal(test::bundled_scenario("glm-5.2-2k-h100-352"),
                                     {"training.recompute=none"})),
              Not(Contains("dsa-shared-index-recompute")));
  EXPECT_THAT(ids({}), Not(Contains("dsa-shared-index-recompute")));
}

TEST(StackLimits, TileLangsBlocksAtLength) {
  const Sets blocks = {"kernels.score_chunk_rows=8192"};
  EXPECT_THAT(ids(with(blocks, {"workload.seq_len=512K"})), Contains("dsa-tilelang-block"));
  EXPECT_THAT(ids(blocks), Not(Contains("dsa-tilelang-block")));
  EXPECT_THAT(ids({"workload.seq_len=512K"}), Not(Contains("dsa-tilelang-block")));
}

// A dense model has no indexer to be limited.
TEST(StackLimits, OfDsaAreToldOfDsaModelsOnly) {
  const auto warnings = ids_of(predict_nominal(
      test::dense(), {"parallelism.cp=2", "workload.packing=bshd", "training.indexer.loss=off"}));
  EXPECT_THAT(warnings, Not(Contains(StartsWith("dsa-"))));
}

// Other kinds of context parallelism exist for dense attention only.
TEST(StackLimits, DsaGathersItsKeys) {
  const graph::StackProfile stack = graph::load_stack(test::bundle(), "megatron-core-2026");
  const auto at = [&](const std::string& facts) {
    std::vector<std::string> found;
    for (const graph::StackLimit& limit : graph::limits_met(stack, config::parse(facts, "facts"))) {
      found.push_back(limit.id);
    }
    return found;
  };
  const std::string_view facts =
      R"({"model": {"attention": "dsa"}, "parallelism": {"cp": 8, "cp_comm": "p2p"}})";
  EXPECT_THAT(at(std::string(facts)), Contains("dsa-cp-comm"));
  EXPECT_THAT(at(test::replaced(std::string(facts), "p2p", "all_gather")),
              Not(Contains("dsa-cp-comm")));
  EXPECT_THAT(at(test::replaced(std::string(facts), "dsa", "mla")), Not(Contains("dsa-cp-comm")));
  EXPECT_THAT(at(test::replaced(std::string(facts), "8", "1")), Not(Contains("dsa-cp-comm")));
}

TEST(StackLimits, EveryOneNamesItsSourceAndHasAnIdOfItsOwn) {
  std::set<std::string> known;
  for (const graph::StackLimit& limit :
       graph::load_stack(test::bundle(), "megatron-core-2026").limits) {
    EXPECT_NE(limit.source, "") << limit.id;
    EXPECT_TRUE(known.insert(limit.id).second) << limit.id;
  }
  EXPECT_GE(known.size(), 10U);
}

}  // namespace
}  // namespace hysim::predictor
