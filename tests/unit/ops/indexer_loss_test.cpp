// The indexer's loss against figures per token that were derived apart.
#include "ops/indexer_loss.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "ops/segments.h"

namespace hysim::ops {
namespace {

IndexerLossShape shape_of(std::int64_t pairs, std::int64_t heads, std::int64_t index_heads) {
  return {pairs, heads, 576, index_heads, 128};
}

TEST(IndexerLossWork, ClosedForm) {
  const IndexerLossShape shape = shape_of(1000, 64, 32);
  const Work once = indexer_teacher(shape, 1);
  const Work twice = indexer_teacher(shape, 2);
  EXPECT_DOUBLE_EQ(once.flops.si(), 2.0 * 1000.0 * 64.0 * 576.0);
  EXPECT_DOUBLE_EQ(twice.flops.si(), 2.0 * once.flops.si());
  EXPECT_DOUBLE_EQ(twice.launches, 2.0);
  const Work gradient = indexer_gradient(shape);
  EXPECT_EQ(gradient.kernel, Kernel::index_loss);
  EXPECT_DOUBLE_EQ(gradient.flops.si(), 6.0 * 1000.0 * 32.0 * 128.0);  // scores, dq, dk
  EXPECT_DOUBLE_EQ(gradient.gathered.si(), 1000.0 * 256.0);            // bf16 index keys
  EXPECT_DOUBLE_EQ(gradient.scattered.si(), 1000.0 * 512.0);           // fp32 key gradients
}

// MFLOP per token and layer: GLM-5 (64 heads, 32 index heads), DeepSeek-V3.2 (128, 64).
TEST(IndexerLossWork, FiguresPerToken) {
  struct Row {
    std::int64_t heads, index_heads, seq_len;
    double sparse_teacher, sparse_gradient, dense_teacher_pass, dense_gradient;
  };
  for (const Row& row : std::vector<Row>{{64, 32, 32768, 146.3, 48.8, 1208.0, 402.7},
                                         {64, 32, 131072, 149.8, 49.9, 4831.9, 1610.6},
                                         {64, 32, 262144, 150.4, 50.1, 9663.7, 3221.2},
                                         {64, 32, 1048576, 150.8, 50.3, 38654.7, 12884.9},
                                         {128, 64, 32768, 292.6, 97.5, 2416.0, 805.3},
                                         {128, 64, 131072, 299.6, 99.9, 9663.8, 3221.3},
                                         {128, 64, 262144, 300.8, 100.3, 19327.4, 6442.5},
                                         {128, 64, 1048576, 301.7, 100.6, 77309.5, 25769.8}}) {
    const Segment all{0, row.seq_len};
    const double per_token = 1.0 / static_cast<double>(row.seq_len) / 1e6;
    const IndexerLossShape sparse = shape_of(selected_pairs(all, 2048), row.heads, row.index_heads);
    const IndexerLossShape dense = shape_of(causal_pairs(all), row.heads, row.index_heads);
    EXPECT_NEAR(indexer_teacher(sparse, 1).flops.si() * per_token, row.sparse_teacher, 0.06);
    EXPECT_NEAR(indexer_gradient(sparse).flops.si() * per_token, row.sparse_gradient, 0.06);
    EXPECT_NEAR(indexer_teacher(dense, 1).flops.si() * per_token, row.dense_teacher_pass, 0.06);
    EXPECT_NEAR(indexer_gradient(dense).flops.si() * per_token, row.dense_gradient, 0.06);
  }
}

}  // namespace
}  // namespace hysim::ops
