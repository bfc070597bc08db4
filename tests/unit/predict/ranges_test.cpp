// Ranges: percentiles of draws that depend on nothing but the seed, the input and the sample.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/node.h"
#include "predict/run.h"
#include "predict/scenario.h"
#include "unit/predict/scenarios.h"

namespace hysim::predictor {
namespace {

using test::disordered;
using test::fingerprint;
using testing::IsEmpty;

Prediction drawn(const ScenarioText& scenario, std::int64_t draws, std::uint64_t seed = 1,
                 const std::string& variant = {}) {
  PredictOptions options;
  options.draws = draws;
  options.seed = seed;
  options.variant = variant;
  return predict(test::bundle(), scenario, options);
}

void expect_range(const Ranged<double>& range, double value, double low, double high) {
  EXPECT_DOUBLE_EQ(range.value, value);
  EXPECT_DOUBLE_EQ(range.low, low);
  EXPECT_DOUBLE_EQ(range.high, high);
}

// ---------------------------------------------------------------- percentiles

TEST(RangedSamples, ArePercentilesWithLinearInterpolation) {
  // Eleven samples: the 10th percentile is the second smallest, the 90th the second largest.
  expect_range(ranged(5.0, {3, 0, 10, 7, 1, 9, 2, 8, 4, 6, 5}), 5.0, 1.0, 9.0);
  // Four: place 0.1 x 3 = 0.3 between 10 and 20, place 2.7 between 30 and 40.
  expect_range(ranged(25.0, {40, 10, 30, 20}), 25.0, 13.0, 37.0);
  // Two: 0.1 and 0.9 of the way.
  expect_range(ranged(1.5, {2, 1}), 1.5, 1.1, 1.9);
  // 101 samples 0, 1, ..., 100.
  std::vector<double> hundred;
  for (int i = 100; i >= 0; --i) hundred.push_back(i);
  expect_range(ranged(50.0, hundred), 50.0, 10.0, 90.0);
}

TEST(RangedSamples, NoneAndOne) {
  expect_range(ranged(3.0, {}), 3.0, 3.0, 3.0);
  expect_range(ranged(3.0, {3.0}), 3.0, 3.0, 3.0);
  expect_range(ranged(3.0, {7.0}), 3.0, 3.0, 7.0);
}

TEST(RangedSamples, HoldTheNominalValue) {
  expect_range(ranged(0.0, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), 0.0, 0.0, 10.0);
  expect_range(ranged(20.0, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), 20.0, 2.0, 20.0);
}

// ---------------------------------------------------------------- predictions

TEST(Ranges, WithoutDrawsAreTheValue) {
  for (const test::BundledVariant& bundled : test::bundled_variants()) {
    const Prediction p = drawn(bundled.scenario, 0, 1, bundled.variant);
    EXPECT_EQ(p.draws, 0);
    const auto same = [](const auto& r) { return r.low == r.value && r.value == r.high; };
    EXPECT_TRUE(same(p.step_time)) << bundled.name;
    EXPECT_TRUE(same(p.tokens_per_second_per_gpu)) << bundled.name;
    EXPECT_TRUE(same(p.mfu.fraction)) << bundled.name;
    EXPECT_TRUE(same(p.hfu.fraction)) << bundled.name;
    EXPECT_TRUE(same(p.memory.peak_per_gpu)) << bundled.name;
    for (const BreakdownLeaf& leaf : p.breakdown) EXPECT_TRUE(same(leaf.time)) << leaf.path;
  }
}

TEST(Ranges, AreOrderedInEveryBundledScenario) {
  for (const test::BundledVariant& bundled : test::bundled_variants()) {
    const Prediction p = drawn(bundled.scenario, 40, 1, bundled.variant);
    EXPECT_THAT(disordered(p), IsEmpty()) << bundled.name << " " << bundled.variant;
    EXPECT_LT(p.step_time.low, p.step_time.high) << bundled.name;
    EXPECT_LT(p.memory.peak_per_gpu.low, p.memory.peak_per_gpu.high) << bundled.name;
    EXPECT_EQ(p.draws, 40);
  }
}

TEST(Ranges, DrawsDoNotMoveValues) {
  const Prediction nominal = drawn(test::two_variants(), 0);
  for (const std::uint64_t seed : {1U, 2U, 77U}) {
    const Prediction p = drawn(test::two_variants(), 25, seed);
    EXPECT_EQ(p.step_time.value, nominal.step_time.value);
    EXPECT_EQ(p.memory.peak_per_gpu.value, nominal.memory.peak_per_gpu.value);
    EXPECT_EQ(p.mfu.fraction.value, nominal.mfu.fraction.value);
    EXPECT_EQ(p.seed, seed);
    ASSERT_EQ(p.breakdown.size(), nominal.breakdown.size());
    for (std::size_t i = 0; i < p.breakdown.size(); ++i) {
      EXPECT_EQ(p.breakdown[i].path, nominal.breakdown[i].path);
      EXPECT_EQ(p.breakdown[i].time.value, nominal.breakdown[i].time.value);
      EXPECT_EQ(p.breakdown[i].bound_by, nominal.breakdown[i].bound_by);
    }
  }
}

TEST(Ranges, TheSeedDecides) {
  const Prediction one = drawn(test::two_variants(), 25, 1);
  EXPECT_EQ(fingerprint(one), fingerprint(drawn(test::two_variants(), 25, 1)));
  const Prediction two = drawn(test::two_variants(), 25, 2);
  EXPECT_NE(one.step_time.low, two.step_time.low);
  EXPECT_NE(one.step_time.high, two.step_time.high);
}

TEST(Ranges, TokensFollowTheStepDrawByDraw) {
  // The 10th percentile of 1/t is the inverse of the 90th of t when the place is a sample.
  const Prediction p = drawn(test::two_variants(), 11);
  const double tokens = 128.0 * 131072.0 / 512.0;
  EXPECT_NEAR(p.tokens_per_second_per_gpu.low, tokens / p.step_time.high.si(),
              1e-12 * p.tokens_per_second_per_gpu.low);
  EXPECT_NEAR(p.tokens_per_second_per_gpu.high, tokens / p.step_time.low.si(),
              1e-12 * p.tokens_per_second_per_gpu.high);
}

/// A profile whose numbers have no range.
void remove_ranges(config::Node& node) {
  if (node.is_object()) {
    for (const char* key : {"low", "high"}) node.erase(key);
    for (auto& [key, value] : node.as_object()) remove_ranges(value);
  }
}

TEST(Ranges, InputsWithoutRangeMakeNone) {
  std::map<std::string, std::string> documents;
  for (const char* path : {"hw_profiles/gpus/h20-96.json", "hw_profiles/clusters/h20-512.json",
                           "hw_profiles/stacks/megatron-core-2026.json"}) {
    config::Node document = config::parse(test::bundled_text(path), path);
    for (const char* figures : {"further", "achieved"}) document.erase(figures);
    remove_ranges(document);
    documents[path] = config::to_text(document);
  }
  PredictOptions options;
  options.draws = 16;
  const Prediction p =
      predict(overlay(memory_resources(documents), test::bundle()), test::two_variants(), options);
  EXPECT_EQ(p.step_time.value, drawn(test::two_variants(), 0).step_time.value);
  EXPECT_EQ(p.step_time.low, p.step_time.value);
  EXPECT_EQ(p.step_time.high, p.step_time.value);
  EXPECT_EQ(p.memory.peak_per_gpu.low, p.memory.peak_per_gpu.high);
}

// ---------------------------------------------------------------- comparisons share their draws

Comparison compared(const ScenarioText& scenario, std::int64_t draws, std::uint64_t seed = 1) {
  CompareOptions options;
  options.draws = draws;
  options.seed = seed;
  return compare(test::bundle(), scenario, options);
}

Run run_of(const ScenarioText& text, const Variant& variant, std::int64_t draws) {
  const Scenario scenario = parse_scenario(text);
  Job job = resolve(test::bundle(), scenario, variant.name,
                    variant_document(scenario, variant.steps, variant.name, {}));
  return run(std::move(job), {1, draws, false}, serial_executor());
}

double width(const Ranged<double>& range) { return range.high / range.low; }

TEST(SharedDraws, TheSpeedupIsNarrowerThanIndependentSidesWouldMakeIt) {
  for (const std::string& name : test::scenario_names()) {
    const ScenarioText text = test::bundled_scenario(name);
    const Scenario scenario = parse_scenario(text);
    if (scenario.variants.size() < 2) continue;
    constexpr std::int64_t kDraws = 100;
    const predictor::Run a = run_of(text, scenario.variants.front(), kDraws);
    predictor::Run b = run_of(text, scenario.variants.back(), kDraws);
    const Ranged<double> shared = speedup(a, b);
    EXPECT_LE(shared.low, shared.value) << name;
    EXPECT_LE(shared.value, shared.high) << name;
    EXPECT_LT(shared.low, shared.high) << name;
    // The same draws of each side, but not the same pairs.
    double independent = 0.0;
    for (std::int64_t i = 1; i < kDraws; ++i) {
      std::rotate(b.steps.begin(), b.steps.begin() + 1, b.steps.end());
      independent += width(speedup(a, b)) / static_cast<double>(kDraws - 1);
    }
    EXPECT_LT(width(shared), independent) << name;
  }
}

TEST(SharedDraws, LikeSidesAreAlikeInEveryDraw) {
  ScenarioText scenario =
      test::replaced(test::two_variants(), R"({"kernels": {"selection": "table"}})",
                     R"([{"step": "HyTopK", "set": {"kernels": {"selection": "fused"}}},
                         {"step": "replay", "set": {"kernels": {"selection_replay": true}}}])");
  scenario = test::replaced(scenario, "\"table\"", "\"another name\"");
  const Comparison c = compared(scenario, 50);
  expect_range(c.speedup.ratio, 1.0, 1.0, 1.0);
  EXPECT_LT(c.variants.front().step_time.low, c.variants.front().step_time.high);
}

TEST(SharedDraws, AVariantsRangeDoesNotDependOnItsCompany) {
  const Comparison c = compared(test::two_variants(), 30, 5);
  const Prediction alone = drawn(test::two_variants(), 30, 5, "fused");
  EXPECT_EQ(c.variants.back().step_time.low, alone.step_time.low);
  EXPECT_EQ(c.variants.back().step_time.high, alone.step_time.high);
}

}  // namespace
}  // namespace hysim::predictor
