// Comparisons: which sides, what each step buys, what is unpublished, and what must not matter.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/node.h"
#include "hysim/predict.h"
#include "unit/predict/scenarios.h"

namespace hysim::predictor {
namespace {

using test::bundle;
using test::compare_nominal;
using test::faults_of;
using test::fingerprint;
using test::predict_nominal;
using test::replaced;
using test::two_variants;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

const std::string kHeadline = "glm-5.1-1m-h20-512";

const Prediction& variant_of(const Comparison& c, const std::string& name) {
  const auto at = std::find_if(c.variants.begin(), c.variants.end(),
                               [&](const Prediction& p) { return p.variant == name; });
  if (at == c.variants.end()) {
    ADD_FAILURE() << "no variant " << name;
    return c.variants.front();
  }
  return *at;
}

double step_of(const Prediction& p) { return p.step_time.value.si(); }

// ---------------------------------------------------------------- sides

TEST(Compare, TheFirstIsTheBaselineAndTheLastTheCandidate) {
  const Comparison c = compare_nominal(test::bundled_scenario(kHeadline));
  std::vector<std::string> names;
  for (const Prediction& p : c.variants) names.push_back(p.variant);
  EXPECT_THAT(names,
              ElementsAre("megatron-tilelang", "megatron-cudnn", "megatron-none", "hyscale"));
  EXPECT_EQ(c.speedup.baseline, "megatron-tilelang");
  EXPECT_EQ(c.speedup.candidate, "hyscale");
  EXPECT_DOUBLE_EQ(c.speedup.ratio.value, step_of(c.variants.front()) / step_of(c.variants.back()));
}

TEST(Compare, SidesCanBeNamed) {
  CompareOptions options;
  options.draws = 0;
  options.baseline = "hyscale";
  options.candidate = "megatron-cudnn";
  const Comparison c = compare(bundle(), test::bundled_scenario(kHeadline), options);
  EXPECT_EQ(c.speedup.baseline, "hyscale");
  EXPECT_EQ(c.speedup.candidate, "megatron-cudnn");
  EXPECT_DOUBLE_EQ(c.speedup.ratio.value,
                   step_of(variant_of(c, "hyscale")) / step_of(variant_of(c, "megatron-cudnn")));
  EXPECT_EQ(c.variants.size(), 4U);
  EXPECT_THAT(c.ablation, IsEmpty());  // a patch has no steps
}

TEST(Compare, AVariantIsPredictedAsAlone) {
  const ScenarioText scenario = test::bundled_scenario(kHeadline);
  CompareOptions options;
  options.draws = 20;
  for (Prediction compared : compare(bundle(), scenario, options).variants) {
    PredictOptions alone;
    alone.draws = 20;
    alone.variant = compared.variant;
    Prediction predicted = predict(bundle(), scenario, alone);
    compared.inputs = predicted.inputs = {};
    EXPECT_EQ(fingerprint(compared), fingerprint(predicted));
  }
}

TEST(Compare, OneVariantIsItsOwnBaseline) {
  const Comparison c = compare_nominal(test::dense());
  EXPECT_EQ(c.variants.size(), 1U);
  EXPECT_EQ(c.speedup.ratio.value, 1.0);
  EXPECT_EQ(c.speedup.baseline, "default");
  EXPECT_EQ(c.speedup.candidate, "default");
}

TEST(Compare, SetsApplyToEverySide) {
  const Comparison c = compare_nominal(two_variants(), {"kernels.selection_precision=fp8"});
  for (const Prediction& p : c.variants) {
    EXPECT_THAT(p.resolved_scenario, HasSubstr("\"selection_precision\": \"fp8\""));
  }
  const Comparison one = compare_nominal(two_variants(), {"table:kernels.topk=radix"});
  EXPECT_EQ(step_of(one.variants.back()), step_of(compare_nominal(two_variants()).variants.back()));
  EXPECT_LT(step_of(one.variants.front()),
            step_of(compare_nominal(two_variants()).variants.front()));
}

TEST(Compare, ASetThatChangesNothingIsRefused) {
  const auto nothing = faults_of([] { compare_nominal(two_variants(), {"kernels.topk=torch"}); });
  ASSERT_EQ(nothing.size(), 1U);
  EXPECT_EQ(nothing.front().file, "--set kernels.topk=torch");
  // Enough that it changes one of the variants.
  compare_nominal(two_variants(), {"kernels.selection=table"});
  // The second of two like ones changes nothing any more.
  EXPECT_EQ(faults_of([] {
              predict_nominal(two_variants(), {"kernels.topk=radix", "kernels.topk=radix"});
            }).size(),
            1U);
}

TEST(Compare, TellsTheFaultsOfAllVariants) {
  const ScenarioText scenario = {
      replaced(replaced(two_variants().text, R"("selection": "table")",
                        R"("selection": "table"}, "parallelism": {"cp": 7)"),
               R"("selection": "fused")", R"("selection": "fused"}, "parallelism": {"ep": 3)"),
      "two.json"};
  std::set<std::string> places;
  for (const Diagnostic& fault : faults_of([&] { compare_nominal(scenario); })) {
    places.insert(fault.pointer);
  }
  EXPECT_THAT(places, ElementsAre("/parallelism", "/variants/fused/0/set/parallelism/ep"));
}

// ---------------------------------------------------------------- ablation

/// two_variants with a third step of the candidate.
ScenarioText three_steps() {
  return replaced(two_variants(), R"({"selection_replay": true}}})",
                  R"({"selection_replay": true}}},
      {"step": "fp8 scores", "set": {"kernels": {"selection_precision": "fp8"}}})");
}

const AblationRow& row_of(const Comparison& c, AblationKind kind, const std::string& name) {
  for (const AblationRow& row : c.ablation) {
    if (row.kind == kind && row.name == name) return row;
  }
  ADD_FAILURE() << to_string(kind) << " " << name;
  return c.ablation.front();
}

void expect_same(const AblationRow& a, const AblationRow& b) {
  EXPECT_EQ(a.step_time.value, b.step_time.value);
  EXPECT_EQ(a.step_time.low, b.step_time.low);
  EXPECT_EQ(a.step_time.high, b.step_time.high);
  EXPECT_EQ(a.ratio.value, b.ratio.value);
  EXPECT_EQ(a.ratio.low, b.ratio.low);
  EXPECT_EQ(a.ratio.high, b.ratio.high);
  EXPECT_EQ(a.fits, b.fits);
}

TEST(Ablation, HasEveryStepThreeWays) {
  const Comparison c = compare_nominal(three_steps());
  std::vector<std::string> rows;
  for (const AblationRow& row : c.ablation) {
    rows.push_back(std::string(to_string(row.kind)) + " " + row.name);
  }
  EXPECT_THAT(rows, ElementsAre("cumulative HyTopK", "cumulative replay", "cumulative fp8 scores",
                                "alone HyTopK", "alone replay", "alone fp8 scores",
                                "all_but HyTopK", "all_but replay", "all_but fp8 scores"));
}

TEST(Ablation, RowsThatAreTheSameStepsAgree) {
  CompareOptions options;
  options.draws = 20;
  const Comparison c = compare(bundle(), three_steps(), options);
  expect_same(row_of(c, AblationKind::cumulative, "HyTopK"),
              row_of(c, AblationKind::alone, "HyTopK"));
  expect_same(row_of(c, AblationKind::cumulative, "replay"),
              row_of(c, AblationKind::all_but, "fp8 scores"));
  const AblationRow& all = row_of(c, AblationKind::cumulative, "fp8 scores");
  EXPECT_EQ(all.step_time.value, c.variants.back().step_time.value);
  EXPECT_EQ(all.step_time.low, c.variants.back().step_time.low);
  EXPECT_EQ(all.step_time.high, c.variants.back().step_time.high);
  EXPECT_EQ(all.ratio.value, c.speedup.ratio.value);
  EXPECT_EQ(all.ratio.low, c.speedup.ratio.low);
  EXPECT_EQ(all.ratio.high, c.speedup.ratio.high);
}

TEST(Ablation, RatiosAreAgainstTheBaseline) {
  const Comparison c = compare_nominal(three_steps());
  for (const AblationRow& row : c.ablation) {
    EXPECT_DOUBLE_EQ(row.ratio.value, step_of(c.variants.front()) / row.step_time.value.si());
  }
}

TEST(Ablation, RowsAreTheTopWithTheirSteps) {
  const Comparison c = compare_nominal(three_steps());
  const ScenarioText top = {replaced(two_variants().text, R"("selection": "table")", ""), "t"};
  const auto step = [&](const std::vector<std::string>& sets) {
    return step_of(predict_nominal(top, sets));
  };
  EXPECT_EQ(row_of(c, AblationKind::alone, "replay").step_time.value.si(),
            step({"kernels.selection_replay=true"}));
  EXPECT_EQ(row_of(c, AblationKind::all_but, "HyTopK").step_time.value.si(),
            step({"kernels.selection_replay=true", "kernels.selection_precision=fp8"}));
  EXPECT_EQ(row_of(c, AblationKind::all_but, "replay").step_time.value.si(),
            step({"kernels.selection=fused", "kernels.selection_precision=fp8"}));
}

TEST(Ablation, OneStepHasNone) {
  const ScenarioText one = replaced(two_variants(), R"(,
      {"step": "replay", "set": {"kernels": {"selection_replay": true}}})",
                                    "");
  EXPECT_THAT(compare_nominal(one).ablation, IsEmpty());
}

TEST(Ablation, TwoStepsComplementEachOther) {
  const Comparison c = compare_nominal(test::bundled_scenario(kHeadline));
  ASSERT_EQ(c.ablation.size(), 6U);
  expect_same(row_of(c, AblationKind::all_but, "HyTopK"),
              row_of(c, AblationKind::alone, "selection replay"));
  expect_same(row_of(c, AblationKind::all_but, "selection replay"),
              row_of(c, AblationKind::alone, "HyTopK"));
}

// ---------------------------------------------------------------- hypotheses

using Settings = std::vector<std::pair<std::string, std::string>>;

/// two_variants with unpublished settings: of both sides, of one, whole sections and of a variant
/// named nowhere else.
ScenarioText unpublished() {
  return replaced(two_variants(), R"("variants": {)", R"("unpublished": {
    "kernels.selection_precision": ["bf16", "fp8"],
    "table:kernels.topk": ["torch", "radix"],
    "fused:/kernels/selection_replay": [true, false],
    "parallelism": [{"pp": 8, "cp": 8, "ep": 64}, {"pp": 8, "cp": 16, "ep": 64},
                    {"pp": 4, "cp": 8, "ep": 64}],
    "third:kernels.topk": ["torch", "radix", "torch", "radix"]
  },
  "variants": {
    "third": {},)");
}

TEST(Hypotheses, AreEveryCombinationOfWhatConcernsTheSides) {
  // Of the sides compared: for "third", the axes without a variant and its own.
  struct Case {
    const char* baseline;
    const char* candidate;
    std::size_t rows;
  };
  for (const Case& known :
       {Case{"table", "fused", 2 * 2 * 2 * 3}, Case{"table", "table", 2 * 2 * 3},
        Case{"third", "fused", 2 * 2 * 3 * 4}}) {
    CompareOptions options;
    options.draws = 0;
    options.baseline = known.baseline;
    options.candidate = known.candidate;
    const Comparison c = compare(bundle(), unpublished(), options);
    EXPECT_EQ(c.hypotheses.size(), known.rows) << known.baseline << " " << known.candidate;
    EXPECT_TRUE(c.envelope.has_value());
  }
  const Comparison none = compare_nominal(two_variants());
  EXPECT_THAT(none.hypotheses, IsEmpty());
  EXPECT_FALSE(none.envelope.has_value());
}

TEST(Hypotheses, OfBundledScenariosAreEachThereOnce) {
  for (const std::string& name : test::scenario_names()) {
    const ScenarioText scenario = test::bundled_scenario(name);
    const Comparison c = compare_nominal(scenario);
    const config::Node document = config::parse(scenario.text, scenario.path);
    const config::Node* const axes = document.find("unpublished");
    std::size_t rows = axes == nullptr ? 0 : 1;
    std::vector<std::string> paths;
    for (std::size_t i = 0; axes != nullptr && i < axes->as_object().size(); ++i) {
      const auto& [path, values] = axes->as_object()[i];
      // Of neither side.
      const std::string side = path.substr(0, path.find(':'));
      if (side != path && side != c.speedup.baseline && side != c.speedup.candidate) continue;
      rows *= values.as_array().size();
      paths.push_back(path);
    }
    EXPECT_EQ(c.hypotheses.size(), rows) << name;
    std::set<Settings> different;
    for (const Hypothesis& row : c.hypotheses) {
      different.insert(row.settings);
      ASSERT_EQ(row.settings.size(), paths.size());
      for (std::size_t i = 0; i < paths.size(); ++i) {
        EXPECT_EQ(row.settings[i].first, paths[i]);
        // One of the values, as JSON text.
        const config::Node value = config::parse(row.settings[i].second, "value");
        EXPECT_THAT(axes->find(paths[i])->as_array(), Contains(value)) << paths[i];
      }
    }
    EXPECT_EQ(different.size(), rows) << name;
  }
}

TEST(Hypotheses, TheEnvelopeIsTheirSpan) {
  for (const std::string& name : test::scenario_names()) {
    const Comparison c = compare_nominal(test::bundled_scenario(name));
    if (c.hypotheses.empty()) continue;
    double low = c.hypotheses.front().ratio.value;
    double high = low;
    for (const Hypothesis& row : c.hypotheses) {
      low = std::min(low, row.ratio.value);
      high = std::max(high, row.ratio.value);
      EXPECT_LE(row.ratio.low, row.ratio.value);
      EXPECT_LE(row.ratio.value, row.ratio.high);
    }
    ASSERT_TRUE(c.envelope.has_value());
    EXPECT_EQ(c.envelope->first, low);
    EXPECT_EQ(c.envelope->second, high);
    // The settings as they are written are one of the combinations.
    EXPECT_LE(low, c.speedup.ratio.value) << name;
    EXPECT_GE(high, c.speedup.ratio.value) << name;
  }
}

/// A prediction of `variant` with the settings of a hypothesis that are about it.
Prediction predict_under(const Settings& settings, const std::string& variant) {
  std::vector<SetText> sets;
  for (const auto& [path, value] : settings) {
    const std::string side = path.substr(0, path.find(':'));
    if (side != path && side != variant) continue;
    const SetText set = path + "=" + value;
    try {
      predict_nominal(unpublished(), {set}, variant);
    } catch (const InputError&) {
      continue;  // as it is already
    }
    sets.push_back(set);
  }
  return predict_nominal(unpublished(), sets, variant);
}

TEST(Hypotheses, AreWhatTheirSettingsPredict) {
  CompareOptions options;
  options.draws = 0;
  options.baseline = "table";
  const Comparison c = compare(bundle(), unpublished(), options);
  ASSERT_EQ(c.hypotheses.size(), 24U);
  for (const Hypothesis& row : c.hypotheses) {
    const Prediction a = predict_under(row.settings, "table");
    const Prediction b = predict_under(row.settings, "fused");
    EXPECT_EQ(row.ratio.value, step_of(a) / step_of(b));
    EXPECT_EQ(row.fits, std::max(a.memory.fits, b.memory.fits));
  }
}

TEST(Hypotheses, TooManyAreRefused) {
  const auto with = [](const std::string& unpublished) {
    return replaced(two_variants(), R"("variants": {)",
                    "\"unpublished\": {" + unpublished + "},\n  \"variants\": {");
  };
  std::string rows;
  for (int i = 0; i < 128; ++i) rows += (i == 0 ? "" : ", ") + std::to_string(i);
  const std::string chunk = "\"kernels.score_chunk_rows\": [" + rows + "]";
  const std::string two = R"(, "kernels.topk": ["torch", "radix"])";
  EXPECT_EQ(compare_nominal(with(chunk + two)).hypotheses.size(), 256U);
  const auto faults = faults_of(
      [&] { compare_nominal(with(chunk + two + R"(, "kernels.score_clean": [true, false])")); });
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults.front().pointer, "/unpublished");
  EXPECT_THAT(faults.front().message, HasSubstr("512 combinations"));
  // A prediction needs none of them.
  predict_nominal(with(chunk + two + R"(, "kernels.score_clean": [true, false])"));
}

