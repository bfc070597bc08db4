// The program as its users meet it: exit codes, streams, files, and facts it must print.
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

#include "test_paths.h"
#include "unit/cli/temporary_folder.h"

namespace hysim::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

const char* const kHeadline = "glm-5.1-1m-h20-512";

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

class CliTest : public testing::Test {
 protected:
  /// Runs `before hysim ARGUMENTS` in a shell inside the test's folder.
  Outcome run(const std::string& arguments, const std::string& before = "") const {
    return shell(before + " '" HYSIM_BINARY "' " + arguments);
  }
  Outcome shell(const std::string& line) const {
    const std::string command = "cd '" + folder_.path(".") +
                                "' && unset HYSIM_PATH NO_COLOR && mkdir -p streams && { " + line +
                                "; } >streams/out 2>streams/err";
    const int status = std::system(command.c_str());
    Outcome outcome;
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    outcome.out = folder_.read("streams/out");
    outcome.err = folder_.read("streams/err");
    return outcome;
  }

  test::TemporaryFolder folder_;
};

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

// ---------------------------------------------------------------- usage

TEST_F(CliTest, WrongUsageIsTwoAndStdoutIsEmpty) {
  for (const char* arguments : {"",
                                "predcit x",
                                "predict",
                                "predict x --varient y",
                                "predict a b",
                                "compare a b c",
                                "show",
                                "list foo",
                                "predict x --draws -1",
                                "predict x --draws 100001",
                                "predict x --draws many",
                                "predict x --seed -1",
                                "predict x --color sometimes",
                                "predict x --set",
                                "predict x --set a",
                                "predict x --set =3",
                                "explain x --set kernels.topk",
                                "export megatron x --set a",
                                "compare x --scale kernels.topk",
                                "sweep x --vary workload.seq_len",
                                "predict x --tokens 5B --price nan",
                                "predict x --tokens 5B --price -2",
                                "predict x --tokens 5B --price cheap",
                                "breakeven x --kernel topk --speedup nan",
                                "breakeven x --kernel topk --speedup -nan",
                                "breakeven x --kernel topk --speedup inf",
                                "breakeven x --kernel topk --speedup 0",
                                "predict x --require 'peak_memory<=200'",
                                "predict x --require 'mfu>=20'",
                                "predict x --json - --csv -",
                                "predict x --json a --md a",
                                "predict x --require speed",
                                "predict x --require 'speedup>=2'",
                                "--json x",
                                "--nothing"}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments << "\n" << outcome.err;
    EXPECT_THAT(outcome.out, IsEmpty()) << arguments;
    EXPECT_THAT(outcome.err, StartsWith("hysim: error: ")) << arguments;
  }
}

TEST_F(CliTest, WithoutACommandTheyAreNamedInLinesThatFit) {
  const Outcome outcome = run("");
  EXPECT_LE(longest_line(outcome.err), 80U);
  EXPECT_THAT(outcome.err, HasSubstr(" and sweep\n"));
}

TEST_F(CliTest, NamesTheNearestCommandAndOption) {
  EXPECT_THAT(run("predcit x").err, HasSubstr("did you mean predict?"));
  EXPECT_THAT(run("predict x --varient y").err, HasSubstr("did you mean --variant?"));
  EXPECT_THAT(run("predict").err, HasSubstr("SCENARIO is required"));
  EXPECT_THAT(run("predict --json x").err,
              HasSubstr("SCENARIO is required; --json took \"x\" as its file: write --json=-"));
}

TEST_F(CliTest, HelpHasExamples) {
  for (const char* arguments :
       {"--help", "predict --help", "compare --help", "list --help", "show --help", "predict -h"}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 0) << arguments;
    EXPECT_THAT(outcome.out, HasSubstr("Examples:\n  hysim ")) << arguments;
    EXPECT_LE(longest_line(outcome.out), 80U) << arguments;
    EXPECT_THAT(outcome.err, IsEmpty());
  }
}

