// Predictions under ZeRO-2, ZeRO-3 and HSDP: bytes by hand, and what sharding may not do.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "unit/predict/scenarios.h"

namespace hysim::predictor {
namespace {

using test::dense;
using test::predict_nominal;

double sent(const Prediction& p) {
  for (const CommunicationRow& row : p.communication) {
    if (row.kind == "dp") return row.bytes_per_rank.si();
  }
  return 0.0;
}
double part(const Prediction& p, const std::string& name) {
  for (const MemoryPart& item : p.memory.parts) {
    if (item.name == name) return item.bytes.si();
  }
  return 0.0;
}

// Llama-2-7B, eight replicas: 6,738,415,616 parameters, of which a layer has 202,383,360.
constexpr double kParameters = 6738415616.0;
constexpr double kLayer = 202383360.0;
// The norm's all-reduce of 8 B over eight ranks.
constexpr double kNorm = 14.0;

// ZeRO-2 sends what ZeRO-1 does with one micro-batch, 2 Psi; ZeRO-3 3 Psi, here of 2 B each.
TEST(ShardedPrediction, CommunicationVolumeIsTheZeroPapers) {
  const auto volume = [](const std::string& zero, double micro_batches, const std::string& more) {
    std::vector<SetText> sets = {"parallelism.zero=" + zero, "training.gradient_dtype=bf16"};
    sets.push_back("workload.global_batch_size=" +
                   std::to_string(static_cast<int>(8.0 * micro_batches)));
    if (!more.empty()) sets.push_back(more);
    return (sent(predict_nominal(dense(), sets)) - kNorm) / (7.0 / 8.0 * 2.0 * kParameters);
  };
  EXPECT_NEAR(volume("2", 1.0, ""), 2.0, 1e-9);
  EXPECT_NEAR(volume("3", 1.0, ""), 3.0, 1e-9);
  EXPECT_NEAR(volume("2", 5.0, ""), 1.0 + 5.0, 1e-9);
  EXPECT_NEAR(volume("3", 5.0, ""), 5.0 * 3.0, 1e-9);
  EXPECT_NEAR(volume("3", 5.0, "parallelism.reshard_after_forward=false"), 5.0 * 2.0, 1e-9);
}

// Two copies of four ranks: 3/4 of the gradients in the shard group, an all-reduce of each quarter
// over the two copies (twice half of it), 3/4 of the weights; all in B a parameter.
TEST(ShardedPrediction, HsdpSendsInTheShardAndBetweenCopies) {
  const Prediction p = predict_nominal(dense(), {"parallelism.hsdp_shard=4", "parallelism.zero=1"});
  EXPECT_NEAR(sent(p), kParameters * (0.75 * 4.0 + 0.25 * 4.0 + 0.75 * 2.0) + kNorm, 1.0);
  EXPECT_DOUBLE_EQ(part(p, "optimizer"), 12.0 * kParameters / 4.0);
}

TEST(ShardedPrediction, MemoryHoldsShardsAndTheLayersAtWork) {
  const Prediction p = predict_nominal(dense(), {"parallelism.zero=3"});
  EXPECT_DOUBLE_EQ(part(p, "weights"), 2.0 * kParameters / 8.0);
  EXPECT_DOUBLE_EQ(part(p, "gradients"), 4.0 * kParameters / 8.0);
  EXPECT_DOUBLE_EQ(part(p, "optimizer"), 12.0 * kParameters / 8.0);
  EXPECT_DOUBLE_EQ(part(p, "weights_gathered"), 2.0 * 2.0 * kLayer);
  EXPECT_DOUBLE_EQ(part(p, "gradient_buffers"), 4.0 * 2.0 * kLayer);
  const auto gathered = [](const std::string& set) {
    return part(predict_nominal(dense(), {"parallelism.zero=3", set}), "weights_gathered");
  };
  EXPECT_DOUBLE_EQ(gathered("parallelism.fsdp_prefetch=0"), 2.0 * kLayer);
  EXPECT_DOUBLE_EQ(gathered("parallelism.fsdp_prefetch=3"), 2.0 * 4.0 * kLayer);
  EXPECT_DOUBLE_EQ(gathered("parallelism.reshard_after_forward=false"), 2.0 * kParameters);
  const Prediction two = predict_nominal(dense(), {"parallelism.zero=2"});
  EXPECT_DOUBLE_EQ(part(two, "weights"), 2.0 * kParameters);
  EXPECT_DOUBLE_EQ(part(two, "weights_gathered"), 0.0);
}

// Mixtral 8x7B: 41,984,000 parameters of a layer beside eight experts of 176,160,768, and
// 131,076,096 of the head. Experts over eight ranks are each on one: nothing gathers or scatters
// them.
TEST(ShardedPrediction, PartsOfOneRankNeedNoBuffers) {
  const ScenarioText mixtral = test::replaced(dense(), "llama2-7b", "mixtral-8x7b");
  constexpr double kBeside = 41984000.0;
  constexpr double kHead = 131076096.0;
  constexpr double kExpert = 176160768.0;
  const Prediction alone = predict_nominal(mixtral, {"parallelism.zero=3", "parallelism.ep=8"});
  EXPECT_DOUBLE_EQ(part(alone, "weights_gathered"), 2.0 * (kBeside + kHead));
  EXPECT_DOUBLE_EQ(part(alone, "gradient_buffers"), 4.0 * (kBeside + kHead));
  const Prediction two = predict_nominal(mixtral, {"parallelism.zero=3", "parallelism.ep=4"});
  EXPECT_DOUBLE_EQ(part(two, "weights_gathered"), 2.0 * 2.0 * (kBeside + 2.0 * kExpert));
  EXPECT_DOUBLE_EQ(part(two, "gradient_buffers"), 4.0 * 2.0 * (kBeside + 2.0 * kExpert));
  for (const char* zero : {"parallelism.zero=2", "parallelism.zero=3"}) {
    const Prediction one = predict_nominal(dense(), {zero, "cluster=h100-sxm-80:1x1"});
    EXPECT_EQ(part(one, "gradient_buffers"), 0.0) << zero;
    EXPECT_EQ(part(one, "weights_gathered"), 0.0) << zero;
  }
}

// P15 over whole predictions, and more prefetching never slower.
TEST(ShardedPrediction, StateShrinksAndPrefetchingHides) {
  const auto state = [](int zero) {
    const Prediction p = predict_nominal(
        dense(), zero == 1 ? std::vector<SetText>{}
                           : std::vector<SetText>{"parallelism.zero=" + std::to_string(zero)});
    return part(p, "weights") + part(p, "gradients") + part(p, "optimizer");
  };
  for (int zero = 0; zero < 3; ++zero) EXPECT_GT(state(zero), state(zero + 1)) << zero;
  const auto step = [](const std::string& set) {
    std::vector<SetText> sets = {"parallelism.zero=3"};
    if (!set.empty()) sets.push_back(set);
    return predict_nominal(dense(), sets).step_time.value.si();
  };
  const double one = step("");
  EXPECT_LT(one, step("parallelism.fsdp_prefetch=0"));
  EXPECT_LE(step("parallelism.fsdp_prefetch=4"), one * (1.0 + 1e-12));
  EXPECT_LT(one, step("training.overlap.grad_reduce=false"));
}

TEST(ShardedPrediction, CriticalLeavesSumToTheStep) {
  for (const char* zero : {"parallelism.zero=2", "parallelism.zero=3"}) {
    const Prediction p = predict_nominal(dense(), {zero});
    double sum = 0.0;
    for (const BreakdownLeaf& leaf : p.breakdown) {
      if (leaf.kind == TimeKind::critical) sum += leaf.time.value.si();
    }
    EXPECT_NEAR(sum / p.step_time.value.si(), 1.0, 1e-9) << zero;
  }
}

}  // namespace
}  // namespace hysim::predictor