// ---------------------------------------------------------------- what does not fit

TEST(Compare, ASideThatDoesNotFitMakesItHypothetical) {
  config::Node gpu = config::parse(test::bundled_text("hw_profiles/gpus/h20-96.json"), "gpu");
  gpu.set("name", config::Node::string("small"));
  for (const char* key : {"value", "low", "high"}) {
    gpu.find("hbm_usable")->set(key, config::Node::number(1e9));
  }
  config::Node cluster =
      config::parse(test::bundled_text("hw_profiles/clusters/h20-512.json"), "cluster");
  cluster.set("gpu", config::Node::string("small"));
  const Resources resources =
      overlay(memory_resources({{"hw_profiles/gpus/small.json", config::to_text(gpu)},
                                {"hw_profiles/clusters/small.json", config::to_text(cluster)}}),
              bundle());
  const Comparison fitting = compare_nominal(two_variants());
  ASSERT_NE(fitting.variants.front().memory.fits, Fit::no);
  ASSERT_NE(fitting.variants.back().memory.fits, Fit::no);
  EXPECT_FALSE(fitting.speedup.hypothetical);
  EXPECT_EQ(fitting.speedup.note, "");
  const Comparison candidate = compare_nominal(two_variants(), {"fused:cluster=small"}, resources);
  EXPECT_TRUE(candidate.speedup.hypothetical);
  EXPECT_EQ(candidate.speedup.note, "fused does not fit its GPUs");
  EXPECT_DOUBLE_EQ(candidate.speedup.ratio.value, fitting.speedup.ratio.value);
  const Comparison both = compare_nominal(two_variants(), {"cluster=small"}, resources);
  EXPECT_TRUE(both.speedup.hypothetical);
  EXPECT_THAT(both.speedup.note, HasSubstr("table does not fit"));
  EXPECT_THAT(both.speedup.note, HasSubstr("fused does not fit"));
}

