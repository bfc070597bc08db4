// The schedules beside 1F1B and Megatron's default interleaving: groups of micro-batches, breadth
// first, GPipe and ZB-H1, against a scheduler that runs their op orders one op at a time.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "graph/schedule.h"

namespace hysim {
namespace {

using graph::PipelineResult;
using graph::PipelineTimes;
using graph::Schedule;

enum class Pass { forward, backward, weight };
struct Op {
  Pass pass = Pass::forward;
  std::int64_t chunk = 0;
  std::int64_t micro_batch = 0;
};
using Order = std::vector<Op>;

/// Megatron-LM's schedule table: every group of micro-batches visits every chunk in turn.
Order interleaved(const PipelineTimes& t, std::int64_t stage, std::int64_t group) {
  Order forwards;
  Order backwards;
  for (std::int64_t begin = 0; begin < t.micro_batches; begin += group) {
    for (std::int64_t chunk = 0; chunk < t.vpp; ++chunk) {
      for (std::int64_t j = begin; j < std::min(begin + group, t.micro_batches); ++j) {
        forwards.push_back({Pass::forward, chunk, j});
        backwards.push_back({Pass::backward, t.vpp - 1 - chunk, j});
      }
    }
  }
  const std::size_t warm_up = std::min(
      static_cast<std::size_t>(2 * (t.pp - 1 - stage) + (t.vpp - 1) * group), forwards.size());
  Order order(forwards.begin(), forwards.begin() + static_cast<std::ptrdiff_t>(warm_up));
  for (std::size_t i = 0; i < forwards.size(); ++i) {
    if (warm_up + i < forwards.size()) order.push_back(forwards[warm_up + i]);
    order.push_back(backwards[i]);
  }
  return order;
}

Order gpipe(const PipelineTimes& t) {
  Order order;
  for (const Pass pass : {Pass::forward, Pass::backward}) {
    for (std::int64_t j = 0; j < t.micro_batches; ++j) order.push_back({pass, 0, j});
  }
  return order;
}

/// ZB-H1: 1F1B, but stage s runs its first weight gradient after its s-th backward.
Order zb_h1(const PipelineTimes& t, std::int64_t stage) {
  const std::int64_t m = t.micro_batches;
  const std::int64_t warm_up = std::min(m, t.pp - 1 - stage);
  Order order;
  for (std::int64_t j = 0; j < warm_up; ++j) order.push_back({Pass::forward, 0, j});
  for (std::int64_t k = 0; k < m; ++k) {
    if (warm_up + k < m) order.push_back({Pass::forward, 0, warm_up + k});
    order.push_back({Pass::backward, 0, k});
    if (k >= stage) order.push_back({Pass::weight, 0, k - stage});
  }
  for (std::int64_t k = std::max<std::int64_t>(0, m - stage); k < m; ++k) {
    order.push_back({Pass::weight, 0, k});
  }
  return order;
}

Order order_of(const PipelineTimes& t, std::int64_t stage) {
  switch (t.schedule) {
    case Schedule::gpipe:
      return gpipe(t);
    case Schedule::zb_h1:
      return zb_h1(t, stage);
    case Schedule::breadth_first:
      return interleaved(t, stage, t.micro_batches);
    case Schedule::one_f_one_b:
    case Schedule::interleaved:
      break;
  }
  return interleaved(t, stage, t.group > 0 ? t.group : t.pp);
}

/// Runs every stage's ops in order, each when its input is there.
class Runner {
 public:
  explicit Runner(const PipelineTimes& t) : t_(t) {}

