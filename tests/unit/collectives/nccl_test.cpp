// Latencies against NCCL's tuning table worked out by hand (NVIDIA/nccl src/graph/tuning.cc
// @5067397c, Hopper): nodes of eight, microseconds.
#include "collectives/nccl.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace hysim::collectives {
namespace {

using topology::GroupShape;

double us(Seconds seconds) { return seconds.si() * 1e6; }

TEST(NcclLatencies, EqualTheTunersTable) {
  struct Row {
    std::int64_t ranks, nodes;
    double tree_ll, tree_ll128, tree_simple;
    double ring_ll, ring_simple;              // all-reduce
    double pass_ll, pass_ll128, pass_simple;  // all-gather, reduce-scatter
  };
  for (const Row& row :
       std::vector<Row>{{8, 1, 15.2, 31.5, 64.4, 15.0, 56.0, 10.8, 27.3, 32.2},
                        {16, 2, 25.2, 48.5, 92.4, 40.0, 184.2, 23.3, 44.6, 70.0},
                        {64, 8, 45.2, 82.5, 148.4, 156.4, 819.3, 81.5, 148.4, 296.8},
                        {128, 16, 55.2, 99.5, 176.4, 311.6, 1666.0, 159.1, 286.8, 599.2},
                        {256, 32, 65.2, 116.5, 204.4, 622.0, 3359.4, 314.3, 563.6, 1204.0},
                        {512, 64, 75.2, 133.5, 232.4, 1242.8, 6746.3, 624.7, 1117.2, 2413.6}}) {
    const GroupShape group{row.ranks, row.nodes, 8};
    constexpr double kPrinted = 0.1;
    EXPECT_NEAR(us(tree_latency(group, Protocol::ll)), row.tree_ll, kPrinted) << row.ranks;
    EXPECT_NEAR(us(tree_latency(group, Protocol::ll128)), row.tree_ll128, kPrinted) << row.ranks;
    EXPECT_NEAR(us(tree_latency(group, Protocol::simple)), row.tree_simple, kPrinted) << row.ranks;
    EXPECT_NEAR(us(ring_latency(group, Protocol::ll, 2)), row.ring_ll, kPrinted) << row.ranks;
    EXPECT_NEAR(us(ring_latency(group, Protocol::simple, 2)), row.ring_simple, kPrinted)
        << row.ranks;
    EXPECT_NEAR(us(ring_latency(group, Protocol::ll, 1)), row.pass_ll, kPrinted) << row.ranks;
    EXPECT_NEAR(us(ring_latency(group, Protocol::ll128, 1)), row.pass_ll128, kPrinted) << row.ranks;
    EXPECT_NEAR(us(ring_latency(group, Protocol::simple, 1)), row.pass_simple, kPrinted)
        << row.ranks;
  }
  // The table gives LL128 of the all-reduce ring for the two smallest.
  EXPECT_NEAR(us(ring_latency({8, 1, 8}, Protocol::ll128, 2)), 40.6, 0.1);
  EXPECT_NEAR(us(ring_latency({16, 2, 8}, Protocol::ll128, 2)), 75.2, 0.1);
  EXPECT_NEAR(us(ring_latency({64, 8, 8}, Protocol::ll128, 2)), 282.8, 0.1);
}

// 25 us and, by node count, the table's NVLSTree.
TEST(NcclLatencies, NvlsEqualsTheTunersTable) {
  EXPECT_NEAR(us(nvls_latency(1)), 25.0, 1e-9);
  const double table[] = {66.8, 150.4, 192.2, 234.0, 275.8};
  const std::int64_t nodes[] = {2, 8, 16, 32, 64};
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(us(nvls_latency(nodes[i])), table[i], 0.1) << nodes[i];
}

// One rank a node on 64 nodes: 0.18 ms (LL) to 0.89 ms (Simple) before any bandwidth.
TEST(NcclLatencies, OneRankANodeHopsOverTheNetworkOnly) {
  const GroupShape group{64, 64, 1};
  EXPECT_NEAR(us(ring_latency(group, Protocol::simple, 1)), 8.4 + 63.0 * 14.0, 1e-9);
  EXPECT_NEAR(us(ring_latency(group, Protocol::ll, 1)), 6.6 + 63.0 * 2.7, 1e-9);
  EXPECT_NEAR(us(tree_latency(group, Protocol::ll)), 6.8 + 2.0 * 6.0 * 5.0, 1e-9);
}

TEST(NcclLatencies, GrowWithRanksAndNodes) {
  for (const Protocol protocol : kProtocols) {
    for (const int passes : {1, 2}) {
      Seconds before(0.0);
      for (const std::int64_t nodes : {1, 2, 4, 8, 16, 32, 64, 128}) {
        const Seconds latency = ring_latency({nodes * 8, nodes, 8}, protocol, passes);
        EXPECT_GT(latency, before) << to_string(protocol) << " " << nodes;
        before = latency;
      }
      EXPECT_LT(ring_latency({8, 1, 8}, protocol, passes),
                ring_latency({8, 2, 4}, protocol, passes));
    }
    EXPECT_LT(tree_latency({64, 8, 8}, protocol), tree_latency({128, 16, 8}, protocol));
  }
}

TEST(NcclLatencies, OneRankCostsNothing) {
  for (const Protocol protocol : kProtocols) {
    EXPECT_EQ(ring_latency({1, 1, 1}, protocol, 1).si(), 0.0);
    EXPECT_EQ(ring_latency({1, 1, 1}, protocol, 2).si(), 0.0);
    EXPECT_EQ(tree_latency({1, 1, 1}, protocol).si(), 0.0);
  }
}

// LL sends a flag with every word and reaches half the ring; LL128 15 of 16 of a line, tuned to
// 0.92; Simple all of it. Hopper caps LL at 141/45/35 GB/s on 1/2/4 and more nodes.
TEST(NcclBandwidths, OfProtocols) {
  EXPECT_DOUBLE_EQ(ring_bandwidth_factor(Protocol::ll), 0.5);
  EXPECT_DOUBLE_EQ(ring_bandwidth_factor(Protocol::ll128), 0.92);
  EXPECT_DOUBLE_EQ(ring_bandwidth_factor(Protocol::simple), 1.0);
  EXPECT_DOUBLE_EQ(low_latency_cap("hopper", 1).si(), 141e9);
  EXPECT_DOUBLE_EQ(low_latency_cap("hopper", 2).si(), 45e9);
  EXPECT_DOUBLE_EQ(low_latency_cap("hopper", 4).si(), 35e9);
  EXPECT_DOUBLE_EQ(low_latency_cap("hopper", 64).si(), 35e9);
  EXPECT_DOUBLE_EQ(low_latency_cap("ampere", 2).si(), 22.5e9);
  EXPECT_DOUBLE_EQ(low_latency_cap("blackwell-ultra", 1).si(), 282e9);
}

TEST(NcclLatencies, PointToPointIsOneSimpleHop) {
  EXPECT_NEAR(us(hop_latency(false)), 8.4 + 3.4, 1e-9);
  EXPECT_NEAR(us(hop_latency(true)), 8.4 + 14.0, 1e-9);
}

}  // namespace
}  // namespace hysim::collectives
