// Scenario documents taken apart: variants as merge patches in order, and --set on top.
#include "predict/scenario.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/predict/scenarios.h"

namespace hysim::predictor {
namespace {

using config::Node;
using test::faults_of;
using testing::ElementsAre;
using testing::HasSubstr;

const char* const kScenario = R"({
  "schema": "hysim.scenario/1",
  "name": "letters",
  "model": "m",
  "kernels": {"topk": "torch", "score_chunk_rows": 64, "score_clean": true},
  "parallelism": {"pipeline_layout": [1, 2, 3]},
  "variants": {
    "plain": {"kernels": {"topk": "radix"}},
    "steps": [
      {"step": "one", "set": {"kernels": {"topk": "radix", "score_chunk_rows": 1}}},
      {"step": "two", "set": {"kernels": {"topk": "torch", "score_clean": null}}}
    ],
    "other layout": {"parallelism": {"pipeline_layout": [6]}},
    "no kernels": {"kernels": null}
  },
  "unpublished": {"kernels.topk": ["torch", "radix"], "plain:kernels.score_chunk_rows": [8]},
  "reference": {"speedup": 1.5, "source": "a paper"},
  "assumptions": ["first", "second"],
  "note": "nothing"
})";

Scenario parsed(const std::string& text = kScenario) { return parse_scenario({text, "s.json"}); }

const Variant& variant_of(const Scenario& scenario, const std::string& name) {
  for (const Variant& variant : scenario.variants) {
    if (variant.name == name) return variant;
  }
  ADD_FAILURE() << "no variant " << name;
  return scenario.variants.front();
}

Node document_of(const Scenario& scenario, const std::string& name,
                 const std::vector<std::string>& sets = {}) {
  std::vector<Override> overrides;
  for (const std::string& set : sets) overrides.push_back(parse_override(set, scenario.variants));
  return variant_document(scenario, variant_of(scenario, name).steps, name, overrides);
}

/// The settings of `document` under "kernels".
std::string kernels(const Node& document) { return config::to_text(*document.find("kernels")); }

// ---------------------------------------------------------------- the frame

TEST(ParseScenario, TakesTheFrameApart) {
  const Scenario scenario = parsed();
  EXPECT_EQ(scenario.name, "letters");
  ASSERT_EQ(scenario.variants.size(), 4U);
  EXPECT_EQ(scenario.variants[0].name, "plain");
  EXPECT_EQ(scenario.variants[1].name, "steps");
  EXPECT_EQ(scenario.variants[3].name, "no kernels");
  ASSERT_EQ(scenario.variants[0].steps.size(), 1U);
  EXPECT_EQ(scenario.variants[0].steps[0].name, "plain");
  ASSERT_EQ(scenario.variants[1].steps.size(), 2U);
  EXPECT_EQ(scenario.variants[1].steps[0].name, "one");
  EXPECT_EQ(scenario.variants[1].steps[1].name, "two");
  ASSERT_EQ(scenario.unpublished.size(), 2U);
  EXPECT_EQ(scenario.unpublished[0].variant, "");
  EXPECT_EQ(scenario.unpublished[0].path, "kernels.topk");
  EXPECT_EQ(scenario.unpublished[0].values.size(), 2U);
  EXPECT_EQ(scenario.unpublished[1].variant, "plain");
  EXPECT_EQ(scenario.unpublished[1].path, "kernels.score_chunk_rows");
  EXPECT_EQ(scenario.unpublished[1].values.front().as_integer(), 8);
  ASSERT_TRUE(scenario.reference.has_value());
  EXPECT_EQ(scenario.reference->speedup, 1.5);
  EXPECT_EQ(scenario.reference->source, "a paper");
  EXPECT_THAT(scenario.assumptions, ElementsAre("first", "second"));
}

TEST(ParseScenario, TheFrameIsNoSetting) {
  const Node document = document_of(parsed(), "plain");
  std::vector<std::string> keys;
  for (const auto& [key, value] : document.as_object()) keys.push_back(key);
  EXPECT_THAT(keys, ElementsAre("schema", "name", "model", "kernels", "parallelism"));
}

