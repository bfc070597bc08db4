// Causal and selected pairs against sums over single positions, for every cut of a sequence.
#include "ops/segments.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace hysim::ops {
namespace {

/// Pairs of one rank, found by asking every position of the sequence who owns it.
struct Counted {
  std::int64_t queries = 0;
  std::int64_t causal = 0;
  std::int64_t selected = 0;
};

std::int64_t owner(std::int64_t position, std::int64_t seq_len, std::int64_t cp, CpSplit split) {
  if (cp == 1) return 0;
  if (split == CpSplit::contiguous) return position / (seq_len / cp);
  const std::int64_t chunk = position / (seq_len / (2 * cp));
  return chunk < cp ? chunk : 2 * cp - 1 - chunk;
}

std::vector<Counted> count_positions(std::int64_t seq_len, std::int64_t cp, CpSplit split,
                                     std::int64_t top_k) {
  std::vector<Counted> ranks(static_cast<std::size_t>(cp));
  for (std::int64_t i = 0; i < seq_len; ++i) {
    Counted& rank = ranks[static_cast<std::size_t>(owner(i, seq_len, cp, split))];
    ++rank.queries;
    rank.causal += i + 1;
    rank.selected += std::min(i + 1, top_k);
  }
  return ranks;
}

struct Cut {
  std::int64_t seq_len;
  std::int64_t cp;
  CpSplit split;
};

std::vector<Cut> cuts() {
  std::vector<Cut> all;
  for (const std::int64_t seq_len : {1, 2, 6, 16, 48, 240, 1024, 4096}) {
    for (const std::int64_t cp : {1, 2, 3, 4, 5, 8, 16}) {
      if (seq_len % cp == 0) all.push_back({seq_len, cp, CpSplit::contiguous});
      if (cp == 1 || seq_len % (2 * cp) == 0) all.push_back({seq_len, cp, CpSplit::zigzag});
    }
  }
  return all;
}

TEST(Segments, PairsEqualTheSumOverPositions) {
  for (const Cut& cut : cuts()) {
    for (const std::int64_t top_k : {1, 2, 7, 64, 100, 2048, 100000}) {
      const std::vector<Counted> expected = count_positions(cut.seq_len, cut.cp, cut.split, top_k);
      for (std::int64_t rank = 0; rank < cut.cp; ++rank) {
        const std::vector<Segment> segments = cp_segments(cut.seq_len, cut.cp, rank, cut.split);
        const Counted& counted = expected[static_cast<std::size_t>(rank)];
        ASSERT_EQ(query_count(segments), counted.queries) << cut.seq_len << " cp " << cut.cp;
        ASSERT_EQ(causal_pairs(segments), counted.causal) << cut.seq_len << " cp " << cut.cp;
        ASSERT_EQ(selected_pairs(segments, top_k), counted.selected)
            << cut.seq_len << " cp " << cut.cp << " k " << top_k;
      }
    }
  }
}

TEST(Segments, EveryPositionBelongsToExactlyOneRank) {
  for (const Cut& cut : cuts()) {
    std::vector<int> owners(static_cast<std::size_t>(cut.seq_len), 0);
    for (std::int64_t rank = 0; rank < cut.cp; ++rank) {
      for (const Segment& s : cp_segments(cut.seq_len, cut.cp, rank, cut.split)) {
        for (std::int64_t i = s.query_begin; i < s.kv_len(); ++i) {
          ++owners.at(static_cast<std::size_t>(i));
        }
      }
    }
    for (const int count : owners) ASSERT_EQ(count, 1) << cut.seq_len << " cp " << cut.cp;
  }
}

// Zigzag equalises scored pairs exactly. It does not equalise selected pairs: the rank that owns
// the first chunk has the short rows.
TEST(Segments, ZigzagGivesEveryRankTheSameCausalPairs) {
  for (const Cut& cut : cuts()) {
    if (cut.split != CpSplit::zigzag) continue;
    const std::int64_t total = cut.seq_len * (cut.seq_len + 1) / 2;
    ASSERT_EQ(total % cut.cp, 0);
    for (std::int64_t rank = 0; rank < cut.cp; ++rank) {
      EXPECT_EQ(causal_pairs(cp_segments(cut.seq_len, cut.cp, rank, cut.split)), total / cut.cp)
          << cut.seq_len << " cp " << cut.cp;
    }
  }
  EXPECT_LT(selected_pairs(cp_segments(4096, 8, 0, CpSplit::zigzag), 256),
            selected_pairs(cp_segments(4096, 8, 1, CpSplit::zigzag), 256));
}

// The last of cp contiguous chunks of c tokens sees c(cp-1)c + c(c+1)/2 pairs, the mean rank
// cp c (cp c + 1) / (2 cp): their ratio is ((2cp-1)c + 1) / (cp c + 1), which tends to (2cp-1)/cp.
TEST(Segments, ContiguousSlowestRankHasNearlyTwiceTheMean) {
  for (const std::int64_t cp : {2, 4, 8, 64}) {
    for (const std::int64_t chunk : {1, 16, 16384}) {
      const std::int64_t seq_len = cp * chunk;
      const std::int64_t most = causal_pairs(cp_segments(seq_len, cp, cp - 1, CpSplit::contiguous));
      const std::int64_t sum = seq_len * (seq_len + 1) / 2;
      EXPECT_EQ(most * cp * (cp * chunk + 1), sum * ((2 * cp - 1) * chunk + 1));
    }
  }
  const double most =
      static_cast<double>(causal_pairs(cp_segments(1 << 20, 64, 63, CpSplit::contiguous)));
  const double mean = static_cast<double>((std::int64_t{1} << 20) * ((1 << 20) + 1) / 2) / 64.0;
  EXPECT_NEAR(most / mean, 127.0 / 64.0, 2e-6);
}

TEST(Segments, SlowestRankIsTheFirstNobodyExceeds) {
  for (const Cut& cut : cuts()) {
    for (const std::int64_t top_k : {1, 16, 300, 100000}) {
      const std::vector<Counted> ranks = count_positions(cut.seq_len, cut.cp, cut.split, top_k);
      const std::int64_t slowest = slowest_cp_rank(cut.seq_len, cut.cp, cut.split, top_k);
      const auto work = [&](std::int64_t rank) {
        const Counted& c = ranks.at(static_cast<std::size_t>(rank));
        return std::pair(c.causal, c.selected);
      };
      for (std::int64_t rank = 0; rank < cut.cp; ++rank) {
        EXPECT_LE(work(rank), work(slowest));
        if (rank < slowest) {
          EXPECT_LT(work(rank), work(slowest));
        }
      }
    }
  }
  EXPECT_EQ(slowest_cp_rank(1 << 20, 64, CpSplit::contiguous, 2048), 63);
  EXPECT_EQ(slowest_cp_rank(1 << 20, 64, CpSplit::zigzag, 2048), 1);
}

TEST(Segments, KeysSeenByTheLastQueryEndTheSegment) {
  const Segment segment{100, 28};
  EXPECT_EQ(segment.kv_len(), 128);
  EXPECT_EQ(causal_pairs(Segment{0, 0}), 0);
  EXPECT_EQ(causal_pairs(Segment{9, 1}), 10);
  EXPECT_EQ(selected_pairs(Segment{9, 1}, 4), 4);
}

// A row that sees no more than top_k keys attends to all of them, whatever top_k is.
TEST(Segments, UpToTopKSelectionSeesEverything) {
  for (const std::int64_t seq_len : {1, 63, 64}) {
    const Segment all{0, seq_len};
    for (const std::int64_t top_k : {64, 65, 1000}) {
      EXPECT_EQ(selected_pairs(all, top_k), causal_pairs(all));
    }
  }
}

// Twice the sequence: causal pairs grow by 2(2S+1)/(S+1), selected ones at S = 524288, k = 2048 by
// 2145387520/1071645696 (both in integers).
TEST(Segments, DoublingTheSequence) {
  for (const std::int64_t s : {1, 100, 524288}) {
    EXPECT_EQ(causal_pairs(Segment{0, 2 * s}) * (s + 1),
              causal_pairs(Segment{0, s}) * 2 * (2 * s + 1));
  }
  EXPECT_EQ(selected_pairs(Segment{0, 524288}, 2048), 1071645696);
  EXPECT_EQ(selected_pairs(Segment{0, 1048576}, 2048), 2145387520);
}

// Packed sequences are segments side by side: sums of the parts.
TEST(Segments, ListsAddUp) {
  const std::vector<Segment> packed = {{0, 10}, {0, 25}, {40, 8}};
  EXPECT_EQ(query_count(packed), 43);
  EXPECT_EQ(causal_pairs(packed), 55 + 325 + (41 + 42 + 43 + 44 + 45 + 46 + 47 + 48));
  EXPECT_EQ(selected_pairs(packed, 20), 55 + (210 + 5 * 20) + 8 * 20);
  EXPECT_EQ(causal_pairs(std::vector<Segment>{}), 0);
}

}  // namespace
}  // namespace hysim::ops
