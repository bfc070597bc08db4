// Splitting a backward into input and weight gradients.
#include "graph/zero_bubble.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "graph/memory.h"
#include "unit/graph/plans.h"

namespace hysim {
namespace {

using graph::Stream;
using graph::Task;
using graph::TaskList;

Task task(Stream stream, std::vector<std::int32_t> after, bool weight_gradient = false) {
  Task t;
  t.stream = stream;
  t.work = ops::Work{};
  t.after = std::move(after);
  t.weight_gradient = weight_gradient;
  return t;
}

/// `leaf` numbers the tasks as they stood.
TaskList numbered(TaskList list) {
  for (std::size_t i = 0; i < list.size(); ++i) list[i].leaf = static_cast<std::int32_t>(i);
  return list;
}
std::vector<std::int32_t> leaves(const TaskList& list) {
  std::vector<std::int32_t> found;
  for (const Task& t : list) found.push_back(t.leaf);
  return found;
}
using Tasks = std::vector<std::int32_t>;

TEST(DeferWeightGradients, TheyFollowTheRestInTheirOrder) {
  TaskList list =
      numbered({task(Stream::compute, {}), task(Stream::compute, {}, true), task(Stream::tp, {1}),
                task(Stream::compute, {2}), task(Stream::compute, {}, true)});
  graph::defer_weight_gradients(list);
  EXPECT_EQ(leaves(list), (Tasks{0, 2, 3, 1, 4}));
  // The collective waited for the weight gradient: now for the input gradient before it.
  EXPECT_EQ(list[1].after, Tasks{0});
  EXPECT_EQ(list[2].after, Tasks{1});
  // The first waits for the last task of both streams.
  EXPECT_EQ(list[3].after, (Tasks{2, 1}));
  EXPECT_TRUE(list[4].after.empty());
}

TEST(DeferWeightGradients, WhatAMovedTaskWaitedForIsStillWaitedFor) {
  TaskList list = numbered({task(Stream::compute, {}), task(Stream::cp, {0}),
                            task(Stream::compute, {1}, true), task(Stream::ep, {2})});
  graph::defer_weight_gradients(list);
  EXPECT_EQ(leaves(list), (Tasks{0, 1, 3, 2}));
  EXPECT_EQ(list[2].after, (Tasks{1, 0}));
}

TEST(DeferWeightGradients, NothingIsLostAndOthersAreUntouched) {
  graph::Plan plan = test::on_groups(test::TinySparse{}.make(), {1, 1, 1, 2, 1, 1}, 4);
  const graph::Program whole = graph::build_training_step(plan, 8);
  plan.parallelism.schedule = graph::Schedule::zb_h1;
  const graph::Program split = graph::build_training_step(plan, 8);
  ASSERT_EQ(split.layers.size(), whole.layers.size());
  for (std::size_t i = 0; i < whole.layers.size(); ++i) {
    const TaskList& before = whole.layers[i].backward;
    const TaskList& after = split.layers[i].backward;
    EXPECT_EQ(after.size(), before.size());
    EXPECT_DOUBLE_EQ(test::flops_under(split, after, ""), test::flops_under(whole, before, ""));
    bool behind = false;
    int moved = 0;
    for (std::size_t t = 0; t < after.size(); ++t) {
      EXPECT_TRUE(after[t].weight_gradient || !behind) << t;
      behind = behind || after[t].weight_gradient;
      moved += after[t].weight_gradient ? 1 : 0;
      for (const std::int32_t b : after[t].after) EXPECT_LT(b, static_cast<std::int32_t>(t));
    }
    EXPECT_GT(moved, 0);
  }
  EXPECT_EQ(split.head.backward.size(), whole.head.backward.size());
}

// A weight gradient of an m x n output and an m x k input needs both, 2 B an element.
TEST(WeightGradientOperands, AreInputsAndOutputGradients) {
  graph::Plan plan = test::on_groups(test::tiny_dense(), {1, 1, 1, 2, 1, 1}, 4);
  plan.parallelism.schedule = graph::Schedule::zb_h1;
  const graph::Program program = graph::build_training_step(plan, 8);
  // tiny_dense: h 64; q and kv 8 x (8 + 2 x 4) = 128 wide; o 64; gated ffn 128. 256 tokens.
  const double values = 256.0 * ((64 + 128) + (64 + 64) + (64 + 2 * 128) + (128 + 64));
  EXPECT_DOUBLE_EQ(program.layers[0].weight_operands.si(), 2.0 * values);
  // Two layers a stage; stage 1 keeps one micro-batch's operands beside the backward that runs.
  const graph::StageBytes last = graph::stage_memory(program, plan.training, 1);
  double found = 0.0;
  for (const graph::MemoryItem& item : last.items) {
    if (item.name == "weight_gradient_operands") found = item.bytes.si();
  }
  EXPECT_DOUBLE_EQ(found, 2.0 * 2.0 * values);
}

}  // namespace
}  // namespace hysim