// ---------------------------------------------------------------- two scenarios

TEST(TwoScenarios, AreComparedByTheirFirstVariants) {
  CompareOptions options;
  options.draws = 0;
  const Comparison c =
      compare(bundle(), two_variants(), test::bundled_scenario(kHeadline), options);
  ASSERT_EQ(c.variants.size(), 2U);
  EXPECT_EQ(c.speedup.baseline, "two:table");
  EXPECT_EQ(c.speedup.candidate, kHeadline + ":megatron-tilelang");
  EXPECT_EQ(c.variants.front().variant, c.speedup.baseline);
  EXPECT_EQ(c.variants.back().variant, c.speedup.candidate);
  EXPECT_EQ(step_of(c.variants.front()), step_of(predict_nominal(two_variants())));
  EXPECT_EQ(step_of(c.variants.back()),
            step_of(predict_nominal(test::bundled_scenario(kHeadline))));
  EXPECT_DOUBLE_EQ(c.speedup.ratio.value, step_of(c.variants.front()) / step_of(c.variants.back()));
  EXPECT_THAT(c.warnings, IsEmpty());  // 128 x 128K tokens and 16 x 1M
  EXPECT_THAT(c.hypotheses, IsEmpty());
  EXPECT_FALSE(c.envelope.has_value());
}

