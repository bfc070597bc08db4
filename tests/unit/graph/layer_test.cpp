// Task lists of layers: which selection work runs in which phase, what a leaf's path says, and
// what a list may depend on.
#include "graph/layer.h"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "unit/graph/plans.h"

namespace hysim {
namespace {

using graph::IndexerLoss;
using graph::LayerProgram;
using graph::Plan;
using graph::Program;
using graph::Recompute;
using ops::Selection;

/// Tasks of the second layer of a tiny sparse model, in forward, recompute and backward.
struct Counted {
  int forward = 0;
  int recompute = 0;
  int backward = 0;
  friend bool operator==(const Counted&, const Counted&) = default;
  friend void PrintTo(const Counted& c, std::ostream* out) {
    *out << c.forward << " forward, " << c.recompute << " recompute, " << c.backward << " backward";
  }
};

class Layer {
 public:
  explicit Layer(const Plan& plan, std::size_t index = 1)
      : program_(graph::build_training_step(plan, 8)) {
    std::size_t next = 0;
    for (const graph::Chunk& chunk : program_.chunks) {
      for (const std::int32_t layer : chunk.layers) {
        if (next++ == index) layer_ = &program_.layers[static_cast<std::size_t>(layer)];
      }
    }
  }
  Counted of(const std::string& part) const {
    const auto count = [&](const std::string& phase) {
      return test::tasks(program_, layer_->forward, part + "/" + phase) +
             test::tasks(program_, layer_->backward, part + "/" + phase);
    };
    return {count("forward"), count("recompute"), count("backward")};
  }
  const Program& program() const { return program_; }
  const LayerProgram& layer() const { return *layer_; }

