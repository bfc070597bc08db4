// A scenario chooses a kernel that a document defines.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/node.h"
#include "hardware/gpu.h"
#include "unit/predict/scenarios.h"

namespace hysim::predictor::test {
namespace {

using testing::HasSubstr;

/// A top-k like radix with `factor` times the time of h20-96's: its constants scaled.
Resources with_kernel(const std::string& gpu, double factor) {
  const auto sourced = [&](double value, const char* unit) {
    const std::string number = std::to_string(factor * value);
    return R"({"value": )" + number + R"(, "unit": ")" + unit + R"(", "low": )" + number +
           R"(, "high": )" + number + R"(, "kind": "measured", "source": "a test"})";
  };
  return overlay(
      memory_resources({{"hw_profiles/kernels/mine.json",
                         R"({"schema": "hysim.kernels/1", "name": "mine", "gpu": ")" + gpu +
                             R"(", "kernels": {"topk": {"mine": {"like": "radix", "cycles": )" +
                             sourced(0.5, "1") + R"(, "bytes": )" + sourced(8.8, "B") + "}}}}"}}),
      bundle());
}

TEST(NamedKernels, AreChosenByName) {
  const std::vector<SetText> mine = {"table:kernels.topk=mine"};
  const Prediction radix = predict_nominal(two_variants(), {"table:kernels.topk=radix"}, "table");
  const Prediction same = predict_nominal(two_variants(), mine, "table", with_kernel("h20-96", 1));
  EXPECT_NEAR(same.step_time.value.si(), radix.step_time.value.si(),
              1e-9 * radix.step_time.value.si());
  EXPECT_EQ(same.memory.peak_per_gpu.value, radix.memory.peak_per_gpu.value);
  EXPECT_THAT(same.resolved_scenario, HasSubstr("\"topk\": \"mine\""));
  const Prediction slower =
      predict_nominal(two_variants(), mine, "table", with_kernel("h20-96", 40));
  EXPECT_GT(slower.step_time.value, radix.step_time.value);
}

/// Every constant of h20-96's own fused selection, times `factor`.
Resources with_selection(double factor) {
  const hardware::GpuProfile gpu = hardware::load_gpu_profile(bundle(), "h20-96");
  std::string keys;
  for (const auto& [key, law] : std::vector<std::pair<std::string, std::string>>{
           {"tensor_fraction", "score_tensor_fraction"},
           {"epilogue_cycles", "score_epilogue_cycles"},
           {"epilogue_lane_ops", "score_epilogue_lane_ops"},
           {"scan_overhead", "hytopk_scan_overhead"},
           {"compaction_cycles", "hytopk_compaction_cycles"}}) {
    const double own = gpu.fields[hardware::gpu_field_index("laws/" + law)].value;
    const std::string number = config::to_text(
        config::Node::number(key == "tensor_fraction" ? own / factor : own * factor));
    keys += ", \"" + key + R"(": {"value": )" + number + R"(, "unit": "1", "low": )" + number +
            R"(, "high": )" + number + R"(, "kind": "measured", "source": "a test"})";
  }
  return overlay(
      memory_resources({{"hw_profiles/kernels/mine.json",
                         R"({"schema": "hysim.kernels/1", "name": "mine", "gpu": "h20-96",
                             "kernels": {"selection": {"mine": {"like": "fused")" +
                             keys + "}}}}"}}),
      bundle());
}

TEST(NamedKernels, AFusedSelectionTakesWhatItsConstantsSay) {
  const auto selection = [](const std::string& kernel, const Resources& resources) {
    const Prediction p =
        predict_nominal(two_variants(), {"table:kernels.selection=" + kernel}, "table", resources);
    double seconds = 0.0;
    for (const BreakdownLeaf& leaf : p.breakdown) {
      const bool critical = leaf.kind == TimeKind::critical;
      if (critical && leaf.path.starts_with("selection/")) seconds += leaf.time.value.si();
    }
    return std::pair(p.step_time.value.si(), seconds);
  };
  const auto [own, own_selection] = selection("fused", bundle());
  const auto [same, same_selection] = selection("mine", with_selection(1.0));
  EXPECT_NEAR(same, own, 1e-9 * own);
  const auto [twice, twice_selection] = selection("mine", with_selection(2.0));
  EXPECT_GT(twice_selection, 1.5 * own_selection);
  EXPECT_GT(twice, own);
}

TEST(NamedKernels, UnknownOnesAreRefusedWithThoseThereAre) {
  const auto fault = [](const std::string& set, const Resources& resources) {
    return faults_of([&] { predict_nominal(two_variants(), {set}, "table", resources); })
        .front()
        .text();
  };
  const std::string unknown = fault("kernels.topk=mien", with_kernel("h20-96", 1));
  EXPECT_THAT(unknown, HasSubstr("must be one of \"torch\", \"radix\""));
  EXPECT_THAT(unknown, HasSubstr("did you mean \"mine\"?"));
  EXPECT_THAT(fault("kernels.topk=mine", with_kernel("b200-180", 1)),
              HasSubstr("is defined for b200-180, not for h20-96"));
}

}  // namespace
}  // namespace hysim::predictor::test
