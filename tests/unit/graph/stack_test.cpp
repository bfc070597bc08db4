// Software stacks: reading a profile, its faults with their places, and when a limit is met.
#include "graph/stack.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "hysim/errors.h"
#include "unit/model/model_files.h"

namespace hysim {
namespace {

using graph::StackProfile;

const char* const kStack = R"({
  "schema": "hysim.stack/1",
  "name": "toy",
  "overlap": {"tp": true, "grad_reduce": false},
  "launch_gap": {"value": 4, "unit": "us", "low": 2, "high": 6, "kind": "measured",
                 "source": "a bench", "measured_on": "toy-gpu"},
  "context_bytes": {"value": 1, "unit": "GB", "low": 1, "high": 2, "kind": "assumed",
                    "source": "none"},
  "nccl_bytes": {"value": 2, "unit": "MiB", "low": 2, "high": 2, "kind": "assumed",
                 "source": "none"},
  "fragmentation": {"value": 0.1, "unit": "1", "low": 0.0, "high": 0.2, "kind": "assumed",
                    "source": "none"},
  "limits": [
    {"id": "long", "message": "is slow", "source": "an issue",
     "when": {"kernels.selection": "table", "workload.seq_len": {"at_least": 1024}}},
    {"id": "replay", "message": "is new", "source": "a note",
     "when": {"kernels.selection_replay": true}},
    {"id": "never", "message": "has no condition", "source": "a note", "when": {}}
  ]
})";

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  if (at == std::string::npos) throw std::out_of_range(what);
  return text.replace(at, what.size(), with);
}

std::vector<Diagnostic> faults_of(const std::string& text) {
  try {
    graph::parse_stack(text, "toy.json");
  } catch (const InputError& error) {
    return error.diagnostics();
  }
  return {};
}

std::vector<std::string> met(const std::string& facts, const std::string& stack = kStack) {
  std::vector<std::string> texts;
  for (const graph::StackLimit& limit : graph::limits_met(graph::parse_stack(stack, "toy.json"),
                                                          config::parse(facts, "scenario.json"))) {
    texts.push_back("[" + limit.id + "] " + limit.message + " (" + limit.source + ")");
  }
  return texts;
}

TEST(StackProfile, IsReadInSiUnits) {
  const StackProfile stack = graph::parse_stack(kStack, "toy.json");
  EXPECT_EQ(stack.name, "toy");
  EXPECT_TRUE(stack.overlap.tp);
  EXPECT_FALSE(stack.overlap.cp);
  EXPECT_FALSE(stack.overlap.grad_reduce);
  EXPECT_TRUE(stack.overlap.param_gather);
  const graph::Stack plain = graph::resolve(stack, config::Sampler(), "toy-gpu");
  EXPECT_DOUBLE_EQ(plain.launch_gap.si(), 4e-6);
  EXPECT_DOUBLE_EQ(plain.context.si(), 1e9);
  EXPECT_DOUBLE_EQ(plain.nccl_per_communicator.si(), 2097152.0);
  EXPECT_DOUBLE_EQ(plain.fragmentation, 0.1);
  EXPECT_EQ(plain.launch_evidence, config::Evidence::this_gpu);
  EXPECT_EQ(graph::resolve(stack, config::Sampler(), "other").launch_evidence,
            config::Evidence::other_gpu);
}

TEST(StackProfile, DrawsStayInTheRange) {
  const StackProfile stack = graph::parse_stack(kStack, "toy.json");
  for (std::uint64_t i = 0; i < 200; ++i) {
    const graph::Stack drawn = graph::resolve(stack, config::Sampler(7, i), "toy-gpu");
    EXPECT_GE(drawn.launch_gap.si(), 2e-6);
    EXPECT_LE(drawn.launch_gap.si(), 6e-6);
    EXPECT_DOUBLE_EQ(drawn.nccl_per_communicator.si(), 2097152.0);
  }
}

TEST(StackLimits, HoldWhenEveryConditionDoes) {
  EXPECT_EQ(met(R"({"kernels": {"selection": "table"}, "workload": {"seq_len": 1024}})"),
            std::vector<std::string>{"[long] is slow (an issue)"});
  EXPECT_TRUE(met(R"({"kernels": {"selection": "table"}, "workload": {"seq_len": 1023}})").empty());
  EXPECT_TRUE(met(R"({"kernels": {"selection": "fused"}, "workload": {"seq_len": 4096}})").empty());
  EXPECT_EQ(met(R"({"kernels": {"selection": "table", "selection_replay": true},
                    "workload": {"seq_len": 2048}})")
                .size(),
            2U);
}

