// Counts along a schedule's longest path: whole, and their sum is the schedule's end.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "config/sourced.h"
#include "predict/explain_step.h"

namespace hysim::predictor {
namespace {

graph::PipelineTimes uniform(std::int64_t pp, std::int64_t vpp, std::int64_t micro_batches) {
  graph::PipelineTimes times;
  times.pp = pp;
  times.vpp = vpp;
  times.micro_batches = micro_batches;
  times.forward.assign(static_cast<std::size_t>(pp * vpp), 1.0);
  times.backward.assign(static_cast<std::size_t>(pp * vpp), 2.0);
  return times;
}

double sum(const std::vector<double>& values) {
  double total = 0.0;
  for (const double value : values) total += value;
  return total;
}

TEST(PathCounts, OfEqualStagesAreThoseOfTheClosedForm) {
  // m(f + b) + (p - 1)(f + b): m + p - 1 forwards and as many backwards.
  for (const std::int64_t m : {4, 16, 64, 4096}) {
    const auto counts = path_counts(uniform(4, 1, m));
    ASSERT_EQ(counts.size(), 4U) << m;
    EXPECT_EQ(sum(counts[0].forward), static_cast<double>(m + 3)) << m;
    EXPECT_EQ(sum(counts[0].backward), static_cast<double>(m + 3)) << m;
  }
}

TEST(PathCounts, OneStageRunsAll) {
  const auto counts = path_counts(uniform(1, 1, 7));
  ASSERT_EQ(counts.size(), 1U);
  EXPECT_EQ(counts[0].forward, std::vector<double>{7.0});
  EXPECT_EQ(counts[0].backward, std::vector<double>{7.0});
  EXPECT_EQ(counts[0].send, 0.0);
}

TEST(PathCounts, AddUpToTheEndOfEveryStage) {
  std::uint64_t draw = 0;
  for (const std::int64_t vpp : {1, 2}) {
    for (const std::int64_t pp : {2, 4, 8}) {
      for (int repeat = 0; repeat < 6; ++repeat) {
        graph::PipelineTimes times = uniform(pp, vpp, pp * (repeat + 1));
        // Half of the cases keep ties: times from a few whole numbers.
        const auto next = [&] {
          const double u = config::uniform(7, "path-test", draw++);
          return repeat % 2 == 0 ? 1.0 + u : 1.0 + std::floor(3.0 * u);
        };
        for (double& time : times.forward) time = next();
        for (double& time : times.backward) time = next();
        times.send = repeat < 3 ? 0.0 : 0.25;
        const auto counts = path_counts(times);
        const auto result = graph::run_pipeline(times);
        ASSERT_EQ(counts.size(), static_cast<std::size_t>(pp));
        for (std::size_t s = 0; s < counts.size(); ++s) {
          double end = counts[s].send * times.send;
          for (std::size_t c = 0; c < times.forward.size(); ++c) {
            EXPECT_EQ(counts[s].forward[c], std::floor(counts[s].forward[c]));
            EXPECT_GE(counts[s].forward[c], 0.0);
            EXPECT_LE(counts[s].forward[c], static_cast<double>(times.micro_batches));
            end += counts[s].forward[c] * times.forward[c];
            end += counts[s].backward[c] * times.backward[c];
          }
          EXPECT_NEAR(end, result.stage_end[s], 1e-10 * end);
        }
      }
    }
  }
}

}  // namespace
}  // namespace hysim::predictor
