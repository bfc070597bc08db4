// Programs as a whole: parameters of every stage against derived layouts, what lies on which chunk,
// what crosses a stage boundary, groups.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "graph/memory.h"
#include "graph/program.h"
#include "unit/graph/plans.h"
#include "unit/model/model_files.h"

namespace hysim {
namespace {

using graph::ParameterShare;
using graph::Plan;
using graph::Program;

/// One layout of a bundled model.
Plan layout(const std::string& model, const topology::GroupSizes& sizes, std::int64_t seq_len,
            const std::vector<std::int64_t>& layers, std::int64_t micro_batches = 16) {
  Plan plan = test::on_groups(test::bundled(model), sizes, micro_batches, seq_len);
  plan.parallelism.layers_per_chunk = layers;
  return plan;
}

topology::GroupSizes groups(std::int64_t tp, std::int64_t pp, std::int64_t cp, std::int64_t ep,
                            std::int64_t dp) {
  topology::GroupSizes sizes;
  sizes.tp = tp;
  sizes.pp = pp;
  sizes.cp = cp;
  sizes.ep = ep;
  sizes.dp = dp;
  return sizes;
}

void expect_stage(const Program& program, std::int64_t stage, double dense, double expert) {
  const ParameterShare share = graph::stage_parameters(program, stage);
  EXPECT_EQ(share.dense, dense) << "stage " << stage;
  EXPECT_EQ(share.expert, expert) << "stage " << stage;
}

// Figures of the derived layouts A, C, F, G and J (data of the memory oracles): dense tensors over
// tp or whole, routed experts over ep.
TEST(StageParameters, EqualTheDerivedLayouts) {
  const Program a = graph::build_training_step(
      layout("glm-5.1", groups(1, 8, 64, 64, 1), 1 << 20, {9, 10, 10, 10, 10, 10, 10, 9}), 8);
  expect_stage(a, 0, 3436647168.0, 905969664.0);
  expect_stage(a, 1, 2137280000.0, 1509949440.0);
  expect_stage(a, 7, 2875140864.0, 1358954496.0);
  const Program c = graph::build_training_step(
      layout("glm-5.1", groups(8, 4, 16, 64, 1), 1 << 20, {19, 20, 20, 19}), 8);
  expect_stage(c, 0, 1142841600.0, 2415919104.0);
  expect_stage(c, 1, 1008245760.0, 3019898880.0);
  expect_stage(c, 3, 1076787456.0, 2868903936.0);
  const Program f =
      graph::build_training_step(layout("deepseek-v3.2", groups(1, 16, 8, 64, 16), 1 << 17,
                                        {3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2}),
                                 8);
  expect_stage(f, 0, 2719007488.0, 0.0);
  expect_stage(f, 1, 987825152.0, 704643072.0);
  expect_stage(f, 15, 1420598784.0, 352321536.0);
  const Program g =
      graph::build_training_step(layout("llama3.1-405b", groups(8, 16, 1, 1, 128), 8192,
                                        {7, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 7}),
                                 8);
  expect_stage(g, 0, 3052109824.0, 0.0);
  expect_stage(g, 1, 3187933184.0, 0.0);
  expect_stage(g, 15, 3052126208.0, 0.0);
  const Program j = graph::build_training_step(
      layout("qwen3-235b-a22b", groups(4, 4, 2, 8, 8), 32768, {23, 24, 24, 23}), 8);
  expect_stage(j, 0, 577828608.0, 6945767424.0);
  expect_stage(j, 1, 440604672.0, 7247757312.0);
  expect_stage(j, 3, 577832704.0, 6945767424.0);
}

// With pp > 1 the last stage of a tied model holds a second copy of the token embedding
// (617,558,016 parameters of GPT-3); with pp = 1 it does not.
TEST(StageParameters, ATiedHeadIsACopyOnlyOnAnotherStage) {
  const Program one =
      graph::build_training_step(layout("gpt3-175b", groups(1, 1, 1, 1, 1), 2048, {96}), 8);
  const Program two =
      graph::build_training_step(layout("gpt3-175b", groups(1, 2, 1, 1, 1), 2048, {48, 48}), 8);
  const double whole = graph::stage_parameters(one, 0).dense;
  EXPECT_EQ(whole, 174604259328.0);
  EXPECT_EQ(graph::stage_parameters(two, 0).dense + graph::stage_parameters(two, 1).dense - whole,
            617558016.0);
}

TEST(StageParameters, MtpAddsItsLayerToItsStage) {
  Plan plan = layout("glm-5.1", groups(1, 2, 1, 1, 1), 4096, {39, 39});
  const Program without = graph::build_training_step(plan, 8);
  plan.training.mtp_num_layers = 1;
  // The layer (params oracle: mtp_layer_extra_not_in_total) and a copy of the embedding, which the
  // stage needs to look the next tokens up.
  const double expected = 9952920320.0 + 951582720.0;
  for (const std::int64_t stage : {-1, 1}) {
    plan.training.mtp_stage = stage;
    const Program with = graph::build_training_step(plan, 8);
    for (const std::int64_t s : {0, 1}) {
      const ParameterShare a = graph::stage_parameters(without, s);
      const ParameterShare b = graph::stage_parameters(with, s);
      EXPECT_EQ(b.dense + b.expert - a.dense - a.expert, s == 1 ? expected : 0.0);
    }
    EXPECT_EQ(with.embedding_reduce.group.size, 2);
    EXPECT_EQ(with.embedding_reduce.bytes.si(), 4.0 * 951582720.0);
  }
  EXPECT_EQ(without.embedding_reduce.group.size, 1);
}

// One boundary, one direction, one micro-batch: S / cp / (tp under sequence parallelism) x h x 2.
TEST(PipelineSend, CarriesTheHiddenStatesOfOneRank) {
  const auto bytes = [](const Plan& plan) {
    return graph::build_training_step(plan, 8).pipeline_send.bytes.si();
  };
  EXPECT_EQ(
      bytes(layout("glm-5.1", groups(1, 8, 64, 64, 1), 1 << 20, {9, 10, 10, 10, 10, 10, 10, 9})),
      201326592.0);
  EXPECT_EQ(bytes(layout("glm-5.1", groups(1, 16, 32, 32, 1), 1 << 20,
                         {4, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 4})),
            402653184.0);
  EXPECT_EQ(bytes(layout("glm-5.1", groups(8, 4, 16, 64, 1), 1 << 20, {19, 20, 20, 19})),
            100663296.0);
  EXPECT_EQ(bytes(layout("llama3.1-405b", groups(8, 2, 1, 1, 1), 8192, {63, 63})), 33554432.0);
}

TEST(PipelineSend, CrossesNodesWhenNeighboursAreOnDifferentOnes) {
  Plan plan = test::on_groups(test::tiny_dense(), groups(4, 2, 1, 1, 1), 2);
  EXPECT_EQ(graph::build_training_step(plan, 8).pipeline_send.group.nodes, 1);
  EXPECT_EQ(graph::build_training_step(plan, 4).pipeline_send.group.nodes, 2);
}

TEST(Chunks, AreDealtToStagesInTurn) {
  Plan plan = test::on_groups(test::TinySparse{.layers = 8, .dense_layers = 2}.make(),
                              groups(1, 2, 1, 1, 1), 4);
  plan.parallelism.vpp = 2;
  plan.parallelism.layers_per_chunk = {1, 3, 2, 2};
  plan.training.mtp_num_layers = 1;
  plan.training.mtp_stage = 0;
  const Program program = graph::build_training_step(plan, 8);
  ASSERT_EQ(program.chunks.size(), 4U);
  const std::vector<std::int64_t> stages = {0, 1, 0, 1};
  const std::vector<std::size_t> sizes = {1, 3, 2, 2};
  for (std::size_t c = 0; c < 4; ++c) {
    EXPECT_EQ(program.chunks[c].stage, stages[c]);
    EXPECT_EQ(program.chunks[c].layers.size(), sizes[c]);
    EXPECT_EQ(program.chunks[c].embedding, c == 0);
    EXPECT_EQ(program.chunks[c].head, c == 3);
    EXPECT_EQ(program.chunks[c].mtp, c == 2 ? 1 : 0);  // the last chunk of its stage
  }
  // Each kind of layer is built once: dense and experts.
  EXPECT_EQ(program.layers.size(), 2U);
  EXPECT_EQ(program.micro_batches, 4);
}

TEST(Groups, OfTheHeadlineLayout) {
  const Program a = graph::build_training_step(
      layout("glm-5.1", groups(1, 8, 64, 64, 1), 1 << 20, {9, 10, 10, 10, 10, 10, 10, 9}), 8);
  EXPECT_EQ(a.dense_group.size, 64);  // dp x cp
  EXPECT_EQ(a.dense_group.nodes, 8);
  EXPECT_EQ(a.expert_group.size, 1);  // 512 / (pp 8 x ep 64)
  EXPECT_EQ(a.world.size, 512);
  EXPECT_EQ(a.world.nodes, 64);
  const Program c = graph::build_training_step(
      layout("glm-5.1", groups(8, 4, 16, 64, 1), 1 << 20, {19, 20, 20, 19}), 8);
  EXPECT_EQ(c.dense_group.size, 16);
  EXPECT_EQ(c.expert_group.size, 2);  // experts over tp 8 x cp 16 = 128 ranks
}

// Uniform recomputation in blocks of n layers keeps ceil(layers / n) inputs of a chunk; while a
// block is worked on the tensors of its n layers live, what lives inside one layer lives once.
TEST(StageMemory, OfUniformBlocks) {
  Plan plan = layout("glm-5.1", groups(1, 8, 64, 64, 1), 1 << 20, {9, 10, 10, 10, 10, 10, 10, 9});
  plan.training.recompute = graph::Recompute::full;
  const auto item = [&](std::int64_t block, const std::string& name) {
    plan.training.recompute_num_layers = block;
    const Program program = graph::build_training_step(plan, 8);
    for (const graph::MemoryItem& i : graph::stage_memory(program, plan.training, 1).items) {
      if (i.name == name) return i.bytes.si();
    }
    return 0.0;
  };
  const double input = 16384.0 * 6144.0 * 2.0;  // of one layer
  const double in_flight = 7.0;  // of 1F1B on stage 1 of 8
  ASSERT_EQ(item(1, "checkpoints"), 10.0 * input * in_flight);
  EXPECT_EQ(item(5, "checkpoints"), 2.0 * input * in_flight);
  EXPECT_EQ(item(9, "checkpoints"), 2.0 * input * in_flight);
  EXPECT_EQ(item(10, "checkpoints"), 1.0 * input * in_flight);
  EXPECT_EQ(item(1000, "checkpoints"), 1.0 * input * in_flight);

  const auto moment = [&](std::int64_t block) {
    return item(block, "working_set") + item(block, "communication_buffers");
  };
  const double one_more = moment(2) - moment(1);
  EXPECT_GT(one_more, 0.0);
  EXPECT_EQ(moment(5), moment(1) + 4.0 * one_more);
  EXPECT_EQ(moment(1000), moment(10));
  // dKV, expert outputs and gathered index keys (4.29 GB) are not there twice.
  EXPECT_EQ(moment(1) - one_more, 2415919104.0 + 1610612736.0 + 268435456.0);
}

// An MTP layer is a 2h -> h projection and an ordinary layer; its logits are the head's once more.
TEST(Mtp, JoinsALayerAndLeavesItsLogitsToTheHead) {
  Plan plan = test::one_gpu(test::TinySparse{}.make());
  plan.training.mtp_num_layers = 1;
  plan.training.recompute = graph::Recompute::full;
  const Program program = graph::build_training_step(plan, 8);
  const graph::LayerProgram& last =
      program.layers[static_cast<std::size_t>(program.chunks.back().layers.back())];
  const auto flops = [&](const graph::TaskList& list) {
    return test::flops_under(program, list, "");
  };
  const double join = 2.0 * 256.0 * 64.0 * 128.0;
  EXPECT_EQ(flops(program.mtp.forward), join + flops(last.forward));
  EXPECT_EQ(flops(program.mtp.backward), 3.0 * join + flops(last.backward));
  EXPECT_EQ(program.chunks.back().losses, 2);
}

TEST(Communicators, AreOneAGroupOfMoreThanOneAndTheWorld) {
  const auto count = [](const topology::GroupSizes& sizes) {
    return graph::communicators(test::on_groups(test::TinySparse{}.make(), sizes));
  };
  EXPECT_EQ(count(groups(1, 1, 1, 1, 1)), 1);
  EXPECT_EQ(count(groups(1, 1, 1, 1, 2)), 3);  // world, dp x cp, expert dp
  EXPECT_EQ(count(groups(1, 1, 1, 2, 2)), 3);  // world, dp x cp, ep; experts have no replicas
  EXPECT_EQ(count(groups(2, 2, 2, 2, 2)), 7);  // world, tp, cp, pp, ep, dp x cp, expert dp
}

}  // namespace
}  // namespace hysim
