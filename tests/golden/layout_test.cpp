// Predicting without a file, starter documents, check and diff, as their users meet them.
#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "golden/program.h"

namespace hysim::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const char* const kJob =
    "--model glm-5.1 --cluster h20-96:64x8 --seq-len 1M --pp 8 --cp 64 --ep 64";

class LayoutTest : public testing::Test {
 protected:
  Outcome run(const std::string& arguments) const { return program_.run(arguments); }
  /// The answer, which must be one.
  std::string answer(const std::string& arguments) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 0) << arguments << "\n" << outcome.err;
    return outcome.out;
  }
  std::string read(const std::string& file) const { return program_.folder().read(file); }
  void write(const std::string& file, const std::string& text) const {
    program_.folder().write(file, text);
  }

 private:
  Program program_;
};

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

// ---------------------------------------------------------------- no file

TEST_F(LayoutTest, PredictsWithoutAFileAndPrintsWhatItChose) {
  const std::string text = answer("predict " + std::string(kJob) + " --draws 0");
  EXPECT_THAT(text, HasSubstr("chose tp 1, dp 1, pipeline_layout 9,10,10,10,10,10,10,9"));
  EXPECT_LE(longest_line(text), 80U);
  const json node = json::parse(answer("predict " + std::string(kJob) + " --draws 0 --json -"));
  const json& resolved = node.at("resolved_scenario");
  EXPECT_EQ(resolved.at("parallelism").at("cp"), 64);
  EXPECT_EQ(resolved.at("parallelism").at("pipeline_layout").size(), 8U);
  EXPECT_EQ(resolved.at("training").at("recompute"), "full");
  EXPECT_EQ(resolved.at("kernels").at("selection"), "table");
}

// Every question about a job answers with the step that predict gives for it.
TEST_F(LayoutTest, ExplainsAndVariesAJobWithoutAFile) {
  const std::string job = " " + std::string(kJob) + " --draws 0 ";
  const auto document = [&](const std::string& arguments) {
    return json::parse(answer(arguments + " --json -"));
  };
  const json step = document("predict" + job).at("step_time").at("value");
  const json explained = document("explain" + job + "selection/topk/forward");
  EXPECT_EQ(explained.at("step_time").at("value"), step);
  EXPECT_EQ(explained.at("leaves").at(0).at("path"), "selection/topk/forward");
  EXPECT_EQ(document("sensitivity" + job).at("step_time").at("value"), step);
  EXPECT_EQ(document("breakeven" + job + "--kernel topk --speedup 1.1").at("step_time").at("value"),
            step);
  const json swept = document("sweep" + job + "--vary kernels.topk=torch,radix");
  EXPECT_EQ(swept.at("rows").at(0).at("step_time").at("value"), step);
  for (const char* command : {"explain", "sensitivity"}) {
    const std::string text = answer(command + job);
    EXPECT_THAT(text, HasSubstr("chose tp 1, dp 1, pipeline_layout 9,10,10,10,10,10,10,9"));
    EXPECT_LE(longest_line(text), 80U);
  }
  EXPECT_THAT(swept.at("warnings").dump(), HasSubstr("\"chosen-layout\""));
}

TEST_F(LayoutTest, ComparesAJobWithASettingOfOneVariant) {
  const std::string compare = "compare " + std::string(kJob) + " --draws 0 ";
  const auto steps = [&](const std::string& more) {
    const json node = json::parse(answer(compare + more + " --json -"));
    std::map<std::string, double> by_name;
    for (const json& variant : node.at("variants")) {
      by_name[variant.at("name")] = variant.at("prediction").at("step_time").at("value");
    }
    return by_name;
  };
  const auto plain = steps("");
  const auto radix = steps("--set table:kernels.topk=radix");
  EXPECT_LT(radix.at("table"), plain.at("table"));
  EXPECT_EQ(radix.at("hyscale"), plain.at("hyscale"));
  const Outcome unknown = run(compare + "--set other:kernels.topk=radix");
  EXPECT_EQ(unknown.code, 3);
  EXPECT_THAT(unknown.err, HasSubstr("variants: table, hyscale"));
}

