// hysim explain as its users meet it.
#include <algorithm>
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
using testing::StartsWith;

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

TEST(ExplainCommand, ShowsTheTwentyLongest) {
  const Program program;
  const Outcome outcome = program.run("explain glm-5.1-1m-h20-512 --variant hyscale --draws 8");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, StartsWith("glm-5.1-1m-h20-512, hyscale: "));
  EXPECT_THAT(outcome.out, HasSubstr("The 20 longest of "));
  EXPECT_THAT(outcome.out, HasSubstr("\nselection/hytopk/forward: "));
  EXPECT_THAT(outcome.out, HasSubstr("hytopk_compaction_cycles"));
  EXPECT_LE(longest_line(outcome.out), 80U);
}

TEST(ExplainCommand, ShowsOneLeafInFull) {
  const Program program;
  const Outcome outcome = program.run("explain glm-5.1-1m-h20-512 selection/topk/f");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, StartsWith("selection/topk/forward: "));
  EXPECT_THAT(outcome.out, HasSubstr("Inputs from bundled:hw_profiles/gpus/h20-96.json"));
  EXPECT_THAT(outcome.out, HasSubstr("/laws/torch_topk_cycles"));
  EXPECT_THAT(outcome.out, HasSubstr("Sources"));
  EXPECT_LE(longest_line(outcome.out), 80U);
  const Outcome bubble = program.run("explain glm-5.1-1m-h20-512 bubble");
  EXPECT_THAT(bubble.out, StartsWith("bubble: "));
  EXPECT_LE(longest_line(bubble.out), 80U);
}

TEST(ExplainCommand, SaysWhichProductAUseIs) {
  const Program program;
  const Outcome outcome = program.run("explain glm-5.1-1m-h20-512 experts/gemm/backward");
  EXPECT_EQ(outcome.code, 0);
  // GLM-5.1: hidden 6144, experts of 2048, 256 of them on 64 ranks.
  EXPECT_THAT(outcome.out, HasSubstr("gradient of the input, m x k by k x n in every expert"));
  EXPECT_THAT(outcome.out, HasSubstr("gradient of the weights, m x n an expert, added up in fp32: "
                                     "m 2048, n"));
  EXPECT_THAT(outcome.out,
              HasSubstr("counted by src/ops/linear.cpp from workload.seq_len 1048576"));
  EXPECT_LE(longest_line(outcome.out), 80U);
}

TEST(ExplainCommand, ListsLeavesThatMatch) {
  const Program program;
  const Outcome outcome = program.run("explain glm-5.1-1m-h20-512 sparse");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("leaves match \"sparse\""));
  EXPECT_THAT(outcome.out, HasSubstr("\nattention/sparse_backward/backward: "));
}

TEST(ExplainCommand, NamesTheNearestLeaf) {
  const Program program;
  const Outcome outcome = program.run("explain glm-5.1-1m-h20-512 bubblle");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, HasSubstr("did you mean \"bubble\"?"));
}

TEST(ExplainCommand, GivesEveryDigitAsJson) {
  const Program program;
  const json one =
      json::parse(program.run("explain glm-5.1-1m-h20-512 optimizer --draws 0 --json -").out);
  EXPECT_EQ(one.at("schema"), "hysim.explanation/1");
  ASSERT_EQ(one.at("leaves").size(), 1U);
  const json& leaf = one.at("leaves").front();
  EXPECT_EQ(leaf.at("lines").back().at("value"), leaf.at("time").at("value"));
  int counted = 0;
  for (const json& line : leaf.at("lines")) {
    if (line.contains("formula")) continue;
    const json& source = line.at("source");
    if (source.at("kind") == "counted") ++counted;
  }
  EXPECT_GE(counted, 4);  // bytes read and written, of the norm and of Adam
  const json all = json::parse(program.run("explain glm-5.1-1m-h20-512 --draws 0 --json -").out);
  EXPECT_GT(all.at("leaves").size(), 40U);
  double critical = 0.0;
  for (const json& entry : all.at("leaves")) {
    if (entry.at("kind") == "critical") critical += entry.at("time").at("value").get<double>();
  }
  EXPECT_NEAR(critical, all.at("step_time").at("value").get<double>(), 1e-6 * critical);
}

TEST(ExplainCommand, TakesNoRequirement) {
  const Program program;
  EXPECT_EQ(program.run("explain glm-5.1-1m-h20-512 --require fits").code, 2);
}

}  // namespace
}  // namespace hysim::test
