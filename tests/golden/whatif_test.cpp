// --scale, sensitivity, breakeven and sweep as their users meet them.
#include <algorithm>
#include <cmath>
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
using testing::StartsWith;

const std::string kHeadline = "glm-5.1-1m-h20-512";

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

class WhatIf : public testing::Test {
 protected:
  Outcome run(const std::string& arguments) const { return program_.run(arguments); }
  json json_of(const std::string& arguments) const {
    return json::parse(run(arguments + " --json -").out);
  }
  Program program_;
};

TEST_F(WhatIf, ScaleHalvesAKernelOfOneVariant) {
  const json before = json_of("compare --draws 0 -q " + kHeadline);
  const json after =
      json_of("compare --draws 0 -q --scale hyscale:kernels.hytopk=0.5 " + kHeadline);
  const auto step = [](const json& node, std::size_t i) {
    return node.at("variants").at(i).at("prediction").at("step_time").at("value").get<double>();
  };
  EXPECT_EQ(step(after, 0), step(before, 0));
  EXPECT_LT(step(after, 3), step(before, 3));
  EXPECT_EQ(after.at("variants").at(3).at("prediction").at("resolved_scenario").at("scale"),
            json::parse(R"({"kernels.hytopk": 0.5})"));
}

TEST_F(WhatIf, AnUnknownScaleNameIsThree) {
  const Outcome outcome = run("predict " + kHeadline + " --scale kernels.tokp=0.5");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, HasSubstr("did you mean \"kernels.topk\"?"));
}

TEST_F(WhatIf, SensitivityNamesTheLargestLever) {
  const Outcome text = run("sensitivity --draws 4 " + kHeadline + " --variant hyscale");
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_LE(longest_line(text.out), 80U);
  EXPECT_THAT(text.out, StartsWith("hyscale: "));
  const json node = json_of("sensitivity -q --draws 4 " + kHeadline +
                            " --variant hyscale --baseline megatron-cudnn");
  EXPECT_EQ(node.at("schema"), "hysim.sensitivity/1");
  const json& parts = node.at("parts");
  const auto first = std::find_if(parts.begin(), parts.end(),
                                  [](const json& part) { return part.at("family") == false; });
  ASSERT_NE(first, parts.end());
  EXPECT_THAT(text.out, HasSubstr(first->at("name").get<std::string>() + " matters most"));
  // Nominal values claim no range; what is drawn has one.
  for (const char* key : {"time", "saved", "step_at_no_cost"}) {
    EXPECT_FALSE(first->at(key).contains("low")) << key;
    EXPECT_EQ(first->at(key).at("unit"), "s") << key;
  }
  EXPECT_FALSE(node.at("input_values").at(0).at("saved").contains("low"));
  EXPECT_TRUE(node.at("step_time").contains("low"));
  EXPECT_THAT(text.out, HasSubstr("in 10 % less time"));
  EXPECT_THAT(text.out, HasSubstr("a rate x 1.1, a time / 1.1"));
  EXPECT_GT(first->at("speedup").get<double>(), node.at("speedup").at("value").get<double>());
  EXPECT_THAT(run("sensitivity -q --draws 0 --csv - " + kHeadline).out,
              StartsWith("kind,name,saved_s,saved_fraction,step_at_no_cost_s,share_of_variance\n"));
}

TEST_F(WhatIf, BreakevenSaysHowFastOrThatItIsImpossible) {
  const std::string ask = "breakeven --draws 4 " + kHeadline + " --kernel topk ";
  const Outcome possible = run(ask + "--speedup 1.1");
  ASSERT_EQ(possible.code, 0) << possible.err;
  EXPECT_THAT(possible.out, StartsWith("kernels.topk must run "));
  EXPECT_LE(longest_line(possible.out), 80U);
  const json node = json_of(ask + "-q --speedup 1.1");
  EXPECT_EQ(node.at("schema"), "hysim.breakeven/1");
  const std::string factor = node.at("factor").at("value").dump();
  const json after =
      json_of("predict -q --draws 0 " + kHeadline + " --scale kernels.topk=" + factor);
  EXPECT_NEAR(node.at("step_time").at("value").get<double>() /
                  after.at("step_time").at("value").get<double>(),
              1.1, 1e-6);

  const Outcome impossible = run(ask + "--speedup 5");
  EXPECT_EQ(impossible.code, 0);
  EXPECT_THAT(impossible.out, StartsWith("Impossible: "));
  EXPECT_LE(longest_line(impossible.out), 80U);
  EXPECT_TRUE(json_of(ask + "-q --speedup 5").at("factor").is_null());
  EXPECT_EQ(run(ask).code, 2);
  EXPECT_EQ(run(ask + "--speedup 0").code, 2);
  EXPECT_EQ(run("breakeven " + kHeadline + " --kernel hytopk --speedup 2").code, 3);
}