TEST(TwoScenarios, MayBeTheSameFile) {
  CompareOptions options;
  options.draws = 20;
  options.candidate = "fused";
  const ScenarioText scenario = two_variants();
  const Comparison c = compare(bundle(), scenario, scenario, options);
  const Comparison variants = compare(bundle(), scenario, options);
  EXPECT_EQ(c.speedup.ratio.value, variants.speedup.ratio.value);
  EXPECT_EQ(c.speedup.ratio.low, variants.speedup.ratio.low);
  EXPECT_EQ(c.speedup.ratio.high, variants.speedup.ratio.high);
  EXPECT_EQ(c.speedup.candidate, "two:fused");
  options.candidate = "";
  const Comparison same = compare(bundle(), scenario, scenario, options);
  EXPECT_EQ(same.speedup.ratio.low, 1.0);
  EXPECT_EQ(same.speedup.ratio.value, 1.0);
  EXPECT_EQ(same.speedup.ratio.high, 1.0);
  EXPECT_NE(same.speedup.baseline, same.speedup.candidate);
}

TEST(TwoScenarios, OfOtherTokensAreWarnedOf) {
  CompareOptions options;
  options.draws = 0;
  const Comparison c = compare(
      bundle(), two_variants(),
      replaced(two_variants(), R"("global_batch_size": 128)", R"("global_batch_size": 256)"),
      options);
  EXPECT_THAT(c.warnings, Contains(Field(&Warning::id, "tokens")));
}