TEST(ParseScenario, WithoutVariantsThereIsOne) {
  const Scenario scenario = parsed(R"({"name": "x", "model": "m"})");
  ASSERT_EQ(scenario.variants.size(), 1U);
  EXPECT_EQ(scenario.variants[0].name, "default");
  EXPECT_TRUE(scenario.variants[0].steps.empty());
  EXPECT_TRUE(document_of(scenario, "default") == scenario.base);
  EXPECT_TRUE(scenario.unpublished.empty());
  EXPECT_FALSE(scenario.reference.has_value());
}

TEST(ParseScenario, NamesWithColonsCouldNotBeSet) {
  for (const char* name : {"", "a:b", "a=b"}) {
    const auto faults = faults_of([&] {
      parsed(R"({"schema": "hysim.scenario/1", "name": "x", "model": "m", "cluster": "c",
                 "workload": {"seq_len": 1, "global_batch_size": 1}, "variants": {")" +
             std::string(name) + R"(": {}}})");
    });
    ASSERT_EQ(faults.size(), 1U) << name;
    EXPECT_EQ(faults.front().pointer, "/variants/" + std::string(name));
  }
}

TEST(ParseScenario, TellsFaultsOfFrameAndSettingsAtOnce) {
  const auto faults = faults_of([] {
    parsed(R"({
      "schema": "hysim.scenario/1", "name": "x", "model": "m", "cluster": "c",
      "workload": {"seq_len": 0, "global_batch_size": 1},
      "variants": {"a": {"kernels": {"topkk": 1}}, "b": [{"step": "s", "set": {"kernel": {}}}]},
      "reference": {"speedup": 2}
    })");
  });
  std::vector<std::string> pointers;
  for (const Diagnostic& fault : faults) pointers.push_back(fault.pointer);
  EXPECT_THAT(pointers, ElementsAre("/workload/seq_len", "/variants/a/kernels/topkk",
                                    "/variants/b/0/set/kernel", "/reference"));
}

// ---------------------------------------------------------------- variants

TEST(Variants, InheritTheTop) {
  const Node document = document_of(parsed(), "plain");
  EXPECT_EQ(document.find("name")->as_string(), "letters");
  EXPECT_EQ(kernels(document), R"({"topk":"radix","score_chunk_rows":64,"score_clean":true})");
}

TEST(Variants, StepsApplyInOrder) {
  Scenario scenario = parsed();
  EXPECT_EQ(kernels(document_of(scenario, "steps")), R"({"topk":"torch","score_chunk_rows":1})");
  std::vector<VariantStep> steps = variant_of(scenario, "steps").steps;
  std::swap(steps[0], steps[1]);
  EXPECT_EQ(kernels(variant_document(scenario, steps, "steps", {})),
            R"({"topk":"radix","score_chunk_rows":1})");
  EXPECT_EQ(kernels(variant_document(scenario, {}, "steps", {})), kernels(scenario.base));
}

TEST(Variants, NullRemoves) {
  EXPECT_EQ(document_of(parsed(), "no kernels").find("kernels"), nullptr);
  EXPECT_EQ(document_of(parsed(), "steps").find("kernels")->find("score_clean"), nullptr);
}

TEST(Variants, ArraysAreReplacedWhole) {
  EXPECT_EQ(config::to_text(*document_of(parsed(), "other layout").find("parallelism")),
            R"({"pipeline_layout":[6]})");
}

TEST(Variants, LeaveTheTopAsItWas) {
  const Scenario scenario = parsed();
  document_of(scenario, "steps");
  document_of(scenario, "no kernels", {"kernels.topk=radix"});
  EXPECT_EQ(kernels(scenario.base), R"({"topk":"torch","score_chunk_rows":64,"score_clean":true})");
}

// ---------------------------------------------------------------- --set

Override override_of(const std::string& text) { return parse_override(text, parsed().variants); }