 private:
  Program program_;
  const LayerProgram* layer_ = nullptr;
};

Plan sparse_plan(Recompute recompute, bool replay, IndexerLoss loss,
                 Selection selection = Selection::table) {
  topology::GroupSizes sizes;
  sizes.cp = 2;
  Plan plan = test::on_groups(test::TinySparse{}.make(), sizes);
  plan.training.recompute = recompute;
  plan.training.indexer_loss = loss;
  plan.kernels.selection_replay = replay;
  plan.kernels.selection = selection;
  return plan;
}

// P03: selections a sparse layer runs for one micro-batch are 2 under full recomputation, 1 with
// replay, 1 without recomputation; selective recomputation includes the attention core, so it
// behaves as full does.
TEST(SelectionPasses, RunTwiceUnderRecomputationAndOnceWithReplay) {
  for (const IndexerLoss loss : {IndexerLoss::off, IndexerLoss::sparse}) {
    const auto passes = [&](Recompute recompute, bool replay, const char* part) {
      return Layer(sparse_plan(recompute, replay, loss)).of(part);
    };
    for (const char* part : {"selection/scoring", "selection/score_table", "selection/topk"}) {
      EXPECT_EQ(passes(Recompute::full, false, part), (Counted{1, 1, 0})) << part;
      EXPECT_EQ(passes(Recompute::full, true, part), (Counted{1, 0, 0})) << part;
      EXPECT_EQ(passes(Recompute::none, false, part), (Counted{1, 0, 0})) << part;
      EXPECT_EQ(passes(Recompute::none, true, part), (Counted{1, 0, 0})) << part;
      EXPECT_EQ(passes(Recompute::selective, false, part), (Counted{1, 1, 0})) << part;
      EXPECT_EQ(passes(Recompute::selective, true, part), (Counted{1, 0, 0})) << part;
    }
  }
}

TEST(SelectionPasses, HyTopkIsOneTaskAndNoTable) {
  const Layer fused(sparse_plan(Recompute::full, false, IndexerLoss::off, Selection::fused));
  EXPECT_EQ(fused.of("selection/hytopk"), (Counted{1, 1, 0}));
  for (const char* part : {"selection/scoring", "selection/score_table", "selection/topk"}) {
    EXPECT_EQ(fused.of(part), Counted{}) << part;
  }
  const Layer replayed(sparse_plan(Recompute::full, true, IndexerLoss::off, Selection::fused));
  EXPECT_EQ(replayed.of("selection/hytopk"), (Counted{1, 0, 0}));
}

TEST(SelectionPasses, NaiveScoresWriteNoTableOfTheirOwn) {
  const Layer naive(sparse_plan(Recompute::full, false, IndexerLoss::off, Selection::naive));
  EXPECT_EQ(naive.of("selection/scoring"), (Counted{1, 1, 0}));
  EXPECT_EQ(naive.of("selection/score_table"), Counted{});
  EXPECT_EQ(naive.of("selection/topk"), (Counted{1, 1, 0}));
}

TEST(SelectionPasses, CleaningIsASecondPassOverTheTable) {
  Plan plan = sparse_plan(Recompute::full, false, IndexerLoss::off);
  plan.kernels.score_clean = true;
  EXPECT_EQ(Layer(plan).of("selection/score_table"), (Counted{2, 2, 0}));
}

// Each pass gathers latents (and, where it scores or trains, index keys) over CP; the gathers of
// the recomputation are in the backward list.
TEST(Replay, WithoutALossDropsProjectionsAndTheSecondKeyGather) {
  const Layer full(sparse_plan(Recompute::full, false, IndexerLoss::off));
  EXPECT_EQ(full.of("linear/indexer"), (Counted{3, 3, 0}));
  EXPECT_EQ(full.of("communication/cp").forward, 2);
  EXPECT_EQ(full.of("communication/cp").recompute, 2);
  const Layer replayed(sparse_plan(Recompute::full, true, IndexerLoss::off));
  EXPECT_EQ(replayed.of("linear/indexer"), (Counted{3, 0, 0}));
  EXPECT_EQ(replayed.of("communication/cp").forward, 2);
  EXPECT_EQ(replayed.of("communication/cp").recompute, 1);
}

TEST(Replay, WithASparseLossKeepsProjectionsAndTheKeyGather) {
  for (const bool replay : {false, true}) {
    const Layer layer(sparse_plan(Recompute::full, replay, IndexerLoss::sparse));
    // Weight gradients only: the indexer's input is detached.
    EXPECT_EQ(layer.of("linear/indexer"), (Counted{3, 3, 3}));
    EXPECT_EQ(layer.of("communication/cp").recompute, 2);
    EXPECT_EQ(layer.of("communication/cp").backward, 2);  // dKV and index-key gradients
    // The first pass runs without gradients; the loss is in the recomputed one.
    EXPECT_EQ(layer.of("indexer_loss/teacher"), (Counted{0, 1, 0}));
    EXPECT_EQ(layer.of("indexer_loss/gradient"), (Counted{0, 1, 0}));
  }
}

// The dense loss needs every score in the recomputed pass, so replay saves top-k alone.
TEST(Replay, WithADenseLossSavesTopkAlone) {
  const Layer full(sparse_plan(Recompute::full, false, IndexerLoss::dense));
  const Layer replayed(sparse_plan(Recompute::full, true, IndexerLoss::dense));
  for (const char* part : {"selection/scoring", "selection/score_table"}) {
    EXPECT_EQ(full.of(part), (Counted{1, 1, 0})) << part;
    EXPECT_EQ(replayed.of(part), (Counted{1, 1, 0})) << part;
  }
  EXPECT_EQ(full.of("selection/topk"), (Counted{1, 1, 0}));
  EXPECT_EQ(replayed.of("selection/topk"), (Counted{1, 0, 0}));
  EXPECT_EQ(replayed.of("linear/indexer"), (Counted{3, 3, 3}));
  EXPECT_EQ(replayed.of("communication/cp").recompute, 2);
}

TEST(Replay, OfAFusedSelectionWithADenseLossStillScores) {
  const Layer layer(sparse_plan(Recompute::full, true, IndexerLoss::dense, Selection::fused));
  EXPECT_EQ(layer.of("selection/hytopk"), (Counted{1, 0, 0}));
  EXPECT_EQ(layer.of("selection/scoring"), (Counted{0, 1, 0}));
  EXPECT_EQ(layer.of("selection/score_table"), Counted{});
}

TEST(IndexerLossPasses, RunInTheFirstPassWithoutRecomputation) {
  for (const IndexerLoss loss : {IndexerLoss::sparse, IndexerLoss::dense}) {
    const Layer layer(sparse_plan(Recompute::none, false, loss));
    EXPECT_EQ(layer.of("indexer_loss/teacher"), (Counted{1, 0, 0}));
    EXPECT_EQ(layer.of("indexer_loss/gradient"), (Counted{1, 0, 0}));
    EXPECT_EQ(layer.of("linear/indexer"), (Counted{3, 0, 3}));
  }
  const Layer off(sparse_plan(Recompute::none, false, IndexerLoss::off));
  EXPECT_EQ(off.of("indexer_loss/teacher"), Counted{});
  EXPECT_EQ(off.of("linear/indexer"), (Counted{3, 0, 0}));
}

// A query's row of teacher probabilities has its own sequence's keys, whatever else is in the
// micro-batch, and no more than there are.
TEST(IndexerLossPasses, TeacherRowsSpanOneSequence) {
  const auto reduced = [](IndexerLoss loss, std::int64_t micro_batch_size, std::int64_t top_k) {
    topology::GroupSizes sizes;
    sizes.tp = 2;
    Plan plan = test::on_groups(test::TinySparse{.top_k = top_k}.make(), sizes);
    plan.workload.micro_batch_size = plan.workload.global_batch_size = micro_batch_size;
    plan.training.indexer_loss = loss;
    const Layer layer(plan);
    double bytes = 0.0;
    for (std::size_t i = 1; i < layer.layer().forward.size(); ++i) {
      const graph::Task& task = layer.layer().forward[i];
      const graph::Task& before = layer.layer().forward[i - 1];
      if (layer.program().leaves[static_cast<std::size_t>(before.leaf)] !=
          "indexer_loss/teacher/forward") {
        continue;
      }
      bytes = std::get<collectives::Collective>(task.work).bytes.si();
    }
    return bytes;
  };
  EXPECT_EQ(reduced(IndexerLoss::dense, 1, 64), 4.0 * 256.0 * 256.0);  // fp32, 256 queries and keys
  EXPECT_EQ(reduced(IndexerLoss::dense, 2, 64), 2.0 * 4.0 * 256.0 * 256.0);
  EXPECT_EQ(reduced(IndexerLoss::sparse, 1, 64), 4.0 * 256.0 * 64.0);
  EXPECT_EQ(reduced(IndexerLoss::sparse, 2, 64), 2.0 * 4.0 * 256.0 * 64.0);
  EXPECT_EQ(reduced(IndexerLoss::sparse, 2, 1024), 2.0 * 4.0 * 256.0 * 256.0);
}

// Selective recomputation starts at the attention core: projections were kept.
TEST(SelectiveRecompute, RepeatsTheCoreOnly) {
  const Layer layer(sparse_plan(Recompute::selective, false, IndexerLoss::sparse));
  EXPECT_EQ(layer.of("linear/indexer"), (Counted{3, 0, 3}));
  EXPECT_EQ(layer.of("attention/sparse_forward"), (Counted{1, 1, 0}));
  EXPECT_EQ(layer.of("linear/attention").recompute, 0);
  EXPECT_EQ(layer.of("experts/gemm").recompute, 0);
  EXPECT_EQ(layer.of("indexer_loss/teacher"), (Counted{0, 1, 0}));
}

TEST(SharedLayers, SelectNothingAndTrainNothing) {
  for (const IndexerLoss loss : {IndexerLoss::off, IndexerLoss::sparse, IndexerLoss::dense}) {
    for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
      Plan plan = sparse_plan(recompute, false, loss);
      plan.model = test::TinySparse{.index_freq = 2}.make();  // layers 0 and 2 compute
      const Layer shared(plan, 1);
      ASSERT_EQ(shared.layer().spec.index, model::IndexRole::shared);
      for (const graph::TaskList* list : {&shared.layer().forward, &shared.layer().backward}) {
        EXPECT_EQ(test::tasks_under(shared.program(), *list, "selection/"), 0);
        EXPECT_EQ(test::tasks_under(shared.program(), *list, "indexer_loss/"), 0);
        EXPECT_EQ(test::tasks_under(shared.program(), *list, "linear/indexer"), 0);
      }
      EXPECT_EQ(shared.of("communication/cp").forward, 1);  // latents only
      EXPECT_EQ(shared.layer().indices, Bytes(0.0));
      EXPECT_EQ(shared.layer().score_workspace, Bytes(0.0));
      EXPECT_EQ(shared.of("attention/sparse_forward").forward, 1);
      const Layer lender(plan, 2);
      EXPECT_EQ(lender.of("selection/topk").forward, 1);
      // Layer 3 uses its indices again, so they are kept whatever is recomputed.
      EXPECT_GT(lender.layer().indices, Bytes(0.0));
    }
  }
}

TEST(SavedIndices, AreKeptByReplayByLendersAndWhereNothingIsRecomputed) {
  const auto kept = [](Recompute recompute, bool replay) {
    return Layer(sparse_plan(recompute, replay, IndexerLoss::off)).layer().indices.si();
  };
  const double all = 128.0 * 64.0 * 4.0;  // 256 tokens over cp 2, k = 64, int32
  EXPECT_EQ(kept(Recompute::full, true), all);
  EXPECT_EQ(kept(Recompute::full, false), 0.0);
  EXPECT_EQ(kept(Recompute::selective, true), all);
  EXPECT_EQ(kept(Recompute::selective, false), 0.0);
  EXPECT_EQ(kept(Recompute::none, false), all);
  EXPECT_EQ(kept(Recompute::none, true), all);
}

TEST(BlockRecompute, CoversTheFirstLayersOfEachChunk) {
  Plan plan = sparse_plan(Recompute::full, false, IndexerLoss::off);
  plan.model = test::TinySparse{.layers = 6, .dense_layers = 0}.make();
  plan.parallelism.sizes.pp = 2;
  plan.training.recompute_method = graph::RecomputeMethod::block;
  plan.training.recompute_num_layers = 2;
  plan.parallelism.layers_per_chunk = {3, 3};
  const Program program = graph::build_training_step(plan, 8);
  std::vector<bool> recomputed;
  for (const graph::Chunk& chunk : program.chunks) {
    for (const std::int32_t layer : chunk.layers) {
      recomputed.push_back(program.layers[static_cast<std::size_t>(layer)].recompute);
    }
  }
  EXPECT_EQ(recomputed, (std::vector<bool>{true, true, false, true, true, false}));
}

/// Plans that between them use every builder.
std::vector<Plan> many_plans() {
  std::vector<Plan> plans;
  topology::GroupSizes sizes;
  sizes.tp = 2;
  sizes.cp = 2;
  sizes.dp = 2;
  sizes.pp = 2;
  topology::GroupSizes expert_sizes = sizes;
  expert_sizes.ep = 4;
  expert_sizes.etp = 2;
  for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
    for (const bool overlap : {false, true}) {
      std::vector<Plan> of = {test::on_groups(test::TinySparse{}.make(), expert_sizes, 2),
                              test::on_groups(test::tiny_latent(), expert_sizes, 2),
                              test::on_groups(test::tiny_dense(), sizes, 2)};
      of[0].training.mtp_num_layers = 1;
      of[2].parallelism.sequence_parallel = false;
      for (Plan& plan : of) {
        plan.training.recompute = recompute;
        plan.training.indexer_loss = overlap ? IndexerLoss::sparse : IndexerLoss::dense;
        plan.training.precision = overlap ? ops::Precision::fp8 : ops::Precision::bf16;
        plan.kernels.selection = overlap ? Selection::fused : Selection::table;
        plan.kernels.indexer_tp =
            overlap ? graph::IndexerTp::sharded : graph::IndexerTp::replicated;
        plan.overlap.tp = plan.overlap.cp = overlap;
        plans.push_back(plan);
      }
    }
  }
  return plans;
}