  PipelineResult run() {
    const auto p = static_cast<std::size_t>(t_.pp);
    std::vector<Order> orders;
    for (std::int64_t s = 0; s < t_.pp; ++s) orders.push_back(order_of(t_, s));
    std::vector<std::size_t> next(p, 0);
    std::vector<double> free(p, 0.0);
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t s = 0; s < p; ++s) {
        double ready = 0.0;
        while (next[s] < orders[s].size() &&
               input(orders[s][next[s]], static_cast<std::int64_t>(s), ready)) {
          const Op& op = orders[s][next[s]++];
          const std::int64_t virtual_stage = op.chunk * t_.pp + static_cast<std::int64_t>(s);
          free[s] = std::max(free[s], ready) + duration(op, virtual_stage);
          ends_[{op.pass, virtual_stage, op.micro_batch}] = free[s];
          progress = true;
        }
      }
    }
    for (std::size_t s = 0; s < p; ++s) EXPECT_EQ(next[s], orders[s].size()) << "deadlock";
    return {*std::max_element(free.begin(), free.end()), free};
  }

 private:
  double duration(const Op& op, std::int64_t virtual_stage) const {
    const auto i = static_cast<std::size_t>(virtual_stage);
    if (op.pass == Pass::weight) return t_.weight[i];
    return op.pass == Pass::forward ? t_.forward[i] : t_.backward[i];
  }
  bool input(const Op& op, std::int64_t stage, double& ready) const {
    const std::int64_t here = op.chunk * t_.pp + stage;
    ready = 0.0;
    switch (op.pass) {
      case Pass::forward:
        return here == 0 || read({Pass::forward, here - 1, op.micro_batch}, t_.send, ready);
      case Pass::backward:
        return here + 1 == t_.pp * t_.vpp
                   ? read({Pass::forward, here, op.micro_batch}, 0.0, ready)
                   : read({Pass::backward, here + 1, op.micro_batch}, t_.send, ready);
      case Pass::weight:
        return read({Pass::backward, here, op.micro_batch}, 0.0, ready);
    }
    return false;
  }
  using Key = std::tuple<Pass, std::int64_t, std::int64_t>;
  bool read(const Key& key, double send, double& ready) const {
    const auto found = ends_.find(key);
    if (found == ends_.end()) return false;
    ready = found->second + send;
    return true;
  }

  const PipelineTimes& t_;
  std::map<Key, double> ends_;
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  double real(double low, double high) {
    return low + (high - low) * (static_cast<double>(engine_() >> 11) * 0x1.0p-53);
  }

 private:
  std::mt19937_64 engine_;
};

PipelineTimes times_of(Random& random, Schedule schedule, std::int64_t p, std::int64_t v,
                       std::int64_t m, std::int64_t group = 0) {
  PipelineTimes t;
  t.schedule = schedule;
  t.pp = p;
  t.vpp = v;
  t.micro_batches = m;
  t.group = group;
  for (std::int64_t i = 0; i < p * v; ++i) {
    t.forward.push_back(random.real(0.1, 10.0));
    t.backward.push_back(random.real(0.1, 20.0));
    if (schedule == Schedule::zb_h1) t.weight.push_back(random.real(0.0, 15.0));
  }
  t.send = random.integer(0, 2) == 0 ? 0.0 : random.real(0.0, 5.0);
  return t;
}

PipelineTimes uniform(Schedule schedule, std::int64_t p, std::int64_t v, std::int64_t m, double f,
                      double b, double w = 0.0) {
  PipelineTimes t;
  t.schedule = schedule;
  t.pp = p;
  t.vpp = v;
  t.micro_batches = m;
  t.forward.assign(static_cast<std::size_t>(p * v), f);
  t.backward.assign(static_cast<std::size_t>(p * v), b);
  if (schedule == Schedule::zb_h1) t.weight.assign(static_cast<std::size_t>(p), w);
  return t;
}

void expect_as_run(const PipelineTimes& t) {
  const PipelineResult found = graph::run_pipeline(t);
  const PipelineResult expected = Runner(t).run();
  ASSERT_EQ(found.stage_end.size(), expected.stage_end.size());
  EXPECT_NEAR(found.makespan, expected.makespan, 1e-9 * expected.makespan);
  for (std::size_t s = 0; s < found.stage_end.size(); ++s) {
    EXPECT_NEAR(found.stage_end[s], expected.stage_end[s], 1e-9 * expected.makespan)
        << "stage " << s << " of " << t.pp << ", v " << t.vpp << ", m " << t.micro_batches
        << ", group " << t.group;
  }
}

