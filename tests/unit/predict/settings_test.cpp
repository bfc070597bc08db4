// Settings read into a job: defaults, the words there are, and the echo that is a scenario itself.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/node.h"
#include "unit/predict/scenarios.h"

namespace hysim::predictor {
namespace {

using config::Node;
using test::bundle;
using test::faults_of;
using test::ids_of;
using test::predict_nominal;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Property;
using testing::StartsWith;

const ScenarioText kShort = {R"({
  "schema": "hysim.scenario/1", "name": "short", "model": "llama2-7b",
  "cluster": "h100-sxm-80:2x8", "workload": {"seq_len": "4K", "global_batch_size": 16}
})",
                             "short.json"};

Node resolved(const Prediction& prediction) {
  return config::parse(prediction.resolved_scenario, "resolved");
}

/// The value at `path` of the echo, as JSON text; "none" when it is absent.
std::string echoed(const Prediction& prediction, std::string_view path) {
  const Node document = resolved(prediction);
  const Node* const value = config::find_path(document, path);
  return value == nullptr ? "none" : config::to_text(*value);
}

TEST(Settings, EveryDefaultIsEchoed) {
  // Defaults of docs and Megatron-LM: one GPU a model, no recomputation, ZeRO-1, fp32 gradients.
  const Node expected = config::parse(R"({
    "schema": "hysim.scenario/1",
    "name": "short",
    "model": "llama2-7b",
    "cluster": "h100-sxm-80:2x8",
    "workload": {
      "seq_len": 4096, "micro_batch_size": 1, "global_batch_size": 16, "packing": "thd"
    },
    "parallelism": {
      "tp": 1, "cp": 1, "pp": 1, "vpp": 1, "ep": 1, "etp": 1, "dp": 16, "zero": 1,
      "fsdp_prefetch": 1, "reshard_after_forward": true, "hsdp_shard": 0,
      "schedule": "1f1b",
      "microbatch_group_size": 0, "pipeline_layout": [32],
      "hierarchical_collectives": false, "cp_comm": "all_gather", "cp_layout": "zigzag",
      "sequence_parallel": false, "rank_order": "tp-cp-ep-dp-pp"
    },
    "training": {
      "stack": "megatron-core-2026",
      "overlap": {"tp": false, "cp": false, "grad_reduce": true, "param_gather": true,
                  "shared_expert": false},
      "precision": "bf16", "recompute": "none", "recompute_method": "uniform",
      "recompute_num_layers": 1, "recompute_modules": ["core_attn"],
      "indexer": {"loss": "sparse"}, "offload": {"activations": 0.0, "indices": false},
      "expert_imbalance": 1.0, "mtp_num_layers": 0, "mtp_stage": 0,
      "gradient_dtype": "fp32", "loss_chunk_tokens": 0
    },
    "kernels": {
      "selection": "table", "topk": "torch", "score_chunk_bytes": 1073741824,
      "score_chunk_rows": 0, "score_clean": false, "key_crop": "none",
      "selection_precision": "bf16", "score_head_multiple": 1, "loss_head_multiple": 1,
      "sparse_attention": "cudnn", "indexer_tp": "replicated", "dispatcher": "alltoall",
      "selection_replay": false
    }
  })",
                                      "expected");
  const Prediction prediction = predict_nominal(kShort);
  EXPECT_TRUE(resolved(prediction) == expected) << prediction.resolved_scenario;
}

TEST(Settings, DefaultsFollowTheLayout) {
  const Prediction prediction = predict_nominal(
      kShort, {"parallelism.tp=2", "parallelism.pp=4", "training.mtp_num_layers=0"});
  EXPECT_EQ(echoed(prediction, "parallelism.dp"), "2");
  EXPECT_EQ(echoed(prediction, "parallelism.sequence_parallel"), "true");
  EXPECT_EQ(echoed(prediction, "parallelism.pipeline_layout"), "[8,8,8,8]");
  EXPECT_EQ(echoed(prediction, "training.mtp_stage"), "3");
  EXPECT_EQ(prediction.layout.dp, 2);
  EXPECT_THAT(prediction.layout.layers_per_stage, testing::ElementsAre(8, 8, 8, 8));
}

