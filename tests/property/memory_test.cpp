// Properties of memory over random small plans: P04, P14, P15 and P16. The derived layouts are
// tested against their figures in oracles/memory_test.cpp.
#include "graph/memory.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "graph/schedule.h"
#include "unit/graph/plans.h"

namespace hysim {
namespace {

using graph::Plan;
using graph::Program;
using graph::StageBytes;

/// A tiny sparse model on random groups that check() accepts.
Plan random_plan() {
  topology::GroupSizes sizes;
  sizes.tp = std::int64_t{1} << *rc::gen::inRange(0, 3);
  sizes.cp = std::int64_t{1} << *rc::gen::inRange(0, 3);
  sizes.dp = std::int64_t{1} << *rc::gen::inRange(0, 3);
  sizes.pp = *rc::gen::inRange<std::int64_t>(1, 5);
  const std::int64_t ranks = sizes.tp * sizes.cp * sizes.dp;
  sizes.ep = std::min<std::int64_t>(8, std::int64_t{1} << *rc::gen::inRange(0, 4));
  while (sizes.ep > ranks) sizes.ep /= 2;
  if (ranks >= 2 * sizes.ep && *rc::gen::arbitrary<bool>()) sizes.etp = 2;
  test::TinySparse tiny;
  tiny.layers = sizes.pp * *rc::gen::inRange<std::int64_t>(2, 5);
  tiny.dense_layers = *rc::gen::inRange<std::int64_t>(0, 2);  // never all of them
  tiny.top_k = std::int64_t{1} << *rc::gen::inRange(4, 9);
  Plan plan = test::on_groups(tiny.make(), sizes, *rc::gen::inRange<std::int64_t>(1, 13), 512);
  plan.parallelism.zero = *rc::gen::inRange(0, 2);
  plan.training.recompute = *rc::gen::element(graph::Recompute::none, graph::Recompute::selective,
                                              graph::Recompute::full);
  plan.training.indexer_loss = ops::IndexerLoss::off;
  plan.training.mtp_num_layers = *rc::gen::inRange<std::int64_t>(0, 2);
  plan.kernels.topk = *rc::gen::element(ops::TopkKind::torch, ops::TopkKind::radix);
  RC_ASSERT(graph::check(plan, sizes.world()).empty());
  return plan;
}

double item(const StageBytes& stage, std::string_view name) {
  for (const graph::MemoryItem& i : stage.items) {
    if (i.name == name) return i.bytes.si();
  }
  return 0.0;
}

std::vector<StageBytes> all_stages(const Plan& plan) {
  const Program program = graph::build_training_step(plan, 8);
  std::vector<StageBytes> stages;
  for (std::int64_t s = 0; s < program.pp; ++s) {
    stages.push_back(graph::stage_memory(program, plan.training, s));
  }
  return stages;
}

bool same(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b)); }

// P04: replay adds exactly tokens_per_rank x k x 4 B x sparse layers of the stage x in flight and
// nothing else; not divided by TP.
RC_GTEST_PROP(P04ReplayMemory, AddsTheIndices, ()) {
  Plan plan = random_plan();
  plan.training.recompute = graph::Recompute::full;
  const std::vector<StageBytes> without = all_stages(plan);
  plan.kernels.selection_replay = true;
  const std::vector<StageBytes> with = all_stages(plan);
  const topology::GroupSizes& sizes = plan.parallelism.sizes;
  const auto layer_bytes =
      static_cast<double>(512 / sizes.cp) * static_cast<double>(plan.model.indexer.top_k) * 4.0;
  for (std::int64_t s = 0; s < sizes.pp; ++s) {
    const auto i = static_cast<std::size_t>(s);
    std::int64_t layers = plan.parallelism.layers_per_chunk[i];
    if (s + 1 == sizes.pp) layers += plan.training.mtp_num_layers;
    const std::int64_t in_flight = std::min(plan.micro_batches(), sizes.pp - s);
    const double added = layer_bytes * static_cast<double>(layers * in_flight);
    RC_ASSERT(same(with[i].allocated.si() - without[i].allocated.si(), added));
    RC_ASSERT(same(item(with[i], "saved_indices"), added));
    for (const graph::MemoryItem& other : without[i].items) {
      RC_ASSERT(item(with[i], other.name) == other.bytes.si());
    }
  }
}

