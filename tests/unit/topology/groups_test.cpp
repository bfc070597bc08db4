// Groups against an enumeration of all ranks of small worlds, for every order of the axes.
#include "topology/groups.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace hysim::topology {
namespace {

using Order = std::array<Axis, kAxes>;
using Ranks = std::vector<std::int64_t>;
using Coordinates = std::map<Axis, std::int64_t>;

std::vector<Order> all_orders() {
  Order order = {Axis::tp, Axis::cp, Axis::ep, Axis::dp, Axis::pp};
  std::sort(order.begin(), order.end());
  std::vector<Order> orders;
  do {
    orders.push_back(order);
  } while (std::next_permutation(order.begin(), order.end()));
  return orders;
}

std::string to_text(const Order& order) {
  static const std::map<Axis, std::string> names = {
      {Axis::tp, "tp"}, {Axis::cp, "cp"}, {Axis::ep, "ep"}, {Axis::dp, "dp"}, {Axis::pp, "pp"}};
  std::string text;
  for (const Axis axis : order) text += (text.empty() ? "" : "-") + names.at(axis);
  return text;
}

/// Digits of a rank number in the mixed base that `sizes` and the order make.
Coordinates digits(std::int64_t rank, const Order& order, const Coordinates& sizes) {
  Coordinates coordinates;
  for (const Axis axis : order) {
    const auto found = sizes.find(axis);
    const std::int64_t size = found == sizes.end() ? 1 : found->second;
    coordinates[axis] = rank % size;
    rank /= size;
  }
  return coordinates;
}

/// Ranks that differ from rank 0 along `axes` only.
Ranks along(const std::vector<Axis>& axes, const Order& order, const Coordinates& sizes,
            std::int64_t world) {
  Ranks group;
  for (std::int64_t rank = 0; rank < world; ++rank) {
    bool inside = true;
    for (const auto& [axis, digit] : digits(rank, order, sizes)) {
      const bool free = std::find(axes.begin(), axes.end(), axis) != axes.end();
      inside = inside && (free || digit == 0);
    }
    if (inside) group.push_back(rank);
  }
  return group;
}

const std::vector<GroupSizes>& worlds() {
  // tp, cp, dp, pp, ep, etp
  static const std::vector<GroupSizes> sizes = {
      {1, 1, 1, 1, 1, 1}, {2, 1, 2, 2, 4, 1}, {2, 2, 2, 2, 4, 2}, {2, 2, 2, 2, 8, 1},
      {4, 1, 2, 2, 2, 4}, {1, 8, 1, 2, 8, 1}, {1, 2, 3, 2, 3, 1}, {3, 2, 2, 2, 2, 3},
      {2, 2, 2, 1, 2, 1}, {2, 1, 4, 3, 1, 1},
  };
  return sizes;
}

TEST(Groups, DenseGroupsEqualTheEnumeration) {
  for (const GroupSizes& sizes : worlds()) {
    const Coordinates dense = {
        {Axis::tp, sizes.tp}, {Axis::cp, sizes.cp}, {Axis::dp, sizes.dp}, {Axis::pp, sizes.pp}};
    for (const Order& order : all_orders()) {
      const Groups groups = groups_of_rank_zero(sizes, order);
      const auto expected = [&](const std::vector<Axis>& axes) {
        return along(axes, order, dense, sizes.world());
      };
      EXPECT_EQ(groups.tp, expected({Axis::tp})) << to_text(order);
      EXPECT_EQ(groups.cp, expected({Axis::cp})) << to_text(order);
      EXPECT_EQ(groups.dp_cp, expected({Axis::dp, Axis::cp})) << to_text(order);
      if (sizes.pp > 1) {
        EXPECT_EQ(groups.pp_stride, expected({Axis::pp}).at(1)) << to_text(order);
      }
    }
  }
}

// Experts split the ranks of one stage anew: etp in tp's place, ep, and edp in dp's. The stage's
// ranks are listed in ascending order and numbered in the order of the axes.
TEST(Groups, ExpertGroupsEqualTheEnumeration) {
  for (const GroupSizes& sizes : worlds()) {
    const Coordinates dense = {
        {Axis::tp, sizes.tp}, {Axis::cp, sizes.cp}, {Axis::dp, sizes.dp}, {Axis::pp, sizes.pp}};
    const Coordinates expert = {
        {Axis::tp, sizes.etp}, {Axis::ep, sizes.ep}, {Axis::dp, sizes.edp()}};
    ASSERT_EQ(sizes.etp * sizes.ep * sizes.edp() * sizes.pp, sizes.world());
    for (const Order& order : all_orders()) {
      Ranks stage;
      for (std::int64_t rank = 0; rank < sizes.world(); ++rank) {
        if (digits(rank, order, dense).at(Axis::pp) == 0) stage.push_back(rank);
      }
      const auto expected = [&](Axis axis) {
        Ranks group;
        for (const std::int64_t place :
             along({axis}, order, expert, static_cast<std::int64_t>(stage.size()))) {
          group.push_back(stage.at(static_cast<std::size_t>(place)));
        }
        return group;
      };
      const Groups groups = groups_of_rank_zero(sizes, order);
      EXPECT_EQ(groups.ep, expected(Axis::ep)) << to_text(order);
      EXPECT_EQ(groups.etp, expected(Axis::tp)) << to_text(order);
      EXPECT_EQ(groups.edp, expected(Axis::dp)) << to_text(order);
    }
  }
}

// tp2 pp2 dp2 ep4 on 8 ranks (casys-kaist/LLMServingSim#65): the experts of a layer are on the
// four ranks of its stage, never across the pipeline, whatever the order.
TEST(Groups, ExpertsNeverCrossThePipeline) {
  const GroupSizes sizes{2, 1, 2, 2, 4, 1};
  ASSERT_EQ(sizes.world(), 8);
  const Coordinates dense = {{Axis::tp, 2}, {Axis::dp, 2}, {Axis::pp, 2}};
  for (const Order& order : all_orders()) {
    const Groups groups = groups_of_rank_zero(sizes, order);
    EXPECT_EQ(groups.ep.size(), 4U);
    for (const Ranks& group : {groups.ep, groups.edp, groups.etp}) {
      for (const std::int64_t rank : group) {
        EXPECT_EQ(digits(rank, order, dense).at(Axis::pp), 0) << to_text(order) << " " << rank;
      }
    }
  }
  Order order{};
  ASSERT_TRUE(parse_rank_order("tp-cp-ep-dp-pp", order));
  EXPECT_EQ(groups_of_rank_zero(sizes, order).ep, (Ranks{0, 1, 2, 3}));
  ASSERT_TRUE(parse_rank_order("tp-cp-ep-pp-dp", order));
  EXPECT_EQ(groups_of_rank_zero(sizes, order).ep, (Ranks{0, 1, 4, 5}));
}

TEST(Groups, SizesFollowTheSettings) {
  for (const GroupSizes& sizes : worlds()) {
    for (const Order& order : all_orders()) {
      const Groups groups = groups_of_rank_zero(sizes, order);
      const auto size = [](const Ranks& ranks) { return static_cast<std::int64_t>(ranks.size()); };
      EXPECT_EQ(size(groups.tp), sizes.tp);
      EXPECT_EQ(size(groups.cp), sizes.cp);
      EXPECT_EQ(size(groups.dp_cp), sizes.dp * sizes.cp);
      EXPECT_EQ(size(groups.ep), sizes.ep);
      EXPECT_EQ(size(groups.etp), sizes.etp);
      EXPECT_EQ(size(groups.edp), sizes.edp());
      for (const Ranks& ranks : {groups.tp, groups.cp, groups.ep, groups.edp}) {
        EXPECT_EQ(ranks.front(), 0);
        EXPECT_LT(ranks.back(), sizes.world());
      }
    }
  }
}

// Megatron-LM's own example: 16 GPUs, tp 2, pp 4, dp 2: tensor groups of neighbours, data groups
// of every second, pipelines of every fourth.
TEST(Groups, MegatronsExampleOf16Gpus) {
  Order order{};
  ASSERT_TRUE(parse_rank_order("tp-cp-ep-dp-pp", order));
  const Groups groups = groups_of_rank_zero({2, 1, 2, 4, 1, 1}, order);
  EXPECT_EQ(groups.tp, (Ranks{0, 1}));
  EXPECT_EQ(groups.dp_cp, (Ranks{0, 2}));
  EXPECT_EQ(groups.pp_stride, 4);
}

// 16 GPUs with 2 NVSwitches (aliyun/SimAI#140): switches are no ranks, so tp 2 leaves dp = 8, not
// a ring of 9.
TEST(Groups, SwitchesAreNoRanks) {
  Order order{};
  ASSERT_TRUE(parse_rank_order("tp-cp-ep-dp-pp", order));
  const Groups groups = groups_of_rank_zero({2, 1, 8, 1, 1, 1}, order);
  EXPECT_EQ(groups.dp_cp, (Ranks{0, 2, 4, 6, 8, 10, 12, 14}));
  const GroupShape shape = shape_of(groups.dp_cp, 8);
  EXPECT_EQ(shape.size, 8);
  EXPECT_EQ(shape.nodes, 2);
  EXPECT_EQ(shape.per_node, 4);
}

// 512 GPUs, TP8 CP16 PP4 EP64: tensor groups fill nodes, CP groups have one rank a node, experts
// lie on 8 nodes.
TEST(Groups, OfAHeadlineLayout) {
  Order order{};
  ASSERT_TRUE(parse_rank_order("tp-cp-ep-dp-pp", order));
  const GroupSizes sizes{8, 16, 1, 4, 64, 1};
  EXPECT_EQ(sizes.world(), 512);
  EXPECT_EQ(sizes.edp(), 2);
  const Groups groups = groups_of_rank_zero(sizes, order);
  const GroupShape cp = shape_of(groups.cp, 8);
  EXPECT_EQ(cp.size, 16);
  EXPECT_EQ(cp.nodes, 16);
  EXPECT_EQ(cp.per_node, 1);
  const GroupShape ep = shape_of(groups.ep, 8);
  EXPECT_EQ(ep.size, 64);
  EXPECT_EQ(ep.nodes, 8);
  EXPECT_EQ(ep.per_node, 8);
  EXPECT_EQ(groups.pp_stride, 128);
}

TEST(RankOrder, AcceptsEveryPermutation) {
  for (const Order& order : all_orders()) {
    Order parsed{};
    ASSERT_TRUE(parse_rank_order(to_text(order), parsed)) << to_text(order);
    EXPECT_EQ(parsed, order);
  }
}

TEST(RankOrder, RefusesWhatIsNoPermutation) {
  for (const char* text :
       {"", "-", "tp", "tp-cp-ep-dp", "tp-cp-ep-dp-pp-", "-tp-cp-ep-dp-pp", "tp-cp-ep-dp-tp",
        "tp-tp-cp-ep-dp-pp", "tp-cp-ep-dp-pp-tp", "tp,cp,ep,dp,pp", "TP-CP-EP-DP-PP",
        "tp-cp-ep-dp-xp", "tp--cp-ep-dp-pp", "tp -cp-ep-dp-pp", "tp-cp-ep-dp-pp\n"}) {
    Order order{};
    EXPECT_FALSE(parse_rank_order(text, order)) << text;
  }
}

TEST(Shapes, CountNodesAndTheFullestOne) {
  const auto expect = [](const Ranks& ranks, std::int64_t gpus_per_node, std::int64_t nodes,
                         std::int64_t per_node) {
    const GroupShape shape = shape_of(ranks, gpus_per_node);
    EXPECT_EQ(shape.size, static_cast<std::int64_t>(ranks.size()));
    EXPECT_EQ(shape.nodes, nodes);
    EXPECT_EQ(shape.per_node, per_node);
  };
  expect({0}, 8, 1, 1);
  expect({0, 1, 2, 3}, 8, 1, 4);
  expect({0, 8, 16}, 8, 3, 1);
  expect({6, 7, 8, 9, 10}, 8, 2, 3);  // a group that begins inside a node
  expect({0, 1, 2, 3}, 1, 4, 1);
  expect({0, 71, 72}, 72, 2, 2);
}

TEST(Sizes, ExpertReplicas) {
  EXPECT_EQ((GroupSizes{1, 64, 1, 8, 64, 1}.edp()), 1);
  EXPECT_EQ((GroupSizes{4, 2, 8, 4, 8, 1}.edp()), 8);
  EXPECT_EQ((GroupSizes{8, 1, 128, 16, 1, 1}.edp()), 1024);
  EXPECT_EQ((GroupSizes{4, 1, 2, 2, 2, 4}.edp()), 1);
}

}  // namespace
}  // namespace hysim::topology