TEST(TwoScenarios, ASetMayMakeThemAlike) {
  CompareOptions options;
  options.draws = 0;
  options.sets = {"kernels.topk=radix"};
  const ScenarioText radix = replaced(two_variants(), R"("topk": "torch")", R"("topk": "radix")");
  EXPECT_EQ(compare(bundle(), two_variants(), radix, options).speedup.ratio.value, 1.0);
  EXPECT_EQ(compare(bundle(), radix, two_variants(), options).speedup.ratio.value, 1.0);
  EXPECT_EQ(faults_of([&] { compare(bundle(), radix, radix, options); }).size(), 1U);
}

// ---------------------------------------------------------------- what must not matter

/// Without what names or repeats the scenario's text.
std::string without_text(Comparison c) {
  c.reference.reset();
  for (Prediction& p : c.variants) p.inputs.clear();
  return fingerprint(c);
}

TEST(Reference, PassesThroughAndIsNeverUsed) {
  const auto with = [](const std::string& reference) {
    return replaced(two_variants(), R"("variants": {)", reference + R"("variants": {)");
  };
  CompareOptions options;
  options.draws = 10;
  const Comparison none = compare(bundle(), with(""), options);
  EXPECT_FALSE(none.reference.has_value());
  for (const double speedup : {2.07, 100.0, 0.5}) {
    const Comparison c = compare(bundle(),
                                 with(R"("reference": {"speedup": )" + std::to_string(speedup) +
                                      R"(, "source": "a paper's abstract"}, )"),
                                 options);
    ASSERT_TRUE(c.reference.has_value());
    EXPECT_DOUBLE_EQ(c.reference->speedup, speedup);
    EXPECT_EQ(c.reference->source, "a paper's abstract");
    EXPECT_EQ(without_text(c), without_text(none));
  }
}

TEST(Assumptions, PassThrough) {
  const ScenarioText scenario =
      replaced(two_variants(), R"("variants": {)", R"("assumptions": ["it rains"], "variants": {)");
  EXPECT_THAT(predict_nominal(scenario).assumptions, Contains("it rains"));
}

/// Bodies in reverse, and on threads of their own.
void reversed(std::int64_t count, const std::function<void(std::int64_t)>& body) {
  for (std::int64_t i = count; i-- > 0;) body(i);
}
void threaded(std::int64_t count, const std::function<void(std::int64_t)>& body) {
  constexpr std::int64_t kThreads = 4;
  std::vector<std::thread> threads;
  for (std::int64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::int64_t i = t; i < count; i += kThreads) body(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Executors, ChangeNoByte) {
  const ScenarioText scenario = test::bundled_scenario(kHeadline);
  PredictOptions predict_options;
  predict_options.draws = 100;
  CompareOptions compare_options;
  compare_options.draws = 40;
  const std::string prediction = fingerprint(predict(bundle(), scenario, predict_options));
  const std::string comparison = fingerprint(compare(bundle(), scenario, compare_options));
  for (const Executor& executor : {Executor(reversed), Executor(threaded)}) {
    predict_options.executor = compare_options.executor = executor;
    EXPECT_EQ(fingerprint(predict(bundle(), scenario, predict_options)), prediction);
    EXPECT_EQ(fingerprint(compare(bundle(), scenario, compare_options)), comparison);
  }
}

TEST(Variants, MayBeNamedLikePaths) {
  std::string text = test::replaced_all(two_variants().text, "\"table\": {", "\"a/b~.json\": {");
  text = test::replaced_all(text, "\"fused\": [", "\"kernels.topk\": [");
  const ScenarioText scenario = {text, "two.json"};
  const Comparison c = compare_nominal(scenario);
  EXPECT_EQ(c.speedup.baseline, "a/b~.json");
  EXPECT_EQ(c.speedup.candidate, "kernels.topk");
  EXPECT_EQ(c.speedup.ratio.value, compare_nominal(two_variants()).speedup.ratio.value);
  EXPECT_EQ(predict_nominal(scenario, {}, "kernels.topk").variant, "kernels.topk");
  EXPECT_LT(step_of(predict_nominal(scenario, {"a/b~.json:kernels.topk=radix"})),
            step_of(predict_nominal(scenario)));
  // Faults are placed under the escaped name.
  const auto faults = faults_of([&] {
    predict_nominal({test::replaced_all(text, R"("selection": "table")", R"("selction": "table")"),
                     "two.json"});
  });
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults.front().pointer, "/variants/a~1b~0.json/kernels/selction");
}

}  // namespace
}  // namespace hysim::predictor