// P14: every term >= 0 and total = exact sum of reported items; changing an input changes only the
// terms that contain it.
RC_GTEST_PROP(P14MemoryAdditive, TotalsAreSums, ()) {
  const Plan plan = random_plan();
  const std::vector<StageBytes> base = all_stages(plan);
  for (const StageBytes& stage : base) {
    double sum = 0.0;
    for (const graph::MemoryItem& i : stage.items) {
      RC_ASSERT(i.bytes.si() > 0.0);
      sum += i.bytes.si();
    }
    RC_ASSERT(sum == stage.allocated.si());
  }
  const auto unchanged = [&](const Plan& other, std::initializer_list<const char*> names) {
    const std::vector<StageBytes> stages = all_stages(other);
    for (std::size_t s = 0; s < stages.size(); ++s) {
      for (const char* name : names) RC_ASSERT(item(stages[s], name) == item(base[s], name));
    }
  };
  Plan zero = plan;
  zero.parallelism.zero = 1 - plan.parallelism.zero;
  unchanged(zero, {"weights", "gradients", "checkpoints", "activations", "saved_indices",
                   "working_set", "communication_buffers", "score_workspace", "logits"});
  Plan more = plan;  // micro-batches
  more.workload.global_batch_size *= 2;
  unchanged(more, {"weights", "gradients", "optimizer", "working_set", "communication_buffers",
                   "score_workspace", "logits"});
  Plan rows = plan;
  rows.kernels.score_chunk_rows = 7;
  unchanged(rows,
            {"weights", "gradients", "optimizer", "checkpoints", "activations", "saved_indices"});
  Plan k = plan;
  k.model.indexer.top_k *= 2;
  unchanged(k, {"weights", "gradients", "optimizer", "checkpoints", "activations"});
}

// P15: total(ZeRO-0) >= total(ZeRO-1) >= ... ZeRO-3, equal when the group size is 1; ZeRO-1
// optimizer bytes x group = ZeRO-0 optimizer bytes for each tensor class separately.
RC_GTEST_PROP(P15Zero, ShardsAdamOverReplicas, ()) {
  const auto count = [] {
    return static_cast<double>(*rc::gen::inRange<std::int64_t>(0, 1 << 30));
  };
  const graph::ParameterShare share{count(), count()};
  const auto dense_group = *rc::gen::inRange<std::int64_t>(1, 1025);
  const auto expert_group = *rc::gen::inRange<std::int64_t>(1, 1025);
  const auto state = [&](const graph::ParameterShare& of, int zero) {
    return graph::model_state(of, 4.0, zero, dense_group, expert_group);
  };
  const graph::ParameterShare dense{share.dense, 0.0};
  const graph::ParameterShare expert{0.0, share.expert};
  RC_ASSERT(same(state(dense, 1).optimizer.si() * static_cast<double>(dense_group),
                 state(dense, 0).optimizer.si()));
  RC_ASSERT(same(state(expert, 1).optimizer.si() * static_cast<double>(expert_group),
                 state(expert, 0).optimizer.si()));
  const auto total = [](const graph::ModelState& s) {
    return (s.weights + s.gradients + s.optimizer).si();
  };
  RC_ASSERT(total(state(share, 1)) <= total(state(share, 0)) * (1.0 + 1e-15));
  RC_ASSERT(state(share, 1).weights == state(share, 0).weights);
  RC_ASSERT(state(share, 1).gradients == state(share, 0).gradients);
  for (const int z : {1, 2, 3}) {
    RC_ASSERT(total(state(share, z)) <= total(state(share, z - 1)) * (1.0 + 1e-15));
    if (dense_group == 1 && expert_group == 1) {
      RC_ASSERT(total(state(share, z)) == total(state(share, 0)));
    }
  }
}

// P16: over all ranks, weights / replication = 2 x total parameters for every TP/PP/EP/DP/CP; Adam
// under ZeRO-1 = 12 x total parameters + TP copies of replicated tensors.
RC_GTEST_PROP(P16World, HoldsTheModelOnce, ()) {
  Plan plan = random_plan();
  plan.training.mtp_num_layers = 0;
  const topology::GroupSizes& sizes = plan.parallelism.sizes;
  const Program program = graph::build_training_step(plan, 8);
  const model::ParameterCount total = model::total_parameters(plan.model);
  const auto tp = static_cast<double>(sizes.tp);
  double dense = 0.0;
  double expert = 0.0;
  double adam = 0.0;
  for (std::int64_t s = 0; s < sizes.pp; ++s) {
    const graph::ParameterShare share = graph::stage_parameters(program, s);
    dense += tp * share.dense;
    expert += static_cast<double>(sizes.ep * sizes.etp) * share.expert;
    adam += tp * static_cast<double>(sizes.cp * sizes.dp) *
            graph::model_state(share, 4.0, 1, program.dense_group.size, program.expert_group.size)
                .optimizer.si();
  }
  const double copies = (tp - 1.0) * static_cast<double>(total.tp_replicated);
  RC_ASSERT(same(dense, static_cast<double>(total.tp_split + total.tp_replicated) + copies));
  RC_ASSERT(same(expert, static_cast<double>(total.routed_expert)));
  RC_ASSERT(same(adam, 12.0 * (static_cast<double>(total.total) + copies)));
}

}  // namespace
}  // namespace hysim
