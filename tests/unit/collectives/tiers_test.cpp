// Collectives tier by tier: the closed form where bytes dominate, the phases where they do not.
#include <cstdint>

#include <gtest/gtest.h>

#include "collectives/alpha_beta.h"
#include "collectives/collective.h"
#include "config/sourced.h"
#include "hysim/resources.h"

namespace hysim::collectives {
namespace {

hardware::Gpu h100() {
  return hardware::resolve(hardware::load_gpu_profile(embedded_resources(), "h100-sxm-80"), {});
}
topology::Network links() {
  return topology::resolve(topology::load_cluster(embedded_resources(), "h100-512"), {});
}

Collective op_of(Kind kind, const topology::GroupShape& group, double bytes, bool tiered) {
  Collective op;
  op.kind = kind;
  op.group = group;
  op.bytes = Bytes(bytes);
  op.tiered = tiered;
  return op;
}

// 2(g-1)/g n/Bi + 2(N-1)/N (n/g)/Be, Be one NIC less what rings over many nodes lose.
TEST(TieredCollectives, LargeAllReduceIsTheClosedForm) {
  hardware::Gpu gpu = h100();
  gpu.all_gather_busbw.value = gpu.reduce_scatter_busbw.value = BytesPerSecond(400e9);
  topology::Network network = links();
  network.ring_loss_per_doubling.value = 0.0;
  const BytesPerSecond nic = network.nic.value * network.nic_efficiency.value;
  for (const std::int64_t nodes : {2, 8, 64}) {
    const double bytes = 1e14;
    const Seconds expected = hierarchical_all_reduce(8, nodes, Bytes(bytes), Seconds(0.0),
                                                     BytesPerSecond(400e9), Seconds(0.0), nic);
    const CollectiveTime t =
        time(op_of(Kind::all_reduce, {8 * nodes, nodes, 8}, bytes, true), gpu, network);
    EXPECT_EQ(t.algorithm, Algorithm::hierarchical);
    EXPECT_NEAR(t.total() / expected, 1.0, 1e-4) << nodes;
  }
}

TEST(TieredCollectives, AreTheirPhases) {
  const hardware::Gpu gpu = h100();
  const topology::Network network = links();
  for (const double bytes : {1e3, 1e6, 1e9}) {
    const auto plain = [&](Kind kind, const topology::GroupShape& group, double part) {
      return time(op_of(kind, group, part, false), gpu, network).total();
    };
    const auto tiered = [&](Kind kind) {
      return time(op_of(kind, {64, 8, 8}, bytes, true), gpu, network).total();
    };
    const topology::GroupShape node{8, 1, 8};
    const topology::GroupShape rail{8, 8, 1};
    const Seconds scatter = plain(Kind::reduce_scatter, node, bytes);
    const Seconds gather = plain(Kind::all_gather, node, bytes);
    EXPECT_DOUBLE_EQ(tiered(Kind::reduce_scatter).si(),
                     (scatter + plain(Kind::reduce_scatter, rail, bytes / 8.0)).si());
    EXPECT_DOUBLE_EQ(tiered(Kind::all_gather).si(),
                     (gather + plain(Kind::all_gather, rail, bytes / 8.0)).si());
    EXPECT_DOUBLE_EQ(tiered(Kind::all_reduce).si(),
                     (scatter + gather + plain(Kind::all_reduce, rail, bytes / 8.0)).si());
  }
}

// One node, one GPU a node, or an uneven group have no tiers; and small gathers over many nodes
// gain.
TEST(TieredCollectives, NeedSeveralGpusOnSeveralNodes) {
  const hardware::Gpu gpu = h100();
  const topology::Network network = links();
  for (const topology::GroupShape& group :
       {topology::GroupShape{8, 1, 8}, topology::GroupShape{8, 8, 1},
        topology::GroupShape{9, 2, 8}}) {
    EXPECT_EQ(time(op_of(Kind::all_gather, group, 1e6, true), gpu, network).total(),
              time(op_of(Kind::all_gather, group, 1e6, false), gpu, network).total());
  }
  EXPECT_LT(time(op_of(Kind::all_gather, {512, 64, 8}, 1e5, true), gpu, network).total(),
            time(op_of(Kind::all_gather, {512, 64, 8}, 1e5, false), gpu, network).total());
}

}  // namespace
}  // namespace hysim::collectives