TEST(Settings, AStageHoldsItsChunks) {
  // Chunks in model order: chunk c is on stage c mod pp.
  const Prediction prediction = predict_nominal(
      kShort, {"parallelism.pp=2", "parallelism.vpp=2", "parallelism.pipeline_layout=[7,8,9,8]"});
  EXPECT_THAT(prediction.layout.layers_per_stage, testing::ElementsAre(16, 16));
  EXPECT_EQ(prediction.layout.vpp, 2);
}

TEST(Settings, EveryWordIsEchoed) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> words = {
      {"parallelism.cp_layout", {"contiguous", "zigzag"}},
      {"parallelism.cp_comm", {"p2p", "a2a"}},
      {"parallelism.rank_order", {"tp-ep-cp-dp-pp", "tp-cp-ep-pp-dp"}},
      {"training.precision", {"fp8"}},
      {"training.recompute", {"full", "selective"}},
      {"training.recompute_method", {"block"}},
      {"training.indexer.loss", {"off", "dense"}},
      {"training.gradient_dtype", {"bf16"}},
      {"kernels.selection", {"naive", "fused"}},
      {"kernels.topk", {"radix"}},
      {"kernels.key_crop", {"segment"}},
      {"kernels.selection_precision", {"fp8"}},
      {"kernels.sparse_attention", {"tilelang"}},
      {"kernels.indexer_tp", {"sharded"}},
      {"kernels.dispatcher", {"deepep"}},
  };
  for (const auto& [path, values] : words) {
    for (const std::string& value : values) {
      const Prediction prediction = predict_nominal(kShort, {path + "=" + value});
      EXPECT_EQ(echoed(prediction, path), "\"" + value + "\"");
    }
  }
}

TEST(Settings, EveryNumberIsEchoed) {
  for (const auto& [path, value] : std::vector<std::pair<std::string, std::string>>{
           {"parallelism.zero", "0"},
           {"training.recompute_num_layers", "4"},
           {"training.loss_chunk_tokens", "1024"},
           {"training.recompute_modules", R"(["core_attn","mlp"])"},
           {"training.overlap.tp", "true"},
           {"training.overlap.param_gather", "false"},
           {"kernels.score_chunk_rows", "8192"},
           {"kernels.score_clean", "true"},
           {"kernels.score_head_multiple", "64"},
           {"kernels.loss_head_multiple", "32"},
           {"kernels.selection_replay", "true"},
       }) {
    EXPECT_EQ(echoed(predict_nominal(kShort, {path + "=" + value}), path), value) << path;
  }
  // Texts with units become plain numbers.
  EXPECT_EQ(echoed(predict_nominal(kShort, {"workload.seq_len=2K"}), "workload.seq_len"), "2048");
  EXPECT_EQ(echoed(predict_nominal(kShort, {"kernels.score_chunk_bytes=2 GB"}),
                   "kernels.score_chunk_bytes"),
            "2000000000");
}

TEST(Settings, TheEchoPredictsTheSame) {
  for (const test::BundledVariant& bundled : test::bundled_variants()) {
    const Prediction first = predict_nominal(bundled.scenario, {}, bundled.variant);
    const Prediction second = predict_nominal({first.resolved_scenario, "echo.json"});
    EXPECT_EQ(second.step_time.value, first.step_time.value) << bundled.name << bundled.variant;
    EXPECT_EQ(second.memory.peak_per_gpu.value, first.memory.peak_per_gpu.value) << bundled.name;
    EXPECT_EQ(second.resolved_scenario, first.resolved_scenario) << bundled.name;
    ASSERT_EQ(second.breakdown.size(), first.breakdown.size());
    for (std::size_t i = 0; i < first.breakdown.size(); ++i) {
      EXPECT_EQ(second.breakdown[i].path, first.breakdown[i].path);
      EXPECT_EQ(second.breakdown[i].time.value, first.breakdown[i].time.value);
    }
  }
}

