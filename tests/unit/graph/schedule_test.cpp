// Pipeline schedules against a brute-force scheduler, for random times and for the steady state
// that run_pipeline collapses.
#include "graph/schedule.h"

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "unit/graph/reference_pipeline.h"

namespace hysim {
namespace {

using graph::PipelineResult;
using graph::PipelineTimes;
using test::ReferenceResult;

constexpr double kSame = 1e-9;  // relative

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

PipelineTimes random_times(Random& random, std::int64_t p, std::int64_t v, std::int64_t m) {
  PipelineTimes times;
  times.pp = p;
  times.vpp = v;
  times.micro_batches = m;
  for (std::int64_t i = 0; i < p * v; ++i) {
    times.forward.push_back(random.real(0.1, 10.0));
    times.backward.push_back(random.real(0.1, 20.0));
  }
  times.send = random.integer(0, 2) == 0 ? 0.0 : random.real(0.0, 5.0);
  return times;
}

PipelineTimes uniform_times(std::int64_t p, std::int64_t v, std::int64_t m, double forward,
                            double backward, double send) {
  PipelineTimes times;
  times.pp = p;
  times.vpp = v;
  times.micro_batches = m;
  times.forward.assign(static_cast<std::size_t>(p * v), forward);
  times.backward.assign(static_cast<std::size_t>(p * v), backward);
  times.send = send;
  return times;
}

std::string describe(const PipelineTimes& t) {
  std::string text = "p=" + std::to_string(t.pp) + " v=" + std::to_string(t.vpp) +
                     " m=" + std::to_string(t.micro_batches) + " send=" + std::to_string(t.send);
  for (std::size_t i = 0; i < t.forward.size(); ++i) {
    text += " (" + std::to_string(t.forward[i]) + ", " + std::to_string(t.backward[i]) + ")";
  }
  return text;
}

void expect_same(const PipelineTimes& times) {
  const PipelineResult found = graph::run_pipeline(times);
  const ReferenceResult expected = test::reference_pipeline(times);
  ASSERT_EQ(found.stage_end.size(), expected.stage_end.size());
  EXPECT_NEAR(found.makespan, expected.makespan, kSame * expected.makespan) << describe(times);
  for (std::size_t s = 0; s < found.stage_end.size(); ++s) {
    EXPECT_NEAR(found.stage_end[s], expected.stage_end[s], kSame * expected.makespan)
        << "stage " << s << ": " << describe(times);
  }
}

TEST(OneForwardOneBackward, RandomTimesEqualTheBruteForce) {
  Random random(1);
  for (int i = 0; i < 600; ++i) {
    expect_same(random_times(random, random.integer(1, 9), 1, random.integer(1, 50)));
  }
}

TEST(OneForwardOneBackward, WholeTimesWithTiesAndZerosEqualTheBruteForce) {
  Random random(2);
  for (int i = 0; i < 400; ++i) {
    PipelineTimes times = random_times(random, random.integer(1, 8), 1, random.integer(1, 60));
    for (double& t : times.forward) t = static_cast<double>(random.integer(0, 3));
    for (double& t : times.backward) t = static_cast<double>(random.integer(0, 4));
    times.send = static_cast<double>(random.integer(0, 2));
    expect_same(times);
  }
}

// Far more micro-batches than stages: the collapsed steady state.
TEST(OneForwardOneBackward, SteadyStateOf32768MicroBatchesIsExact) {
  Random random(3);
  for (const std::int64_t p : {1, 2, 3, 4, 6, 8}) {
    for (int i = 0; i < 2; ++i) expect_same(random_times(random, p, 1, 32768));
  }
  expect_same(random_times(random, 16, 1, 32768));
  expect_same(uniform_times(8, 1, 32768, 1.0, 2.0, 0.25));
}

// A stage that is slower by one part in `slowness`, ahead of a later one that starts late: the
// later sets the pace until the earlier has used up its lead, after `slowness` x fill
// micro-batches.
TEST(OneForwardOneBackward, ASlightlySlowerEarlyStageOvertakesLate) {
  for (const double drift : {1e-2, 4e-4, 1e-4, 1e-12}) {
    for (const std::int64_t p : {2, 8}) {
      PipelineTimes times = uniform_times(p, 1, 32768, 1.0, 2.0, 0.0);
      times.forward[0] += drift;
      expect_same(times);
      times.send = 0.125;
      expect_same(times);
      times.backward[static_cast<std::size_t>(p / 2)] += 0.5 * drift;
      expect_same(times);
    }
  }
}

// The overtaking itself: before it the late stage's line, after it the early stage's.
TEST(OneForwardOneBackward, OvertakingTakesPlaceWhereTheLinesCross) {
  // Stage 0 takes 3.001 a micro-batch; stage 7 takes 3 but starts after 7 forwards of 1 and is
  // followed by 7 backwards of 2. The lines 21 + 3m and 3.001 m + ... cross near m = 21000.
  PipelineTimes times = uniform_times(8, 1, 1000, 1.0, 2.0, 0.0);
  times.forward[0] = 1.001;
  const auto slope = [&](std::int64_t m) {
    times.micro_batches = m;
    const double a = graph::run_pipeline(times).makespan;
    times.micro_batches = m + 100;
    return (graph::run_pipeline(times).makespan - a) / 100.0;
  };
  EXPECT_NEAR(slope(100000), 3.001, 1e-9);
  times.micro_batches = 100000;
  EXPECT_NEAR(graph::run_pipeline(times).makespan, test::reference_pipeline(times).makespan,
              kSame * 3e5);
}

TEST(OneForwardOneBackward, RandomDriftsOfThousandsOfMicroBatchesEqualTheBruteForce) {
  Random random(4);
  for (int i = 0; i < 12; ++i) {
    const std::int64_t p = random.integer(2, 6);
    PipelineTimes times = uniform_times(p, 1, random.integer(3000, 20000), 1.0, 2.0, 0.0);
    for (double& t : times.forward) t += random.real(0.0, 2e-3);
    for (double& t : times.backward) t += random.real(0.0, 2e-3);
    times.send = random.integer(0, 1) == 0 ? 0.0 : random.real(0.0, 0.5);
    expect_same(times);
  }
}

TEST(Interleaved, RandomTimesEqualTheBruteForce) {
  Random random(5);
  for (int i = 0; i < 400; ++i) {
    const std::int64_t p = random.integer(2, 8);
    expect_same(random_times(random, p, random.integer(2, 4), p * random.integer(1, 8)));
  }
}

TEST(Interleaved, ThousandsOfMicroBatchesEqualTheBruteForce) {
  Random random(6);
  for (int i = 0; i < 10; ++i) {
    const std::int64_t p = random.integer(2, 6);
    expect_same(random_times(random, p, random.integer(2, 3), p * random.integer(400, 800)));
  }
  expect_same(uniform_times(4, 2, 8192, 1.0, 2.0, 0.0));
  expect_same(uniform_times(4, 2, 8192, 1.0, 2.0, 0.25));
}

// Stages nearly alike drift for hundreds of micro-batches, beyond any fixed window.
TEST(Interleaved, DriftsOfThousandsOfMicroBatchesEqualTheBruteForce) {
  for (const double drift : {1e-2, 1e-3, 1e-4, 1e-6}) {
    PipelineTimes times = uniform_times(4, 2, 8192, 1.0, 2.0, 0.0);
    times.forward[0] += drift;
    expect_same(times);
    times.send = 0.125;
    expect_same(times);
  }
  Random random(7);
  for (int i = 0; i < 8; ++i) {
    const std::int64_t p = random.integer(2, 5);
    PipelineTimes times = uniform_times(p, 2, p * random.integer(400, 1200), 1.0, 2.0, 0.0);
    for (double& t : times.forward) t += random.real(0.0, 2e-3);
    for (double& t : times.backward) t += random.real(0.0, 2e-3);
    times.send = random.integer(0, 1) == 0 ? 0.0 : random.real(0.0, 0.5);
    expect_same(times);
  }
}

TEST(PeakInFlight, EqualsWhatTheOrdersHold) {
  for (std::int64_t p = 1; p <= 9; ++p) {
    for (std::int64_t v = 1; v <= 4; ++v) {
      if (p == 1 && v > 1) continue;
      for (std::int64_t m = 1; m <= 40; ++m) {
        if (v > 1 && m % p != 0) continue;
        const test::OpOrders orders = test::op_orders(
            static_cast<std::size_t>(p), static_cast<std::size_t>(v), static_cast<std::size_t>(m));
        for (std::int64_t s = 0; s < p; ++s) {
          EXPECT_EQ(graph::peak_in_flight(p, v, m, s),
                    test::reference_in_flight(orders[static_cast<std::size_t>(s)]))
              << "p=" << p << " v=" << v << " m=" << m << " s=" << s;
        }
      }
    }
  }
}

}  // namespace
}  // namespace hysim