TEST(ParseOverride, TheValueIsJsonOrElseAWord) {
  const auto value = [](const char* text) {
    return config::to_text(override_of(std::string("a.b=") + text).value);
  };
  EXPECT_EQ(value("3"), "3");
  EXPECT_EQ(value("1.5"), "1.5");
  EXPECT_EQ(value("true"), "true");
  EXPECT_EQ(value("null"), "null");
  EXPECT_EQ(value("[1,2]"), "[1,2]");
  EXPECT_EQ(value(R"({"c": 1})"), R"({"c":1})");
  EXPECT_EQ(value(R"("radix")"), R"("radix")");
  EXPECT_EQ(value("radix"), R"("radix")");
  EXPECT_EQ(value("128K"), R"("128K")");
  EXPECT_EQ(value("1 GiB"), R"("1 GiB")");
  EXPECT_EQ(value("x=y"), R"("x=y")");
  EXPECT_EQ(value(""), R"("")");
  EXPECT_EQ(value("[1,2"), R"("[1,2")");
}

TEST(ParseOverride, ThePathMayHaveAVariant) {
  const Override all = override_of("kernels.topk=radix");
  EXPECT_EQ(all.variant, "");
  EXPECT_EQ(all.path, "kernels.topk");
  const Override one = override_of("plain:kernels.topk=radix");
  EXPECT_EQ(one.variant, "plain");
  EXPECT_EQ(one.path, "kernels.topk");
  const Override pointer = override_of("other layout:/kernels/topk=radix");
  EXPECT_EQ(pointer.variant, "other layout");
  EXPECT_EQ(pointer.path, "/kernels/topk");
}

TEST(ParseOverride, AColonInTheValueIsNoVariant) {
  const Override shorthand = override_of("cluster=h20-96:64x8");
  EXPECT_EQ(shorthand.variant, "");
  EXPECT_EQ(shorthand.path, "cluster");
  EXPECT_EQ(shorthand.value.as_string(), "h20-96:64x8");
}

TEST(ParseOverride, WhatIsNoneIsRefused) {
  for (const char* text : {"", "kernels.topk", "=radix", "nobody:kernels.topk=radix", ":a=1"}) {
    const auto faults = faults_of([&] { override_of(text); });
    ASSERT_EQ(faults.size(), 1U) << text;
    EXPECT_EQ(faults.front().file, "--set " + std::string(text));
  }
  EXPECT_THAT(faults_of([] { override_of("plane:kernels.topk=radix"); }).front().message,
              HasSubstr("did you mean \"plain\"?"));
}

TEST(Overrides, ComeAfterTheVariantsOwnSteps) {
  const Scenario scenario = parsed();
  EXPECT_EQ(kernels(document_of(scenario, "plain", {"kernels.topk=torch"})),
            R"({"topk":"torch","score_chunk_rows":64,"score_clean":true})");
  EXPECT_EQ(kernels(document_of(scenario, "plain", {"/kernels/topk=1", "kernels.topk=2"})),
            R"({"topk":2,"score_chunk_rows":64,"score_clean":true})");
  EXPECT_EQ(kernels(document_of(scenario, "no kernels", {"kernels.topk=torch"})),
            R"({"topk":"torch"})");
  EXPECT_EQ(config::to_text(*document_of(scenario, "plain", {"/parallelism/pipeline_layout/1=7"})
                                 .find("parallelism")),
            R"({"pipeline_layout":[1,7,3]})");
}

TEST(Overrides, OfAVariantLeaveOthersAlone) {
  const Scenario scenario = parsed();
  const auto rows = [&](const char* variant) {
    const Node document = document_of(scenario, variant, {"plain:kernels.score_chunk_rows=5"});
    return document.find("kernels")->find("score_chunk_rows")->as_integer();
  };
  EXPECT_EQ(rows("plain"), 5);
  EXPECT_EQ(rows("other layout"), 64);
}

TEST(Overrides, ThroughAWordAreRefused) {
  const Scenario scenario = parsed();
  const auto faults = faults_of([&] { document_of(scenario, "plain", {"model.layers=1"}); });
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults.front().file, "--set model.layers=1");
}

TEST(Overrides, VariantsMayBeNamedLikePaths) {
  const std::string text = R"({
    "schema": "hysim.scenario/1", "name": "x",
    "variants": {"kernels.topk": {}, "a/b~c": {}, "x.json": {}}
  })";
  const Scenario scenario = parsed(text);
  for (const char* name : {"kernels.topk", "a/b~c", "x.json"}) {
    const std::string set = std::string(name) + ":kernels.topk=radix";
    const Override one = parse_override(set, scenario.variants);
    EXPECT_EQ(one.variant, name);
    EXPECT_EQ(one.path, "kernels.topk");
    EXPECT_EQ(kernels(document_of(scenario, name, {set})), R"({"topk":"radix"})");
  }
  // A path that is also a variant's name stays a path.
  EXPECT_EQ(parse_override("kernels.topk=radix", scenario.variants).variant, "");
}

}  // namespace
}  // namespace hysim::predictor