TEST(Settings, TheEchoOfOddAmountsPredictsTheSame) {
  const ScenarioText scenario = test::two_variants();
  // 0.3 KiB are no whole bytes; 1e30 B are more than an integer holds.
  for (const char* bytes : {"0.3 KiB", "1e30 B", "123456789 B", "0 B"}) {
    const Prediction first =
        predict_nominal(scenario, {"kernels.score_chunk_bytes=" + std::string(bytes)});
    const Prediction second = predict_nominal({first.resolved_scenario, "echo.json"});
    EXPECT_EQ(second.step_time.value, first.step_time.value) << bytes;
    EXPECT_EQ(second.resolved_scenario, first.resolved_scenario) << bytes;
  }
}

TEST(Settings, DpMayBeGivenWhenItIsRight) {
  EXPECT_EQ(predict_nominal(kShort, {"parallelism.dp=16"}).step_time.value,
            predict_nominal(kShort).step_time.value);
  const auto faults = faults_of([] { predict_nominal(kShort, {"parallelism.dp=8"}); });
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults.front().pointer, "/parallelism/dp");
  EXPECT_THAT(faults.front().message, HasSubstr("make 16, found 8"));
}

TEST(Settings, TheStacksOverlapCanBeOverridden) {
  const ScenarioText scenario = test::two_variants();
  const auto exposed = [](const Prediction& prediction, const std::string& kind) {
    for (const CommunicationRow& row : prediction.communication) {
      if (row.kind == kind) return row.exposed.si();
    }
    ADD_FAILURE() << kind;
    return 0.0;
  };
  const Prediction stack = predict_nominal(scenario);
  const Prediction cp = predict_nominal(scenario, {"training.overlap.cp=true"});
  EXPECT_LT(exposed(cp, "cp"), exposed(stack, "cp"));
  EXPECT_LE(cp.step_time.value, stack.step_time.value);
  const Prediction bare = predict_nominal(
      scenario, {"training.overlap.grad_reduce=false", "training.overlap.param_gather=false"});
  EXPECT_GT(exposed(bare, "dp"), exposed(stack, "dp"));
  EXPECT_GT(bare.step_time.value, stack.step_time.value);
  // Naming what the stack does anyway changes nothing.
  EXPECT_EQ(predict_nominal(scenario, {"training.overlap.cp=false"}).step_time.value,
            stack.step_time.value);
}

TEST(Settings, ALocalModelIsNamedByItsFile) {
  const Resources resources =
      overlay(memory_resources({{"mine/config.json", test::bundled_text("models/glm-5.1.json")}}),
              bundle());
  const Prediction local =
      predict_nominal(test::two_variants(), {"model=mine/config.json"}, "", resources);
  EXPECT_EQ(local.step_time.value, predict_nominal(test::two_variants()).step_time.value);
}

TEST(Settings, WhatDoesNothingIsWarnedOf) {
  const auto warnings = [](const std::vector<std::string>& sets) {
    return ids_of(predict_nominal(test::two_variants(), sets));
  };
  EXPECT_THAT(warnings({}), Not(Contains(StartsWith("inert-"))));
  EXPECT_THAT(warnings({"kernels.selection_replay=true", "training.recompute=none"}),
              Contains("inert-selection-replay"));
  EXPECT_THAT(warnings({"workload.seq_len=2K"}), Contains("inert-top-k"));
  EXPECT_THAT(ids_of(predict_nominal(kShort, {"kernels.selection=fused"})),
              Contains("inert-selection"));
  EXPECT_THAT(ids_of(predict_nominal(kShort, {"workload.packing=bshd"})),
              Contains("inert-packing"));
}