TEST_F(CliTest, TellsItsVersion) {
  const Outcome text = run("--version");
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, testing::MatchesRegex("hysim [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  const json node = json::parse(run("--version --json").out);
  EXPECT_EQ(node.at("name"), "hysim");
  EXPECT_EQ("hysim " + node.at("version").get<std::string>() + "\n", text.out);
  run("--version --json version.json");
  EXPECT_EQ(json::parse(folder_.read("version.json")), node);
}

// ---------------------------------------------------------------- input

TEST_F(CliTest, AnUnknownScenarioIsThree) {
  const Outcome outcome = run("predict glm-5.1-1m-h20-521");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, StartsWith("hysim: error: "));
  EXPECT_THAT(outcome.err, HasSubstr(kHeadline));
}

TEST_F(CliTest, AMissingFileNamesTheNearestScenario) {
  const Outcome outcome = run("compare ./glm-5.1-1m-h20-521.json --json -");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, HasSubstr("no such file"));
  EXPECT_THAT(outcome.err, HasSubstr(kHeadline));
}

TEST_F(CliTest, BadFilesAreThree) {
  folder_.write("broken.json", "{\"schema\": \n  oops}");
  const Outcome broken = run("predict broken.json");
  EXPECT_EQ(broken.code, 3);
  EXPECT_THAT(broken.err, StartsWith("hysim: error: broken.json:2:"));
  EXPECT_THAT(broken.out, IsEmpty());
  EXPECT_THAT(run("predict ./streams").err, HasSubstr("is a folder"));
  folder_.write("empty.json", "");
  EXPECT_EQ(run("predict empty.json").code, 3);
}

TEST_F(CliTest, EveryFaultHasItsLine) {
  folder_.write("two.json", R"({"schema": "hysim.scenario/1", "name": "x", "model": "glm-5.1",
    "cluster": "h20-512", "workload": {"seq_len": "1M", "seq_lne": 3}, "paralelism": {}})");
  const Outcome outcome = run("predict two.json");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.out, IsEmpty());
  std::istringstream lines(outcome.err);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_THAT(line, StartsWith("hysim: error: "));
  }
  EXPECT_GE(count, 2);
}

TEST_F(CliTest, MessagesHoldNoEscapes) {
  const Outcome outcome = run("predict \"$(printf 'a\\033[31m/b')\"");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, Not(HasSubstr("\x1b")));
}

// ---------------------------------------------------------------- list and show

TEST_F(CliTest, ListsWhatIsBundled) {
  for (const char* kind : {"models", "gpus", "clusters", "scenarios"}) {
    const Outcome text = run(std::string("list ") + kind);
    EXPECT_EQ(text.code, 0) << kind;
    EXPECT_LE(longest_line(text.out), 80U) << kind;
    const json node = json::parse(run(std::string("list ") + kind + " --json").out);
    EXPECT_EQ(node.at("schema"), "hysim.list/1");
    ASSERT_FALSE(node.at(kind).empty()) << kind;
    EXPECT_THAT(text.out, HasSubstr(node.at(kind).at(0).at("name").get<std::string>()));
  }
  EXPECT_THAT(run("list models").out, HasSubstr("glm-5.1 "));
  EXPECT_THAT(run("list gpus").out, HasSubstr("h20-96 "));
  EXPECT_THAT(run("list clusters").out, HasSubstr("h20-512"));
  EXPECT_THAT(run("list scenarios").out, HasSubstr(kHeadline));
  EXPECT_EQ(json::parse(run("list --json gpus").out).at("gpus"),
            json::parse(run("list gpus --json -").out).at("gpus"));
  EXPECT_EQ(run("list").code, 0);
}

TEST_F(CliTest, ShowsPublishedParameterCounts) {
  struct Known {
    const char* model;
    std::int64_t total;
    std::int64_t active;
  };
  for (const Known& known : {Known{"glm-5.1", 743911199232, 41784709632},
                             Known{"deepseek-v3.2", 671877929216, 38403807488},
                             Known{"llama3.1-405b", 405853388800, 405853388800},
                             Known{"mixtral-8x7b", 46702792704, 12879925248}}) {
    const Outcome outcome = run(std::string("show ") + known.model + " --json");
    EXPECT_EQ(outcome.code, 0);
    const json parameters = json::parse(outcome.out).at("parameters");
    EXPECT_EQ(parameters.at("total"), known.total) << known.model;
    EXPECT_EQ(parameters.at("active"), known.active) << known.model;
    std::int64_t sum = 0;
    for (const json& kind : parameters.at("by_kind")) sum += kind.at("total").get<std::int64_t>();
    EXPECT_EQ(sum, known.total) << known.model;
  }
  EXPECT_THAT(run("show glm-5.1").out, HasSubstr("3 x dsa+dense, 75 x dsa+moe"));
}

