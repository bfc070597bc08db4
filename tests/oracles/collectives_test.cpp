// Collective algorithms against exact fractions and decimals of the alpha-beta model.
#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "collectives/alpha_beta.h"
#include "collectives/collective.h"
#include "oracles/figures.h"

namespace hysim {
namespace {

using namespace collectives;
using config::Node;
using test::fraction;
using test::member;
using test::number;
using test::whole;

const Node& figures() {
  static const Node node = test::read_figures("collectives");
  return node;
}

double us(Seconds seconds) { return seconds.si() * 1e6; }
Seconds micro(double microseconds) { return Seconds(microseconds * 1e-6); }

TEST(CollectivesOracle, ExactFractions) {
  for (const Node& row : member(figures(), "exact").as_array()) {
    const std::int64_t n = whole(row, "n");
    const Bytes bytes(number(row, "bytes"));
    const Seconds alpha = micro(number(row, "alpha_us"));
    const BytesPerSecond beta(number(row, "bytes_per_us") * 1e6);
    const auto expect = [&](std::string_view key, const AlphaBeta& cost) {
      EXPECT_NEAR(us(cost.time(alpha, beta)) / fraction(row, key), 1.0, 1e-12)
          << key << ", " << n << " ranks";
    };
    expect("ring_all_reduce", ring_all_reduce(n, bytes));
    expect("ring_all_gather", ring_all_gather(n, bytes));
    expect("ring_reduce_scatter", ring_reduce_scatter(n, bytes));
    expect("halving_doubling", halving_doubling_all_reduce(n, bytes));
    expect("tree", tree_all_reduce(n, bytes, 1));
    expect("tree_16_chunks", tree_all_reduce(n, bytes, 16));
    expect("all_to_all", pairwise_all_to_all(n, bytes));
  }
}

TEST(CollectivesOracle, Hierarchical) {
  for (const Node& row : member(figures(), "hierarchical").as_array()) {
    const Seconds time =
        hierarchical_all_reduce(whole(row, "per_node"), whole(row, "nodes"),
                                Bytes(number(row, "bytes")), micro(number(row, "alpha_inside_us")),
                                BytesPerSecond(number(row, "inside_bytes_per_us") * 1e6),
                                micro(number(row, "alpha_across_us")),
                                BytesPerSecond(number(row, "across_bytes_per_us") * 1e6));
    EXPECT_NEAR(us(time) / fraction(row, "time"), 1.0, 1e-12);
  }
}

// n = 64 MiB, 50 GB/s.
TEST(CollectivesOracle, Decimals) {
  const Bytes bytes(67108864.0);
  const BytesPerSecond beta(50e9);
  for (const Node& row : member(figures(), "decimal").as_array()) {
    const std::int64_t n = whole(row, "n");
    const Seconds alpha = micro(number(row, "alpha_us"));
    constexpr double kPrinted = 6e-6;
    EXPECT_NEAR(us(ring_all_reduce(n, bytes).time(alpha, beta)), number(row, "ring_all_reduce"),
                kPrinted);
    EXPECT_NEAR(us(halving_doubling_all_reduce(n, bytes).time(alpha, beta)),
                number(row, "halving_doubling"), kPrinted);
    EXPECT_NEAR(us(pairwise_all_to_all(n, bytes).time(alpha, beta)), number(row, "all_to_all"),
                kPrinted);
  }
}

// 64 nodes of 8, 64 MiB, 450 GB/s and 1 us inside, 50 GB/s and 5 us across: 274.97892 us inside,
// 960.30144 us across; a flat ring with 5 us everywhere takes 7789.11168 us.
TEST(CollectivesOracle, HierarchyAgainstTheFlatRing) {
  const Bytes bytes(67108864.0);
  const BytesPerSecond inside(450e9);
  const BytesPerSecond across(50e9);
  const Seconds whole_time =
      hierarchical_all_reduce(8, 64, bytes, micro(1.0), inside, micro(5.0), across);
  EXPECT_NEAR(us(whole_time), 1235.28036, 6e-6);
  EXPECT_NEAR(us(ring_all_reduce(8, bytes).time(micro(1.0), inside)), 274.97892, 6e-6);
  EXPECT_NEAR(us(ring_all_reduce(64, bytes / 8.0).time(micro(5.0), across)), 960.30144, 6e-6);
  EXPECT_NEAR(us(ring_all_reduce(512, bytes).time(micro(5.0), across)), 7789.11168, 6e-6);
}

// 8 ranks, 100 MB, 50 GB/s: ring and direct all-reduce both carry 2 x 7/8 x 100e6 / 50e9 = 3.5 ms;
// only their latencies differ (astra-sim#296). Halving the bandwidth doubles it (astra-sim#207).
TEST(CollectivesOracle, AlgorithmsDifferInLatencyOnly) {
  const Bytes bytes(100e6);
  for (const AlphaBeta& cost : {ring_all_reduce(8, bytes), halving_doubling_all_reduce(8, bytes)}) {
    EXPECT_NEAR(us(cost.time(Seconds(0.0), BytesPerSecond(50e9))), 3500.0, 1e-9);
    EXPECT_NEAR(us(cost.time(Seconds(0.0), BytesPerSecond(25e9))), 7000.0, 1e-9);
  }
  // 14 steps of 10 ns against 6.
  EXPECT_EQ(ring_all_reduce(8, bytes).steps, 14.0);
  EXPECT_EQ(halving_doubling_all_reduce(8, bytes).steps, 6.0);
}

// Identities for many sizes: all-reduce is reduce-scatter and all-gather and sends twice as much
// (aliyun/SimAI#147); one rank costs nothing; the exchange sends what a gather does.
TEST(CollectivesOracle, Identities) {
  const Seconds alpha = micro(4.0);
  const BytesPerSecond beta(48.5e9);
  for (std::int64_t n = 1; n <= 600; n += n < 20 ? 1 : 37) {
    for (const double size : {1.0, 3000.0, 1e6, 268435456.0}) {
      const Bytes bytes(size);
      const double share = size * static_cast<double>(n - 1) / static_cast<double>(n);
      EXPECT_NEAR(ring_all_gather(n, bytes).sent.si(), share, 1e-9 * size);
      EXPECT_NEAR(ring_all_reduce(n, bytes).sent.si(), 2.0 * share, 1e-9 * size);
      EXPECT_NEAR(pairwise_all_to_all(n, bytes).sent.si(), share, 1e-9 * size);
      EXPECT_DOUBLE_EQ(us(ring_all_reduce(n, bytes).time(alpha, beta)),
                       us(ring_reduce_scatter(n, bytes).time(alpha, beta) +
                          ring_all_gather(n, bytes).time(alpha, beta)));
      if (n == 1) {
        EXPECT_EQ(us(ring_all_reduce(n, bytes).time(alpha, beta)), 0.0);
      }
    }
  }
}

}  // namespace
}  // namespace hysim
