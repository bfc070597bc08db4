// The list of collectives: it adds up to the communication rows, and no bus is faster than its
// links.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/gpu.h"
#include "topology/cluster.h"
#include "unit/predict/scenarios.h"

namespace hysim::predictor {
namespace {

using test::predict_nominal;
using testing::AnyOf;

std::string axis_of(const CollectiveRow& row) {
  const std::string rest = row.path.substr(std::string("communication/").size());
  return rest.substr(0, rest.find('/'));
}

// nccl-tests: busbw is algbw times 2(n-1)/n for all-reduce, (n-1)/n for the others, 1 for messages.
TEST(CollectiveRows, BandwidthsAreThoseOfNcclTests) {
  for (const test::BundledVariant& bundled : test::bundled_variants()) {
    const Prediction p = predict_nominal(bundled.scenario, {}, bundled.variant);
    ASSERT_FALSE(p.collectives.empty()) << bundled.name;
    for (const CollectiveRow& row : p.collectives) {
      const double n = static_cast<double>(row.ranks);
      const double share = (n - 1.0) / n;
      const double factor = row.kind == "all_reduce"  ? 2.0 * share
                            : row.kind == "send_recv" ? 1.0
                                                      : share;
      EXPECT_NEAR(row.busbw / row.algbw, factor, 1e-12) << row.path;
      EXPECT_NEAR(row.algbw.si() * row.time.si() / row.bytes.si(), 1.0, 1e-12) << row.path;
    }
  }
}

// Operations times their bytes and seconds are what the streams sent and how long they were busy.
TEST(CollectiveRows, AddUpToTheCommunicationRows) {
  for (const test::BundledVariant& bundled : test::bundled_variants()) {
    SCOPED_TRACE(bundled.name + " " + bundled.variant);
    const Prediction p = predict_nominal(bundled.scenario, {}, bundled.variant);
    std::map<std::string, double> bytes;
    std::map<std::string, double> seconds;
    for (const CollectiveRow& row : p.collectives) {
      const double count = static_cast<double>(row.count);
      bytes[axis_of(row)] += count * row.busbw.si() * row.time.si();
      seconds[axis_of(row)] += count * row.time.si();
    }
    for (const CommunicationRow& row : p.communication) {
      EXPECT_NEAR(bytes[row.kind] / row.bytes_per_rank.si(), 1.0, 1e-9) << row.kind;
      EXPECT_NEAR(seconds[row.kind] / row.time.si(), 1.0, 1e-9) << row.kind;
    }
    EXPECT_EQ(bytes.size(), p.communication.size());
  }
}

// Sharded state gathers and reduces more often: the rows count as the communication rows do.
TEST(CollectiveRows, CountTheTrafficOfShardedState) {
  for (const std::vector<SetText>& sets : std::vector<std::vector<SetText>>{
           {"parallelism.zero=0"},
           {"parallelism.zero=2"},
           {"parallelism.zero=3"},
           {"parallelism.zero=3", "parallelism.reshard_after_forward=false"},
           {"parallelism.zero=3", "parallelism.hsdp_shard=4"}}) {
    const Prediction p = predict_nominal(test::dense(), sets);
    double bytes = 0.0;
    for (const CollectiveRow& row : p.collectives) {
      if (axis_of(row) == "dp") {
        bytes += static_cast<double>(row.count) * row.busbw.si() * row.time.si();
      }
    }
    ASSERT_EQ(p.communication.size(), 1U);
    EXPECT_NEAR(bytes / p.communication.front().bytes_per_rank.si(), 1.0, 1e-9) << sets.back();
  }
}

// aliyun/SimAI#105. Links: NVLink inside a node (twice when its switch reduces), else the NICs that
// a node's members share; an exchange uses both.
TEST(CollectiveRows, NoBusIsFasterThanItsLinks) {
  for (const test::BundledVariant& bundled : test::bundled_variants()) {
    const Prediction p = predict_nominal(bundled.scenario, {}, bundled.variant);
    const hardware::Gpu gpu =
        hardware::resolve(hardware::load_gpu_profile(test::bundle(), p.gpu), config::Sampler());
    const topology::Network network =
        topology::resolve(topology::load_cluster(test::bundle(), p.cluster), config::Sampler());
    for (const CollectiveRow& row : p.collectives) {
      const double nvlink = gpu.nvlink.value.si();
      const double nic = network.nic.value.si();
      double link = row.nodes == 1 ? nvlink : nic * static_cast<double>(row.per_node);
      if (row.kind == "all_reduce" && row.nodes == 1) link *= 2.0;
      if (row.kind == "send_recv" && row.nodes > 1) link = nic;
      if (row.kind == "all_to_all" || row.kind == "dispatch") link = nvlink + nic;
      EXPECT_LE(row.busbw.si(), link * (1.0 + 1e-9)) << bundled.name << " " << row.path;
    }
  }
}

TEST(CollectiveRows, NameWhatWasChosen) {
  const Prediction p = predict_nominal(test::two_variants());
  for (const CollectiveRow& row : p.collectives) {
    EXPECT_THAT(row.algorithm, AnyOf("ring", "tree", "pairwise", "fused", "point_to_point"));
    EXPECT_EQ(row.protocol.empty(), row.algorithm != "ring" && row.algorithm != "tree");
    EXPECT_GT(row.count, 0);
    // The norm of all 512 GPUs is 8 bytes: a tree, by the protocol of least latency.
    if (row.bytes == Bytes(8.0)) {
      EXPECT_EQ(row.algorithm, "tree");
      EXPECT_EQ(row.protocol, "LL");
    }
  }
  EXPECT_EQ(predict_nominal(test::two_variants(), {"kernels.dispatcher=deepep"})
                .collectives.front()
                .algorithm,
            "fused");
}

}  // namespace
}  // namespace hysim::predictor
