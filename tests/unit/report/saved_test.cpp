// What a saved prediction carries beside its numbers, and what a diff makes of it.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "hysim/diff.h"
#include "hysim/errors.h"
#include "hysim/report.h"
#include "unit/report/fixture.h"

namespace hysim::report::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

Prediction saved() {
  Prediction p = prediction_of(
      "base", {leaf("selection/topk/forward", 3.0, "sm"), leaf("experts/forward", 5.0, "tensor"),
               leaf("bubble", 2.0, "schedule")});
  p.resolved_scenario = R"({"name": "x", "kernels": {"topk": "torch"}, "parallelism": {"cp": 64}})";
  p.constants = {{"gpu/h20-96/clock", 1.98e9, 1.7e9, 1.98e9, "1/s", "datasheet", "its datasheet"},
                 {"cluster/nic_efficiency", 0.97, 0.92, 0.98, "1", "measured", "nccl-tests"}};
  Remedy remedy;
  remedy.name = "cp 128, pp 4";
  remedy.sets = {"parallelism.cp=128", "parallelism.pp=4"};
  remedy.peak_per_gpu = Bytes(90e9);
  remedy.host_per_node = Bytes(1.5e12);
  remedy.step_time = Seconds(10.5);
  remedy.cost = 0.05;
  remedy.fits = Fit::yes;
  p.memory.fits = Fit::no;
  p.memory.remedies = {remedy};
  return p;
}

TEST(SavedPrediction, CarriesItsConstantsAndRemedies) {
  const json node = json::parse(to_json(saved()));
  EXPECT_EQ(node.at("constants").size(), 2U);
  EXPECT_EQ(node.at("constants").at(0),
            json::parse(R"({"id": "gpu/h20-96/clock", "value": 1.98e9, "low": 1.7e9,
                            "high": 1.98e9, "unit": "1/s", "kind": "datasheet",
                            "source": "its datasheet"})"));
  const json& remedies = node.at("memory").at("remedies");
  ASSERT_EQ(remedies.size(), 1U);
  EXPECT_EQ(remedies.at(0).at("change"), "cp 128, pp 4");
  EXPECT_EQ(remedies.at(0).at("set"), json({"parallelism.cp=128", "parallelism.pp=4"}));
  EXPECT_EQ(remedies.at(0).at("peak_per_gpu").at("value"), 90e9);
  EXPECT_EQ(remedies.at(0).at("host_per_node").at("value"), 1.5e12);
  EXPECT_EQ(remedies.at(0).at("step_time").at("value"), 10.5);
  EXPECT_EQ(remedies.at(0).at("cost"), 0.05);
  EXPECT_EQ(remedies.at(0).at("fits"), "yes");
}

TEST(SavedPrediction, ShowsRemediesWithTheirCost) {
  const std::string text = to_text(saved());
  EXPECT_THAT(text, HasSubstr("What would make it fit"));
  EXPECT_THAT(text, HasSubstr("cp 128, pp 4"));
  EXPECT_THAT(text, HasSubstr("+5.0 %"));
  EXPECT_THAT(text, HasSubstr("1.500 TB"));
  Prediction none = saved();
  none.memory.remedies.front().fits = Fit::no;
  EXPECT_THAT(to_text(none), HasSubstr("No one or two changes make it fit; the closest"));
}

TEST(SavedPrediction, TellsWhichMemoryIsTooSmall) {
  Prediction p = saved();
  p.memory.fits = Fit::no;
  p.memory.peak_per_gpu = {Bytes(60e9), Bytes(60e9), Bytes(60e9)};
  p.memory.capacity = Bytes(80e9);
  p.memory.host_per_node = Bytes(2e12);
  EXPECT_THAT(to_text(p), HasSubstr("2.000 TB a node"));
  EXPECT_TRUE(json::parse(to_json(p)).at("memory").at("host_capacity").is_null());
  p.memory.host_capacity = Bytes(5e11);
  const std::string text = to_text(p);
  EXPECT_THAT(text, HasSubstr("2.000 TB of 500.0 GB a node: does not fit"));
  EXPECT_THAT(text, testing::Not(HasSubstr("on stage 0: does not fit")));
  EXPECT_EQ(json::parse(to_json(p)).at("memory").at("host_per_node").at("value"), 2e12);
}