TEST_F(CliTest, ShowsOneOfEachKind) {
  EXPECT_THAT(run("show h20-96").out, HasSubstr("148 Tflop/s"));
  EXPECT_EQ(json::parse(run("show h20-96 --json").out).at("fields").at("bf16").at("value"), 148e12);
  EXPECT_EQ(json::parse(run("show h20-512 --json").out).at("gpus"), 512);
  EXPECT_EQ(json::parse(run(std::string("show --json ") + kHeadline).out).at("kind"), "scenario");
  EXPECT_EQ(run("show models/glm-5.1").out, run("show glm-5.1").out);
  EXPECT_THAT(run("show glm-5.1 --md -").out, HasSubstr("| Hidden | 6,144 |"));
  for (const char* name : {"glm-5.1", "h20-96", "h20-512", kHeadline}) {
    EXPECT_LE(longest_line(run(std::string("show ") + name).out), 80U) << name;
  }
}

TEST_F(CliTest, ShowKnowsTheNearestName) {
  const Outcome outcome = run("show glm-5,1");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, HasSubstr("did you mean \"glm-5.1\"?"));
  EXPECT_THAT(run("show gpus/h20-69").err, HasSubstr("did you mean \"h20-96\"?"));
}

TEST_F(CliTest, AnAmbiguousNameNeedsItsKind) {
  folder_.write("mine/hw_profiles/clusters/glm-5.1.json",
                R"({"schema": "hysim.cluster/1", "name": "glm-5.1"})");
  const Outcome outcome = run("show glm-5.1", "HYSIM_PATH=mine");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("models/glm-5.1 or clusters/glm-5.1"));
  EXPECT_EQ(run("show models/glm-5.1", "HYSIM_PATH=mine").code, 0);
  EXPECT_THAT(run("show clusters/glm-5.1", "HYSIM_PATH=mine").out, HasSubstr("(cluster)"));
}

TEST_F(CliTest, ShowsAFile) {
  const json shown =
      json::parse(run("show '" HYSIM_TEST_DATA "/../models/mixtral-8x7b.json' --json").out);
  EXPECT_EQ(shown, json::parse(run("show mixtral-8x7b --json").out));
  const Outcome nothing = run("show ./none.json");
  EXPECT_EQ(nothing.code, 3);
  EXPECT_THAT(nothing.err, HasSubstr("no such file"));
  folder_.write("x.json", "{}");
  EXPECT_THAT(run("show x.json").err, HasSubstr("neither a hysim document nor"));
}

TEST_F(CliTest, AFaultyDocumentIsListed) {
  folder_.write("mine/models/bad.json", "{");
  const Outcome outcome = run("list models", "HYSIM_PATH=mine:none");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, testing::ContainsRegex("bad +not usable: "));
  EXPECT_THAT(outcome.out, HasSubstr("glm-5.1 "));
  EXPECT_THAT(outcome.err, HasSubstr("hysim: warning: HYSIM_PATH: none is no folder"));
  EXPECT_THAT(run("list models -q", "HYSIM_PATH=none").err, IsEmpty());
}

// ---------------------------------------------------------------- where output goes

TEST_F(CliTest, FilesAppearWholeOrNotAtAll) {
  const Outcome outcome = run("show glm-5.1 --json out.json");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, StartsWith("glm-5.1: 744 B"));  // text stays on stdout
  EXPECT_EQ(folder_.read("out.json"), run("show glm-5.1 --json -").out);
  EXPECT_EQ(folder_.entries(), 2U);  // out.json and streams
}