TEST_F(LayoutTest, TakesEitherAFileOrAJob) {
  for (const char* arguments :
       {"predict --model glm-5.1", "predict --model glm-5.1 --cluster h20-512",
        "predict glm-5.1-1m-h20-512 --cp 32", "predict --seq-len 1M", "explain --model glm-5.1",
        "sensitivity glm-5.1-1m-h20-512 --pp 4", "breakeven --pp 4",
        "sweep --model glm-5.1 --cluster h20-512 --vary kernels.topk=torch,radix",
        "predict --model glm-5.1 --cluster h20-512 --seq-len 1M --tp 0"}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments << "\n" << outcome.err;
    EXPECT_THAT(outcome.out, IsEmpty());
  }
  EXPECT_THAT(run("predict --model glm-5.1 --seq-len 1M").err, HasSubstr("--cluster"));
}

TEST_F(LayoutTest, FaultsOfAJobNameTheOptionsAndTheNearestLayouts) {
  const Outcome outcome =
      run("predict --model glm-5.1 --cluster h20-96:64x8 --seq-len 1M --pp 8 --cp 63");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("the options (/parallelism"));
  EXPECT_THAT(outcome.err, HasSubstr("nearest legal layouts: cp 64"));
}

// ---------------------------------------------------------------- does not fit

TEST_F(LayoutTest, ShowsWhatWouldMakeItFit) {
  const std::string command = "predict glm-5.1-1m-h20-512 --variant megatron-tilelang --draws 0 ";
  const std::string text = answer(command);
  EXPECT_THAT(text, HasSubstr("What would make it fit"));
  EXPECT_THAT(text, HasSubstr("fused selection"));
  EXPECT_LE(longest_line(text), 80U);
  EXPECT_THAT(answer(command + "--md -"), HasSubstr("What would make it fit"));
  const json remedies = json::parse(answer(command + "--json -")).at("memory").at("remedies");
  ASSERT_FALSE(remedies.empty());
  std::string sets;
  for (const auto& set : remedies.front().at("set")) {
    sets += "--set '" + set.get<std::string>() + "' ";
  }
  EXPECT_EQ(run(command + sets + "--require fits").code, 0);
}

// ---------------------------------------------------------------- new

TEST_F(LayoutTest, StartersPassTheirOwnCheck) {
  answer("new cluster ours --gpu h20-96 --nodes 4 --nic '200 Gbit/s' --nics 4 -o ours.json");
  const json cluster = json::parse(read("ours.json"));
  EXPECT_EQ(cluster.at("name"), "ours");
  EXPECT_EQ(cluster.at("nic_bandwidth").at("value"), 100);  // 4 x 200 Gbit/s over 8 GPUs
  const json tiers = json::parse(answer("check ours.json --json -")).at("understood").at("tiers");
  ASSERT_EQ(tiers.size(), 2U);
  EXPECT_EQ(tiers[1].at("name"), "network");
  EXPECT_EQ(tiers[1].at("per_gpu").at("value"), 12.5e9);
  EXPECT_EQ(tiers[1].at("bisection").at("value"), 2 * 8 * 12.5e9);  // half of 4 nodes

  answer("new scenario mine --model llama3-8b --cluster ours.json --seq-len 8K -o mine.json");
  const std::string text = answer("check mine.json");
  EXPECT_THAT(text, HasSubstr("mine: understood"));
  EXPECT_EQ(json::parse(read("mine.json")).at("name"), "mine");
  answer("predict mine.json --draws 0");

  answer("new scenario -o sparse.json");
  EXPECT_THAT(answer("check sparse.json"), HasSubstr("understood, all 2 variants"));
  // A name as --cluster takes it is the cluster it says.
  const json said = json::parse(answer("new cluster h20-96:64x4"));
  EXPECT_EQ(said.at("gpu"), "h20-96");
  EXPECT_EQ(said.at("nodes"), 64);
  EXPECT_EQ(said.at("gpus_per_node"), 4);
  EXPECT_EQ(said.at("name"), "h20-96-256");
  EXPECT_EQ(run("new cluster h20-96:64x4 --nodes 2").code, 2);
  EXPECT_EQ(run("new cluster h20-96:64").code, 2);
  EXPECT_EQ(run("new cluster h20-69:64x4").code, 3);

  answer("new cluster -o cluster.json");
  answer("check cluster.json");
}