std::vector<const graph::TaskList*> lists_of(const Program& program) {
  std::vector<const graph::TaskList*> lists;
  const auto add = [&](const LayerProgram& layer) {
    lists.push_back(&layer.forward);
    lists.push_back(&layer.backward);
  };
  for (const LayerProgram& layer : program.layers) add(layer);
  add(program.embedding);
  add(program.head);
  add(program.mtp);
  return lists;
}

TEST(Leaves, NamePartKernelAndPhaseAndAreAllUsed) {
  const std::set<std::string> parts = {"attention", "communication", "elementwise",
                                       "experts",   "indexer_loss",  "linear",
                                       "selection", "vocabulary"};
  for (const Plan& plan : many_plans()) {
    ASSERT_TRUE(graph::check(plan, plan.parallelism.sizes.world()).empty());
    const Program program = graph::build_training_step(plan, 8);
    std::set<std::int32_t> used;
    for (const graph::TaskList* list : lists_of(program)) {
      for (const graph::Task& task : *list) used.insert(task.leaf);
    }
    EXPECT_EQ(used.size(), program.leaves.size());
    EXPECT_EQ(std::set<std::string>(program.leaves.begin(), program.leaves.end()).size(),
              program.leaves.size());
    for (const std::string& leaf : program.leaves) {
      const std::size_t first = leaf.find('/');
      const std::size_t last = leaf.rfind('/');
      ASSERT_TRUE(first != std::string::npos && last > first) << leaf;
      EXPECT_EQ(leaf.find('/', first + 1), last) << leaf;
      EXPECT_EQ(parts.count(leaf.substr(0, first)), 1U) << leaf;
      const std::string phase = leaf.substr(last + 1);
      EXPECT_TRUE(phase == "forward" || phase == "backward" || phase == "recompute") << leaf;
      if (plan.training.recompute == Recompute::none) {
        EXPECT_NE(phase, "recompute") << leaf;
      }
    }
  }
}