/// GLM-5.2's EP 32 over NVLink or over NICs on 192 GB200, whose NVLink joins 72.
TEST(Settings, NodesThatCutTheNvlinkDomainAreWarnedOf) {
  const auto warned = [](const std::string& cluster, const std::vector<std::string>& more = {}) {
    std::vector<std::string> sets = {"cluster=" + cluster, "workload.global_batch_size=384",
                                     "parallelism={\"ep\": 32, \"etp\": 1}"};
    sets.insert(sets.end(), more.begin(), more.end());
    std::string text;
    for (const Warning& warning : predict_nominal(test::two_variants(), sets, "table").warnings) {
      if (warning.id == "nvlink-domain") text = warning.message + " (" + warning.source + ")";
    }
    return text;
  };
  EXPECT_THAT(warned("gb200-186:48x4"), HasSubstr("puts ep 32 on NICs, across nodes of 4 GPUs"));
  EXPECT_THAT(warned("gb200-186:48x4"), HasSubstr("NVLink joins 72 of gb200-186"));
  EXPECT_THAT(warned("gb200-186:48x4"), HasSubstr("CoreWeave"));
  EXPECT_EQ(warned("gb200-186:3x64"), "");                          // lies in one node
  EXPECT_EQ(warned("gb200-186:32x4", {"parallelism.ep=128"}), "");  // fits no domain
  EXPECT_EQ(warned("gb200-186:48x4", {"parallelism.ep=4"}), "");    // fits a node
  EXPECT_EQ(warned("h100-sxm-80:48x4"), "");                        // no rack
}

TEST(Settings, PositionsBeyondTheModelsAreWarnedOf) {
  EXPECT_THAT(predict_nominal(kShort).warnings, IsEmpty());  // 4096 positions
  EXPECT_THAT(predict_nominal(kShort, {"workload.seq_len=8K"}).warnings,
              Contains(Property(&Warning::text, StartsWith("[positions] seq_len 8192"))));
}

TEST(Settings, InputsAreNamedWithTheirHashes) {
  const Prediction prediction = predict_nominal(kShort);
  std::vector<std::string> paths;
  for (const InputFile& file : prediction.inputs) {
    paths.push_back(file.path);
    EXPECT_EQ(file.sha256.size(), 64U) << file.path;
  }
  EXPECT_THAT(paths,
              testing::UnorderedElementsAre("short.json", "bundled:models/llama2-7b.json",
                                            "bundled:hw_profiles/gpus/h100-sxm-80.json",
                                            "bundled:hw_profiles/clusters/generic.json",
                                            "bundled:hw_profiles/stacks/megatron-core-2026.json"));
}

// A near layout that spreads the layers anew says how, as --set takes it.
TEST(Settings, NearLayoutsArePasted) {
  const ScenarioText scenario = test::bundled_scenario("glm-5.1-1m-h20-512");
  const std::string four = "parallelism.pp=4";
  const std::vector<Diagnostic> faults = faults_of([&] { predict_nominal(scenario, {four}); });
  ASSERT_EQ(faults.size(), 1U);
  const std::string& message = faults[0].message;
  const std::size_t at = message.find("parallelism.pipeline_layout=[");
  ASSERT_NE(at, std::string::npos) << message;
  const std::string set = message.substr(at, message.find(']', at) + 1 - at);
  const Prediction pasted = predict_nominal(scenario, {four, set});
  EXPECT_EQ(pasted.layout.layers_per_stage.size(), 4U);
  // null takes the setting back to its default, as in a variant.
  const Prediction open = predict_nominal(scenario, {four, "parallelism.pipeline_layout=null"});
  EXPECT_EQ(open.layout.layers_per_stage, pasted.layout.layers_per_stage);
  // A list that nobody wrote follows by itself.
  const std::vector<Diagnostic> short_faults =
      faults_of([] { predict_nominal(kShort, {"parallelism.pp=3"}); });
  ASSERT_FALSE(short_faults.empty());
  EXPECT_THAT(short_faults.back().message, HasSubstr("nearest legal layouts: pp "));
  EXPECT_THAT(short_faults.back().message, Not(HasSubstr("pipeline_layout")));
}

}  // namespace
}  // namespace hysim::predictor