TEST_F(LayoutTest, StartersReplaceNothingUnasked) {
  write("mine.json", "precious");
  const Outcome outcome = run("new cluster mine -o mine.json");
  EXPECT_EQ(outcome.code, 5);
  EXPECT_THAT(outcome.err, HasSubstr("--force"));
  EXPECT_EQ(read("mine.json"), "precious");
  answer("new cluster mine -o mine.json --force");
  EXPECT_EQ(json::parse(read("mine.json")).at("name"), "mine");
}

TEST_F(LayoutTest, StartersRefuseWhatTheyDoNotKnow) {
  EXPECT_EQ(run("new cluster x --gpu h20-69").code, 3);
  EXPECT_EQ(run("new cluster x --gpu h20-96 --nic 400").code, 3);
  EXPECT_EQ(run("new cluster x --gpu h20-96 --nic '0 GB/s'").code, 3);
  EXPECT_EQ(run("new cluster x --gpu h20-96 --nics 8").code, 2);
  EXPECT_EQ(run("new model x").code, 2);
  EXPECT_EQ(run("new scenario a/b").code, 2);
}

// ---------------------------------------------------------------- check

TEST_F(LayoutTest, CheckSaysWhereGroupsLie) {
  const std::string text = answer("check glm-5.1-1m-h20-512");
  EXPECT_THAT(text, HasSubstr("all 4 variants"));
  EXPECT_LE(longest_line(text), 80U);
  const json node = json::parse(answer("check glm-5.1-1m-h20-512 --json -"));
  EXPECT_EQ(node.at("kind"), "scenario");
  const json& variant = node.at("understood").at("variants").at(0);
  const auto group = [&](const char* kind) {
    for (const json& g : variant.at("groups")) {
      if (g.at("kind") == kind) return g;
    }
    return json();
  };
  // cp 64 is ranks 0 to 63 on 8 nodes; the 8 stages lie 64 ranks apart.
  EXPECT_EQ(group("cp").at("nodes"), 8);
  EXPECT_EQ(group("cp").at("ranks").at(63), 63);
  EXPECT_EQ(group("cp").at("tier"), "network");
  EXPECT_EQ(group("pp").at("ranks"), json({0, 64, 128, 192, 256, 320, 384, 448}));
  EXPECT_EQ(group("pp").at("groups"), 64);
  EXPECT_EQ(group("tp").at("tier"), nullptr);
  EXPECT_EQ(node.at("understood").at("model").at("layers").at("dsa+moe"), 75);
}

TEST_F(LayoutTest, CheckReadsEveryKindOfDocument) {
  for (const char* file : {"h20-512", "h20-96", "megatron-core-2026", "glm-5.1"}) {
    const json node = json::parse(answer("check " + std::string(file) + " --json -"));
    EXPECT_EQ(node.at("schema"), "hysim.check/1") << file;
    EXPECT_LE(longest_line(answer("check " + std::string(file))), 80U) << file;
  }
  answer("predict glm-5.1-128k-h20-512 --draws 0 --json saved.json");
  EXPECT_THAT(answer("check saved.json"), HasSubstr("a saved prediction"));
}

TEST_F(LayoutTest, CheckTellsAllFaultsOfAllVariants) {
  write("bad.json", R"({
    "schema": "hysim.scenario/1", "name": "bad", "model": "glm-5.1", "cluster": "h20-512",
    "workload": {"seq_len": "128K", "global_batch_size": 64},
    "parallelism": {"pp": 8, "cp": 8, "ep": 64},
    "variants": {"a": {"parallelism": {"cp": 3}}, "b": {"parallelism": {"tp": 3}}}})");
  const Outcome outcome = run("check bad.json");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, HasSubstr("= 24 does not divide"));   // pp 8 x cp 3
  EXPECT_THAT(outcome.err, HasSubstr("= 192 does not divide"));  // pp 8 x cp 8 x tp 3

  const Outcome as_json = run("check bad.json --json -");
  EXPECT_EQ(as_json.code, 3);
  EXPECT_EQ(as_json.err, outcome.err);
  const json faults = json::parse(as_json.out).at("faults");
  const auto lines = std::count(outcome.err.begin(), outcome.err.end(), '\n');
  ASSERT_EQ(faults.size(), static_cast<std::size_t>(lines));
  for (const json& fault : faults) {
    EXPECT_EQ(fault.at("file"), "bad.json");
    EXPECT_THAT(outcome.err, HasSubstr(fault.at("message").get<std::string>()));
    EXPECT_THAT(outcome.err, HasSubstr(fault.at("pointer").get<std::string>()));
  }
  EXPECT_EQ(run("check bad.json --json faults.json").out, "");
  EXPECT_EQ(json::parse(read("faults.json")).at("faults"), faults);

  EXPECT_EQ(run("check nothing-of-this-name").code, 3);
  write("other.json", R"({"schema": "somebody.else/1"})");
  EXPECT_THAT(run("check other.json").err, HasSubstr("check reads hysim.scenario/1"));
}