TEST_F(WhatIf, SweepWritesItsFiles) {
  const std::string ask = "sweep --draws 2 " + kHeadline +
                          " --vary workload.seq_len=128K,256K,512K,1M --vary "
                          "kernels.topk=torch,radix";
  const Outcome text = run(ask + " --csv rows.csv --svg chart.svg");
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_LE(longest_line(text.out), 80U);
  const std::string csv = program_.folder().read("rows.csv");
  EXPECT_THAT(csv, StartsWith("workload.seq_len,kernels.topk,step_time_s,"));
  EXPECT_EQ(count(csv, "\n"), 9U);
  const std::string header = csv.substr(0, csv.find('\n'));
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_EQ(count(line, ","), count(header, ",")) << line;
  }
  const std::string svg = program_.folder().read("chart.svg");
  EXPECT_THAT(svg, StartsWith("<svg "));
  EXPECT_EQ(count(svg, "<polyline"), 2U);
  EXPECT_EQ(count(svg, "<circle"), 8U + 2U);  // points and key
  const json node = json_of(ask + " -q");
  EXPECT_EQ(node.at("schema"), "hysim.sweep/1");
  EXPECT_EQ(node.at("rows").size(), 8U);
}

TEST_F(WhatIf, AnIllegalCombinationIsNoFailure) {
  const Outcome outcome = run("sweep --draws 0 " + kHeadline + " --vary parallelism.cp=64,7");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("illegal [1]"));
  EXPECT_THAT(outcome.out, HasSubstr("1 of 2 combinations are legal"));
  EXPECT_LE(longest_line(outcome.out), 80U);
  const Outcome all = run("sweep --draws 0 " + kHeadline + " --vary parallelism.cpp=64,7");
  EXPECT_EQ(all.code, 3);
  EXPECT_THAT(all.err, HasSubstr("did you mean \"cp\"?"));
}

TEST_F(WhatIf, WrongUseIsTwo) {
  for (const char* arguments :
       {"sweep x", "sweep x --vary", "sweep x --vary a=1 --metric speed",
        "sweep x --vary a=1 --metric speedup", "sensitivity", "breakeven x --kernel topk"}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments << outcome.err;
    EXPECT_THAT(outcome.out, IsEmpty()) << arguments;
  }
  EXPECT_EQ(run("sweep " + kHeadline + " --vary workload.seq_len").code, 2);
  EXPECT_EQ(run("sweep " + kHeadline + " --vary workload.seq_len=128K --tokens 5B").code, 2);
  EXPECT_EQ(run("sweep " + kHeadline + " --vary workload.seq_len=128K,128K").code, 3);
}

TEST_F(WhatIf, HelpFits) {
  for (const char* command : {"sensitivity", "breakeven", "sweep", "predict"}) {
    const Outcome outcome = run(std::string(command) + " --help");
    EXPECT_EQ(outcome.code, 0);
    EXPECT_LE(longest_line(outcome.out), 80U) << command;
    EXPECT_THAT(outcome.out, HasSubstr("Examples:\n  hysim ")) << command;
    EXPECT_THAT(outcome.out, HasSubstr("--scale")) << command;
  }
}

TEST_F(WhatIf, CompareTakesASetForAVariantThatOneScenarioHas) {
  const std::string ask =
      "compare -q --draws 0 " + kHeadline + " glm-5.1-128k-h20-512 --json - --candidate hyscale ";
  const Outcome plain = run(ask);
  ASSERT_EQ(plain.code, 0) << plain.err;
  const json a = json::parse(run("show --json " + kHeadline).out).at("document");
  json only = a;
  only["variants"] = {{"mine", json::object()}};
  only.erase("unpublished");  // names variants of the other
  program_.folder().write("only.json", only.dump());
  const std::string two = "compare -q --draws 0 only.json " + kHeadline + " --json - ";
  const Outcome set = run(two + "--set mine:kernels.topk=radix");
  ASSERT_EQ(set.code, 0) << set.err;
  const auto ratio = [](const Outcome& outcome) {
    return json::parse(outcome.out).at("speedup").at("value").get<double>();
  };
  EXPECT_LT(ratio(set), ratio(run(two)));
  const Outcome neither = run(two + "--set yours:kernels.topk=radix");
  EXPECT_EQ(neither.code, 3);
  EXPECT_THAT(neither.err, HasSubstr("is no variant"));
}

}  // namespace
}  // namespace hysim::test
