// Bytes that every kind of context parallelism sends, against figures derived from its definition,
// and the work it leaves as it is.
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/collective.h"
#include "graph/layer.h"
#include "graph/plan.h"
#include "unit/graph/plans.h"
#include "unit/model/model_files.h"

namespace hysim {
namespace {

using collectives::Collective;
using graph::CpComm;
using graph::Plan;
using graph::Stream;
using graph::TaskList;

double sent(const TaskList& list) {
  double bytes = 0.0;
  for (const graph::Task& task : list) {
    const auto* op = std::get_if<Collective>(&task.work);
    if (op != nullptr && task.stream == Stream::cp) bytes += collectives::bytes_sent(*op).si();
  }
  return bytes;
}

std::vector<Collective> passes(const TaskList& list) {
  std::vector<Collective> found;
  for (const graph::Task& task : list) {
    const auto* op = std::get_if<Collective>(&task.work);
    if (op != nullptr && task.stream == Stream::cp) found.push_back(*op);
  }
  return found;
}

Plan plan_of(model::Transformer model, std::int64_t seq_len, std::int64_t tp, std::int64_t cp,
             CpComm comm) {
  topology::GroupSizes sizes;
  sizes.tp = tp;
  sizes.cp = cp;
  Plan plan = test::on_groups(std::move(model), sizes, 1, seq_len);
  plan.parallelism.cp_comm = comm;
  return plan;
}
test::BuiltLayer first_layer(const Plan& plan) {
  return test::built(plan, plan.model.layers.front());
}

// A ring passes cp-1 blocks of S/cp keys and values forward (aliyun/SimAI#45), backward as many of
// them and of their gradients; Ulysses sends (cp-1)/cp of q, k, v and the output, and of their
// gradients. 128 heads of 128 and 8 key heads, S = 131072, cp 8: a block is 64 MiB.
struct Row {
  const char* model;
  std::int64_t seq_len, tp, cp;
  double ring, all_gather, ulysses;  // forward, a layer; ulysses 0: heads do not divide
};
const std::vector<Row>& rows() {
  static const std::vector<Row> list = {
      {"llama3.1-405b", 131072, 8, 16, 62914560, 62914560, 0},
      {"llama3.1-405b", 131072, 1, 8, 469762048, 469762048, 998244352},
      {"qwen3-235b-a22b", 32768, 1, 4, 50331648, 50331648, 213909504},
      {"gpt3-175b", 16384, 1, 8, 704643072, 704643072, 176160768},
  };
  return list;
}

TEST(ContextParallelBytes, OfEveryKind) {
  for (const Row& row : rows()) {
    SCOPED_TRACE(std::string(row.model) + " cp " + std::to_string(row.cp));
    const auto plan = [&](CpComm comm) {
      return plan_of(test::bundled(row.model), row.seq_len, row.tp, row.cp, comm);
    };
    const test::BuiltLayer ring = first_layer(plan(CpComm::p2p));
    EXPECT_EQ(sent(ring.layer.forward), row.ring);
    EXPECT_EQ(sent(ring.layer.backward), 2.0 * row.ring);
    const std::vector<Collective> hops = passes(ring.layer.forward);
    ASSERT_EQ(hops.size(), static_cast<std::size_t>(row.cp - 1));
    for (const Collective& hop : hops) {
      EXPECT_EQ(hop.bytes.si(), row.ring / static_cast<double>(row.cp - 1));
    }
    // Keys and values alone, then with gradients, then gradients alone.
    const std::vector<Collective> back = passes(ring.layer.backward);
    ASSERT_EQ(back.size(), static_cast<std::size_t>(row.cp));
    EXPECT_EQ(back.front().bytes, hops.front().bytes);
    EXPECT_EQ(back[1].bytes, 2.0 * hops.front().bytes);
    EXPECT_EQ(back.back().bytes, hops.front().bytes);

    const test::BuiltLayer gathered = first_layer(plan(CpComm::all_gather));
    EXPECT_EQ(sent(gathered.layer.forward), row.all_gather);
    if (row.ulysses == 0.0) continue;
    const test::BuiltLayer exchanged = first_layer(plan(CpComm::a2a));
    EXPECT_EQ(sent(exchanged.layer.forward), row.ulysses);
    EXPECT_EQ(sent(exchanged.layer.backward), row.ulysses);
  }
}

// Heads exchanged among 4, keys round a ring of 2: 3/4 of q, k, v and the output, and one block of
// half the keys of a quarter of the heads.
TEST(ContextParallelBytes, HierarchicalIsBoth) {
  Plan plan = plan_of(test::bundled("llama3.1-405b"), 131072, 1, 8, CpComm::a2a_p2p);
  plan.parallelism.hierarchical_cp_sizes = {4, 2};
  const test::BuiltLayer b = first_layer(plan);
  const double tensors = 16384.0 * 2.0 * 128.0 * (2.0 * 128.0 + 2.0 * 8.0);
  const double block = 65536.0 * 2.0 * 128.0 * 2.0 * 2.0;
  EXPECT_EQ(sent(b.layer.forward), 0.75 * tensors + block);
  EXPECT_EQ(sent(b.layer.backward), 0.75 * tensors + 2.0 * block);
}

// MLA passes its up-projected keys and values: qk and value widths of every head.
TEST(ContextParallelBytes, LatentAttentionPassesKeysAndValues) {
  const model::Transformer m = test::tiny_latent();
  const test::BuiltLayer b = first_layer(plan_of(m, 256, 1, 4, CpComm::p2p));
  EXPECT_EQ(sent(b.layer.forward), 3.0 * 64.0 * 8.0 * (12.0 + 8.0) * 2.0);
}

// Whoever attends to what, all ranks together do the same: tensor FLOP of the core.
TEST(ContextParallelWork, TheCoreIsTheSameForEveryKind) {
  const auto core = [](CpComm comm, std::vector<std::int64_t> sizes, std::int64_t window) {
    model::Transformer m = test::bundled("llama3-8b");
    m.attention.sliding_window = window;
    Plan plan = plan_of(std::move(m), 32768, 1, 8, comm);
    plan.parallelism.hierarchical_cp_sizes = std::move(sizes);
    return first_layer(plan);
  };
  const double forward = core(CpComm::all_gather, {}, 0).forward_flops({"attention"});
  // 2 x pairs x heads x (d + d), pairs of an eighth of the causal triangle.
  EXPECT_DOUBLE_EQ(forward, 2.0 * (32768.0 * 32769.0 / 2.0 / 8.0) * 32.0 * 256.0);
  for (const test::BuiltLayer& b :
       {core(CpComm::p2p, {}, 0), core(CpComm::a2a, {}, 0), core(CpComm::a2a_p2p, {2, 4}, 0)}) {
    EXPECT_NEAR(b.forward_flops({"attention"}) / forward, 1.0, 1e-12);
    EXPECT_NEAR(b.backward_flops({"attention"}) / forward, 2.5, 1e-12);
  }
  EXPECT_LT(core(CpComm::a2a, {}, 1024).forward_flops({"attention"}), forward / 8.0);
}

TEST(ContextParallelWork, OneRankCommunicatesNothing) {
  for (const CpComm comm : {CpComm::all_gather, CpComm::p2p, CpComm::a2a}) {
    const test::BuiltLayer b = first_layer(plan_of(test::tiny_dense(), 256, 1, 1, comm));
    EXPECT_EQ(test::communication_tasks(b.layer.forward), 0);
    EXPECT_EQ(test::communication_tasks(b.layer.backward), 0);
    EXPECT_EQ(test::tasks_under(b.program, b.layer.forward, "elementwise/re"), 2);  // residuals
  }
}

// Gathered: keys, values and gradients of the whole sequence. A ring: two blocks of them. An
// exchange: a second copy of q, k and v.
TEST(ContextParallelMemory, WhatEachKindHolds) {
  const auto held = [](CpComm comm) {
    return first_layer(plan_of(test::bundled("llama3-8b"), 131072, 1, 8, comm)).layer.gathered.si();
  };
  const double keys_and_values = 131072.0 * 2.0 * 8.0 * 128.0 * 2.0;
  EXPECT_EQ(held(CpComm::all_gather), 2.0 * keys_and_values);
  EXPECT_EQ(held(CpComm::p2p), 2.0 * 2.0 * keys_and_values / 8.0);
  EXPECT_EQ(held(CpComm::a2a), 16384.0 * 128.0 * (32.0 + 16.0) * 2.0);
}

}  // namespace
}  // namespace hysim
