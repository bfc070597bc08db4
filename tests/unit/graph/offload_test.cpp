// Copies to host memory beside computation: closed forms, a longest path, and what a program moves.
#include "graph/offload.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "graph/memory.h"
#include "unit/graph/plans.h"

namespace hysim {
namespace {

using graph::OffloadedLayer;

std::vector<OffloadedLayer> alike(std::size_t n, double compute, double copy) {
  return std::vector<OffloadedLayer>(n, {compute, copy});
}

TEST(OffloadedForward, AlikeLayersFollowTheClosedForm) {
  // max(n f, 2 f + (n - 2) c)
  EXPECT_DOUBLE_EQ(graph::offloaded_forward(alike(10, 1.0, 0.5)), 10.0);
  EXPECT_DOUBLE_EQ(graph::offloaded_forward(alike(10, 1.0, 1.0)), 10.0);
  EXPECT_DOUBLE_EQ(graph::offloaded_forward(alike(10, 1.0, 1.5)), 2.0 + 8.0 * 1.5);
  EXPECT_DOUBLE_EQ(graph::offloaded_forward(alike(2, 1.0, 100.0)), 2.0);
  EXPECT_DOUBLE_EQ(graph::offloaded_forward(alike(10, 1.0, 0.0)), 10.0);
  EXPECT_DOUBLE_EQ(graph::offloaded_forward({}), 0.0);
}

TEST(OffloadedBackward, AlikeLayersFollowTheClosedForm) {
  // b + (n - 1) max(b, c)
  EXPECT_DOUBLE_EQ(graph::offloaded_backward(alike(10, 2.0, 1.5)), 20.0);
  EXPECT_DOUBLE_EQ(graph::offloaded_backward(alike(10, 2.0, 3.0)), 2.0 + 9.0 * 3.0);
  EXPECT_DOUBLE_EQ(graph::offloaded_backward(alike(1, 2.0, 100.0)), 2.0);
  EXPECT_DOUBLE_EQ(graph::offloaded_backward(alike(10, 2.0, 0.0)), 20.0);
}

/// Ends of every computation and copy, from what each waits for. `forward`: copies follow their
/// layer and hold one of two buffers; else they precede it, asked for when the one before begins.
double longest(const std::vector<OffloadedLayer>& layers, bool forward) {
  std::vector<std::size_t> copied;  // layers with a copy, in order
  std::vector<double> begin(layers.size(), 0.0);
  std::vector<double> copy_end(layers.size(), 0.0);
  double end = 0.0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::size_t k = copied.size();
    const bool copies = layers[i].copy > 0.0;
    const double wire = k > 0 ? copy_end[copied[k - 1]] : 0.0;
    begin[i] = end;
    if (copies && forward && k >= 2) begin[i] = std::max(begin[i], copy_end[copied[k - 2]]);
    if (copies && !forward && k >= 1) {
      copy_end[i] = std::max(wire, begin[copied[k - 1]]) + layers[i].copy;
      begin[i] = std::max(begin[i], copy_end[i]);
    }
    end = begin[i] + layers[i].compute;
    if (copies && forward) copy_end[i] = std::max(wire, end) + layers[i].copy;
    if (copies) copied.push_back(i);
  }
  return end;
}

TEST(Offloaded, UnlikeLayersFollowTheLongestPath) {
  std::mt19937_64 engine(1);
  const auto seconds = [&] { return 3.0 * static_cast<double>(engine() >> 11) * 0x1.0p-53; };
  for (int i = 0; i < 1000; ++i) {
    std::vector<OffloadedLayer> layers;
    for (std::size_t n = engine() % 12; n > 0; --n) {
      layers.push_back({seconds(), engine() % 4 == 0 ? 0.0 : seconds()});
    }
    EXPECT_DOUBLE_EQ(graph::offloaded_forward(layers), longest(layers, true));
    EXPECT_DOUBLE_EQ(graph::offloaded_backward(layers), longest(layers, false));
    double compute = 0.0;
    double copies = 0.0;
    for (const OffloadedLayer& layer : layers) {
      compute += layer.compute;
      copies += layer.copy;
    }
    for (const double found :
         {graph::offloaded_forward(layers), graph::offloaded_backward(layers)}) {
      EXPECT_GE(found, compute * (1.0 - 1e-12));
      EXPECT_LE(found, (compute + copies) * (1.0 + 1e-12));
    }
  }
}

double item(const graph::StageBytes& stage, std::string_view name) {
  for (const graph::MemoryItem& i : stage.items) {
    if (i.name == name) return i.bytes.si();
  }
  return 0.0;
}

// What leaves the device is what was kept, in every micro-batch in flight; buffers of four layers
// stay.
TEST(OffloadMemory, MovesWhatLayersKeep) {
  graph::Plan plan = test::on_groups(test::TinySparse{.layers = 8}.make(), {1, 1, 1, 2, 1, 1}, 4);
  plan.training.recompute = graph::Recompute::full;
  plan.kernels.selection_replay = true;
  const graph::StageBytes kept =
      graph::stage_memory(graph::build_training_step(plan, 8), plan.training, 0);
  // Two micro-batches in flight, four layers: 256 tokens x 64 channels x 2 B, and 256 x k x 4 B.
  const double input = 256.0 * 64.0 * 2.0;
  const double indices = 256.0 * static_cast<double>(plan.model.indexer.top_k) * 4.0;
  ASSERT_DOUBLE_EQ(item(kept, "checkpoints"), 2.0 * 4.0 * input);
  ASSERT_DOUBLE_EQ(item(kept, "saved_indices"), 2.0 * 4.0 * indices);
  EXPECT_EQ(kept.host.si(), 0.0);

  plan.training.offload = {0.25, true};
  const graph::Program program = graph::build_training_step(plan, 8);
  const graph::StageBytes moved = graph::stage_memory(program, plan.training, 0);
  EXPECT_DOUBLE_EQ(item(moved, "checkpoints"), 0.75 * 2.0 * 4.0 * input);
  EXPECT_DOUBLE_EQ(item(moved, "saved_indices"), 0.0);
  EXPECT_DOUBLE_EQ(item(moved, "offload_buffers"), 4.0 * (0.25 * input + indices));
  EXPECT_DOUBLE_EQ(moved.host.si(), 2.0 * 4.0 * (0.25 * input + indices));
  EXPECT_DOUBLE_EQ(moved.allocated.si(),
                   kept.allocated.si() - moved.host.si() + item(moved, "offload_buffers"));
  EXPECT_TRUE(program.offloads);
}

TEST(OffloadMemory, ABlockOfRecomputedLayersMovesOneInput) {
  graph::Plan plan = test::one_gpu(test::tiny_dense(8));
  plan.training.recompute = graph::Recompute::full;
  plan.training.recompute_num_layers = 4;
  plan.training.offload.activations = 1.0;
  const graph::Program program = graph::build_training_step(plan, 8);
  double moved = 0.0;
  for (const std::int32_t layer : program.chunks[0].layers) {
    moved += program.layers[static_cast<std::size_t>(layer)].offloaded.si();
  }
  EXPECT_DOUBLE_EQ(moved, 2.0 * 256.0 * 64.0 * 2.0);
  EXPECT_DOUBLE_EQ(graph::stage_memory(program, plan.training, 0).host.si(), moved);
}

TEST(OffloadMemory, NothingKeptNothingMoved) {
  graph::Plan plan = test::one_gpu(test::TinySparse{}.make());
  plan.training.recompute = graph::Recompute::full;
  plan.training.offload.indices = true;
  EXPECT_FALSE(graph::build_training_step(plan, 8).offloads);
}

}  // namespace
}  // namespace hysim
