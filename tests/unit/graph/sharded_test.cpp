// Sharded data parallelism against a longest path over every task of every micro-batch, and against
// closed forms.
#include "graph/sharded.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "graph/plan.h"
#include "graph/program.h"
#include "unit/graph/plans.h"

namespace hysim {
namespace {

using graph::ShardedTimes;

/// Tasks in an order in which every one follows what it waits for.
class Tasks {
 public:
  using Id = std::ptrdiff_t;  // -1: none
  Id add(double seconds, std::initializer_list<Id> after) {
    double start = 0.0;
    for (const Id id : after) {
      if (id >= 0) start = std::max(start, ends_[static_cast<std::size_t>(id)]);
    }
    ends_.push_back(start + seconds);
    return static_cast<Id>(ends_.size()) - 1;
  }
  double last() const { return *std::max_element(ends_.begin(), ends_.end()); }

 private:
  std::vector<double> ends_;
};

/// Every gather and reduction a task of one wire, every unit a beginning and a task of one compute
/// stream.
double longest_path(const ShardedTimes& t) {
  Tasks tasks;
  const auto n = static_cast<std::ptrdiff_t>(t.units.size());
  Tasks::Id compute = -1;
  Tasks::Id wire = -1;
  std::vector<Tasks::Id> reductions = {-1, -1};
  for (std::int64_t m = 0; m < t.micro_batches; ++m) {
    std::vector<Tasks::Id> gathers;
    const auto unit = [&](std::ptrdiff_t step) {
      return t.units[static_cast<std::size_t>(step < n ? step : 2 * n - 1 - step)];
    };
    const auto gather = [&](Tasks::Id asked) {
      const auto step = static_cast<std::ptrdiff_t>(gathers.size());
      if (step >= 2 * n) return;
      const bool wanted = step < n ? t.shards_weights || m == 0 : t.shards_weights && t.reshard;
      if (!wanted || unit(step).gather == 0.0) {
        gathers.push_back(-1);
        return;
      }
      wire = tasks.add(unit(step).gather, {wire, asked});
      gathers.push_back(wire);
    };
    for (std::ptrdiff_t step = 0; step < 2 * n; ++step) {
      while (static_cast<std::ptrdiff_t>(gathers.size()) <= step) gather(compute);
      const bool reduces = step >= n && unit(step).reduce > 0.0;
      const Tasks::Id begin = tasks.add(0.0, {compute, gathers[static_cast<std::size_t>(step)],
                                              reduces ? reductions[reductions.size() - 2] : -1});
      const auto ahead = !t.shards_weights ? (t.prefetch > 0 ? 2 * n : 0) : t.prefetch;
      while (static_cast<std::ptrdiff_t>(gathers.size()) <= std::min(step + ahead, 2 * n - 1)) {
        gather(begin);
      }
      compute = tasks.add(step < n ? unit(step).forward : unit(step).backward, {begin});
      if (!reduces) continue;
      wire = tasks.add(unit(step).reduce, {wire, compute});
      reductions.push_back(wire);
      if (!t.overlap_reduce) compute = wire;
    }
  }
  return tasks.last();
}

ShardedTimes uniform(std::size_t units, std::int64_t m, double f, double b, double g, double r) {
  ShardedTimes t;
  t.units.assign(units, {f, b, g, r});
  t.micro_batches = m;
  return t;
}

ShardedTimes random_times(std::mt19937_64& engine, std::int64_t most_micro_batches) {
  const auto below = [&](std::uint64_t n) { return engine() % n; };
  const auto seconds = [&](double most) {
    return most * static_cast<double>(engine() >> 11) * 0x1.0p-53;
  };
  ShardedTimes t;
  const double wire = seconds(3.0);
  for (std::size_t i = below(9) + 1; i > 0; --i) {
    // Some units have no parameters, some no reduction.
    t.units.push_back({seconds(1.0), seconds(2.0), below(5) == 0 ? 0.0 : seconds(wire),
                       below(5) == 0 ? 0.0 : seconds(wire)});
  }
  t.micro_batches =
      static_cast<std::int64_t>(below(static_cast<std::uint64_t>(most_micro_batches))) + 1;
  t.shards_weights = below(3) > 0;
  t.reshard = below(3) > 0;
  t.prefetch = static_cast<std::int64_t>(below(5));
  t.overlap_reduce = below(3) > 0;
  return t;
}

TEST(Sharded, EqualsTheLongestPath) {
  std::mt19937_64 engine(1);
  for (int i = 0; i < 4000; ++i) {
    const ShardedTimes t = random_times(engine, 12);
    const double expected = longest_path(t);
    EXPECT_NEAR(graph::run_sharded(t), expected, 1e-12 * expected)
        << t.units.size() << " units, m " << t.micro_batches << ", prefetch " << t.prefetch
        << ", weights " << t.shards_weights << ", reshard " << t.reshard << ", overlap "
        << t.overlap_reduce;
  }
}

TEST(Sharded, ThousandsOfMicroBatchesEqualTheLongestPath) {
  std::mt19937_64 engine(2);
  for (int i = 0; i < 20; ++i) {
    const ShardedTimes t = random_times(engine, 5000);
    const double expected = longest_path(t);
    EXPECT_NEAR(graph::run_sharded(t), expected, 1e-10 * expected);
  }
}

TEST(Sharded, HiddenTrafficShowsItsFirstGatherAndLastReduction) {
  // g <= f and g + r <= b: wire and compute keep pace in every unit.
  EXPECT_DOUBLE_EQ(graph::run_sharded(uniform(10, 1, 1.0, 2.0, 0.5, 0.75)),
                   10.0 * 3.0 + 0.5 + 0.75);
  // The next micro-batch asks for its first weights when this one's last backward has ended, behind
  // its last reduction.
  EXPECT_DOUBLE_EQ(graph::run_sharded(uniform(10, 7, 1.0, 2.0, 0.5, 0.75)),
                   7.0 * (10.0 * 3.0 + 0.5 + 0.75));
}

TEST(Sharded, NothingHiddenIsASum) {
  ShardedTimes t = uniform(10, 3, 1.0, 2.0, 0.5, 0.75);
  t.prefetch = 0;
  t.overlap_reduce = false;
  EXPECT_DOUBLE_EQ(graph::run_sharded(t), 3.0 * 10.0 * (3.0 + 2.0 * 0.5 + 0.75));
  t.reshard = false;
  EXPECT_DOUBLE_EQ(graph::run_sharded(t), 3.0 * 10.0 * (3.0 + 0.5 + 0.75));
}

TEST(Sharded, AWireThatBindsSetsThePace) {
  // Without computation 2 g + r a unit; with much less than that, hardly more.
  EXPECT_DOUBLE_EQ(graph::run_sharded(uniform(10, 5, 0.0, 0.0, 0.5, 0.75)), 5.0 * 10.0 * 1.75);
}

TEST(Sharded, Zero2GathersOnceAndReducesEveryMicroBatch) {
  ShardedTimes t = uniform(10, 4, 1.0, 2.0, 0.5, 0.75);
  t.shards_weights = false;
  EXPECT_DOUBLE_EQ(graph::run_sharded(t), 4.0 * 10.0 * 3.0 + 0.5 + 0.75);
  EXPECT_DOUBLE_EQ(graph::sharded_gather_seconds(t), 10.0 * 0.5);
  EXPECT_DOUBLE_EQ(graph::sharded_reduce_seconds(t), 4.0 * 10.0 * 0.75);
  t.shards_weights = true;
  EXPECT_DOUBLE_EQ(graph::sharded_gather_seconds(t), 2.0 * 4.0 * 10.0 * 0.5);
}

TEST(Sharded, StaysBetweenTheBusierStreamAndTheSum) {
  std::mt19937_64 engine(3);
  for (int i = 0; i < 500; ++i) {
    const ShardedTimes t = random_times(engine, 9);
    double compute = 0.0;
    for (const graph::ShardedUnit& unit : t.units) compute += unit.forward + unit.backward;
    compute *= static_cast<double>(t.micro_batches);
    const double wire = graph::sharded_gather_seconds(t) + graph::sharded_reduce_seconds(t);
    const double found = graph::run_sharded(t);
    EXPECT_GE(found, std::max(compute, wire) * (1.0 - 1e-12));
    EXPECT_LE(found, (compute + wire) * (1.0 + 1e-12));
  }
}

TEST(Sharded, CostGrowsWithTheLogarithmOfMicroBatches) {
  const auto m = std::int64_t{1} << 40;
  EXPECT_NEAR(graph::run_sharded(uniform(10, m, 1.0, 2.0, 0.5, 0.75)) / (31.25 * 0x1p40), 1.0,
              1e-12);
}

TEST(Shards, AreConsecutiveRanksAndTheirCopiesAStrideApart) {
  // 32 GPUs, dp 16 x cp 2 on nodes of eight: a node a shard.
  graph::Plan plan = test::on_groups(test::TinySparse{}.make(), {1, 2, 16, 1, 4, 1}, 1);
  plan.parallelism.hsdp_shard = 8;
  ASSERT_TRUE(graph::check(plan, 32).empty());
  const graph::Program program = graph::build_training_step(plan, 8);
  EXPECT_EQ(program.dense_group.size, 32);
  EXPECT_EQ(program.dense_shard.size, 8);
  EXPECT_EQ(program.dense_shard.nodes, 1);
  EXPECT_EQ(program.dense_copies.size, 4);
  EXPECT_EQ(program.dense_copies.nodes, 4);
  // Eight replicas of an expert: two of them share a copy, four copies.
  EXPECT_EQ(program.expert_group.size, 8);
  EXPECT_EQ(program.expert_shard.size, 2);
  EXPECT_EQ(program.expert_copies.size, 4);
  plan.parallelism.hsdp_shard = 0;
  const graph::Program whole = graph::build_training_step(plan, 8);
  EXPECT_EQ(whole.dense_shard.size, 32);
  EXPECT_EQ(whole.dense_copies.size, 1);
  EXPECT_EQ(whole.expert_shard.size, 8);
}

}  // namespace
}  // namespace hysim