TEST(LayerLists, DependOnEarlierTasksAndRecomputeBeforeTheyGoBack) {
  for (const Plan& plan : many_plans()) {
    const Program program = graph::build_training_step(plan, 8);
    for (const graph::TaskList* list : lists_of(program)) {
      for (std::size_t i = 0; i < list->size(); ++i) {
        for (const std::int32_t before : (*list)[i].after) {
          EXPECT_GE(before, 0);
          EXPECT_LT(before, static_cast<std::int32_t>(i));
        }
        const bool compute = (*list)[i].stream == graph::Stream::compute;
        EXPECT_EQ(compute, std::holds_alternative<ops::Work>((*list)[i].work));
      }
    }
    for (const LayerProgram& layer : program.layers) {
      bool backward = false;
      for (const graph::Task& task : layer.backward) {
        const std::string& leaf = program.leaves[static_cast<std::size_t>(task.leaf)];
        const bool again = leaf.ends_with("/recompute");
        EXPECT_FALSE(again && backward) << leaf;
        backward = backward || !again;
        EXPECT_FALSE(leaf.ends_with("/forward")) << leaf;
      }
      for (const graph::Task& task : layer.forward) {
        EXPECT_TRUE(program.leaves[static_cast<std::size_t>(task.leaf)].ends_with("/forward"));
      }
    }
  }
}

