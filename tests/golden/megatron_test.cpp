// hysim import megatron and export megatron, and --tokens: the program as its users run it.
#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "golden/program.h"

namespace hysim::test {
namespace {

using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string kFolder = "'" HYSIM_TEST_DATA "/golden/megatron/";
const std::string kGpt3 = kFolder + "gpt3-175b.sh' --gpu h100-sxm-80 -D NUM_NODES=16";
const std::string kDeepSeek = kFolder +
                              "deepseek-v3.yaml' --cluster h800-2048 -D TP=1 -D PP=16 -D EP=64 "
                              "-D GBS=16384";

std::size_t longest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

TEST(MegatronCommand, ImportsAScriptThatCanBePredicted) {
  const Program program;
  const Outcome imported = program.run("import megatron " + kGpt3 + " -o mine.json");
  ASSERT_EQ(imported.code, 0) << imported.err;
  EXPECT_THAT(imported.out, IsEmpty());
  EXPECT_THAT(imported.err, HasSubstr("hysim: model gpt3-175b"));
  EXPECT_THAT(imported.err, HasSubstr("--rampup-batch-size 16 16 5859375"));
  EXPECT_THAT(imported.err, HasSubstr("gpt3-175b.sh:19: "));
  const Outcome predicted = program.run("predict ./mine.json --draws 0 --json -");
  ASSERT_EQ(predicted.code, 0) << predicted.err;
  const json prediction = json::parse(predicted.out);
  EXPECT_EQ(prediction.at("gpus"), 128);
  EXPECT_EQ(prediction.at("layout").at("tp"), 8);
  EXPECT_THAT(prediction.at("assumptions").dump(), HasSubstr("rampup-batch-size"));
}

TEST(MegatronCommand, ScenarioOnStandardOutputIsAlone) {
  const Program program;
  const Outcome imported = program.run("import megatron " + kGpt3);
  ASSERT_EQ(imported.code, 0);
  EXPECT_EQ(json::parse(imported.out).at("name"), "gpt3-175b");
  EXPECT_THAT(program.run("import megatron -q " + kGpt3).err, IsEmpty());
}

TEST(MegatronCommand, ReadsYamlOfModelZoos) {
  const Program program;
  const Outcome imported = program.run("import megatron " + kDeepSeek + " -o mine.json --json -");
  ASSERT_EQ(imported.code, 0) << imported.err;
  const json report = json::parse(imported.out);
  EXPECT_EQ(report.at("schema"), "hysim.import/1");
  EXPECT_EQ(report.at("model"), "deepseek-v3");
  EXPECT_EQ(report.at("scenario").at("parallelism").at("vpp"), 2);
  EXPECT_EQ(report.at("scenario").at("workload").at("global_batch_size"), 16384);
  std::string unknown;
  for (const json& argument : report.at("arguments")) {
    if (argument.at("use") == "unknown") unknown += argument.at("name").get<std::string>();
  }
  EXPECT_EQ(unknown, "moe-router-warmth");
  EXPECT_THAT(imported.err, ContainsRegex("deepseek-v3.yaml:50: --moe-router-warmth 3"));
  EXPECT_THAT(report.at("not_evaluated").dump(), HasSubstr("ENV_VARS"));
  EXPECT_EQ(program.run("predict ./mine.json --draws 0").code, 0);
}

TEST(MegatronCommand, ReadsYamlCfgAndWritesTheModel) {
  const Program program;
  const Outcome imported = program.run("import megatron " + kFolder +
                                       "gpt-config.yaml' --cluster h100-sxm-80:1x8 -o out.json");
  ASSERT_EQ(imported.code, 0) << imported.err;
  const json config = json::parse(program.folder().read("out.config.json"));
  EXPECT_EQ(config.at("hidden_size"), 1024);
  EXPECT_EQ(config.at("intermediate_size"), 2688);  // 4096 x 2 / 3 in steps of 64
  EXPECT_THAT(imported.err, HasSubstr("LayerNorm is priced as RMSNorm"));
  const Outcome predicted = program.run("predict ./out.json --draws 0");
  EXPECT_EQ(predicted.code, 0) << predicted.err;
}

TEST(MegatronCommand, SaysWhatIsMissing) {
  const Program program;
  const Outcome variable =
      program.run("import megatron " + kFolder + "deepseek-v3.yaml' --cluster h800-2048");
  EXPECT_EQ(variable.code, 3);
  EXPECT_THAT(variable.out, IsEmpty());
  EXPECT_THAT(variable.err, HasSubstr("--define"));
  const Outcome gpu = program.run("import megatron " + kFolder + "gpt3-175b.sh'");
  EXPECT_EQ(gpu.code, 3);
  EXPECT_THAT(gpu.err, HasSubstr("--gpu NAME for its 1x8"));
  const Outcome yaml = program.shell(
      "printf 'a: [1, 2\\nb: 3\\n' >bad.yaml; \"$HYSIM\" import "
      "megatron bad.yaml --cluster h20-512");
  EXPECT_EQ(yaml.code, 3);
  EXPECT_THAT(yaml.err, ContainsRegex("bad.yaml:[0-9]+:[0-9]+: is no YAML"));
}

TEST(MegatronCommand, ExportIsRunByBash) {
  const Program program;
  const Outcome exported =
      program.run("export megatron glm-5.1-1m-h20-512 --variant hyscale -o train.sh");
  ASSERT_EQ(exported.code, 0) << exported.err;
  // With torchrun replaced by a function, bash itself says which words Megatron would see.
  const Outcome words = program.shell(
      "{ echo 'torchrun() { printf \"%s\\n\" \"$@\"; }'; cat train.sh; } >t.sh; bash t.sh");
  ASSERT_EQ(words.code, 0) << words.err;
  EXPECT_THAT(words.out, HasSubstr("--context-parallel-size\n64\n"));
  // Megatron-LM drops commas of a layout before it reads it.
  EXPECT_THAT(
      words.out,
      HasSubstr("--pipeline-model-parallel-layout\nEt*9|t*10|t*10|t*10|t*10|t*10|t*10|t*9,mL\n"));
  EXPECT_THAT(program.folder().read("train.sh"),
              HasSubstr("# hysim: kernels.selection_replay=true"));
}

TEST(MegatronCommand, YamlComesBack) {
  const Program program;
  const Outcome round = program.shell(
      "\"$HYSIM\" export megatron glm-5.1-1m-h20-512 --variant hyscale --format yaml -o a.yaml && "
      "\"$HYSIM\" import megatron a.yaml -o back.json && "
      "\"$HYSIM\" predict ./back.json --draws 0 --json back-prediction.json -q && "
      "\"$HYSIM\" predict glm-5.1-1m-h20-512 --variant hyscale --draws 0 --json wanted.json -q");
  ASSERT_EQ(round.code, 0) << round.err;
  const json back = json::parse(program.folder().read("back-prediction.json"));
  const json wanted = json::parse(program.folder().read("wanted.json"));
  EXPECT_EQ(back.at("step_time"), wanted.at("step_time"));
  EXPECT_EQ(back.at("memory"), wanted.at("memory"));
}

// ---------------------------------------------------------------- --tokens

TEST(TokensOption, MultipliesTheStep) {
  const Program program;
  const std::string scenario = "glm-5.1-1m-h20-512 --variant hyscale --draws 20";
  const json p =
      json::parse(program.run("predict " + scenario + " --tokens 50B --price 2.5 --json -").out);
  const json& budget = p.at("budget");
  EXPECT_EQ(budget.at("tokens"), 50e9);
  EXPECT_EQ(budget.at("steps"), 2981);  // 50e9 / (16 x 2^20) = 2980.2
  const double step = p.at("step_time").at("value");
  EXPECT_NEAR(budget.at("days").at("value"), 2981 * step / 86400, 1e-9 * step);
  const double hours = budget.at("gpu_hours").at("value");
  EXPECT_NEAR(hours, 2981 * step * 512 / 3600, 1e-6);
  EXPECT_NEAR(budget.at("cost").at("value"), 2.5 * hours, 1e-6);
  // 400 W of an H20 bound the energy: all of it and the widest of the rest above, half below.
  EXPECT_GT(budget.at("energy").at("value"), 0.5 * 0.4 * hours);
  EXPECT_LT(budget.at("energy").at("value"), 2.0 * 0.4 * hours);
  EXPECT_LT(budget.at("days").at("low"), budget.at("days").at("high"));
  const Outcome text = program.run("predict " + scenario + " --tokens 50B --price 2.5");
  EXPECT_THAT(text.out, HasSubstr("Training on 50B tokens: 2,981 steps"));
  EXPECT_LE(longest_line(text.out), 80U);
}

TEST(TokensOption, CostsNeedAPrice) {
  const Program program;
  const std::string scenario = "predict glm-5.1-1m-h20-512 --draws 0 --json -";
  EXPECT_TRUE(json::parse(program.run(scenario).out).at("budget").is_null());
  const json free = json::parse(program.run(scenario + " --tokens 1T").out).at("budget");
  EXPECT_TRUE(free.at("cost").is_null());
  const json profile =
      json::parse(program.run(scenario + " --tokens 1T --price profile").out).at("budget");
  EXPECT_GT(profile.at("cost").at("high"), profile.at("cost").at("low"));
  EXPECT_EQ(program.run(scenario + " --price 2.5").code, 2);
  EXPECT_EQ(program.run(scenario + " --tokens 50G").code, 2);
  EXPECT_EQ(program.run(scenario + " --tokens -5").code, 2);
  EXPECT_EQ(program.run(scenario + " --tokens 50B --price free").code, 2);
}

TEST(TokensOption, ComparisonsSayWhatIsSaved) {
  const Program program;
  const Outcome text = program.run("compare glm-5.1-1m-h20-512 --draws 0 --tokens 50B --price 2.5");
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, ContainsRegex("hyscale instead of megatron-tilelang saves .* days"));
  EXPECT_LE(longest_line(text.out), 80U);
}

}  // namespace
}  // namespace hysim::test
