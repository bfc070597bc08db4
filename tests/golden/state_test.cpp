// Schedules, sharding and offloading asked for on the command line.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "golden/program.h"

namespace hysim::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// Llama-2-7B, one node of eight H100.
constexpr const char* kScenario = R"({
  "schema": "hysim.scenario/1", "name": "dense", "model": "llama2-7b",
  "cluster": "h100-sxm-80:1x8", "workload": {"seq_len": "4K", "global_batch_size": 64},
  "training": {"recompute": "full"}
})";

json predicted(const Program& program, const std::string& sets) {
  program.folder().write("dense.json", kScenario);
  const Outcome outcome = program.run("predict dense.json --draws 0 --json - " + sets);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return json::parse(outcome.out);
}

double part(const json& prediction, const std::string& name) {
  const json& parts = prediction.at("memory").at("parts");
  return parts.contains(name) ? parts.at(name).at("value").get<double>() : 0.0;
}

TEST(StateCommands, ShardedWeightsAreAPartOfMemory) {
  const Program program;
  const json p = predicted(program, "--set parallelism.zero=3");
  EXPECT_DOUBLE_EQ(part(p, "weights"), 2.0 * 6738415616.0 / 8.0);
  // Two layers of 202,383,360 parameters.
  EXPECT_DOUBLE_EQ(part(p, "weights_gathered"), 2.0 * 2.0 * 202383360.0);
}

TEST(StateCommands, ZeroBubbleIsFasterThanOneForwardOneBackward) {
  const Program program;
  const std::string stages = "--set parallelism.pp=4 ";
  const auto step = [&](const std::string& sets) {
    return predicted(program, stages + sets).at("step_time").at("value").get<double>();
  };
  const double one = step("");
  EXPECT_LT(step("--set parallelism.schedule=zb-h1"), one);
  // GPipe only holds more: it takes as long, and a little less where latency binds 1F1B.
  EXPECT_LE(step("--set parallelism.schedule=gpipe"), one * (1.0 + 1e-9));
}

TEST(StateCommands, OffloadedInputsLeaveTheDevice) {
  const Program program;
  const json p = predicted(program, "--set training.offload.activations=true");
  EXPECT_EQ(part(p, "checkpoints"), 0.0);
  EXPECT_DOUBLE_EQ(part(p, "offload_buffers"), 4.0 * 4096.0 * 4096.0 * 2.0);
  EXPECT_EQ(p.at("resolved_scenario").at("training").at("offload").at("activations"), 1.0);
}

TEST(StateCommands, APipelineOfShardedWeightsIsRefused) {
  const Program program;
  program.folder().write("dense.json", kScenario);
  const Outcome outcome =
      program.run("predict dense.json --set parallelism.pp=2 --set parallelism.zero=3");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("with pp 2 use zero 1"));
}

}  // namespace
}  // namespace hysim::test