TEST(StackLimits, ASettingThatIsAbsentOrOfAnotherKindMeetsNothing) {
  EXPECT_TRUE(met(R"({"kernels": {"selection": "table"}})").empty());
  EXPECT_TRUE(met(R"({"kernels": {"selection": "table"}, "workload": {"seq_len": "1M"}})").empty());
  EXPECT_TRUE(met(R"({"kernels": {"selection_replay": "true"}})").empty());
}

TEST(StackLimits, ListsAndBoundsAreAsked) {
  const std::string stack = replaced(
      kStack, R"({"kernels.selection_replay": true})",
      R"({"a": {"in": [1, "x"]}, "b": {"not": [2, 3]}, "c": {"at_least": 5, "at_most": 7}})");
  const auto met_by = [&](const std::string& facts) { return met(facts, stack).size(); };
  EXPECT_EQ(met_by(R"({"a": 1, "b": 1, "c": 5})"), 1U);
  EXPECT_EQ(met_by(R"({"a": "x", "b": "2", "c": 7})"), 1U);
  EXPECT_EQ(met_by(R"({"a": 2, "b": 1, "c": 5})"), 0U);
  EXPECT_EQ(met_by(R"({"a": 1, "b": 3, "c": 5})"), 0U);
  EXPECT_EQ(met_by(R"({"a": 1, "b": 1, "c": 4})"), 0U);
  EXPECT_EQ(met_by(R"({"a": 1, "b": 1, "c": 8})"), 0U);
  EXPECT_EQ(met_by(R"({"a": 1, "c": 5})"), 0U);  // b is absent
}

TEST(StackFaults, AreLocated) {
  const auto unknown = faults_of(replaced(kStack, "\"launch_gap\"", "\"launch_gab\""));
  ASSERT_EQ(unknown.size(), 2U);  // the missing key and the unknown one
  const auto negative = faults_of(replaced(kStack, "\"low\": 0.0", "\"low\": -0.1"));
  ASSERT_EQ(negative.size(), 1U);
  EXPECT_EQ(negative[0].file, "toy.json");
  EXPECT_EQ(negative[0].line, 11);
  EXPECT_EQ(negative[0].pointer, "/fragmentation");
  const auto unit = faults_of(replaced(kStack, "\"GB\"", "\"us\""));
  ASSERT_EQ(unit.size(), 1U);
  EXPECT_EQ(unit[0].line, 7);
  EXPECT_EQ(unit[0].pointer.rfind("/context_bytes", 0), 0U) << unit[0].pointer;
  const auto limit = faults_of(replaced(kStack, "{\"at_least\": 1024}", "{\"at_lest\": 1024}"));
  ASSERT_FALSE(limit.empty());
  EXPECT_EQ(limit[0].line, 15);
  EXPECT_EQ(limit[0].pointer.rfind("/limits/0/when", 0), 0U) << limit[0].pointer;
  const auto when = faults_of(replaced(kStack, "{\"kernels.selection_replay\": true}", "true"));
  ASSERT_EQ(when.size(), 1U);
  EXPECT_EQ(when[0].pointer, "/limits/1/when");
  EXPECT_EQ(when[0].line, 17);
  const auto schema = faults_of(replaced(kStack, "hysim.stack/1", "hysim.stack/2"));
  ASSERT_EQ(schema.size(), 1U);
  EXPECT_EQ(schema[0].text(),
            "toy.json:2:13 (/schema): must be \"hysim.stack/1\", found \"hysim.stack/2\"");
}

TEST(StackFaults, AreReportedAllAtOnce) {
  std::string text = replaced(kStack, "\"tp\": true", "\"tp\": 1");
  text = replaced(text, "\"MiB\"", "\"G\"");
  text = replaced(text, "\"id\": \"replay\", ", "");
  const auto faults = faults_of(text);
  ASSERT_EQ(faults.size(), 3U);
  EXPECT_EQ(faults[0].pointer, "/overlap/tp");
}

TEST(StackFaults, AnUnknownStackNamesTheNearest) {
  try {
    graph::load_stack(test::source_tree(), "megatron-core-2062");
    ADD_FAILURE() << "no fault";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("\"megatron-core-2026\""), std::string::npos)
        << error.what();
  }
}

TEST(BundledStack, IsReadAndItsLimitsHaveConditions) {
  const StackProfile stack = graph::load_stack(test::source_tree(), "megatron-core-2026");
  EXPECT_EQ(stack.name, "megatron-core-2026");
  for (const graph::StackLimit& limit : stack.limits) EXPECT_FALSE(limit.when.empty()) << limit.id;
}

}  // namespace
}  // namespace hysim