TEST(DiffOfPredictions, ListsWhatDiffersTheLargestFirst) {
  const Prediction a = saved();
  Prediction b = saved();
  b.breakdown[0].time = seconds(1.0);
  b.breakdown[1].time = seconds(5.5);
  b.breakdown[2].path = "launch";
  b.constants[0].id = "gpu/h100-sxm-80/clock";  // the same field of another GPU
  b.constants[0].value = 1.83e9;
  b.resolved_scenario = R"({"name": "y", "kernels": {"topk": "radix"}, "new": 1})";
  const Diff d = diff(to_json(a), "a.json", to_json(b), "b.json");
  ASSERT_EQ(d.pairs.size(), 1U);
  const PredictionDiff& pair = d.pairs.front();
  ASSERT_EQ(pair.leaves.size(), 4U);
  EXPECT_EQ(pair.leaves[0].path, "bubble");  // 2 s gone; as large as what is new, by name
  EXPECT_EQ(pair.leaves[0].b.si(), 0.0);
  EXPECT_EQ(pair.leaves[1].path, "launch");
  EXPECT_EQ(pair.leaves[2].path, "selection/topk/forward");
  EXPECT_EQ(pair.leaves[2].a.si(), 3.0);
  EXPECT_EQ(pair.leaves[2].b.si(), 1.0);
  EXPECT_EQ(pair.leaves[3].path, "experts/forward");
  ASSERT_EQ(pair.constants.size(), 1U);
  EXPECT_EQ(pair.constants[0].what, "gpu/clock");
  EXPECT_THAT(pair.constants[0].a, testing::EndsWith(" 1/s"));
  EXPECT_NE(pair.constants[0].a, pair.constants[0].b);
  ASSERT_EQ(pair.settings.size(), 3U);
  EXPECT_EQ(pair.settings[0].what, "kernels.topk");
  EXPECT_EQ(pair.settings[0].b, "\"radix\"");
  EXPECT_EQ(pair.settings[1].what, "new");
  EXPECT_EQ(pair.settings[1].a, "");
  EXPECT_EQ(pair.settings[2].what, "parallelism.cp");
  EXPECT_EQ(pair.settings[2].b, "");
  EXPECT_FALSE(pair.unexplained());
}

TEST(DiffOfPredictions, ComparesStepsOfDifferentWorkByTheirTokens) {
  Prediction a = saved();
  a.seq_len = 131072;
  a.global_batch_size = 64;
  a.step_time = seconds(300.0);
  a.tokens_per_second_per_gpu = {54.6, 50.0, 60.0};
  a.mfu.fraction.value = 0.2;
  Prediction b = a;
  b.seq_len = 262144;
  b.step_time = seconds(540.0);
  b.tokens_per_second_per_gpu = {60.7, 55.0, 66.0};  // 2 x 300 / 540 times as many
  b.mfu.fraction.value = 0.25;
  const Diff d = diff(to_json(a), "a.json", to_json(b), "b.json");
  EXPECT_EQ(d.pairs.front().tokens_a, 131072.0 * 64.0);
  EXPECT_EQ(d.pairs.front().tokens_b, 262144.0 * 64.0);
  EXPECT_EQ(d.pairs.front().tokens_rate_b.high, 66.0);
  EXPECT_EQ(d.pairs.front().mfu_a.value, 0.2);
  const std::string text = to_text(d, {200, false});
  const std::string first = text.substr(0, text.find("Step time"));
  EXPECT_THAT(first, HasSubstr("60.7 instead of 54.6 tokens/s/GPU, +11.2 %"));
  EXPECT_THAT(first, HasSubstr("2.00 times"));
  EXPECT_THAT(first, testing::Not(HasSubstr("+80.0 %")));  // no verdict on the step alone
  EXPECT_THAT(text, HasSubstr("+25.0 %"));                 // MFU
  EXPECT_THAT(text, HasSubstr("+100 %"));                  // tokens a step
  const json pair = json::parse(to_json(d)).at("pairs").at(0);
  EXPECT_EQ(pair.at("tokens_per_second_per_gpu").at("a").at("value"), 54.6);
  EXPECT_EQ(pair.at("mfu").at("b").at("value"), 0.25);
  EXPECT_EQ(pair.at("tokens_per_step").at("b"), 16777216.0);
}

TEST(DiffOfPredictions, SaysWhenOnlyFormulasCanDiffer) {
  const Prediction a = saved();
  Prediction b = saved();
  b.step_time = seconds(11.0);
  const Diff d = diff(to_json(a), "a.json", to_json(b), "b.json");
  EXPECT_TRUE(d.pairs.front().unexplained());
  EXPECT_THAT(to_text(d), HasSubstr("the formulas do"));
}

TEST(DiffOfPredictions, KnowsThatOlderFilesCarryNoConstants) {
  json old = json::parse(to_json(saved()));
  old.erase("constants");
  const Diff d = diff(old.dump(), "old.json", to_json(saved()), "new.json");
  EXPECT_FALSE(d.pairs.front().constants_known);
  EXPECT_TRUE(d.pairs.front().constants.empty());
  EXPECT_THAT(to_text(d), HasSubstr("carries no constants"));
}

TEST(DiffOfComparisons, MatchesVariantsByName) {
  Comparison a;
  a.variants = {saved(), saved()};
  a.variants[1].variant = "only in a";
  Comparison b;
  b.variants = {saved()};
  const Diff d = diff(to_json(a), "a.json", to_json(b), "b.json");
  ASSERT_EQ(d.pairs.size(), 1U);
  EXPECT_EQ(d.only_a, std::vector<std::string>{"only in a"});
  EXPECT_TRUE(d.only_b.empty());
}

}  // namespace
}  // namespace hysim::report::test
