// Which leaf goes to which row, and that no time is lost on the way.
#include "report/groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/report/fixture.h"

namespace hysim::report::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

TEST(Groups, NamesTheRowsOfThePredictor) {
  EXPECT_EQ(group_of("selection/scoring/forward"), "Scoring");
  EXPECT_EQ(group_of("selection/score_table/recompute"), "Score table traffic");
  EXPECT_EQ(group_of("selection/topk/forward"), "Top-k");
  EXPECT_EQ(group_of("selection/hytopk/forward"), "HyTopK (fused)");
  EXPECT_EQ(group_of("attention/sparse_forward/recompute"), "Sparse attention fwd");
  EXPECT_EQ(group_of("attention/sparse_backward/backward"), "Sparse attention bwd");
  EXPECT_EQ(group_of("attention/dense_forward/forward"), "Dense attention fwd");
  EXPECT_EQ(group_of("attention/dense_backward/backward"), "Dense attention bwd");
  EXPECT_EQ(group_of("indexer_loss/backward"), "Indexer loss");
  EXPECT_EQ(group_of("linear/router/forward"), "Linear layers");
  EXPECT_EQ(group_of("experts/backward"), "Experts");
  EXPECT_EQ(group_of("elementwise/forward"), "Elementwise");
  EXPECT_EQ(group_of("vocabulary/backward"), "Vocabulary and loss");
  EXPECT_EQ(group_of("communication/ep"), "EP comm");
  EXPECT_EQ(group_of("bubble"), "Pipeline bubble");
  EXPECT_EQ(group_of("optimizer"), "Optimizer");
  EXPECT_EQ(group_of("launch"), "Launch overhead");
}

TEST(Groups, UnknownPartsKeepTheirNames) {
  EXPECT_EQ(group_of("selection/scoringx/forward"), "selection/scoringx");
  EXPECT_EQ(group_of("new_part/kernel/backward"), "new_part/kernel");
  EXPECT_EQ(group_of("forward"), "forward");
  const auto rows =
      grouped({leaf("new_part/kernel/forward", 1.0, "memory"), leaf("launch", 2.0, "launch"),
               leaf("new_part/kernel/backward", 3.0, "memory")},
              TimeKind::critical);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].name, "Launch overhead");
  EXPECT_EQ(rows[1].name, "new_part/kernel");
  EXPECT_EQ(rows[1].time.si(), 4.0);
}

TEST(Groups, SayWhatBindsMostOfTheTime) {
  const auto rows =
      grouped({leaf("experts/forward", 1.0, "tensor"), leaf("experts/backward", 3.0, "memory"),
               leaf("experts/recompute", 0.5, "launch")},
              TimeKind::critical);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].bound_by, "memory");
  EXPECT_EQ(
      grouped({leaf("experts/forward", 2.0, "tensor"), leaf("experts/backward", 3.0, "memory")},
              TimeKind::critical)[0]
          .bound_by,
      "memory, tensor");
}

TEST(Groups, CriticalCommunicationIsExposed) {
  const std::vector<BreakdownLeaf> leaves = {
      leaf("communication/cp", 1.0, "network"),
      leaf("communication/cp", 2.0, "network", TimeKind::overlapped)};
  EXPECT_EQ(grouped(leaves, TimeKind::critical)[0].name, "Exposed CP comm");
  EXPECT_EQ(grouped(leaves, TimeKind::overlapped)[0].name, "CP comm");
}

TEST(Groups, SideBySideKeepsTheOrderOfTheTable) {
  const auto table = side_by_side({hyscale(), tilelang()}, TimeKind::critical);
  EXPECT_THAT(table.names,
              ElementsAre("Scoring", "Score table traffic", "Top-k", "HyTopK (fused)",
                          "Sparse attention fwd", "Sparse attention bwd", "Indexer loss",
                          "Linear layers", "Experts", "Elementwise", "Vocabulary and loss",
                          "Exposed CP comm", "Exposed EP comm", "Exposed PP comm",
                          "Exposed DP comm", "Pipeline bubble", "Optimizer", "Launch overhead"));
  EXPECT_EQ(table.times[0][0].si(), 0.0);
  EXPECT_DOUBLE_EQ(table.times[0][1].si(), 3.84);
}

TEST(Groups, FoldingKeepsTheSum) {
  const std::vector<Prediction> variants = comparison().variants;
  const auto table = folded(side_by_side(variants, TimeKind::critical), variants, 0.0005);
  EXPECT_THAT(table.names, Contains("Other"));
  EXPECT_THAT(table.names, Not(Contains("Launch overhead")));
  EXPECT_THAT(table.names, Not(Contains("Not itemized")));
  for (std::size_t v = 0; v < variants.size(); ++v) {
    double sum = 0.0;
    for (const auto& row : table.times) sum += row[v].si();
    EXPECT_NEAR(sum, variants[v].step_time.value.si(), 1e-9);
  }
}

TEST(Groups, WhatIsNotItemizedIsShown) {
  std::vector<Prediction> variants = {hyscale()};
  variants[0].step_time.value += Seconds(2.0);
  const auto table = folded(side_by_side(variants, TimeKind::critical), variants, 0.0005);
  EXPECT_EQ(table.names.back(), "Not itemized");
  EXPECT_NEAR(table.times.back()[0].si(), 2.0, 1e-9);
}

}  // namespace
}  // namespace hysim::report::test