// Blocking: nothing of the software stack overlaps, so a list is a chain.
TEST(LayerLists, WithoutOverlapEveryTaskFollowsTheOneBefore) {
  for (const Plan& plan : many_plans()) {
    if (plan.overlap.tp) continue;
    const Program program = graph::build_training_step(plan, 8);
    for (const graph::TaskList* list : lists_of(program)) {
      for (std::size_t i = 1; i < list->size(); ++i) {
        const graph::Task& task = (*list)[i];
        bool follows = task.stream == (*list)[i - 1].stream;
        for (const std::int32_t before : task.after) {
          follows = follows || before == static_cast<std::int32_t>(i) - 1;
        }
        EXPECT_TRUE(follows) << program.leaves[static_cast<std::size_t>(task.leaf)];
      }
    }
  }
}

TEST(LayerLists, OneGpuCommunicatesNothing) {
  for (const auto& model : {test::TinySparse{}.make(), test::tiny_latent(), test::tiny_dense()}) {
    Plan plan = test::one_gpu(model);
    plan.training.recompute = Recompute::full;
    const Program program = graph::build_training_step(plan, 8);
    for (const graph::TaskList* list : lists_of(program)) {
      EXPECT_EQ(test::communication_tasks(*list), 0);
    }
    EXPECT_EQ(program.pipeline_send.group.size, 1);
  }
}

}  // namespace
}  // namespace hysim
