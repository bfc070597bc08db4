// Pairs of a step of ring attention against counting them one by one.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "ops/segments.h"

namespace hysim::ops {
namespace {

std::int64_t counted(const std::vector<Segment>& queries, const std::vector<Segment>& keys) {
  std::int64_t pairs = 0;
  for (const Segment& q : queries) {
    for (const Segment& k : keys) {
      for (std::int64_t i = q.query_begin; i < q.kv_len(); ++i) {
        for (std::int64_t j = k.query_begin; j < k.kv_len(); ++j) pairs += j <= i ? 1 : 0;
      }
    }
  }
  return pairs;
}

TEST(RingSegments, StepsAreCountedPairs) {
  for (const CpSplit split : {CpSplit::zigzag, CpSplit::contiguous}) {
    for (const std::int64_t ranks : {1, 2, 3, 8}) {
      const std::int64_t seq_len = 48;
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        const std::vector<Segment> own = cp_segments(seq_len, ranks, rank, split);
        std::int64_t sum = 0;
        for (std::int64_t step = 0; step < ranks; ++step) {
          const std::int64_t pairs = ring_step_pairs(seq_len, ranks, rank, step, split);
          const std::int64_t from = (rank + ranks - step) % ranks;
          EXPECT_EQ(pairs, counted(own, cp_segments(seq_len, ranks, from, split)));
          sum += pairs;
        }
        EXPECT_EQ(sum, causal_pairs(own));
      }
    }
  }
}

// Zigzag with chunks of c = S / 2cp tokens: 2 c^2 + c pairs in the first step, 2 c^2 in each other,
// on every rank.
TEST(RingSegments, ZigzagStepsAreEqualOnAllRanks) {
  const std::int64_t c = 1024;
  for (std::int64_t rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(ring_step_pairs(16 * c, 8, rank, 0, CpSplit::zigzag), 2 * c * c + c);
    for (std::int64_t step = 1; step < 8; ++step) {
      EXPECT_EQ(ring_step_pairs(16 * c, 8, rank, step, CpSplit::zigzag), 2 * c * c);
    }
  }
}

}  // namespace
}  // namespace hysim::ops
