#include "graph/scale.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/program.h"
#include "unit/graph/plans.h"

namespace hysim::graph {
namespace {

Plan plan() {
  Plan result = test::on_groups(test::TinySparse{}.make(), {.tp = 2, .cp = 2, .dp = 2, .pp = 2});
  result.training.mtp_num_layers = 1;
  result.training.indexer_loss = IndexerLoss::sparse;
  result.training.recompute = Recompute::full;
  return result;
}

TEST(Scale, NamesAreUniqueAndFamiliesHoldOthers) {
  std::set<std::string_view> seen;
  for (const ScaleName& name : scale_names()) {
    EXPECT_TRUE(seen.insert(name.name).second) << name.name;
    EXPECT_EQ(find_scale_name(name.name), &name);
    EXPECT_TRUE(name.name.starts_with("kernels.") || name.name.starts_with("communication."));
    EXPECT_FALSE(name.prefixes.empty()) << name.name;
  }
  EXPECT_EQ(find_scale_name("topk"), nullptr);
  EXPECT_EQ(find_scale_name(""), nullptr);
}

TEST(Scale, CoversByPrefixOfTheBreakdownPath) {
  EXPECT_TRUE(covers(*find_scale_name("kernels.topk"), "selection/topk/forward"));
  EXPECT_TRUE(covers(*find_scale_name("kernels.selection"), "selection/topk/forward"));
  EXPECT_FALSE(covers(*find_scale_name("kernels.scoring"), "selection/topk/forward"));
  EXPECT_TRUE(covers(*find_scale_name("kernels.gemm"), "vocabulary/logits/backward"));
  EXPECT_FALSE(covers(*find_scale_name("kernels.gemm"), "vocabulary/loss/backward"));
  EXPECT_TRUE(covers(*find_scale_name("communication.dp"), kReplicaLeaf));
}

TEST(Scale, EveryTaskHasANameOfItsOwn) {
  const Program program = build_training_step(plan(), 8);
  for (const std::string& path : program.leaves) {
    bool covered = false;
    for (const ScaleName& name : scale_names()) covered = covered || covers(name, path);
    EXPECT_TRUE(covered) << path << " has no name in graph/scale.cpp";
  }
}

TEST(Scale, MultipliesTasksAndNothingElse) {
  Program program = build_training_step(plan(), 8);
  const ScaleName& topk = *find_scale_name("kernels.topk");
  ASSERT_TRUE(touches(program, topk));
  apply_scale(program, topk, 0.5);
  apply_scale(program, *find_scale_name("kernels.selection"), 0.5);
  int scaled = 0;
  for (const LayerProgram& layer : program.layers) {
    for (const TaskList* list : {&layer.forward, &layer.backward}) {
      for (const Task& task : *list) {
        const std::string& path = program.leaves[static_cast<std::size_t>(task.leaf)];
        const double expected = path.starts_with("selection/topk/") ? 0.25
                                : path.starts_with("selection/")    ? 0.5
                                                                    : 1.0;
        EXPECT_EQ(task.scale, expected) << path;
        scaled += task.scale != 1.0 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(scaled, 0);
  EXPECT_EQ(program.send_scale, 1.0);
  apply_scale(program, *find_scale_name("communication.pp"), 2.0);
  EXPECT_EQ(program.send_scale, 2.0);
  EXPECT_EQ(program.replica_scale, 1.0);
  EXPECT_EQ(program.optimizer_scale, 1.0);
}

TEST(Scale, KnowsWhatAJobDoesNotHave) {
  Program program = build_training_step(plan(), 8);
  EXPECT_FALSE(touches(program, *find_scale_name("kernels.hytopk")));
  EXPECT_FALSE(touches(program, *find_scale_name("kernels.dense_attention")));
  program.pp = 1;
  EXPECT_FALSE(touches(program, *find_scale_name("communication.pp")));
}

}  // namespace
}  // namespace hysim::graph