TEST(ScheduleOrders, GpipeEqualsItsOrder) {
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    expect_as_run(
        times_of(random, Schedule::gpipe, random.integer(1, 8), 1, random.integer(1, 40)));
  }
}

TEST(ScheduleOrders, ZbH1EqualsItsOrder) {
  Random random(2);
  for (int i = 0; i < 500; ++i) {
    expect_as_run(
        times_of(random, Schedule::zb_h1, random.integer(1, 9), 1, random.integer(1, 50)));
  }
}

TEST(ScheduleOrders, GroupsEqualTheirOrder) {
  Random random(3);
  int partial = 0;
  for (int i = 0; i < 400; ++i) {
    const std::int64_t p = random.integer(2, 6);
    const std::int64_t group = p + random.integer(0, 6);
    // The last group is empty or fills the pipeline.
    const std::int64_t rest = random.integer(0, 1) == 0 ? 0 : random.integer(p, group) % group;
    partial += rest > 0 ? 1 : 0;
    expect_as_run(times_of(random, Schedule::interleaved, p, random.integer(2, 4),
                           group * random.integer(1, 6) + rest, group));
  }
  EXPECT_GT(partial, 50);
}

TEST(ScheduleOrders, BreadthFirstEqualsItsOrder) {
  Random random(4);
  for (int i = 0; i < 200; ++i) {
    const std::int64_t p = random.integer(2, 6);
    expect_as_run(
        times_of(random, Schedule::breadth_first, p, random.integer(2, 4), random.integer(p, 30)));
  }
}

// Far more micro-batches than stages: the collapsed steady state, drifts of a part in thousands
// included.
TEST(ScheduleOrders, ThousandsOfMicroBatchesEqualTheOrders) {
  Random random(5);
  for (int i = 0; i < 3; ++i) {
    const std::int64_t p = random.integer(2, 5);
    expect_as_run(times_of(random, Schedule::zb_h1, p, 1, random.integer(1000, 2000)));
    PipelineTimes drifting = uniform(Schedule::zb_h1, p, 1, 2000, 1.0, 1.0, 0.75);
    for (double& time : drifting.forward) time += random.real(0.0, 2e-3);
    for (double& time : drifting.weight) time += random.real(0.0, 2e-3);
    expect_as_run(drifting);
    const std::int64_t group = p + 3;
    expect_as_run(times_of(random, Schedule::interleaved, p, 2, 100 * group + group - 1, group));
  }
}

TEST(ScheduleOrders, ManyMicroBatchesCostNoMoreThanAFew) {
  // As many as 2^24 run in the time of a few: stepping through them would take seconds.
  for (const Schedule schedule : {Schedule::zb_h1, Schedule::gpipe}) {
    const std::int64_t m = std::int64_t{1} << 24;
    const PipelineTimes t = uniform(schedule, 4, 1, m, 1.0, 1.0, 1.0);
    const double work = schedule == Schedule::zb_h1 ? 3.0 : 2.0;
    const double bubble = schedule == Schedule::zb_h1 ? 3.0 : 6.0;
    EXPECT_NEAR(graph::run_pipeline(t).makespan, work * static_cast<double>(m) + bubble,
                1e-9 * static_cast<double>(m));
  }
}

