// Copies of a token under uniform routing: exact fractions, and counting over every choice.
#include "ops/routing.h"

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace hysim::ops {
namespace {

/// Mean number of distinct parts (and of parts other than part 0) over all choices of k experts.
struct Counted {
  double distinct = 0.0;
  double remote = 0.0;
};
Counted count_choices(int experts, int k, int parts) {
  double choices = 0.0;
  Counted sum;
  for (std::uint32_t set = 0; set < (1U << experts); ++set) {
    if (std::popcount(set) != k) continue;
    std::uint32_t hit = 0;
    for (int e = 0; e < experts; ++e) {
      if ((set >> e) & 1U) hit |= 1U << (e / (experts / parts));
    }
    choices += 1.0;
    sum.distinct += std::popcount(hit);
    sum.remote += std::popcount(hit & ~1U);
  }
  return {sum.distinct / choices, sum.remote / choices};
}

TEST(Routing, EqualsTheMeanOverAllChoices) {
  for (const int experts : {4, 8, 12, 16}) {
    for (const int parts : {1, 2, 4}) {
      for (int k = 1; k <= 5 && k <= experts; ++k) {
        const Routing routing{experts, k, 1, 1};
        const Counted counted = count_choices(experts, k, parts);
        EXPECT_NEAR(expected_distinct(routing, parts), counted.distinct, 1e-12)
            << experts << " experts, top-" << k << ", " << parts << " parts";
        if (parts > 1) {
          EXPECT_NEAR(expected_remote(routing, parts), counted.remote, 1e-12);
        }
      }
    }
  }
}

// E[distinct parts] = G (1 - C(N-s,k)/C(N,k)), times (G-1)/G without the token's own part.
TEST(Routing, ExactFractions) {
  struct Row {
    std::string name;
    Routing routing;
    std::int64_t parts;
    double distinct, remote;
  };
  const std::vector<Row> rows = {
      {"256 experts, top-8, 64 ranks",
       {256, 8, 1, 1},
       64,
       4192702.0 / 546227.0,
       132070113.0 / 17479264.0},
      {"256 experts, top-8, 8 nodes",
       {256, 8, 1, 1},
       8,
       362471040053.0 / 68459842125.0,
       2537297280371.0 / 547678737000.0},
      {"256 experts, top-8, 32 ranks",
       {256, 8, 1, 1},
       32,
       939691952959.0 / 129313035125.0,
       29130450541729.0 / 4138017124000.0},
      {"256 experts, top-8, 4 nodes",
       {256, 8, 1, 1},
       4,
       5498412017.0 / 1521329825.0,
       16495236051.0 / 6085319300.0},
      {"256 experts, top-6, 32 ranks",
       {256, 6, 1, 1},
       32,
       767915591.0 / 137102977.0,
       23805383321.0 / 4387295264.0},
      {"256 experts, top-6, 4 nodes",
       {256, 6, 1, 1},
       4,
       2420995.0 / 733171.0,
       7262985.0 / 2932684.0},
      {"512 experts, top-10, 32 ranks",
       {512, 10, 1, 1},
       32,
       628755094560405.0 / 71681141147083.0,
       19491407931372555.0 / 2293796516706656.0},
      {"512 experts, top-10, 4 nodes",
       {512, 10, 1, 1},
       4,
       2793746274246769.0 / 738823730405761.0,
       8381238822740307.0 / 2955294921623044.0},
      {"8 experts, top-2, 8 ranks", {8, 2, 1, 1}, 8, 2.0, 7.0 / 4.0},
      {"128 experts, top-8, 8 ranks",
       {128, 8, 1, 1},
       8,
       2891550271.0 / 541554035.0,
       20240851897.0 / 4332432280.0},
      // Group-limited: 4 of 8 groups, taken as uniform inside them; 64 ranks, 8 nodes.
      {"256 experts, top-8 in 4 of 8 groups, 64 ranks",
       {256, 8, 8, 4},
       64,
       23366.0 / 3175.0,
       23366.0 / 3175.0 * 63.0 / 64.0},
      {"256 experts, top-8 in 4 of 8 groups, 8 nodes",
       {256, 8, 8, 4},
       8,
       697366471.0 / 192164335.0,
       4881565297.0 / 1537314680.0},
  };
  for (const Row& row : rows) {
    EXPECT_NEAR(expected_distinct(row.routing, row.parts) / row.distinct, 1.0, 1e-12) << row.name;
    EXPECT_NEAR(expected_remote(row.routing, row.parts) / row.remote, 1.0, 1e-12) << row.name;
  }
}

TEST(Routing, OnePartSendsNothing) {
  const Routing routing{256, 8, 8, 4};
  EXPECT_DOUBLE_EQ(expected_distinct(routing, 1), 1.0);
  EXPECT_DOUBLE_EQ(expected_remote(routing, 1), 0.0);
}

// Never more than the chosen experts or the other parts; all of them with one expert a part.
TEST(Routing, Bounds) {
  for (const std::int64_t k : {1, 2, 6, 8}) {
    double before = 0.0;
    for (const std::int64_t parts : {2, 4, 8, 16, 32, 64, 128, 256}) {
      const Routing routing{256, k, 1, 1};
      const double remote = expected_remote(routing, parts);
      const double own = static_cast<double>(parts - 1) / static_cast<double>(parts);
      EXPECT_LE(remote, static_cast<double>(k) * own * (1.0 + 1e-12));
      EXPECT_LE(remote, static_cast<double>(parts - 1));
      EXPECT_GT(remote, before);
      if (parts == 256) {
        EXPECT_NEAR(remote, static_cast<double>(k) * own, 1e-9);
      }
      before = remote;
    }
  }
}

// Every expert chosen: every part is hit.
TEST(Routing, ChoosingEverythingHitsEveryPart) {
  EXPECT_DOUBLE_EQ(expected_distinct({16, 16, 1, 1}, 4), 4.0);
  EXPECT_DOUBLE_EQ(expected_distinct({16, 13, 1, 1}, 4), 4.0);
}

}  // namespace
}  // namespace hysim::ops
