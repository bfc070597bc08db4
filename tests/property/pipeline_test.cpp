// Properties of pipeline schedules: P08 to P12, P26 and P27.
//
// Not expressible by the analytic predictor, for later ones: P13 (zero bubble: backward is not
// split), P20 and P21 (max-min sharing of links: the simulated predictor's engine).
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "graph/schedule.h"
#include "unit/graph/reference_pipeline.h"

namespace hysim {
namespace {

using graph::PipelineTimes;

constexpr double kRounding = 1e-12;

PipelineTimes uniform(std::int64_t p, std::int64_t v, std::int64_t m, double f, double b,
                      double send = 0.0) {
  PipelineTimes times;
  times.pp = p;
  times.vpp = v;
  times.micro_batches = m;
  times.forward.assign(static_cast<std::size_t>(p * v), f / static_cast<double>(v));
  times.backward.assign(static_cast<std::size_t>(p * v), b / static_cast<double>(v));
  times.send = send;
  return times;
}

double makespan(const PipelineTimes& times) { return graph::run_pipeline(times).makespan; }

/// Whole thousandths, so that times are not all alike and failures are readable.
double random_time(std::int64_t low = 1) {
  return static_cast<double>(*rc::gen::inRange<std::int64_t>(low, 20000)) / 1000.0;
}

/// p 1 to 8, v 1 to 4, m 1 to 40 (a multiple of p when interleaved), any times and latency.
PipelineTimes random_pipeline() {
  PipelineTimes times;
  times.pp = *rc::gen::inRange<std::int64_t>(1, 9);
  times.vpp = times.pp == 1 ? 1 : *rc::gen::inRange<std::int64_t>(1, 5);
  times.micro_batches = times.vpp == 1 ? *rc::gen::inRange<std::int64_t>(1, 41)
                                       : times.pp * *rc::gen::inRange<std::int64_t>(1, 6);
  for (std::int64_t i = 0; i < times.pp * times.vpp; ++i) {
    times.forward.push_back(random_time());
    times.backward.push_back(random_time());
  }
  if (*rc::gen::arbitrary<bool>()) times.send = random_time(0);
  return times;
}

double stage_sum(const PipelineTimes& t, const std::vector<double>& of, std::int64_t s) {
  double sum = 0.0;
  for (std::int64_t v = 0; v < t.vpp; ++v) sum += of[static_cast<std::size_t>(v * t.pp + s)];
  return sum;
}

// P08: uniform stages, no latency: makespan = (m + p - 1)(f + b); interleaved m(f + b) +
// (p - 1)(f + b)/v.
RC_GTEST_PROP(P08UniformBubble, ClosedForms, ()) {
  const auto p = *rc::gen::inRange<std::int64_t>(1, 17);
  const auto m = *rc::gen::inRange<std::int64_t>(1, 65);
  const double f = random_time();
  const double b = random_time();
  const double one = static_cast<double>(m + p - 1) * (f + b);
  RC_ASSERT(std::abs(makespan(uniform(p, 1, m, f, b)) - one) <= kRounding * one);
  if (p == 1) return;
  const auto v = *rc::gen::inRange<std::int64_t>(2, 5);
  const auto groups = *rc::gen::inRange<std::int64_t>(1, 6);
  const double ideal = static_cast<double>(groups * p) * (f + b);
  const double bubble = static_cast<double>(p - 1) * (f + b) / static_cast<double>(v);
  const double found = makespan(uniform(p, v, groups * p, f, b));
  RC_ASSERT(std::abs(found - ideal - bubble) <= kRounding * found);
}

// P08: GPipe and 1F1B are identical then.
RC_GTEST_PROP(P08UniformBubble, GpipeIsTheSame, ()) {
  const auto p = *rc::gen::inRange<std::int64_t>(1, 9);
  const auto m = *rc::gen::inRange<std::int64_t>(1, 33);
  const PipelineTimes times = uniform(p, 1, m, random_time(), random_time());
  const double gpipe =
      test::relax(test::gpipe_order(static_cast<std::size_t>(p), static_cast<std::size_t>(m)),
                  times)
          .makespan;
  RC_ASSERT(std::abs(makespan(times) - gpipe) <= kRounding * gpipe);
}

// P09: if every stage time is multiplied by c (and latency 0), makespan is multiplied by c exactly.
RC_GTEST_PROP(P09BubbleCancels, ScalingScalesTheMakespan, ()) {
  PipelineTimes times = random_pipeline();
  times.send = 0.0;
  const double base = makespan(times);
  // By a power of two nothing rounds differently.
  PipelineTimes doubled = times;
  for (double& t : doubled.forward) t *= 8.0;
  for (double& t : doubled.backward) t *= 8.0;
  RC_ASSERT(makespan(doubled) == 8.0 * base);
  const double c = random_time();
  for (double& t : times.forward) t *= c;
  for (double& t : times.backward) t *= c;
  RC_ASSERT(std::abs(makespan(times) - c * base) <= kRounding * c * base);
}

// P10: makespan >= max_s( sum_{i<s} f_i + m(f_s + b_s) + sum_{i<s} b_i ), and >= sum_s(f_s + b_s).
RC_GTEST_PROP(P10LowerBound, EveryStageAndEveryMicroBatch, ()) {
  const PipelineTimes t = random_pipeline();
  const double found = makespan(t);
  const auto m = static_cast<double>(t.micro_batches);
  double before = 0.0;
  double all = 0.0;
  for (std::int64_t s = 0; s < t.pp; ++s) {
    const double own = stage_sum(t, t.forward, s) + stage_sum(t, t.backward, s);
    RC_ASSERT(found >= (before + m * own) * (1.0 - kRounding));
    // The first chunk of each earlier stage fills, and drains, before this one can work.
    before += t.forward[static_cast<std::size_t>(s)] + t.backward[static_cast<std::size_t>(s)];
    all += own;
  }
  RC_ASSERT(found >= all * (1.0 - kRounding));
}

// P11: with fixed op order makespan is non-decreasing in every f_s, b_s, latency and m.
RC_GTEST_PROP(P11Monotone, InEveryTimeTheLatencyAndTheMicroBatches, ()) {
  const PipelineTimes t = random_pipeline();
  const double base = makespan(t) * (1.0 - kRounding);
  const auto chunk = static_cast<std::size_t>(*rc::gen::inRange<std::int64_t>(0, t.pp * t.vpp));
  PipelineTimes longer = t;
  longer.forward[chunk] += random_time();
  RC_ASSERT(makespan(longer) >= base);
  longer = t;
  longer.backward[chunk] += random_time();
  RC_ASSERT(makespan(longer) >= base);
  longer = t;
  longer.send += random_time();
  RC_ASSERT(makespan(longer) >= base);
  longer = t;
  longer.micro_batches += t.vpp == 1 ? 1 : t.pp;
  RC_ASSERT(makespan(longer) >= base);
}

// P11: busy time is independent of the latency: idle = end - m(f + b) only grows with it.
RC_GTEST_PROP(P11Monotone, LatencyOnlyAddsWaiting, ()) {
  PipelineTimes t = random_pipeline();
  const auto m = static_cast<double>(t.micro_batches);
  t.send = 0.0;
  const std::vector<double> without = graph::run_pipeline(t).stage_end;
  t.send = random_time();
  const std::vector<double> with = graph::run_pipeline(t).stage_end;
  for (std::int64_t s = 0; s < t.pp; ++s) {
    const auto i = static_cast<std::size_t>(s);
    const double busy = m * (stage_sum(t, t.forward, s) + stage_sum(t, t.backward, s));
    RC_ASSERT(without[i] >= busy * (1.0 - kRounding));
    RC_ASSERT(with[i] >= without[i] * (1.0 - kRounding));
  }
}

// P12: 1F1B holds min(m, p - s) activations on stage s, interleaved min(mv, 2(p-s-1) + (v-1)p + 1)
// chunks; stage 0 interleaved holds (1 + (p-1)/(pv)) times what 1F1B does when m > p.
RC_GTEST_PROP(P12InFlight, OrdersHoldWhatTheFormulasSay, ()) {
  const auto p = *rc::gen::inRange<std::int64_t>(2, 13);
  const auto v = *rc::gen::inRange<std::int64_t>(1, 6);
  const auto m = p * *rc::gen::inRange<std::int64_t>(1, 6);
  const test::OpOrders orders = test::op_orders(
      static_cast<std::size_t>(p), static_cast<std::size_t>(v), static_cast<std::size_t>(m));
  for (std::int64_t s = 0; s < p; ++s) {
    RC_ASSERT(graph::peak_in_flight(p, v, m, s) ==
              test::reference_in_flight(orders[static_cast<std::size_t>(s)]));
  }
  if (v == 1 || m == p) return;
  const double stages =
      static_cast<double>(graph::peak_in_flight(p, v, m, 0)) / static_cast<double>(v);
  const auto one = static_cast<double>(graph::peak_in_flight(p, 1, m, 0));
  RC_ASSERT(stages >= static_cast<double>(p));
  const double more = 1.0 + static_cast<double>(p - 1) / static_cast<double>(p * v);
  RC_ASSERT(std::abs(stages - one * more) <= kRounding * stages);
}

// P26: p = 1: makespan m(f + b); m = 1: 1F1B = GPipe.
RC_GTEST_PROP(P26Degenerate, OneStageAndOneMicroBatch, ()) {
  const auto m = *rc::gen::inRange<std::int64_t>(1, 5000);
  const double f = random_time();
  const double b = random_time();
  const double serial = static_cast<double>(m) * (f + b);
  RC_ASSERT(std::abs(makespan(uniform(1, 1, m, f, b, random_time())) - serial) <= 1e-11 * serial);
  PipelineTimes one = random_pipeline();
  one.vpp = 1;
  one.micro_batches = 1;
  one.forward.resize(static_cast<std::size_t>(one.pp));
  one.backward.resize(static_cast<std::size_t>(one.pp));
  const double expected = std::accumulate(one.forward.begin(), one.forward.end(), 0.0) +
                          std::accumulate(one.backward.begin(), one.backward.end(), 0.0) +
                          2.0 * static_cast<double>(one.pp - 1) * one.send;
  RC_ASSERT(std::abs(makespan(one) - expected) <= kRounding * expected);
  const double gpipe =
      test::relax(test::gpipe_order(static_cast<std::size_t>(one.pp), 1), one).makespan;
  RC_ASSERT(std::abs(makespan(one) - gpipe) <= kRounding * gpipe);
}

// P26: v = 1 interleaved = 1F1B with 2(p-s-1) forwards to warm up: same makespan for uniform stages
// without latency, not the same in flight.
RC_GTEST_PROP(P26Degenerate, InterleavingOneChunkIsOneForwardOneBackward, ()) {
  const auto p = *rc::gen::inRange<std::int64_t>(2, 9);
  const auto m = p * *rc::gen::inRange<std::int64_t>(2, 6);
  const PipelineTimes times = uniform(p, 1, m, random_time(), random_time());
  const test::OpOrders orders =
      test::interleaved_order(static_cast<std::size_t>(p), 1, static_cast<std::size_t>(m));
  const double found = makespan(times);
  RC_ASSERT(std::abs(test::relax(orders, times).makespan - found) <= kRounding * found);
  RC_ASSERT(test::reference_in_flight(orders.front()) > graph::peak_in_flight(p, 1, m, 0));
}

// P27: tokens/s is non-decreasing in m at fixed f, b; with latency 0 step time is affine in m with
// the slope of the slowest stage for m >= p.
RC_GTEST_PROP(P27Throughput, GrowsWithMicroBatches, ()) {
  PipelineTimes t = random_pipeline();
  std::int64_t step = t.vpp == 1 ? 1 : t.pp;
  const double f = random_time();
  const double b = random_time();
  t = uniform(t.pp, t.vpp, t.micro_batches, f, b);
  const double before = static_cast<double>(t.micro_batches) / makespan(t);
  t.micro_batches += step;
  RC_ASSERT(static_cast<double>(t.micro_batches) / makespan(t) >= before * (1.0 - kRounding));
}

RC_GTEST_PROP(P27Throughput, SlopeIsTheSlowestStageWithoutLatency, ()) {
  PipelineTimes t;
  t.pp = *rc::gen::inRange<std::int64_t>(1, 9);
  double slowest = 0.0;
  for (std::int64_t s = 0; s < t.pp; ++s) {
    // Tenths: stages differ by nothing or enough for the slowest to have caught up below.
    t.forward.push_back(static_cast<double>(*rc::gen::inRange(1, 100)) / 10.0);
    t.backward.push_back(static_cast<double>(*rc::gen::inRange(1, 100)) / 10.0);
    slowest = std::max(slowest, t.forward.back() + t.backward.back());
  }
  t.micro_batches = 20000;
  const double a = makespan(t);
  t.micro_batches += 1000;
  const double found = (makespan(t) - a) / 1000.0;
  RC_ASSERT(std::abs(found - slowest) <= 1e-9 * slowest);
}

// P27: with latency the 1F1B slope is larger than the bottleneck: p 4, f 40, b 80, latency 3 take
// 124.5 a micro-batch from m = 8 to 16 instead of 120, unlike a zero-latency formula.
TEST(P27Throughput, LatencyRaisesTheSlope) {
  const auto slope = [](double send) {
    return (makespan(uniform(4, 1, 16, 40.0, 80.0, send)) -
            makespan(uniform(4, 1, 8, 40.0, 80.0, send))) /
           8.0;
  };
  EXPECT_EQ(slope(3.0), 124.5);
  EXPECT_EQ(slope(0.0), 120.0);
}

}  // namespace
}  // namespace hysim
