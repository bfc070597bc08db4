// Changes that would make a job fit: applied with --set they do what is said of them.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/predict/scenarios.h"

namespace hysim::predictor::test {
namespace {

using testing::Contains;
using testing::Field;
using testing::IsEmpty;
using testing::Not;

const char* const kHeadline = "glm-5.1-1m-h20-512";

const Remedy* find(const Prediction& prediction, const std::string& set) {
  for (const Remedy& remedy : prediction.memory.remedies) {
    if (std::find(remedy.sets.begin(), remedy.sets.end(), set) != remedy.sets.end()) return &remedy;
  }
  return nullptr;
}

/// Predicts again with each remedy's settings.
void expect_kept(const ScenarioText& scenario, const std::string& variant,
                 const std::vector<SetText>& sets, const Prediction& prediction) {
  for (const Remedy& remedy : prediction.memory.remedies) {
    SCOPED_TRACE(remedy.name);
    std::vector<SetText> with = sets;
    with.insert(with.end(), remedy.sets.begin(), remedy.sets.end());
    const Prediction again = predict_nominal(scenario, with, variant);
    EXPECT_EQ(again.memory.fits, remedy.fits);
    EXPECT_EQ(again.memory.peak_per_gpu.value, remedy.peak_per_gpu);
    EXPECT_EQ(again.step_time.value, remedy.step_time);
    EXPECT_LT(remedy.peak_per_gpu, prediction.memory.peak_per_gpu.value);
    EXPECT_NEAR(remedy.cost, remedy.step_time / prediction.step_time.value - 1.0, 1e-12);
  }
}

TEST(Remedies, OfEveryBundledVariantThatDoesNotFitDoWhatTheySay) {
  int unfit = 0;
  for (const BundledVariant& v : bundled_variants()) {
    const Prediction p = predict_nominal(v.scenario, {}, v.variant);
    if (p.memory.fits != Fit::no) {
      EXPECT_THAT(p.memory.remedies, IsEmpty());
      continue;
    }
    SCOPED_TRACE(v.name + " " + v.variant);
    ++unfit;
    EXPECT_THAT(p.memory.remedies, Not(IsEmpty()));
    EXPECT_THAT(p.memory.remedies, Not(Contains(Field(&Remedy::fits, Fit::no))));
    EXPECT_TRUE(
        std::is_sorted(p.memory.remedies.begin(), p.memory.remedies.end(),
                       [](const Remedy& a, const Remedy& b) { return a.step_time < b.step_time; }));
    expect_kept(v.scenario, v.variant, {}, p);
  }
  EXPECT_GE(unfit, 2);
}

TEST(Remedies, TakeTheSmallestStepThatFits) {
  const ScenarioText scenario = bundled_scenario(kHeadline);
  const std::string variant = "megatron-tilelang";
  const Prediction p = predict_nominal(scenario, {}, variant);
  ASSERT_EQ(p.memory.fits, Fit::no);
  // Halves of 8192 rows from the top: the first that fits.
  std::int64_t rows = 4096;
  while (predict_nominal(scenario, {"kernels.score_chunk_rows=" + std::to_string(rows)}, variant)
             .memory.fits == Fit::no) {
    rows /= 2;
    ASSERT_GT(rows, 1);
  }
  EXPECT_NE(find(p, "kernels.score_chunk_rows=" + std::to_string(rows)), nullptr);
  const Remedy* const fused = find(p, "kernels.selection=fused");
  ASSERT_NE(fused, nullptr);
  EXPECT_LT(fused->cost, 0.0);  // HyTopK is faster as well
}

// Every 5 % from the bottom: the first that fits, and none below it. Indices are kept without
// replay too where nothing is recomputed.
TEST(Remedies, OffloadNoMoreThanNeeded) {
  const ScenarioText scenario = bundled_scenario("glm-5.2-128k-gb200-192");
  const std::vector<SetText> sets = {"training.recompute=none", "workload.seq_len=74112"};
  const auto fits = [&](const std::string& set) {
    return predict_nominal(scenario, {sets[0], sets[1], set}).memory.fits;
  };
  const Prediction p = predict_nominal(scenario, sets);
  ASSERT_EQ(p.memory.fits, Fit::no);
  ASSERT_NE(fits("training.offload.indices=true"), Fit::no);
  EXPECT_NE(find(p, "training.offload.indices=true"), nullptr);
  const auto share = [](int percent) {
    return "training.offload.activations=0." + std::string(percent < 10 ? "0" : "") +
           std::to_string(percent);
  };
  int percent = 5;
  while (percent < 100 && fits(share(percent)) == Fit::no) percent += 5;
  ASSERT_LT(percent, 100);
  for (int other = 5; other < 100; other += 5) {
    std::string set = share(other);
    if (set.ends_with('0')) set.pop_back();
    EXPECT_EQ(find(p, set) != nullptr, other == percent) << set;
  }
  expect_kept(scenario, "", sets, p);
}

TEST(Remedies, MoreStagesBringTheirOwnSpreadOfLayers) {
  // Weights are what does not fit: 128K tokens on one stage.
  const ScenarioText scenario = two_variants();
  const std::vector<SetText> sets = {"parallelism.pp=2", "parallelism.pipeline_layout=[39,39]",
                                     "parallelism.cp=16", "parallelism.ep=16"};
  const Prediction p = predict_nominal(scenario, sets, "fused");
  ASSERT_EQ(p.memory.fits, Fit::no);
  ASSERT_THAT(p.memory.remedies, Not(IsEmpty()));
  expect_kept(scenario, "fused", sets, p);
}

// Saved tensors of 64K tokens do not fit, and a node's host memory does not hold them.
TEST(Remedies, NeedNoMoreHostMemoryThanIsStated) {
  const auto with_host_memory = [](const std::string& size) {
    Resources resources = bundle();
    resources.read = [inner = bundle(), size](std::string_view path) {
      std::optional<std::string> text = inner.read(path);
      if (path == "hw_profiles/clusters/h100-512.json" && text && !size.empty()) {
        text->insert(text->rfind('}'), ", \"host_memory\": \"" + size + "\"");
      }
      return text;
    };
    return resources;
  };
  const ScenarioText scenario = bundled_scenario("llama3.1-405b-8k-h100-512");
  const std::string longer = "workload.seq_len=65536";
  const auto offload = [](const Prediction& p) -> const Remedy* {
    for (const Remedy& remedy : p.memory.remedies) {
      if (remedy.host_per_node > Bytes{}) return &remedy;
    }
    return nullptr;
  };
  const Prediction unstated = predict_nominal(scenario, {longer});
  ASSERT_EQ(unstated.memory.fits, Fit::no);
  const Remedy* const found = offload(unstated);
  ASSERT_NE(found, nullptr);
  ASSERT_EQ(found->sets.size(), 1U);
  const Prediction applied = predict_nominal(scenario, {longer, found->sets.front()});
  EXPECT_EQ(applied.memory.host_per_node, found->host_per_node);
  EXPECT_EQ(applied.memory.host_capacity, Bytes{});

  const Resources poor = with_host_memory("1 GB");
  const Prediction stated = predict_nominal(scenario, {longer}, {}, poor);
  EXPECT_EQ(offload(stated), nullptr);
  EXPECT_THAT(stated.memory.remedies, Not(IsEmpty()));
  const Prediction exceeding = predict_nominal(scenario, {longer, found->sets.front()}, {}, poor);
  EXPECT_TRUE(exceeding.memory.host_exceeded());
  EXPECT_LE(exceeding.memory.peak_per_gpu.value, exceeding.memory.capacity);
  EXPECT_EQ(exceeding.memory.fits, Fit::no);
  EXPECT_EQ(exceeding.memory.host_capacity, Bytes(1e9));
}

// 126 layers on 8 x 8 chunks: of 16 x 8 two would be without layers.
TEST(Remedies, MakeNoChunksWithoutLayers) {
  const ScenarioText scenario = bundled_scenario("llama3.1-405b-8k-h100-512");
  const std::string more = "training.gradient_dtype=fp32";
  const Prediction p = predict_nominal(scenario, {more});
  ASSERT_EQ(p.memory.fits, Fit::no);
  // Sixteen stages of one chunk each do fit.
  ASSERT_NE(predict_nominal(scenario, {more, "parallelism.pp=16", "parallelism.vpp=1",
                                       "parallelism.pipeline_layout=null"})
                .memory.fits,
            Fit::no);
  for (const Remedy& remedy : p.memory.remedies) {
    EXPECT_THAT(remedy.sets, Not(Contains("parallelism.pp=16"))) << remedy.name;
  }
}

TEST(Remedies, AreTheClosestChangesWhenNoneIsEnough) {
  // 405 billion parameters on 8 GPUs: two changes do not do it.
  const ScenarioText scenario = replaced(dense(), "llama2-7b", "llama3.1-405b");
  const Prediction p = predict_nominal(scenario);
  ASSERT_EQ(p.memory.fits, Fit::no);
  ASSERT_EQ(p.memory.remedies.size(), 1U);
  EXPECT_EQ(p.memory.remedies.front().fits, Fit::no);
  expect_kept(scenario, "", {}, p);
}

/// GLM-5.2 without recompute at the shortest sequence that leaves less than 5 % of the memory.
std::vector<SetText> tight_job(const ScenarioText& scenario) {
  for (std::int64_t thousands = 64; thousands <= 128; ++thousands) {
    const std::vector<SetText> sets = {"training.recompute=none",
                                       "workload.seq_len=" + std::to_string(1024 * thousands)};
    if (predict_nominal(scenario, sets).memory.fits != Fit::yes) return sets;
  }
  return {};
}

TEST(Remedies, AreSoughtWhenAskedFor) {
  PredictOptions options;
  options.draws = 0;
  options.variant = "megatron-tilelang";
  options.remedies = SeekRemedies::never;
  const ScenarioText unfit = bundled_scenario(kHeadline);
  EXPECT_THAT(predict(bundle(), unfit, options).memory.remedies, IsEmpty());

  const ScenarioText scenario = bundled_scenario("glm-5.2-128k-gb200-192");
  options.variant = "";
  options.sets = tight_job(scenario);
  ASSERT_THAT(options.sets, Not(IsEmpty()));
  options.remedies = SeekRemedies::when_unfit;
  const Prediction silent = predict(bundle(), scenario, options);
  EXPECT_EQ(silent.memory.fits, Fit::tight);
  EXPECT_THAT(silent.memory.remedies, IsEmpty());
  options.remedies = SeekRemedies::when_tight;
  const Prediction asked = predict(bundle(), scenario, options);
  EXPECT_EQ(asked.memory.fits, Fit::tight);
  ASSERT_THAT(asked.memory.remedies, Not(IsEmpty()));
  EXPECT_THAT(asked.memory.remedies, testing::Each(Field(&Remedy::fits, Fit::yes)));
  expect_kept(scenario, asked.variant, options.sets, asked);

  // With room nothing is sought.
  options.sets = {"training.recompute=none", "workload.seq_len=32K"};
  const Prediction roomy = predict(bundle(), scenario, options);
  EXPECT_EQ(roomy.memory.fits, Fit::yes);
  EXPECT_THAT(roomy.memory.remedies, IsEmpty());
}

}  // namespace
}  // namespace hysim::predictor::test
