// The rules a plan must keep, each broken alone, and layers spread over pipeline chunks.
#include "graph/plan.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "unit/graph/plans.h"
#include "unit/model/model_files.h"

namespace hysim {
namespace {

using graph::Plan;
using graph::PlanFault;

std::vector<std::string> settings(const std::vector<PlanFault>& faults) {
  std::vector<std::string> names;
  for (const PlanFault& fault : faults) names.push_back(fault.setting);
  return names;
}

/// 64 GPUs: tp 2, cp 4, pp 2, dp 4, ep 8.
Plan legal() {
  topology::GroupSizes sizes;
  sizes.tp = 2;
  sizes.cp = 4;
  sizes.pp = 2;
  sizes.dp = 4;
  sizes.ep = 8;
  return test::on_groups(test::TinySparse{}.make(), sizes, 4);
}
constexpr std::int64_t kGpus = 64;

struct Rule {
  std::string name;
  std::string setting;
  std::string says;  // part of the message
  std::function<void(Plan&)> broken;
};

class PlanRules : public testing::TestWithParam<Rule> {};

TEST_P(PlanRules, BreakingOneNamesItsSettingOnce) {
  Plan plan = legal();
  GetParam().broken(plan);
  const std::vector<PlanFault> faults = graph::check(plan, kGpus);
  ASSERT_EQ(settings(faults), std::vector<std::string>{GetParam().setting});
  EXPECT_NE(faults.front().message.find(GetParam().says), std::string::npos)
      << faults.front().message;
}

INSTANTIATE_TEST_SUITE_P(
    Plan, PlanRules,
    testing::Values(
        Rule{"Gpus", "parallelism", "tp x cp x pp = 24 does not divide the cluster's 64 GPUs",
             [](Plan& p) { p.parallelism.sizes.pp = 3; }},
        Rule{"Batch", "workload.global_batch_size", "(18) must be divisible by dp x micro_b",
             [](Plan& p) { p.workload.global_batch_size = 18; }},
        Rule{"MicroBatch", "workload.global_batch_size", "dp x micro_batch_size (12)",
             [](Plan& p) { p.workload.micro_batch_size = 3; }},
        Rule{"ScheduledMicroBatches", "workload.global_batch_size",
             "makes 8388609 micro-batches a pipeline; at most 8388608",
             [](Plan& p) { p.workload.global_batch_size = 4 * ((1 << 23) + 1); }},
        Rule{"Chunks", "parallelism.vpp", "pp x vpp must be at most 2048",
             [](Plan& p) {
               p.parallelism.sizes = {};
               p.parallelism.sizes.pp = 64;
               p.parallelism.vpp = 33;
               p.workload.global_batch_size = 64;
               p.parallelism.layers_per_chunk.assign(64 * 33, 0);
               p.parallelism.layers_per_chunk.front() = 4;
             }},
        // Megatron-LM's parallel_state.py: with pp not last, experts need dp replicas ...
        Rule{"OrderAndReplicas", "parallelism.rank_order", "(8 against dp = 4)",
             [](Plan& p) {
               p.parallelism.sizes.ep = 4;
               topology::parse_rank_order("tp-cp-ep-pp-dp", p.parallelism.rank_order);
             }},
        // ... and the same pipelines as attention has.
        Rule{"OrderAndStages", "parallelism.rank_order", "(2 and 1 ranks before pp)",
             [](Plan& p) {
               topology::parse_rank_order("tp-pp-cp-ep-dp", p.parallelism.rank_order);
             }},
        Rule{"ExpertsWithoutSequenceParallelism", "parallelism.sequence_parallel",
             "experts with tp > 1 need sequence parallelism",
             [](Plan& p) { p.parallelism.sequence_parallel = false; }},
        Rule{"MtpBeforeTheLastLayer", "training.mtp_stage",
             "chunk 1 after stage 0 still has 2 layers",
             [](Plan& p) {
               p.training.mtp_num_layers = 1;
               p.training.mtp_stage = 0;
             }},
        Rule{"ZigzagHalves", "workload.seq_len", "seq_len (252) must be divisible by 2 x cp",
             [](Plan& p) { p.workload.seq_len = 252; }},
        Rule{"Contiguous", "workload.seq_len", "seq_len (254) must be divisible by cp (4)",
             [](Plan& p) {
               p.workload.seq_len = 254;
               p.parallelism.cp_split = ops::CpSplit::contiguous;
             }},
        Rule{"SequenceParallel", "workload.seq_len", "tokens of one cp rank (63) must be divis",
             [](Plan& p) {
               p.workload.seq_len = 252;
               p.parallelism.cp_split = ops::CpSplit::contiguous;
             }},
        Rule{"Heads", "parallelism.tp", "num_attention_heads (7) must be divisible by tp (2)",
             [](Plan& p) { p.model.attention.num_heads = 7; }},
        Rule{"DenseFfn", "parallelism.tp", "intermediate_size (127)",
             [](Plan& p) { p.model.dense_ffn = 127; }},
        Rule{"Experts", "parallelism.ep", "number of experts (12) must be divisible by ep (8)",
             [](Plan& p) { p.model.moe.num_experts = 12; }},
        Rule{"ExpertRanks", "parallelism.ep",
             "tp x cp x dp (32) must be divisible by ep x etp (64)",
             [](Plan& p) {
               p.model.moe.num_experts = 64;
               p.parallelism.sizes.ep = 64;
             }},
        Rule{"ExpertWidth", "parallelism.etp", "moe_intermediate_size (33)",
             [](Plan& p) {
               p.model.moe.expert_ffn = 33;
               p.parallelism.sizes.etp = 2;
             }},
        Rule{"NoExperts", "parallelism.ep", "the model has no experts",
             [](Plan& p) { p.model = test::tiny_dense(); }},
        Rule{"KeyValueHeads", "parallelism.tp", "num_key_value_heads (3)",
             [](Plan& p) {
               p.model = test::tiny_dense();
               p.model.attention.num_kv_heads = 3;
               p.parallelism.sizes.ep = 1;
             }},
        Rule{"LayoutEntries", "parallelism.pipeline_layout", "must have pp x vpp = 2 entries, fou",
             [](Plan& p) {
               p.parallelism.layers_per_chunk = {1, 2, 1};
             }},
        Rule{"LayoutSum", "parallelism.pipeline_layout",
             "must sum to the model's 4 layers, found 5",
             [](Plan& p) {
               p.parallelism.layers_per_chunk = {2, 3};
             }},
        Rule{"SharedIndices", "parallelism.pipeline_layout", "layer 1 reuses the top-k indices",
             [](Plan& p) {
               p.model = test::TinySparse{.index_freq = 2}.make();
               p.parallelism.layers_per_chunk = {1, 3};
             }},
        Rule{"VppNeedsPp", "parallelism.vpp", "needs pp > 1",
             [](Plan& p) {
               p.parallelism.sizes.pp = 1;
               p.parallelism.sizes.dp = 8;
               p.workload.global_batch_size = 8;
               p.parallelism.vpp = 2;
             }},
        Rule{"VppNeedsWholeGroups", "parallelism.vpp",
             "micro-batches of the interleaved schedule (3)",
             [](Plan& p) {
               p.parallelism.vpp = 2;
               p.parallelism.layers_per_chunk = {1, 1, 1, 1};
               p.workload.global_batch_size = 12;
             }},
        Rule{"MtpLayers", "training.mtp_num_layers", "the model has 1 MTP layers, not 2",
             [](Plan& p) { p.training.mtp_num_layers = 2; }},
        Rule{"MtpStage", "training.mtp_stage", "must be below pp = 2",
             [](Plan& p) { p.training.mtp_stage = 2; }}),
    [](const testing::TestParamInfo<Rule>& rule) { return rule.param.name; });

TEST(PlanCheck, ALegalPlanHasNoFaults) {
  EXPECT_TRUE(graph::check(legal(), kGpus).empty());
  EXPECT_TRUE(graph::check(test::one_gpu(test::tiny_dense()), 1).empty());
  EXPECT_TRUE(graph::check(test::one_gpu(test::tiny_latent()), 1).empty());
}

TEST(PlanCheck, WhatIsLegalNearTheRules) {
  topology::GroupSizes dense;
  dense.tp = 2;
  dense.cp = 4;
  dense.pp = 2;
  dense.dp = 4;
  Plan plan = test::on_groups(test::tiny_dense(), dense, 4);
  plan.parallelism.sequence_parallel = false;  // then odd tokens per rank are no fault
  plan.parallelism.cp_split = ops::CpSplit::contiguous;
  plan.workload.seq_len = 252;
  EXPECT_TRUE(graph::check(plan, kGpus).empty());

  // Fewer key-value heads than tp ranks are replicated.
  topology::GroupSizes sizes;
  sizes.tp = 8;
  Plan replicated = test::on_groups(test::tiny_dense(), sizes);
  EXPECT_TRUE(graph::check(replicated, 8).empty());

  plan = legal();
  plan.training.mtp_num_layers = 1;
  plan.training.mtp_stage = 1;
  EXPECT_TRUE(graph::check(plan, kGpus).empty());

  plan = legal();
  plan.parallelism.vpp = 2;
  plan.parallelism.layers_per_chunk = {1, 1, 1, 1};
  EXPECT_TRUE(graph::check(plan, kGpus).empty());
}

TEST(PlanCheck, EveryBrokenRuleIsReportedAtOnce) {
  Plan plan = legal();
  plan.workload.global_batch_size = 18;
  plan.model.attention.num_heads = 7;
  plan.parallelism.layers_per_chunk = {2, 3};
  plan.training.mtp_num_layers = 2;
  EXPECT_EQ(settings(graph::check(plan, kGpus)),
            (std::vector<std::string>{"workload.global_batch_size", "parallelism.tp",
                                      "parallelism.pipeline_layout", "training.mtp_num_layers"}));
}

/// GLM-5.2 on two stages cut before `layer`.
std::vector<PlanFault> cut_before(std::int64_t layer) {
  topology::GroupSizes sizes;
  sizes.pp = 2;
  Plan plan = test::on_groups(test::bundled("glm-5.2"), sizes, 2, 4096);
  plan.parallelism.layers_per_chunk = {layer, 78 - layer};
  return graph::check(plan, 2);
}

// Layers 0, 1, 2, 6, 10, ..., 74 of GLM-5.2 compute indices (frequency 4, offset 3: MODELS,
// IndexShare); the others reuse those of the layer before and cannot be parted from it by a stage
// boundary.
TEST(PlanCheck, Glm52StagesBeginOnlyAtLayersWithAnIndexOfTheirOwn) {
  for (std::int64_t layer = 1; layer < 78; ++layer) {
    const bool computes = layer <= 2 || (layer - 2) % 4 == 0;
    const std::vector<PlanFault> faults = cut_before(layer);
    if (computes) {
      EXPECT_TRUE(faults.empty()) << layer;
      continue;
    }
    ASSERT_EQ(faults.size(), 1U) << layer;
    EXPECT_EQ(faults[0].setting, "parallelism.pipeline_layout");
    EXPECT_NE(faults[0].message.find("layer " + std::to_string(layer) + " reuses"),
              std::string::npos);
  }
}

TEST(PlanCheck, EmptyChunksHideNoSharedLayer) {
  topology::GroupSizes sizes;
  sizes.pp = 4;
  Plan plan = test::on_groups(test::TinySparse{.index_freq = 2}.make(), sizes, 4);
  plan.parallelism.layers_per_chunk = {0, 2, 0, 2};
  EXPECT_TRUE(graph::check(plan, 4).empty());
  plan.parallelism.layers_per_chunk = {0, 1, 0, 3};
  EXPECT_EQ(settings(graph::check(plan, 4)),
            std::vector<std::string>{"parallelism.pipeline_layout"});
}

TEST(EvenLayout, SumsToTheLayersAndDiffersByAtMostOne) {
  for (std::int64_t layers = 1; layers <= 130; ++layers) {
    for (std::int64_t chunks = 1; chunks <= 40; ++chunks) {
      const std::vector<std::int64_t> layout = graph::even_layout(layers, chunks);
      ASSERT_EQ(static_cast<std::int64_t>(layout.size()), chunks);
      EXPECT_EQ(std::accumulate(layout.begin(), layout.end(), std::int64_t{0}), layers);
      const auto [least, most] = std::minmax_element(layout.begin(), layout.end());
      EXPECT_LE(*most - *least, 1) << layers << " layers on " << chunks;
      // The longer chunks stand together, and not at the ends while any shorter one can.
      const std::int64_t extra = layers % chunks;
      if (extra > 0 && extra + 2 <= chunks) {
        EXPECT_EQ(layout.front(), *least) << layers << " layers on " << chunks;
        EXPECT_EQ(layout.back(), *least) << layers << " layers on " << chunks;
      }
    }
  }
}

TEST(EvenLayout, OfTheHeadlineModel) {
  EXPECT_EQ(graph::even_layout(78, 8), (std::vector<std::int64_t>{9, 10, 10, 10, 10, 10, 10, 9}));
  EXPECT_EQ(graph::even_layout(78, 4), (std::vector<std::int64_t>{19, 20, 20, 19}));
  EXPECT_EQ(graph::even_layout(78, 13), std::vector<std::int64_t>(13, 6));
}

// GLM-5.2 computes indices in layers 0, 1, 2, 6, 10, ..., 74: every boundary must be one of them.
TEST(DefaultLayout, BeginsChunksWhereIndicesAreComputed) {
  const model::Transformer glm = test::bundled("glm-5.2");
  for (const std::int64_t chunks : {1, 2, 4, 6, 8, 11, 13, 16, 26}) {
    const std::vector<std::int64_t> layout = graph::default_layout(glm, chunks);
    ASSERT_EQ(static_cast<std::int64_t>(layout.size()), chunks);
    std::int64_t layer = 0;
    for (const std::int64_t count : layout) {
      ASSERT_GE(count, 0);
      const bool begins = layer <= 2 || layer % 4 == 2;
      EXPECT_TRUE(count == 0 || begins) << chunks << ": " << layer;
      layer += count;
    }
    EXPECT_EQ(layer, 78);
  }
  EXPECT_EQ(graph::default_layout(glm, 8), (std::vector<std::int64_t>{10, 8, 12, 8, 12, 8, 12, 8}));
  EXPECT_EQ(graph::default_layout(test::bundled("glm-5.1"), 8), graph::even_layout(78, 8));
}

/// Two stages of two chunks, `micro_batches` a pipeline.
Plan scheduled(graph::Schedule schedule, std::int64_t vpp, std::int64_t micro_batches,
               std::int64_t group = 0) {
  topology::GroupSizes sizes;
  sizes.pp = 2;
  Plan plan = test::on_groups(test::tiny_dense(), sizes, micro_batches);
  plan.parallelism.vpp = vpp;
  plan.parallelism.schedule = schedule;
  plan.parallelism.microbatch_group_size = group;
  test::lay_out(plan);
  return plan;
}

TEST(PlanCheck, SchedulesWantTheirChunks) {
  using graph::Schedule;
  const std::vector<std::string> none;
  const std::vector<std::string> refused{"parallelism.schedule"};
  for (const Schedule one : {Schedule::gpipe, Schedule::zb_h1}) {
    EXPECT_EQ(settings(graph::check(scheduled(one, 1, 4), 2)), none);
    EXPECT_EQ(settings(graph::check(scheduled(one, 2, 4), 2)), refused);
  }
  for (const Schedule many : {Schedule::interleaved, Schedule::breadth_first}) {
    EXPECT_EQ(settings(graph::check(scheduled(many, 1, 4), 2)), refused);
    EXPECT_EQ(settings(graph::check(scheduled(many, 2, 4), 2)), none);
  }
}

TEST(PlanCheck, GroupsFillThePipeline) {
  using graph::Schedule;
  const std::vector<std::string> none;
  const std::vector<std::string> group{"parallelism.microbatch_group_size"};
  EXPECT_EQ(settings(graph::check(scheduled(Schedule::interleaved, 2, 8, 3), 2)), none);   // 3 3 2
  EXPECT_EQ(settings(graph::check(scheduled(Schedule::interleaved, 2, 7, 3), 2)), group);  // 3 3 1
  EXPECT_EQ(settings(graph::check(scheduled(Schedule::interleaved, 2, 8, 1), 2)), group);
  EXPECT_EQ(settings(graph::check(scheduled(Schedule::interleaved, 2, 8, 9), 2)), group);
  // Breadth first takes any number that fills the pipeline, Megatron's default multiples of pp.
  EXPECT_EQ(settings(graph::check(scheduled(Schedule::breadth_first, 2, 7), 2)), none);
  EXPECT_EQ(settings(graph::check(scheduled(Schedule::breadth_first, 2, 1), 2)),
            std::vector<std::string>{"parallelism.vpp"});
  EXPECT_EQ(settings(graph::check(scheduled(Schedule::interleaved, 2, 7), 2)),
            std::vector<std::string>{"parallelism.vpp"});
}

TEST(PlanCheck, ShardingWantsNoPipelineAndWholeParts) {
  Plan plan = scheduled(graph::Schedule::one_f_one_b, 1, 4);
  for (const int zero : {2, 3}) {
    plan.parallelism.zero = zero;
    EXPECT_EQ(settings(graph::check(plan, 2)), std::vector<std::string>{"parallelism.zero"});
  }
  // dp 8 x cp 2; eight experts on four ranks have four replicas.
  Plan wide = test::on_groups(test::TinySparse{}.make(), {1, 2, 8, 1, 4, 1}, 1);
  wide.parallelism.zero = 3;
  const auto faults = [&](std::int64_t shard) {
    wide.parallelism.hsdp_shard = shard;
    return settings(graph::check(wide, 16));
  };
  const std::vector<std::string> refused{"parallelism.hsdp_shard"};
  EXPECT_TRUE(faults(0).empty());
  EXPECT_TRUE(faults(4).empty());  // four copies, one replica of an expert each
  EXPECT_EQ(faults(2), refused);   // eight copies
  EXPECT_EQ(faults(3), refused);
}

TEST(Plan, MicroBatchesOfAPipeline) {
  Plan plan = legal();
  plan.workload.micro_batch_size = 2;
  plan.workload.global_batch_size = 48;
  EXPECT_EQ(plan.micro_batches(), 6);  // 48 / (dp 4 x 2)
  plan.parallelism.vpp = 3;
  EXPECT_EQ(plan.chunks(), 6);
}

TEST(PlanRules, PipelinesBeforeReplicasAreLegalWhereBothGridsAgree) {
  // 2 ranks before pp in both: tp, and etp; 4 replicas of each.
  Plan plan = legal();
  plan.parallelism.sizes.ep = 4;
  plan.parallelism.sizes.etp = 2;
  topology::parse_rank_order("tp-pp-cp-ep-dp", plan.parallelism.rank_order);
  EXPECT_TRUE(graph::check(plan, kGpus).empty());
}

}  // namespace
}  // namespace hysim