// ---------------------------------------------------------------- diff

TEST_F(LayoutTest, DiffNamesTheSettingTheConstantAndTheInput) {
  const std::string predict = "predict glm-5.1-128k-h20-512 --draws 0 ";
  answer(predict + "--json a.json");
  answer(predict + "--set kernels.selection=fused --json b.json");
  const std::string text = answer("diff a.json b.json");
  EXPECT_THAT(text, HasSubstr("kernels.selection"));
  EXPECT_LE(longest_line(text), 80U);
  json node = json::parse(answer("diff a.json b.json --json -"));
  EXPECT_EQ(node.at("schema"), "hysim.diff/1");
  json pair = node.at("pairs").at(0);
  EXPECT_EQ(pair.at("settings"),
            json::parse(R"([{"what": "kernels.selection", "a": "table", "b": "fused"}])"));
  EXPECT_TRUE(pair.at("constants").empty());
  EXPECT_FALSE(pair.at("unexplained"));
  // The leaves account for the step: what they differ by sums to what the steps differ by.
  double sum = 0.0;
  for (const json& leaf : pair.at("breakdown")) {
    sum += leaf.at("b").get<double>() - leaf.at("a").get<double>();
  }
  const double steps = pair.at("step_time").at("b").at("value").get<double>() -
                       pair.at("step_time").at("a").at("value").get<double>();
  EXPECT_NEAR(sum, steps, 1e-9 * std::abs(steps));

  // The same cluster with slower NICs under another name.
  json cluster = json::parse(answer("show h20-512 --json -")).at("document");
  cluster["name"] = "slower";
  cluster["nic_bandwidth"]["value"] = cluster["nic_bandwidth"]["low"] = 200;
  cluster["nic_bandwidth"]["high"] = 200;
  write("slower.json", cluster.dump());
  answer(predict + "--set cluster=slower.json --json c.json");
  pair = json::parse(answer("diff a.json c.json --json -")).at("pairs").at(0);
  ASSERT_EQ(pair.at("constants").size(), 1U) << pair.at("constants");
  EXPECT_EQ(pair.at("constants").at(0).at("what"), "cluster/nic_bandwidth");
  EXPECT_THAT(pair.at("inputs").dump(), HasSubstr("slower.json"));
}

TEST_F(LayoutTest, DiffOfAPredictionWithItselfIsEmpty) {
  answer("compare glm-5.1-128k-h20-512 --draws 0 --json a.json");
  const json node = json::parse(answer("diff a.json a.json --json -"));
  ASSERT_FALSE(node.at("pairs").empty());
  for (const json& pair : node.at("pairs")) {
    for (const char* list : {"breakdown", "memory", "settings", "constants", "inputs", "program"}) {
      EXPECT_TRUE(pair.at(list).empty()) << list;
    }
  }
}

TEST_F(LayoutTest, DiffRefusesWhatIsNoPrediction) {
  answer("predict glm-5.1-128k-h20-512 --draws 0 --json a.json");
  write("cut.json", read("a.json").substr(0, 200));
  write("other.json", "{\n  \"schema\": \"hysim.scenario/1\"\n}");
  json broken = json::parse(read("a.json"));
  broken["step_time"].erase("value");
  broken["breakdown"][0]["time"] = 1;
  write("broken.json", broken.dump(1));
  EXPECT_EQ(run("diff a.json missing.json").code, 3);
  EXPECT_THAT(run("diff a.json cut.json").err, HasSubstr("cut.json:"));
  EXPECT_THAT(run("diff a.json other.json").err, HasSubstr("other.json:2:13 (/schema)"));
  const Outcome outcome = run("diff broken.json a.json");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("(/step_time"));
  EXPECT_THAT(outcome.err, HasSubstr("(/breakdown/0/time"));
  EXPECT_EQ(run("diff a.json").code, 2);
}

}  // namespace
}  // namespace hysim::test
