// Communication rows: what one rank of the critical stage sends, and how much of it shows.
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/predict/scenarios.h"

namespace hysim::predictor {
namespace {

using test::predict_nominal;
using test::two_variants;
using testing::AnyOf;
using testing::ElementsAre;

const CommunicationRow& row_of(const Prediction& p, const std::string& kind) {
  for (const CommunicationRow& row : p.communication) {
    if (row.kind == kind) return row;
  }
  static const CommunicationRow kNone;
  ADD_FAILURE() << "no row " << kind;
  return kNone;
}

std::vector<std::string> kinds(const Prediction& p) {
  std::vector<std::string> names;
  for (const CommunicationRow& row : p.communication) names.push_back(row.kind);
  return names;
}

double leaf(const Prediction& p, const std::string& path) {
  for (const BreakdownLeaf& l : p.breakdown) {
    if (l.kind == TimeKind::critical && l.path == path) return l.time.value.si();
  }
  return 0.0;
}

TEST(Communication, RowsAreSound) {
  for (const test::BundledVariant& bundled : test::bundled_variants()) {
    const Prediction p = predict_nominal(bundled.scenario, {}, bundled.variant);
    ASSERT_FALSE(p.communication.empty()) << bundled.name;
    for (const CommunicationRow& row : p.communication) {
      EXPECT_THAT(row.kind, AnyOf("tp", "cp", "ep", "pp", "dp"));
      EXPECT_THAT(row.tier, AnyOf("nvlink", "network"));
      EXPECT_GT(row.bytes_per_rank.si(), 0.0) << bundled.name << " " << row.kind;
      EXPECT_GT(row.time.si(), 0.0) << bundled.name << " " << row.kind;
      EXPECT_GE(row.exposed.si(), 0.0) << bundled.name << " " << row.kind;
      EXPECT_LE(row.exposed.si(), row.time.si() * (1.0 + 1e-9)) << bundled.name << " " << row.kind;
    }
  }
}

TEST(Communication, GroupsOfOneSendNothing) {
  EXPECT_THAT(kinds(predict_nominal(test::two_variants())), ElementsAre("cp", "ep", "pp", "dp"));
  EXPECT_THAT(kinds(predict_nominal(test::dense())), ElementsAre("dp"));
  EXPECT_THAT(kinds(predict_nominal(test::dense(), {"parallelism.tp=2", "parallelism.pp=4"})),
              ElementsAre("tp", "pp", "dp"));
}

TEST(Communication, TiersFollowTheRankOrder) {
  // tp-cp-ep-dp-pp on nodes of eight: cp 8 fills a node, experts and stages are beyond it.
  const Prediction p = predict_nominal(test::two_variants());
  EXPECT_EQ(row_of(p, "cp").tier, "nvlink");
  EXPECT_EQ(row_of(p, "ep").tier, "network");
  EXPECT_EQ(row_of(p, "pp").tier, "network");
  const Prediction wide =
      predict_nominal(test::two_variants(), {"parallelism.cp=16", "workload.global_batch_size=64"});
  EXPECT_EQ(row_of(wide, "cp").tier, "network");
  EXPECT_EQ(row_of(predict_nominal(test::dense()), "dp").tier, "nvlink");
}

TEST(Communication, PipelineBytesByHand) {
  // A message: 131072 / 8 tokens x 6144 channels x 2 B. 16 micro-batches; the outer stages send
  // in one direction, the others in two.
  const double message = 131072.0 / 8.0 * 6144.0 * 2.0;
  struct Case {
    const char* layout;
    std::int64_t critical;  // the stage with most to do
    double sends;           // a micro-batch
  };
  for (const Case& c : {Case{"[20,8,8,8,8,8,8,10]", 0, 1.0}, Case{"[8,8,8,20,8,8,8,10]", 3, 2.0},
                        Case{"[8,8,8,8,8,8,10,20]", 7, 1.0}}) {
    const Prediction p =
        predict_nominal(two_variants(), {"parallelism.pipeline_layout=" + std::string(c.layout)});
    EXPECT_EQ(p.critical_stage, c.critical);
    ASSERT_EQ(p.micro_batches, 16);
    EXPECT_NEAR(row_of(p, "pp").bytes_per_rank.si(), 16.0 * c.sends * message, 1.0);
  }
  // Two chunks a stage: each sends forward and backward, but for the ends of the model.
  for (const Case& c : {Case{"[9,4,4,4,4,4,4,4,12,4,4,4,4,4,4,5]", 0, 3.0},
                        Case{"[4,4,4,9,4,4,4,4,4,4,4,12,4,4,4,5]", 3, 4.0},
                        Case{"[4,4,4,4,4,4,4,9,4,4,4,4,4,4,4,13]", 7, 3.0}}) {
    const Prediction p = predict_nominal(
        two_variants(),
        {"parallelism.vpp=2", "parallelism.pipeline_layout=" + std::string(c.layout)});
    EXPECT_EQ(p.critical_stage, c.critical);
    EXPECT_NEAR(row_of(p, "pp").bytes_per_rank.si(), 16.0 * c.sends * message, 1.0);
  }
}

TEST(Communication, DataParallelBytesByHand) {
  // 6,738,415,616 parameters over eight ranks: a reduce-scatter of fp32 gradients and an all-gather
  // of bf16 weights send 7/8 of 6 B each. The norm's all-reduce of 8 B sends 2 x 7/8 of it.
  const double n = 6738415616.0;
  EXPECT_NEAR(row_of(predict_nominal(test::dense()), "dp").bytes_per_rank.si(),
              7.0 / 8.0 * 6.0 * n + 14.0, 1.0);
  // Without ZeRO an all-reduce of the gradients: twice 7/8 of 4 B.
  EXPECT_NEAR(
      row_of(predict_nominal(test::dense(), {"parallelism.zero=0"}), "dp").bytes_per_rank.si(),
      7.0 / 8.0 * 8.0 * n + 14.0, 1.0);
}

TEST(Communication, TheNormAloneStillSends) {
  // Two stages of one rank each: no replicas, but the norm is summed over both.
  const ScenarioText scenario = test::replaced(test::dense(), "h100-sxm-80:1x8", "h100-sxm-80:1x2");
  const Prediction p = predict_nominal(scenario, {"parallelism.pp=2"});
  // An all-reduce of 8 B over two ranks sends 2 x 1/2 of it.
  EXPECT_NEAR(row_of(p, "dp").bytes_per_rank.si(), 8.0, 1e-9);
}

TEST(Communication, ExposedTimeIsTheBreakdowns) {
  for (const test::BundledVariant& bundled : test::bundled_variants()) {
    const Prediction p = predict_nominal(bundled.scenario, {}, bundled.variant);
    for (const CommunicationRow& row : p.communication) {
      const double time = leaf(p, "communication/" + row.kind);
      if (row.kind != "pp" && row.kind != "dp") continue;
      EXPECT_NEAR(row.exposed.si(), time, 1e-9 * p.step_time.value.si()) << row.kind;
    }
  }
}

TEST(Communication, AFewMicroBatchesDoNotExposeMoreThanIsSent) {
  // Filling the pipeline waits for the sends of all stages: that is the bubble's, not this rank's.
  for (const int batch : {8, 16, 32}) {
    const Prediction p = predict_nominal(test::two_variants(),
                                         {"workload.global_batch_size=" + std::to_string(batch)});
    EXPECT_LE(row_of(p, "pp").exposed, row_of(p, "pp").time) << batch;
  }
}

}  // namespace
}  // namespace hysim::predictor