TEST_F(CliTest, WhatCannotBeWrittenIsFive) {
  for (const char* target : {"none/out.json", "streams", "/dev/full"}) {
    const Outcome outcome = run(std::string("show glm-5.1 --json ") + target);
    EXPECT_EQ(outcome.code, 5) << target;
    EXPECT_THAT(outcome.out, IsEmpty()) << target;
    EXPECT_THAT(outcome.err, HasSubstr(std::string("cannot write ") + target)) << target;
  }
  const Outcome full = shell("'" HYSIM_BINARY "' show glm-5.1 >/dev/full");
  EXPECT_EQ(full.code, 5);
  EXPECT_THAT(full.err, HasSubstr("cannot write standard output"));
  EXPECT_EQ(shell("'" HYSIM_BINARY "' show glm-5.1 >&-").code, 5);
}

TEST_F(CliTest, AClosedPipeIsNoError) {
  const Outcome outcome =
      shell("{ '" HYSIM_BINARY "' list models --json; echo $? >code; } | true; cat code");
  EXPECT_EQ(outcome.out, "0\n");
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST_F(CliTest, ColorsOnlyWhereTheyAreWanted) {
  EXPECT_THAT(run("show glm-5.1").out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(run("show glm-5.1 --color always").out, HasSubstr("\x1b[1m"));
  EXPECT_THAT(run("show glm-5.1 --color always --json -").out, Not(HasSubstr("\x1b")));
}

// ---------------------------------------------------------------- predictions

TEST_F(CliTest, PredictsTheFirstVariantAndSaysSo) {
  const Outcome outcome = run(std::string("predict --draws 0 ") + kHeadline);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("no --variant given: this is "));
  EXPECT_LE(longest_line(outcome.out), 80U);
  const Outcome as_json = run(std::string("predict --draws 0 --json - ") + kHeadline);
  EXPECT_THAT(as_json.err, HasSubstr("hysim: warning: [no-variant] no --variant given"));
  EXPECT_THAT(json::parse(as_json.out).at("warnings").dump(), HasSubstr("no --variant given"));
  EXPECT_THAT(run(std::string("predict -q --draws 0 --json - ") + kHeadline).err, IsEmpty());
}

TEST_F(CliTest, PredictionJsonAddsUp) {
  const Outcome outcome = run(std::string("predict --draws 20 --json - ") + kHeadline);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json node = json::parse(outcome.out);
  EXPECT_EQ(node.at("schema"), "hysim.prediction/1");
  const double step = node.at("step_time").at("value").get<double>();
  double sum = 0.0;
  for (const json& leaf : node.at("breakdown")) {
    if (leaf.at("kind") == "critical") sum += leaf.at("time").at("value").get<double>();
  }
  EXPECT_NEAR(sum, step, 1e-9 * step);
  EXPECT_LE(node.at("step_time").at("low").get<double>(), step);
  EXPECT_GE(node.at("step_time").at("high").get<double>(), step);
  double evidence = 0.0;
  for (const json& share : node.at("evidence")) evidence += share.get<double>();
  EXPECT_NEAR(evidence, 1.0, 1e-9);
  EXPECT_EQ(node.at("draws"), 20);
  EXPECT_EQ(outcome.out, run(std::string("predict --draws 20 --json - ") + kHeadline).out);
}

/// What binds a leaf that begins so.
std::set<std::string> bounds_of(const json& prediction, const std::string& path) {
  std::set<std::string> bounds;
  for (const json& leaf : prediction.at("breakdown")) {
    if (leaf.at("path").get<std::string>().starts_with(path)) bounds.insert(leaf.at("bound_by"));
  }
  return bounds;
}

TEST_F(CliTest, CommunicationInsideANodeIsBoundByNvlink) {
  const std::string job = "predict -q --draws 0 --json - --model qwen3-4b --seq-len 4K --cluster ";
  const json node = json::parse(run(job + "h100-sxm-80:1x8").out);
  EXPECT_EQ(bounds_of(node, "communication/dp"), std::set<std::string>{"nvlink"});
  EXPECT_EQ(bounds_of(node, "").count("network"), 0U);
  const json nodes = json::parse(run(job + "h100-sxm-80:2x8").out);
  EXPECT_EQ(bounds_of(nodes, "communication/dp"), std::set<std::string>{"network"});
}

TEST_F(CliTest, ComparesVariants) {
  const Outcome outcome = run(std::string("compare --draws 10 ") + kHeadline);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr(" vs "));
  EXPECT_THAT(outcome.out, HasSubstr("Where the time goes"));
  EXPECT_LE(longest_line(outcome.out), 80U);
  const json node = json::parse(run(std::string("compare --draws 0 --json - ") + kHeadline).out);
  EXPECT_EQ(node.at("schema"), "hysim.comparison/1");
  const json& variants = node.at("variants");
  ASSERT_GE(variants.size(), 2U);
  EXPECT_EQ(node.at("speedup").at("baseline"), variants.front().at("name"));
  EXPECT_EQ(node.at("speedup").at("candidate"), variants.back().at("name"));
  const auto step = [](const json& variant) {
    return variant.at("prediction").at("step_time").at("value").get<double>();
  };
  EXPECT_NEAR(node.at("speedup").at("value").get<double>(),
              step(variants.front()) / step(variants.back()), 1e-9);
}

