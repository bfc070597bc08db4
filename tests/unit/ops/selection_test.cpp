// Selection: the score table counted row by row, chunk arithmetic, and the streaming threshold of
// HyTopK against a simulation of it.
#include "ops/selection.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "unit/ops/shapes.h"

namespace hysim::ops {
namespace {

constexpr double kGiB = 1073741824.0;
constexpr std::int64_t kMillion = 1 << 20;

using test::glm_indexer;

SelectionShape glm_rank(std::int64_t seq_len, std::int64_t cp, std::int64_t rank) {
  return glm_indexer(cp_segments(seq_len, cp, rank, CpSplit::zigzag), seq_len);
}

// --- the table ---

TEST(ScoreTable, ElementsEqualRowsCountedOneByOne) {
  for (const std::int64_t seq_len : {64, 96, 1024}) {
    for (const std::int64_t cp : {1, 2, 4, 8}) {
      for (const CpSplit split : {CpSplit::zigzag, CpSplit::contiguous}) {
        for (std::int64_t rank = 0; rank < cp; ++rank) {
          SelectionShape shape = glm_indexer(cp_segments(seq_len, cp, rank, split), seq_len);
          std::int64_t full = 0;
          std::int64_t cropped = 0;
          std::int64_t longest = 0;
          for (const Segment& s : shape.segments) {
            for (std::int64_t row = 0; row < s.query_len; ++row) {
              full += seq_len;                         // all keys of the sequence
              cropped += s.query_begin + s.query_len;  // keys up to the end of the segment
            }
            longest = std::max(longest, s.query_begin + s.query_len);
          }
          EXPECT_EQ(table_elements(shape), full);
          EXPECT_EQ(table_row_keys(shape), seq_len);
          shape.key_crop = KeyCrop::segment;
          EXPECT_EQ(table_elements(shape), cropped);
          EXPECT_EQ(table_row_keys(shape), longest);
        }
      }
    }
  }
}

// What no query may see is at most the table; a cropped table still holds every causal pair.
TEST(ScoreTable, CausalPairsFitInEveryTable) {
  for (std::int64_t rank = 0; rank < 8; ++rank) {
    SelectionShape shape = glm_rank(4096, 8, rank);
    const double pairs = static_cast<double>(causal_pairs(shape.segments));
    for (const KeyCrop crop : {KeyCrop::none, KeyCrop::segment}) {
      shape.key_crop = crop;
      const double elements = static_cast<double>(table_elements(shape));
      EXPECT_GE(elements, pairs);
      EXPECT_DOUBLE_EQ(table_write(shape).written.si(), 4.0 * pairs);
      EXPECT_DOUBLE_EQ(table_clean(shape, 1).written.si(), 4.0 * (elements - pairs));
    }
  }
}

// One layer, 1M tokens: 2.2 TB of causal scores in a full rectangle of 4.4 TB.
TEST(ScoreTable, OfAMillionTokens) {
  const SelectionShape shape = glm_indexer({{0, kMillion}}, kMillion);
  EXPECT_EQ(table_elements(shape), std::int64_t{1} << 40);
  EXPECT_DOUBLE_EQ(table_write(shape).written.si(), 4.0 * 549756338176.0);
  EXPECT_DOUBLE_EQ((table_write(shape).written + table_clean(shape, 1).written).si(),
                   4398046511104.0);
}

// --- chunks ---

// fp32 scores, S = 1048576: 1 GiB is 256 rows; 8192 rows are 32 GiB.
TEST(Chunks, OneGibibyteOfAMillionTokensIs256Rows) {
  const SelectionShape shape = glm_rank(kMillion, 64, 1);
  EXPECT_EQ(query_count(shape.segments), 16384);
  EXPECT_EQ(rows_per_chunk(shape, Bytes(kGiB), 0), 256);
  EXPECT_EQ(chunk_count(shape, 256), 64);
  EXPECT_EQ(rows_per_chunk(shape, Bytes(kGiB), 8192), 8192);
  EXPECT_EQ(chunk_count(shape, 8192), 2);
  // Table, and top-k's scratch: torch's fp32 values and int64 indices; radix' int32, twice.
  EXPECT_DOUBLE_EQ(table_workspace(shape, TopkKind::torch, 8192).si(), 34359738368.0 + 201326592.0);
  EXPECT_DOUBLE_EQ(table_workspace(shape, TopkKind::radix, 256).si(), 1073741824.0 + 2147483648.0);
}

TEST(Chunks, OneGibibyteOf131072TokensIs2048Rows) {
  const SelectionShape shape = glm_rank(131072, 32, 1);
  EXPECT_EQ(rows_per_chunk(shape, Bytes(kGiB), 0), 2048);
  // A chunk of 8192 rows would be 4 GiB, but a rank of 32 has 4096 rows only.
  EXPECT_EQ(rows_per_chunk(shape, Bytes(kGiB), 8192), 4096);
  EXPECT_EQ(chunk_count(shape, 4096), 1);
  const SelectionShape wide = glm_rank(131072, 8, 1);
  EXPECT_EQ(rows_per_chunk(wide, Bytes(kGiB), 8192), 8192);
  EXPECT_DOUBLE_EQ(table_workspace(wide, TopkKind::torch, 8192).si() - 201326592.0, 4294967296.0);
}

TEST(Chunks, AtLeastOneRowAtMostAll) {
  const SelectionShape shape = glm_rank(kMillion, 64, 0);
  EXPECT_EQ(rows_per_chunk(shape, Bytes(1.0), 0), 1);
  EXPECT_EQ(chunk_count(shape, 1), 16384);
  EXPECT_EQ(rows_per_chunk(shape, Bytes(1e15), 0), 16384);
  EXPECT_EQ(rows_per_chunk(shape, Bytes(4.0 * 1048576.0 * 257.0 - 1.0), 0), 256);
}

// A cropped table of a rank's longest row sets the rows of a chunk.
TEST(Chunks, RowsFollowTheCroppedRow) {
  SelectionShape shape = glm_indexer({{0, 1000}, {3000, 1000}}, 16000);
  shape.key_crop = KeyCrop::segment;
  EXPECT_EQ(rows_per_chunk(shape, Bytes(4.0 * 4000.0 * 10.0), 0), 10);
  shape.key_crop = KeyCrop::none;
  EXPECT_EQ(rows_per_chunk(shape, Bytes(4.0 * 16000.0 * 10.0), 0), 10);
}

TEST(Chunks, LastChunkMayBePartial) {
  const SelectionShape shape = glm_rank(kMillion, 64, 0);
  for (const std::int64_t rows : {1, 3, 255, 256, 257, 5000, 8192, 16383, 16384}) {
    const std::int64_t chunks = chunk_count(shape, rows);
    const std::int64_t last = 16384 - (chunks - 1) * rows;
    EXPECT_GE(last, 1) << rows;
    EXPECT_LE(last, rows) << rows;
  }
  EXPECT_EQ(chunk_count(shape, 5000), 4);  // 5000 + 5000 + 5000 + 1384
}

// Rows x keys passes 2^31 with 2048 rows of a million keys; nothing may wrap.
TEST(Chunks, CountsAreWiderThan32Bits) {
  const std::int64_t seq_len = std::int64_t{1} << 24;
  const SelectionShape shape = glm_indexer({{0, seq_len}}, seq_len);
  EXPECT_EQ(table_elements(shape), std::int64_t{1} << 48);
  EXPECT_DOUBLE_EQ(index_score(shape, 1).units, std::ldexp(1.0, 47) + std::ldexp(1.0, 23));
  EXPECT_DOUBLE_EQ(table_workspace(shape, TopkKind::radix, seq_len).si(),
                   3.0 * 4.0 * std::ldexp(1.0, 48));
  EXPECT_GT(hytopk(shape).compactions, 0.0);
}

// Chunk size changes workspace, launches and how often keys are streamed; not the operations, the
// table, or what is selected.
TEST(Chunks, ChangeNothingButWorkspaceAndLaunches) {
  const SelectionShape shape = glm_rank(kMillion, 64, 3);
  const std::int64_t many = chunk_count(shape, 256);
  const std::int64_t few = chunk_count(shape, 8192);
  const Work a = index_score(shape, many);
  const Work b = index_score(shape, few);
  EXPECT_EQ(a.flops, b.flops);
  EXPECT_EQ(a.vector_flops, b.vector_flops);
  EXPECT_EQ(a.units, b.units);
  EXPECT_EQ(a.written, b.written);
  EXPECT_GT(a.read, b.read);
  EXPECT_DOUBLE_EQ(a.launches, 64.0);
  EXPECT_DOUBLE_EQ(b.launches, 2.0);
  for (const auto& topk : {torch_topk, radix_topk}) {
    EXPECT_EQ(topk(shape, many).units, topk(shape, few).units);
    EXPECT_EQ(topk(shape, many).written, topk(shape, few).written);
    EXPECT_DOUBLE_EQ(topk(shape, many).launches, 64.0);
  }
  EXPECT_EQ(table_clean(shape, many).written, table_clean(shape, few).written);
}

// --- scoring ---

TEST(IndexScore, WorkedExample) {
  const Work one_pair = index_score(glm_indexer({{0, 1}}, 1), 1);
  EXPECT_DOUBLE_EQ(one_pair.flops.si(), 8192.0);
  EXPECT_DOUBLE_EQ(one_pair.vector_flops.si(), 64.0);
  EXPECT_DOUBLE_EQ(one_pair.units, 1.0);
  EXPECT_DOUBLE_EQ(one_pair.heads, 32.0);
  EXPECT_DOUBLE_EQ(one_pair.total_flops().si(), 2.0 * 32.0 * 129.0);
}

// MFLOP per token and layer: GLM-5 with 32 heads, DeepSeek-V3.2 with 64; KB of fp32 scores.
TEST(IndexScore, FiguresPerToken) {
  struct Row {
    std::int64_t seq_len;
    double glm, deepseek, table;
  };
  for (const Row& row : std::vector<Row>{{32768, 135.3, 270.5, 65.5},
                                         {131072, 541.1, 1082.1, 262.1},
                                         {262144, 1082.1, 2164.3, 524.3},
                                         {1048576, 4328.5, 8657.1, 2097.2}}) {
    SelectionShape shape = glm_indexer({{0, row.seq_len}}, row.seq_len);
    const double tokens = static_cast<double>(row.seq_len);
    EXPECT_NEAR(index_score(shape, 1).total_flops().si() / tokens / 1e6, row.glm, 0.06);
    EXPECT_NEAR(table_write(shape).written.si() / tokens / 1e3, row.table, 0.06);
    shape.heads = 64;
    EXPECT_NEAR(index_score(shape, 1).total_flops().si() / tokens / 1e6, row.deepseek, 0.06);
  }
}

// bf16 keys are twice fp8 keys; queries are H d values each.
TEST(IndexScore, ReadsQueriesOnceAndKeysOncePerChunk) {
  SelectionShape shape = glm_indexer({{0, 1000}}, 1000);
  EXPECT_DOUBLE_EQ(index_score(shape, 1).read.si(), 2.0 * 128.0 * (1000.0 + 1000.0 * 32.0));
  EXPECT_DOUBLE_EQ(index_score(shape, 5).read.si(), 2.0 * 128.0 * (5000.0 + 1000.0 * 32.0));
  shape.precision = Precision::fp8;
  EXPECT_DOUBLE_EQ(index_score(shape, 1).read.si(), 128.0 * (1000.0 + 1000.0 * 32.0));
  EXPECT_EQ(index_score(shape, 1).precision, Precision::fp8);
}

// S = 16384, 32 heads: per-head fp32 scores are 16384^2 x 32 x 4 B = 32 GiB, kept twice.
TEST(NaiveScore, MaterialisesEveryHead) {
  const SelectionShape shape = glm_indexer({{0, 16384}}, 16384);
  const double per_head_scores = 32.0 * kGiB;
  const double table = 1.0 * kGiB;
  EXPECT_DOUBLE_EQ(naive_workspace(shape).si(), 2.0 * per_head_scores + table);
  // einsum writes; relu and the weights read and write; the sum reads and writes the table.
  const Work work = naive_score(shape);
  EXPECT_DOUBLE_EQ(work.written.si(), 3.0 * per_head_scores + table);
  EXPECT_DOUBLE_EQ(work.read.si(), 3.0 * per_head_scores);
  EXPECT_DOUBLE_EQ(work.flops.si(), 2.0 * 16384.0 * 16384.0 * 32.0 * 128.0);
  EXPECT_EQ(work.precision, Precision::fp32);
}

// --- top-k ---

TEST(Topk, TorchReadsFullRowsRadixOnlyCausalOnes) {
  const SelectionShape shape = glm_indexer({{0, 4096}}, 4096);
  EXPECT_DOUBLE_EQ(torch_topk(shape, 1).units, 4096.0 * 4096.0);
  EXPECT_DOUBLE_EQ(radix_topk(shape, 1).units, 4096.0 * 4097.0 / 2.0);
  // int32 indices of every row.
  EXPECT_DOUBLE_EQ(torch_topk(shape, 1).written.si(), 4.0 * 4096.0 * 2048.0);
  EXPECT_DOUBLE_EQ(radix_topk(shape, 1).written.si(), 4.0 * 4096.0 * 2048.0);
}

// --- HyTopK ---

// No byte of the fused kernel grows with the pairs: rows of twice the keys read twice the keys and
// write the same indices.
TEST(HyTopk, ReadsAndWritesNoTable) {
  const SelectionShape shape = glm_rank(kMillion, 64, 1);
  const Work fused = hytopk(shape);
  const Work scoring = index_score(shape, 1);
  EXPECT_EQ(fused.flops, scoring.flops);
  EXPECT_EQ(fused.vector_flops, scoring.vector_flops);
  EXPECT_EQ(fused.read, scoring.read);
  EXPECT_DOUBLE_EQ(fused.written.si(), 4.0 * 16384.0 * 2048.0);
  EXPECT_EQ(fused.written, torch_topk(shape, 1).written);
  EXPECT_LT((fused.read + fused.written).si(), 0.02 * table_write(shape).written.si());

  const Work longer = hytopk(glm_indexer({{kMillion, 16384}}, 2 * kMillion));
  const Work shorter = hytopk(glm_indexer({{kMillion / 2, 16384}}, kMillion));
  EXPECT_EQ(longer.written, shorter.written);
  EXPECT_DOUBLE_EQ((longer.read - shorter.read).si(), 2.0 * 128.0 * kMillion / 2.0);
  EXPECT_DOUBLE_EQ(fused.launches, 1.0);
}

// Sum over rows of ln(n/k) / ln(1 + b/k), b = 1024; four queries of 32 heads compact together.
TEST(HyTopk, CompactionsEqualTheSumOverRows) {
  struct Case {
    std::vector<Segment> segments;
    std::int64_t heads, block;
  };
  for (const Case& c : std::vector<Case>{{{{0, 40000}}, 32, 4},
                                         {{{1000, 3000}, {60000, 3000}}, 64, 2},
                                         {{{500000, 2000}}, 128, 1},
                                         {{{500000, 2000}}, 4, 32},
                                         {{{500000, 2000}}, 256, 1}}) {
    double rows = 0.0;
    for (const Segment& s : c.segments) {
      for (std::int64_t i = s.query_begin; i < s.kv_len(); ++i) {
        rows += expected_compactions(static_cast<double>(i + 1), 2048.0, 1024.0);
      }
    }
    SelectionShape shape = glm_indexer(c.segments, 1 << 20);
    shape.heads = c.heads;
    EXPECT_NEAR(hytopk(shape).compactions * static_cast<double>(c.block) / rows, 1.0, 1e-3);
  }
}

TEST(HyTopk, ShortRowsNeedNoCompaction) {
  EXPECT_DOUBLE_EQ(hytopk(glm_indexer({{0, 2048}}, 2048)).compactions, 0.0);
  EXPECT_DOUBLE_EQ(expected_compactions(2048.0, 2048.0, 1024.0), 0.0);
  EXPECT_DOUBLE_EQ(expected_survivors(100.0, 2048.0, 1024.0), 100.0);
  EXPECT_DOUBLE_EQ(expected_survivors(2048.0, 2048.0, 1024.0), 2048.0);
}

// i.i.d. scores, n = 2^20, k = 2048, simulated apart. The simulation counts whole compactions; the
// formula counts the last, partial filling of the buffer by its share, so it lies up to one above.
TEST(StreamingThreshold, SimulationOfAMillionKeys) {
  struct Row {
    double buffer, survivors, compactions;
  };
  for (const Row& row :
       std::vector<Row>{{512, 16300, 27}, {1024, 17700, 15}, {2048, 20500, 9}, {4096, 24900, 5}}) {
    EXPECT_NEAR(expected_survivors(1048576.0, 2048.0, row.buffer) / row.survivors, 1.0, 0.03)
        << row.buffer;
    EXPECT_EQ(std::floor(expected_compactions(1048576.0, 2048.0, row.buffer) + 1e-9),
              row.compactions)
        << row.buffer;
  }
}

// A one-at-a-time heap, b -> 0, inserts k + sum k/i = k (1 + ln(n/k)): 14,824 of 2^20 keys.
TEST(StreamingThreshold, TendsToTheIdealHeap) {
  const double k = 2048.0;
  double insertions = k;
  for (std::int64_t i = 2049; i <= kMillion; ++i) insertions += k / static_cast<double>(i);
  EXPECT_NEAR(insertions, 14824.0, 1.0);
  EXPECT_NEAR(expected_survivors(1048576.0, k, 1e-3) / insertions, 1.0, 1e-3);
  EXPECT_NEAR(expected_survivors(1048576.0, k, 1e-3), k * (1.0 + std::log(512.0)), 1.0);
}

/// One row: keys above the stale threshold are appended; a full buffer is cut to the best k.
struct Scan {
  double survivors = 0.0;
  double compactions = 0.0;
};
Scan scan(std::mt19937_64& random, std::int64_t n, std::size_t k, std::size_t buffer) {
  Scan result;
  std::vector<double> kept;
  double threshold = -1.0;
  std::uniform_real_distribution<double> score(0.0, 1.0);
  for (std::int64_t i = 0; i < n; ++i) {
    const double key = score(random);
    if (key <= threshold) continue;
    kept.push_back(key);
    result.survivors += 1.0;
    if (kept.size() < k + buffer) continue;
    std::nth_element(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(k) - 1, kept.end(),
                     std::greater<>());
    threshold = kept[k - 1];
    kept.resize(k);
    result.compactions += 1.0;
  }
  return result;
}

TEST(StreamingThreshold, SimulationOfSmallRows) {
  struct Case {
    std::int64_t n;
    std::size_t k, buffer;
  };
  std::mt19937_64 random(20260131);
  constexpr int kRows = 300;
  for (const Case& c :
       std::vector<Case>{{4096, 64, 32}, {16384, 128, 64}, {16384, 128, 128}, {8192, 256, 512}}) {
    double survivors = 0.0;
    double compactions = 0.0;
    for (int row = 0; row < kRows; ++row) {
      const Scan one = scan(random, c.n, c.k, c.buffer);
      survivors += one.survivors / kRows;
      compactions += one.compactions / kRows;
    }
    const double n = static_cast<double>(c.n);
    const double k = static_cast<double>(c.k);
    const double b = static_cast<double>(c.buffer);
    EXPECT_NEAR(expected_survivors(n, k, b) / survivors, 1.0, 0.03)
        << "n " << c.n << " k " << c.k << " b " << c.buffer;
    // Whole compactions: the formula less up to one.
    EXPECT_LE(compactions, expected_compactions(n, k, b) * 1.02);
    EXPECT_GE(compactions, expected_compactions(n, k, b) - 1.02);
  }
}

}  // namespace
}  // namespace hysim::ops