TEST(ScheduleOrders, InFlightIsWhatTheOrdersHold) {
  Random random(6);
  for (const Schedule schedule : {Schedule::one_f_one_b, Schedule::interleaved,
                                  Schedule::breadth_first, Schedule::gpipe, Schedule::zb_h1}) {
    for (std::int64_t p = 2; p <= 6; ++p) {
      for (std::int64_t m = p; m <= 4 * p; ++m) {
        const bool chunks =
            schedule == Schedule::interleaved || schedule == Schedule::breadth_first;
        if (schedule == Schedule::interleaved && m % (p + 1) != 0) continue;
        if (schedule == Schedule::one_f_one_b) continue;  // schedule_test.cpp
        PipelineTimes t = times_of(random, schedule, p, chunks ? 3 : 1, m, p + 1);
        for (std::int64_t s = 0; s < p; ++s) {
          std::int64_t alive = 0;
          std::int64_t waiting = 0;
          std::int64_t most_alive = 0;
          std::int64_t most_waiting = 0;
          std::int64_t most_held = 0;
          for (const Op& op : order_of(t, s)) {
            // What waits beside the backward that runs.
            if (op.pass == Pass::backward) most_waiting = std::max(most_waiting, waiting);
            alive += op.pass == Pass::forward ? 1 : op.pass == Pass::backward ? -1 : 0;
            if (schedule == Schedule::zb_h1) {
              waiting += op.pass == Pass::backward ? 1 : op.pass == Pass::weight ? -1 : 0;
            }
            most_alive = std::max(most_alive, alive);
            most_held = std::max(most_held, alive + waiting);
          }
          EXPECT_EQ(graph::peak_in_flight(t, s), most_alive) << p << " " << m << " " << s;
          EXPECT_EQ(graph::peak_waiting_weights(t, s), most_waiting) << p << " " << m << " " << s;
          // The memory of 1F1B: no stage holds more than the first one of 1F1B does.
          EXPECT_TRUE(schedule != Schedule::zb_h1 || most_held <= std::min(m, p));
        }
      }
    }
  }
}

// m(F + B + W) + (p - 1)(F + B - W): Qi et al. 2024, table 1; the last rows are optima found by
// exhaustive search over all orders with at most p activations a stage.
TEST(ScheduleOrders, ZbH1TakesWhatItsPaperSays) {
  struct Row {
    std::int64_t p, m;
    double f, b, w, makespan;
  };
  for (const Row& r :
       {Row{4, 8, 1, 1, 1, 27}, Row{8, 16, 1, 1, 1, 55}, Row{8, 32, 1, 1, 1, 103},
        Row{8, 32, 10, 11, 9, 1044}, Row{4, 12, 10, 12, 8, 402}, Row{2, 8, 1, 1, 1, 25},
        Row{3, 6, 1, 1, 1, 20}, Row{4, 5, 1, 1, 1, 18}, Row{2, 4, 2, 2, 1, 23},
        Row{2, 3, 2, 3, 1, 22}, Row{3, 3, 1, 2, 1, 16}, Row{3, 3, 2, 2, 1, 21}}) {
    EXPECT_EQ(graph::run_pipeline(uniform(Schedule::zb_h1, r.p, 1, r.m, r.f, r.b, r.w)).makespan,
              r.makespan)
        << "p " << r.p << " m " << r.m;
  }
}

TEST(ScheduleOrders, UniformClosedForms) {
  // GPipe and 1F1B: (m + p - 1)(f + b); interleaved, whatever the group: m(f + b) + (p - 1)(f +
  // b)/v.
  EXPECT_EQ(graph::run_pipeline(uniform(Schedule::gpipe, 4, 1, 8, 1.0, 2.0)).makespan, 33.0);
  EXPECT_EQ(graph::run_pipeline(uniform(Schedule::gpipe, 16, 1, 64, 3.0, 5.0)).makespan, 632.0);
  for (const std::int64_t group : {4, 6, 8, 12, 24}) {
    PipelineTimes t = uniform(Schedule::interleaved, 4, 2, 24, 0.5, 1.0);
    t.group = group;
    EXPECT_EQ(graph::run_pipeline(t).makespan, 24.0 * 3.0 + 3.0 * 3.0 / 2.0) << group;
  }
  EXPECT_EQ(graph::run_pipeline(uniform(Schedule::breadth_first, 4, 2, 24, 0.5, 1.0)).makespan,
            24.0 * 3.0 + 3.0 * 3.0 / 2.0);
}

}  // namespace
}  // namespace hysim
