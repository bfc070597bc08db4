// Pairs of a sequence and of its context-parallel ranks against sums over all positions.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ops/segments.h"
#include "oracles/figures.h"

namespace hysim {
namespace {

using config::Node;
using ops::CpSplit;
using ops::Segment;
using test::member;
using test::whole;
using test::wholes;

const Node& figures() {
  static const Node node = test::read_figures("pairs");
  return node;
}

TEST(PairsOracle, WholeSequences) {
  for (const auto& [seq_len, expected] : member(figures(), "sequences").as_object()) {
    const Segment all{0, std::stoll(seq_len)};
    EXPECT_EQ(ops::causal_pairs(all), whole(expected, "causal")) << seq_len;
    EXPECT_EQ(ops::selected_pairs(all, 2048), whole(expected, "selected_2048")) << seq_len;
    EXPECT_EQ(ops::selected_pairs(all, 128), whole(expected, "window_128")) << seq_len;
  }
}

std::vector<Segment> rank_of(const Node& cut, std::int64_t rank, CpSplit split) {
  return ops::cp_segments(whole(cut, "seq_len"), whole(cut, "cp"), rank, split);
}

TEST(PairsOracle, EveryRankOf8) {
  const Node& cut = member(figures(), "cp_split").as_array().at(0);
  const std::vector<std::int64_t> contiguous = wholes(cut, "contiguous");
  const std::vector<std::int64_t> zigzag = wholes(cut, "zigzag");
  const std::vector<std::int64_t> selected = wholes(cut, "zigzag_selected_2048");
  ASSERT_EQ(contiguous.size(), 8U);
  for (std::size_t i = 0; i < contiguous.size(); ++i) {
    const auto rank = static_cast<std::int64_t>(i);
    EXPECT_EQ(ops::causal_pairs(rank_of(cut, rank, CpSplit::contiguous)), contiguous[i]);
    EXPECT_EQ(ops::causal_pairs(rank_of(cut, rank, CpSplit::zigzag)), zigzag[i]);
    EXPECT_EQ(ops::selected_pairs(rank_of(cut, rank, CpSplit::zigzag), 2048), selected[i]);
  }
}

TEST(PairsOracle, AMillionTokensOn64Ranks) {
  const Node& cut = member(figures(), "cp_split").as_array().at(1);
  std::int64_t sum = 0;
  for (std::int64_t rank = 0; rank < 64; ++rank) {
    const std::int64_t pairs = ops::causal_pairs(rank_of(cut, rank, CpSplit::zigzag));
    EXPECT_EQ(pairs, whole(cut, "zigzag_each"));
    sum += ops::causal_pairs(rank_of(cut, rank, CpSplit::contiguous));
    const std::int64_t selected = ops::selected_pairs(rank_of(cut, rank, CpSplit::zigzag), 2048);
    EXPECT_EQ(selected, wholes(cut, "zigzag_selected_first_second").at(rank == 0 ? 0 : 1));
  }
  EXPECT_EQ(sum, std::int64_t{549756338176});
  const std::int64_t first = ops::causal_pairs(rank_of(cut, 0, CpSplit::contiguous));
  const std::int64_t last = ops::causal_pairs(rank_of(cut, 63, CpSplit::contiguous));
  EXPECT_EQ(first, wholes(cut, "contiguous_first_last").at(0));
  EXPECT_EQ(last, wholes(cut, "contiguous_first_last").at(1));
  EXPECT_NEAR(static_cast<double>(last) / (static_cast<double>(sum) / 64.0),
              test::number(cut, "contiguous_max_over_mean"), 1e-12);
}

}  // namespace
}  // namespace hysim
