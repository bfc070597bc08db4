// The "scale" section: what-if factors on times, against Amdahl's law and by name.
#include "graph/scale.h"

#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/predict/scenarios.h"

namespace hysim::predictor::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

/// One GPU: nothing overlaps and nothing waits, so the step is the sum of its leaves.
ScenarioText alone() {
  return {R"({
    "schema": "hysim.scenario/1", "name": "alone", "model": "glm-5.1", "cluster": "h20-96:1x1",
    "workload": {"seq_len": "32K", "global_batch_size": 2},
    "training": {"recompute": "full", "mtp_num_layers": 1},
    "kernels": {"selection": "table", "score_clean": true}
  })",
          "alone.json"};
}

double seconds_of(const Prediction& prediction, const graph::ScaleName& name) {
  double sum = 0.0;
  for (const BreakdownLeaf& leaf : prediction.breakdown) {
    if (graph::covers(name, leaf.path)) sum += leaf.time.value.si();
  }
  return sum;
}

std::vector<SetText> scaled(const graph::ScaleName& name, const std::string& factor) {
  return {"scale." + std::string(name.name) + "=" + factor};
}

TEST(Scale, ObeysAmdahlWhereNothingOverlaps) {
  const Prediction before = predict_nominal(alone());
  const double step = before.step_time.value.si();
  int scaled_names = 0;
  for (const graph::ScaleName& name : graph::scale_names()) {
    const double part = seconds_of(before, name);
    for (const auto& [text, factor] : {std::pair("0.5", 0.5), std::pair("3", 3.0)}) {
      const Prediction after = predict_nominal(alone(), scaled(name, text));
      EXPECT_NEAR(after.step_time.value.si(), step + (factor - 1.0) * part, 1e-12 * step)
          << name.name;
      EXPECT_NEAR(seconds_of(after, name), factor * part, 1e-12 * step) << name.name;
    }
    scaled_names += part > 0.0 ? 1 : 0;
  }
  EXPECT_GE(scaled_names, 15);
}

TEST(Scale, LeavesLaunchGapsMemoryAndWorkAlone) {
  const Prediction before = predict_nominal(alone());
  const Prediction after = predict_nominal(alone(), {"scale.kernels.elementwise=0.001"});
  const auto launch = [](const Prediction& p) {
    for (const BreakdownLeaf& leaf : p.breakdown) {
      if (leaf.path == "launch") return leaf.time.value.si();
    }
    return 0.0;
  };
  EXPECT_GT(launch(before), 0.0);
  EXPECT_NEAR(launch(after), launch(before), 1e-12 * launch(before));
  EXPECT_EQ(after.memory.peak_per_gpu.value, before.memory.peak_per_gpu.value);
  EXPECT_EQ(after.hfu.flops_per_step, before.hfu.flops_per_step);
}

TEST(Scale, FactorsOfAFamilyAndItsMemberMultiply) {
  const Prediction both =
      predict_nominal(alone(), {"scale.kernels.selection=0.5", "scale.kernels.topk=0.5"});
  const Prediction apart = predict_nominal(
      alone(),
      {"scale.kernels.scoring=0.5", "scale.kernels.score_table=0.5", "scale.kernels.topk=0.25"});
  EXPECT_NEAR(both.step_time.value.si(), apart.step_time.value.si(),
              1e-12 * apart.step_time.value.si());
}

TEST(Scale, StandsInTheResolvedScenarioAndReadsBack) {
  const Prediction prediction = predict_nominal(two_variants(), {"table:scale.kernels.topk=0.25"});
  EXPECT_THAT(prediction.resolved_scenario, HasSubstr("\"kernels.topk\": 0.25"));
  const Prediction again = predict_nominal({prediction.resolved_scenario, "resolved.json"});
  EXPECT_EQ(again.step_time.value, prediction.step_time.value);
  EXPECT_THAT(predict_nominal(two_variants()).resolved_scenario, Not(HasSubstr("\"scale\"")));
}

TEST(Scale, OfOneVariantLeavesTheOtherAlone) {
  const Comparison before = compare_nominal(two_variants());
  const Comparison after = compare_nominal(two_variants(), {"table:scale.kernels.topk=0.5"});
  EXPECT_LT(after.variants[0].step_time.value, before.variants[0].step_time.value);
  EXPECT_EQ(after.variants[1].step_time.value, before.variants[1].step_time.value);
}

TEST(Scale, CommunicationScalesToo) {
  const std::vector<std::string> kinds = {"cp", "ep", "pp", "dp"};
  const Prediction before = predict_nominal(two_variants());
  for (const std::string& kind : kinds) {
    const Prediction after =
        predict_nominal(two_variants(), {"scale.communication." + kind + "=0.5"});
    for (std::size_t i = 0; i < before.communication.size(); ++i) {
      const CommunicationRow& row = before.communication[i];
      const double factor = row.kind == kind ? 0.5 : 1.0;
      EXPECT_NEAR(after.communication[i].time.si(), factor * row.time.si(), 1e-9 * row.time.si())
          << kind << " " << row.kind;
      EXPECT_EQ(after.communication[i].bytes_per_rank, row.bytes_per_rank);
    }
    EXPECT_LE(after.step_time.value, before.step_time.value) << kind;
  }
}

TEST(Scale, SaysWhatItChangesNothingOf) {
  const auto warnings = [](const std::string& set) {
    return texts_of(predict_nominal(two_variants(), {set}, "table").warnings);
  };
  EXPECT_THAT(warnings("scale.kernels.hytopk=0.5"),
              Contains(StartsWith("[inert-scale] scale.kernels.hytopk changes nothing")));
  EXPECT_THAT(warnings("scale.communication.tp=0.5"), Contains(StartsWith("[inert-scale] scale.")));
  EXPECT_THAT(warnings("scale.kernels.topk=0.5"),
              Not(Contains(StartsWith("[inert-scale] scale."))));
}

TEST(Scale, RefusesWhatItDoesNotKnow) {
  const auto fault = [](const std::string& set) {
    const auto faults = faults_of([&] { predict_nominal(two_variants(), {set}); });
    return faults.empty() ? std::string() : faults.front().text();
  };
  EXPECT_THAT(fault("scale.kernels.tokp=0.5"), HasSubstr("did you mean \"kernels.topk\"?"));
  EXPECT_THAT(fault("scale.topk=0.5"), HasSubstr("did you mean \"kernels.topk\"?"));
  EXPECT_THAT(fault("scale.kernels.tokp=0.5"), HasSubstr("communication.ep"));
  EXPECT_THAT(fault("scale.kernels.topk=0"), HasSubstr("must be a number"));
  EXPECT_THAT(fault("scale.kernels.topk=-1"), HasSubstr("must be a number"));
  EXPECT_THAT(fault("scale.kernels.topk=fast"), HasSubstr("must be a number"));
  EXPECT_THAT(fault("scale=2"), HasSubstr("must be an object"));
}

TEST(Scale, EveryLeafOfEveryBundledScenarioHasAName) {
  for (const BundledVariant& bundled : bundled_variants()) {
    for (const BreakdownLeaf& leaf :
         predict_nominal(bundled.scenario, {}, bundled.variant).breakdown) {
      if (leaf.path == "bubble" || leaf.path == "launch") continue;
      bool named = false;
      for (const graph::ScaleName& name : graph::scale_names()) {
        named = named || graph::covers(name, leaf.path);
      }
      EXPECT_TRUE(named) << leaf.path << " has no name in src/graph/scale.cpp";
    }
  }
}

}  // namespace
}  // namespace hysim::predictor::test
