// Neighbours of an illegal plan: legal, and none nearer, judged by trying every combination.
#include "graph/near_layouts.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/graph/plans.h"

namespace hysim {
namespace {

using graph::LayoutSize;
using graph::NearLayout;
using graph::Plan;
using graph::SizeChange;

constexpr std::int64_t kGpus = 16;

/// 16 GPUs: tp 2, cp 2, pp 2, dp 2, ep 4.
Plan legal() {
  topology::GroupSizes sizes;
  sizes.tp = 2;
  sizes.cp = 2;
  sizes.pp = 2;
  sizes.dp = 2;
  sizes.ep = 4;
  return test::on_groups(test::TinySparse{}.make(), sizes, 4);
}

using Sizes = std::vector<std::int64_t>;  // by LayoutSize

bool is_legal(const Plan& plan, const Sizes& sizes, bool relay) {
  Plan tried = plan;
  const bool follows = plan.parallelism.sequence_parallel == (plan.parallelism.sizes.tp > 1);
  for (int s = 0; s < graph::kLayoutSizes; ++s) {
    graph::size_of(tried, static_cast<LayoutSize>(s)) = sizes[static_cast<std::size_t>(s)];
  }
  topology::GroupSizes& groups = tried.parallelism.sizes;
  if (kGpus % (groups.tp * groups.cp * groups.pp) != 0) return false;
  if (tried.chunks() > static_cast<std::int64_t>(tried.model.layers.size())) return false;
  groups.dp = kGpus / (groups.tp * groups.cp * groups.pp);
  if (follows) tried.parallelism.sequence_parallel = groups.tp > 1;
  if (relay || tried.chunks() != plan.chunks()) {
    tried.parallelism.layers_per_chunk = graph::default_layout(tried.model, tried.chunks());
  }
  return graph::check(tried, kGpus).empty();
}

/// Changes of every legal layout of at most three changes that needs all of them, nearest first.
std::vector<std::vector<SizeChange>> by_brute_force(const Plan& plan) {
  std::vector<Sizes> all = {{}};
  Sizes own;
  for (int s = 0; s < graph::kLayoutSizes; ++s) {
    const auto size = static_cast<LayoutSize>(s);
    own.push_back(graph::size_of(plan, size));
    std::vector<std::int64_t> values = graph::layout_values(plan, kGpus, size);
    if (std::find(values.begin(), values.end(), own.back()) == values.end()) {
      values.push_back(own.back());
    }
    std::vector<Sizes> longer;
    for (const Sizes& sizes : all) {
      for (const std::int64_t value : values) {
        longer.push_back(sizes);
        longer.back().push_back(value);
      }
    }
    all = std::move(longer);
  }
  using Key = std::tuple<std::size_t, double, std::vector<std::pair<int, std::int64_t>>>;
  std::map<Key, std::vector<SizeChange>> legal;
  for (const Sizes& sizes : all) {
    std::vector<std::size_t> changed;
    for (std::size_t s = 0; s < sizes.size(); ++s) {
      if (sizes[s] != own[s]) changed.push_back(s);
    }
    if (changed.size() > 3) continue;
    if (!is_legal(plan, sizes, false) && !is_legal(plan, sizes, true)) continue;
    // Legal without one or more of the changes?
    bool needs_all = true;
    for (std::size_t kept = 0; kept + 1 < (std::size_t{1} << changed.size()); ++kept) {
      Sizes fewer = own;
      for (std::size_t c = 0; c < changed.size(); ++c) {
        if ((kept >> c & 1U) != 0) fewer[changed[c]] = sizes[changed[c]];
      }
      if (is_legal(plan, fewer, false) || is_legal(plan, fewer, true)) needs_all = false;
    }
    if (!needs_all) continue;
    Key key{changed.size(), 0.0, {}};
    std::vector<SizeChange> changes;
    for (const std::size_t s : changed) {
      std::get<1>(key) +=
          std::fabs(std::log2(static_cast<double>(sizes[s]) / static_cast<double>(own[s])));
      std::get<2>(key).emplace_back(static_cast<int>(s), sizes[s]);
      changes.push_back({static_cast<LayoutSize>(s), sizes[s]});
    }
    legal[key] = std::move(changes);
  }
  std::vector<std::vector<SizeChange>> nearest;
  for (auto& [key, changes] : legal) nearest.push_back(std::move(changes));
  return nearest;
}

struct Broken {
  std::string name;
  std::function<void(Plan&)> how;
};
class Neighbours : public testing::TestWithParam<Broken> {};

TEST_P(Neighbours, AreTheNearestOfAllCombinations) {
  Plan plan = legal();
  GetParam().how(plan);
  ASSERT_FALSE(graph::check(plan, kGpus).empty());
  constexpr std::size_t kMost = 5;
  std::vector<std::vector<SizeChange>> expected = by_brute_force(plan);
  ASSERT_FALSE(expected.empty());
  if (expected.size() > kMost) expected.resize(kMost);
  std::vector<std::vector<SizeChange>> found;
  for (const NearLayout& layout : graph::near_layouts(plan, kGpus, kMost)) {
    found.push_back(layout.changes);
  }
  EXPECT_EQ(found, expected);
}

INSTANTIATE_TEST_SUITE_P(
    Plan, Neighbours,
    testing::Values(Broken{"Gpus", [](Plan& p) { p.parallelism.sizes.cp = 3; }},
                    Broken{"TooManyRanks", [](Plan& p) { p.parallelism.sizes.tp = 8; }},
                    Broken{"Experts", [](Plan& p) { p.parallelism.sizes.ep = 16; }},
                    Broken{"Batch", [](Plan& p) { p.workload.micro_batch_size = 3; }},
                    Broken{"OddBatch", [](Plan& p) { p.workload.global_batch_size = 3; }},
                    Broken{"Sequence", [](Plan& p) { p.workload.seq_len = 6; }},
                    Broken{"Interleaved",
                           [](Plan& p) {
                             p.parallelism.sizes.pp = 1;
                             p.parallelism.vpp = 3;
                           }},
                    Broken{"Layers",
                           [](Plan& p) {
                             p.parallelism.layers_per_chunk = {1, 2};
                           }},
                    Broken{"Order",
                           [](Plan& p) {
                             topology::parse_rank_order("tp-pp-cp-ep-dp", p.parallelism.rank_order);
                           }}),
    [](const auto& given) { return given.param.name; });

TEST(NearLayouts, HaveTheReplicasAskedFor) {
  Plan plan = legal();
  const std::vector<NearLayout> found = graph::near_layouts(plan, kGpus, 4, 4);
  ASSERT_FALSE(found.empty());
  for (const NearLayout& layout : found) EXPECT_EQ(layout.dp, 4);
}

TEST(NearLayouts, AreNoneWhenSizesAreNotAtFault) {
  Plan plan = legal();
  plan.training.mtp_num_layers = 7;
  EXPECT_TRUE(graph::near_layouts(plan, kGpus, 3).empty());
}

TEST(NearLayouts, AreWrittenAsSettings) {
  NearLayout layout;
  layout.changes = {{LayoutSize::cp, 32}, {LayoutSize::ep, 8}};
  layout.dp = 2;
  EXPECT_EQ(graph::to_text(layout), "cp 32, ep 8 (dp 2)");
  layout.changes.clear();
  layout.relaid = true;
  layout.layers_per_chunk = {20, 19, 39};
  EXPECT_EQ(graph::to_text(layout), "parallelism.pipeline_layout=[20,19,39] (dp 2)");
  EXPECT_EQ(graph::setting_of(LayoutSize::micro_batch_size), "workload.micro_batch_size");
  EXPECT_EQ(graph::setting_of(LayoutSize::ep), "parallelism.ep");
}

}  // namespace
}  // namespace hysim