TEST_F(CliTest, RequirementsDecideTheExitCode) {
  const std::string predict = std::string("predict -q --draws 0 ") + kHeadline;
  EXPECT_EQ(run(predict + " --require 'step_time<=1000h'").code, 0);
  const Outcome outcome = run(predict + " --require 'step_time<=1ns'");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("hysim: required step_time<=1ns: not met ("));
  EXPECT_THAT(outcome.out, Not(IsEmpty()));
  EXPECT_EQ(run(std::string("compare -q --draws 0 --require 'speedup>=1000' ") + kHeadline).code,
            1);
}

TEST_F(CliTest, CsvHasOneRowALeaf) {
  const Outcome outcome = run(std::string("predict -q --draws 0 --csv - ") + kHeadline);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, StartsWith("path,kind,bound_by,time_s,low_s,high_s\n"));
}

TEST_F(CliTest, SetsChangeTheAnswer) {
  const std::string base = std::string("predict -q --draws 0 --json - ") + kHeadline;
  const json before = json::parse(run(base).out);
  const json after = json::parse(run(base + " --set workload.seq_len=512K").out);
  EXPECT_EQ(after.at("workload").at("seq_len"), 524288);
  EXPECT_LT(after.at("step_time").at("value").get<double>(),
            before.at("step_time").at("value").get<double>());
  const Outcome nothing = run(base + " --set workload.seq_len=1M");
  EXPECT_EQ(nothing.code, 3);
  EXPECT_THAT(nothing.out, IsEmpty());
}

TEST_F(CliTest, AScenarioFileMayNameALocalModel) {
  const json scenario = json::parse(run(std::string("show --json ") + kHeadline).out);
  json document = scenario.at("document");
  document["model"] = "my-model.json";
  folder_.write("job/scenario.json", document.dump());
  const Outcome missing = run("predict -q --draws 0 job/scenario.json");
  EXPECT_EQ(missing.code, 3);
  std::ifstream bundled(HYSIM_TEST_DATA "/../models/glm-5.1.json");
  std::ostringstream text;
  text << bundled.rdbuf();
  folder_.write("job/my-model.json", text.str());
  const Outcome found = run("predict -q --draws 0 --json - job/scenario.json");
  ASSERT_EQ(found.code, 0) << found.err;
  EXPECT_THAT(json::parse(found.out).at("inputs").dump(), HasSubstr("job/my-model.json"));
}

TEST_F(CliTest, AnInterruptEndsWith130) {
  const Outcome outcome = shell("timeout -s INT 1 '" HYSIM_BINARY "' compare -q --draws 100000 " +
                                std::string(kHeadline) + " --json out.json");
  if (outcome.code == 0) GTEST_SKIP() << "it was done before the interrupt";
  // timeout answers 124 for a command it ended, whatever the command answered.
  EXPECT_TRUE(outcome.code == 124 || outcome.code == 130) << outcome.code;
  EXPECT_THAT(outcome.err, HasSubstr("interrupted"));
  EXPECT_THAT(folder_.read("out.json"), IsEmpty());
}

}  // namespace
}  // namespace hysim::cli
