// Algorithms in the alpha-beta model against the same algorithms stepped message by message.
#include "collectives/alpha_beta.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace hysim::collectives {
namespace {

constexpr Seconds kAlpha(3e-6);
constexpr BytesPerSecond kBeta(50e9);

/// A ring pass: in each of n-1 steps every rank sends one n-th.
double ring_pass_seconds(std::int64_t n, double bytes) {
  double seconds = 0.0;
  for (std::int64_t step = 1; step < n; ++step) {
    seconds += kAlpha.si() + bytes / static_cast<double>(n) / kBeta.si();
  }
  return seconds;
}

TEST(AlphaBetaForms, RingIsItsSteps) {
  for (const std::int64_t n : {1, 2, 3, 8, 100, 512}) {
    for (const double bytes : {0.0, 1.0, 67108864.0}) {
      const double pass = ring_pass_seconds(n, bytes);
      EXPECT_NEAR(ring_all_gather(n, Bytes(bytes)).time(kAlpha, kBeta).si(), pass, 1e-12);
      EXPECT_NEAR(ring_reduce_scatter(n, Bytes(bytes)).time(kAlpha, kBeta).si(), pass, 1e-12);
      EXPECT_NEAR(pairwise_all_to_all(n, Bytes(bytes)).time(kAlpha, kBeta).si(), pass, 1e-12);
      EXPECT_NEAR(ring_all_reduce(n, Bytes(bytes)).time(kAlpha, kBeta).si(), 2.0 * pass, 1e-12);
    }
  }
}

// Halves, quarters, ... exchanged, then back.
TEST(AlphaBetaForms, HalvingDoublingIsItsSteps) {
  for (const std::int64_t n : {1, 2, 4, 64, 512}) {
    double seconds = 0.0;
    double part = 67108864.0;
    for (std::int64_t ranks = n; ranks > 1; ranks /= 2) {
      part /= 2.0;
      seconds += 2.0 * (kAlpha.si() + part / kBeta.si());
    }
    EXPECT_NEAR(halving_doubling_all_reduce(n, Bytes(67108864.0)).time(kAlpha, kBeta).si(), seconds,
                1e-12);
  }
}

// c chunks through a pipeline of d = ceil(log2 n) hops up, and again down.
TEST(AlphaBetaForms, TreeIsItsSteps) {
  for (const std::int64_t n : {2, 3, 5, 8, 9, 64, 100}) {
    std::int64_t depth = 0;
    for (std::int64_t reach = 1; reach < n; reach *= 2) ++depth;
    for (const std::int64_t chunks : {1, 16}) {
      const double message = kAlpha.si() + 67108864.0 / static_cast<double>(chunks) / kBeta.si();
      EXPECT_NEAR(tree_all_reduce(n, Bytes(67108864.0), chunks).time(kAlpha, kBeta).si(),
                  2.0 * static_cast<double>(depth + chunks - 1) * message, 1e-9);
    }
  }
}

TEST(AlphaBetaForms, OneRankCostsNothing) {
  const Bytes bytes(1e9);
  for (const AlphaBeta& cost :
       {ring_all_reduce(1, bytes), ring_all_gather(1, bytes), ring_reduce_scatter(1, bytes),
        halving_doubling_all_reduce(1, bytes), tree_all_reduce(1, bytes, 4),
        pairwise_all_to_all(1, bytes)}) {
    EXPECT_EQ(cost.steps, 0.0);
    EXPECT_EQ(cost.sent.si(), 0.0);
  }
}

// All-reduce is a reduce-scatter and an all-gather; it sends at least as much as either.
TEST(AlphaBetaForms, AllReduceIsReduceScatterAndAllGather) {
  for (const std::int64_t n : {1, 2, 3, 8, 100, 512}) {
    const Bytes bytes(12345678.0);
    const AlphaBeta all = ring_all_reduce(n, bytes);
    const AlphaBeta scatter = ring_reduce_scatter(n, bytes);
    const AlphaBeta gather = ring_all_gather(n, bytes);
    EXPECT_DOUBLE_EQ(all.time(kAlpha, kBeta).si(),
                     (scatter.time(kAlpha, kBeta) + gather.time(kAlpha, kBeta)).si());
    EXPECT_GE(all.sent, max(scatter.sent, gather.sent));
  }
}

TEST(AlphaBetaForms, HalvingDoublingNeverLosesToTheRing) {
  for (const std::int64_t n : {2, 4, 8, 64, 512}) {
    const Bytes bytes(1e6);
    const Seconds ring = ring_all_reduce(n, bytes).time(kAlpha, kBeta);
    const Seconds halving = halving_doubling_all_reduce(n, bytes).time(kAlpha, kBeta);
    EXPECT_LE(halving, ring);
    if (n > 2) {
      EXPECT_LT(halving, ring);
    }
    EXPECT_DOUBLE_EQ(halving_doubling_all_reduce(n, bytes).sent.si(),
                     ring_all_reduce(n, bytes).sent.si());
  }
}

// Without latency the number of chunks is worth (d + c - 1) / c; with latency more chunks of a
// small message only cost.
TEST(AlphaBetaForms, MoreChunksPayOnlyForLargeMessages) {
  const auto tree = [](double bytes, std::int64_t chunks) {
    return tree_all_reduce(8, Bytes(bytes), chunks).time(kAlpha, kBeta);
  };
  EXPECT_LT(tree(1e9, 16), tree(1e9, 1));
  EXPECT_GT(tree(1e3, 16), tree(1e3, 1));
}

TEST(AlphaBetaForms, AffineInBytesAndLatency) {
  const auto time = [](double bytes, double alpha) {
    return ring_all_reduce(64, Bytes(bytes)).time(Seconds(alpha), kBeta).si();
  };
  EXPECT_NEAR(time(3e6, 1e-6) - time(2e6, 1e-6), time(2e6, 1e-6) - time(1e6, 1e-6), 1e-15);
  EXPECT_NEAR(time(1e6, 3e-6) - time(1e6, 2e-6), time(1e6, 2e-6) - time(1e6, 1e-6), 1e-15);
}

// Twice the bandwidth and half the latency everywhere: half the time.
TEST(AlphaBetaForms, HardwareTwiceAsFastTakesHalfTheTime) {
  const Bytes bytes(123456.0);
  const Seconds alpha = kAlpha / 2.0;
  const BytesPerSecond beta = kBeta * 2.0;
  for (const AlphaBeta& cost :
       {ring_all_reduce(12, bytes), ring_all_gather(12, bytes), tree_all_reduce(12, bytes, 5),
        pairwise_all_to_all(12, bytes), point_to_point(bytes)}) {
    EXPECT_DOUBLE_EQ(2.0 * cost.time(alpha, beta).si(), cost.time(kAlpha, kBeta).si());
  }
  const Seconds one = hierarchical_all_reduce(8, 64, bytes, Seconds(1e-6), BytesPerSecond(450e9),
                                              Seconds(5e-6), BytesPerSecond(50e9));
  const Seconds two = hierarchical_all_reduce(8, 64, bytes, Seconds(0.5e-6), BytesPerSecond(900e9),
                                              Seconds(2.5e-6), BytesPerSecond(100e9));
  EXPECT_DOUBLE_EQ(2.0 * two.si(), one.si());
}

// One node, or one GPU a node: the hierarchy is a ring.
TEST(AlphaBetaForms, HierarchyOfOneTierIsTheRing) {
  const Bytes bytes(1e8);
  EXPECT_DOUBLE_EQ(
      hierarchical_all_reduce(8, 1, bytes, kAlpha, kBeta, Seconds(1.0), BytesPerSecond(1.0)).si(),
      ring_all_reduce(8, bytes).time(kAlpha, kBeta).si());
  EXPECT_DOUBLE_EQ(
      hierarchical_all_reduce(1, 16, bytes, Seconds(1.0), BytesPerSecond(1.0), kAlpha, kBeta).si(),
      ring_all_reduce(16, bytes).time(kAlpha, kBeta).si());
}

}  // namespace
}  // namespace hysim::collectives
