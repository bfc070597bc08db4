// Where the time goes: leaves that sum to the step, what binds them, what each rests on.
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/node.h"
#include "unit/predict/scenarios.h"

namespace hysim::predictor {
namespace {

using test::predict_nominal;
using testing::AnyOf;
using testing::MatchesRegex;

const std::string kHeadline = "glm-5.1-1m-h20-512";

double critical_sum(const Prediction& p) {
  double sum = 0.0;
  for (const BreakdownLeaf& leaf : p.breakdown) {
    if (leaf.kind == TimeKind::critical) sum += leaf.time.value.si();
  }
  return sum;
}

/// Seconds of a critical leaf; 0 when there is none.
double seconds(const Prediction& p, const std::string& path) {
  for (const BreakdownLeaf& leaf : p.breakdown) {
    if (leaf.kind == TimeKind::critical && leaf.path == path) return leaf.time.value.si();
  }
  return 0.0;
}

TEST(Breakdown, CriticalLeavesSumToTheStep) {
  for (const test::BundledVariant& bundled : test::bundled_variants()) {
    const Prediction p = predict_nominal(bundled.scenario, {}, bundled.variant);
    const double step = p.step_time.value.si();
    ASSERT_GT(step, 0.0);
    EXPECT_NEAR(critical_sum(p), step, 1e-9 * step) << bundled.name << " " << bundled.variant;
  }
}

TEST(Breakdown, SumsInUnusualLayoutsToo) {
  for (const std::vector<std::string>& sets : std::vector<std::vector<std::string>>{
           {"parallelism.pp=1", "parallelism.pipeline_layout=[78]"},
           {"workload.global_batch_size=8"},  // one micro-batch
           {"workload.global_batch_size=1024"},
           {"parallelism.vpp=2", "parallelism.pipeline_layout=[4,5,5,5,5,5,5,5,5,5,5,5,5,5,5,4]"},
           {"parallelism.pipeline_layout=[1,1,1,1,1,1,1,71]"},
           {"parallelism.pipeline_layout=[0,13,13,13,13,13,13,0]"},
           {"training.recompute=none", "parallelism.zero=0"},
           {"training.recompute=selective"},
           {"parallelism.tp=8", "parallelism.cp=1", "kernels.indexer_tp=sharded"},
           {"training.overlap.cp=true", "training.overlap.tp=true"},
           {"training.overlap.grad_reduce=false", "training.overlap.param_gather=false"},
       }) {
    const Prediction p = predict_nominal(test::two_variants(), sets);
    const double step = p.step_time.value.si();
    EXPECT_TRUE(std::isfinite(step) && step > 0.0) << sets.front();
    EXPECT_NEAR(critical_sum(p), step, 1e-9 * step) << sets.front();
    for (const CommunicationRow& row : p.communication) {
      EXPECT_GT(row.bytes_per_rank.si(), 0.0) << sets.front() << " " << row.kind;
      EXPECT_LE(row.exposed.si(), row.time.si() * (1.0 + 1e-9)) << sets.front() << " " << row.kind;
    }
  }
}

TEST(Breakdown, OverlappedWorkIsNotInTheSum) {
  const Prediction p = predict_nominal(test::two_variants(), {"training.overlap.cp=true"});
  double overlapped = 0.0;
  for (const BreakdownLeaf& leaf : p.breakdown) {
    if (leaf.kind == TimeKind::overlapped) overlapped += leaf.time.value.si();
  }
  EXPECT_GT(overlapped, 1e-6 * p.step_time.value.si());
  EXPECT_NEAR(critical_sum(p), p.step_time.value.si(), 1e-9 * p.step_time.value.si());
}

TEST(Breakdown, LeavesAreWellFormed) {
  const std::set<std::string> bounds = {"tensor",  "vector", "memory",  "sm",      "launch",
                                        "network", "nvlink", "latency", "schedule"};
  for (const test::BundledVariant& bundled : test::bundled_variants()) {
    const Prediction p = predict_nominal(bundled.scenario, {}, bundled.variant);
    std::set<std::pair<std::string, TimeKind>> seen;
    for (const BreakdownLeaf& leaf : p.breakdown) {
      EXPECT_THAT(leaf.path, MatchesRegex("[a-z0-9_]+(/[a-z0-9_]+)*"));
      EXPECT_GT(leaf.time.value.si(), 0.0) << leaf.path;
      EXPECT_EQ(bounds.count(leaf.bound_by), 1U) << leaf.path << ": " << leaf.bound_by;
      EXPECT_TRUE(seen.emplace(leaf.path, leaf.kind).second) << leaf.path << " is there twice";
    }
    EXPECT_GE(p.critical_stage, 0);
    EXPECT_LT(p.critical_stage, p.layout.pp);
  }
}

TEST(Breakdown, KernelsFollowTheNumberOfMicroBatches) {
  const Prediction once = predict_nominal(test::two_variants());
  const Prediction twice =
      predict_nominal(test::two_variants(), {"workload.global_batch_size=256"});
  ASSERT_EQ(once.critical_stage, twice.critical_stage);
  EXPECT_EQ(2 * once.micro_batches, twice.micro_batches);
  int kernels = 0;
  for (const BreakdownLeaf& leaf : once.breakdown) {
    // What is done once a step or waits for others.
    if (leaf.path == "optimizer" || leaf.path == "bubble" || leaf.path == "launch" ||
        leaf.path == "communication/dp" || leaf.path == "communication/pp" ||
        leaf.kind == TimeKind::overlapped) {
      continue;
    }
    const double time = leaf.time.value.si();
    EXPECT_NEAR(seconds(twice, leaf.path), 2.0 * time, 1e-12 * time) << leaf.path;
    ++kernels;
  }
  EXPECT_GT(kernels, 10);
  EXPECT_NEAR(seconds(twice, "optimizer"), seconds(once, "optimizer"),
              1e-12 * seconds(once, "optimizer"));
}

TEST(Breakdown, OneStageHasNoBubble) {
  const Prediction p = predict_nominal(test::dense());
  EXPECT_EQ(p.layout.pp, 1);
  EXPECT_EQ(p.critical_stage, 0);
  EXPECT_LT(seconds(p, "bubble"), 1e-9 * p.step_time.value.si());
  EXPECT_EQ(seconds(p, "communication/pp"), 0.0);
}

TEST(Breakdown, ReplayTakesTheSecondSelectionAway) {
  // Full recomputation selects twice, replay once (loss off or sparse): of scoring and top-k the
  // recomputation's share goes, nothing else grows.
  const ScenarioText scenario = test::bundled_scenario(kHeadline);
  const std::string off = "hyscale:kernels.selection_replay=false";
  const Prediction with = predict_nominal(scenario, {}, "hyscale");
  const Prediction without = predict_nominal(scenario, {off}, "hyscale");
  EXPECT_LT(with.step_time.value, without.step_time.value);
  std::map<std::string, double> before;
  for (const BreakdownLeaf& leaf : without.breakdown) {
    if (leaf.kind == TimeKind::critical) before[leaf.path] = leaf.time.value.si();
  }
  double selection_before = 0.0;
  double selection_after = 0.0;
  for (const auto& [path, time] : before) {
    if (path == "bubble" || path == "launch") continue;
    EXPECT_LE(seconds(with, path), time * (1.0 + 1e-9)) << path;
    if (path.compare(0, 10, "selection/") != 0) continue;
    selection_before += time;
    selection_after += seconds(with, path);
  }
  EXPECT_NEAR(selection_after, 0.5 * selection_before, 1e-6 * selection_before);
}

// ---------------------------------------------------------------- evidence

double sum(const EvidenceShares& e) { return e.this_gpu + e.other_gpu + e.datasheet + e.assumed; }

TEST(EvidenceShares, SumToOne) {
  for (const test::BundledVariant& bundled : test::bundled_variants()) {
    const EvidenceShares e = predict_nominal(bundled.scenario, {}, bundled.variant).evidence;
    EXPECT_NEAR(sum(e), 1.0, 1e-12) << bundled.name;
    for (const double share : {e.this_gpu, e.other_gpu, e.datasheet, e.assumed}) {
      EXPECT_GE(share, 0.0);
      EXPECT_LE(share, 1.0);
    }
  }
}

/// Gives every number of a profile one origin.
void set_origin(config::Node& node, const std::string& kind, const std::string& measured_on) {
  if (!node.is_object()) return;
  if (node.find("kind") != nullptr) {
    node.set("kind", config::Node::string(kind));
    node.erase("measured_on");
    if (!measured_on.empty()) node.set("measured_on", config::Node::string(measured_on));
  }
  for (auto& [key, value] : node.as_object()) set_origin(value, kind, measured_on);
}

EvidenceShares evidence_with(const std::string& kind, const std::string& measured_on = {}) {
  std::map<std::string, std::string> documents;
  for (const char* path : {"hw_profiles/gpus/h20-96.json", "hw_profiles/clusters/h20-512.json",
                           "hw_profiles/stacks/megatron-core-2026.json"}) {
    config::Node document = config::parse(test::bundled_text(path), path);
    set_origin(document, kind, measured_on);
    documents[path] = config::to_text(document);
  }
  return predict_nominal(test::two_variants(), {}, "",
                         overlay(memory_resources(documents), test::bundle()))
      .evidence;
}

TEST(EvidenceShares, FollowTheOriginOfTheNumbers) {
  EXPECT_NEAR(evidence_with("assumed").assumed, 1.0, 1e-12);
  EXPECT_NEAR(evidence_with("datasheet").datasheet, 1.0, 1e-12);
  EXPECT_NEAR(evidence_with("measured").this_gpu, 1.0, 1e-12);
  EXPECT_NEAR(evidence_with("published", "h20-96").this_gpu, 1.0, 1e-12);
  EXPECT_NEAR(evidence_with("measured", "h100-sxm-80").other_gpu, 1.0, 1e-12);
  EXPECT_NEAR(evidence_with("derived", "h100-sxm-80").other_gpu, 1.0, 1e-12);
  EXPECT_NEAR(evidence_with("derived").datasheet, 1.0, 1e-12);
}

// ---------------------------------------------------------------- utilisation and throughput

TEST(Throughput, IsTokensOverStepAndGpus) {
  for (const test::BundledVariant& bundled : test::bundled_variants()) {
    const Prediction p = predict_nominal(bundled.scenario, {}, bundled.variant);
    const double tokens = static_cast<double>(p.seq_len) * static_cast<double>(p.global_batch_size);
    const double expected = tokens / p.step_time.value.si() / static_cast<double>(p.gpus);
    EXPECT_NEAR(p.tokens_per_second_per_gpu.value, expected, 1e-12 * expected) << bundled.name;
    EXPECT_EQ(p.gpus, p.layout.tp * p.layout.cp * p.layout.pp * p.layout.dp) << bundled.name;
    EXPECT_EQ(p.micro_batches * p.layout.dp * p.micro_batch_size, p.global_batch_size);
  }
}

TEST(Utilisation, IsFlopOverStepGpusAndPeak) {
  for (const test::BundledVariant& bundled : test::bundled_variants()) {
    const Prediction p = predict_nominal(bundled.scenario, {}, bundled.variant);
    for (const Utilisation& u : {p.mfu, p.hfu}) {
      const double expected = u.flops_per_step.si() /
                              (p.step_time.value.si() * static_cast<double>(p.gpus) * u.peak.si());
      EXPECT_NEAR(u.fraction.value, expected, 1e-12 * expected) << bundled.name;
      EXPECT_GT(u.fraction.value, 0.0);
      EXPECT_LT(u.fraction.value, 1.0) << bundled.name << " " << bundled.variant;
      EXPECT_FALSE(u.convention.empty());
    }
    EXPECT_EQ(p.mfu.peak, p.hfu.peak);
  }
  // The datasheet's dense bf16 peak.
  EXPECT_DOUBLE_EQ(predict_nominal(test::two_variants()).mfu.peak.si(), 148e12);
}

TEST(Utilisation, HardwareFlopsAreAtLeastModelFlops) {
  for (const test::BundledVariant& bundled : test::bundled_variants()) {
    const Prediction p = predict_nominal(bundled.scenario, {}, bundled.variant);
    EXPECT_GE(p.hfu.flops_per_step, p.mfu.flops_per_step) << bundled.name << " " << bundled.variant;
  }
}

TEST(Utilisation, ModelFlopsOfLlamaByHand) {
  // Matrices of a layer: 4 x 4096^2 of attention and 3 x 4096 x 11008 of the feed-forward; 32
  // layers, and the head's 4096 x 32000. 6 FLOP a weight and token. Attention: 4 FLOP a visible
  // pair and channel forward, three times that in training.
  const double s = 4096.0;
  const double weights = 32.0 * (4.0 * 4096.0 * 4096.0 + 3.0 * 4096.0 * 11008.0) + 4096.0 * 32000.0;
  const double pairs = s * (s + 1.0) / 2.0;
  const double expected = 16.0 * (6.0 * weights * s + 3.0 * 4.0 * pairs * 4096.0 * 32.0);
  const Prediction p = predict_nominal(test::dense());
  EXPECT_NEAR(p.mfu.flops_per_step.si(), expected, 1e-12 * expected);
}

TEST(Utilisation, RecomputationRunsTheLayersForwardAgain) {
  // One more forward of 32 layers: 2 FLOP a weight and token, 4 a pair and channel; the rest is
  // elementwise work, little of it.
  const double s = 4096.0;
  const double weights = 32.0 * (4.0 * 4096.0 * 4096.0 + 3.0 * 4096.0 * 11008.0);
  const double again = 16.0 * (2.0 * weights * s + 4.0 * (s * (s + 1.0) / 2.0) * 4096.0 * 32.0);
  const Prediction full = predict_nominal(test::dense());
  const Prediction none = predict_nominal(test::dense(), {"training.recompute=none"});
  const double difference = full.hfu.flops_per_step.si() - none.hfu.flops_per_step.si();
  EXPECT_GE(difference, again * (1.0 - 1e-12));
  EXPECT_LE(difference, again * 1.01);
  EXPECT_EQ(full.mfu.flops_per_step, none.mfu.flops_per_step);
}

}  // namespace
}  // namespace hysim::predictor
