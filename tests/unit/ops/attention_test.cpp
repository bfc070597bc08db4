// Attention cores against their matrix products written out, and against figures per token that
// were derived apart (GLM-5 and DeepSeek-V3.2, MFLOP and KB per token and layer).
#include "ops/attention.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "ops/segments.h"

namespace hysim::ops {
namespace {

constexpr std::int64_t kTopK = 2048;

SparseAttention whole_sequence(std::int64_t seq_len, std::int64_t heads) {
  const Segment all{0, seq_len};
  return {selected_pairs(all, kTopK), seq_len, seq_len, heads, 512, 64};
}

TEST(SparseAttentionWork, WorkedExample) {
  const SparseAttention one_query{2048, 1, 4096, 64, 512, 64};
  const Work work = sparse_attention_forward(one_query, SparseBackend::cudnn);
  EXPECT_DOUBLE_EQ(work.flops.si(), 285212672.0);   // 285.2 MFLOP
  EXPECT_DOUBLE_EQ(work.gathered.si(), 2359296.0);  // 2.36 MB
  EXPECT_DOUBLE_EQ(work.scattered.si(), 0.0);
}

// Forward: scores over latent + rope, values over latent. Backward: scores again and dP, dQ, dK,
// dV; scores, dQ and dK over latent + rope, dP and dV over latent.
TEST(SparseAttentionWork, ForwardAndBackwardAreTheirMatrixProducts) {
  const SparseAttention s{1000, 3, 500, 128, 512, 64};
  const double pair_heads = 1000.0 * 128.0;
  const double key = 576.0;
  const double value = 512.0;
  const Work forward = sparse_attention_forward(s, SparseBackend::cudnn);
  const Work backward = sparse_attention_backward(s, SparseBackend::cudnn);
  EXPECT_DOUBLE_EQ(forward.flops.si(), 2.0 * pair_heads * (key + value));
  EXPECT_DOUBLE_EQ(backward.flops.si(), 2.0 * pair_heads * (key + value + key + key + value));
  EXPECT_DOUBLE_EQ(backward.flops.si() / forward.flops.si(), 2752.0 / 1088.0);
}

TEST(SparseAttentionWork, BytesAreRowsQueriesOutputsAndTheAccumulator) {
  const SparseAttention s{1000, 3, 500, 128, 512, 64};
  const Work forward = sparse_attention_forward(s, SparseBackend::cudnn);
  EXPECT_DOUBLE_EQ(forward.gathered.si(), 1000.0 * 1152.0);
  EXPECT_DOUBLE_EQ(forward.read.si(), 3.0 * 128.0 * 1152.0);     // absorbed queries
  EXPECT_DOUBLE_EQ(forward.written.si(), 3.0 * 128.0 * 1024.0);  // latent outputs
  const Work backward = sparse_attention_backward(s, SparseBackend::cudnn);
  EXPECT_DOUBLE_EQ(backward.gathered.si(), 1000.0 * 1152.0);
  EXPECT_DOUBLE_EQ(backward.scattered.si(), 1000.0 * 2304.0);  // fp32 rows added into
  // Queries, outputs, their gradients; the fp32 table of 500 rows is cleared, read and cast.
  const double table = 500.0 * 576.0 * 4.0;
  EXPECT_DOUBLE_EQ(backward.read.si(), 3.0 * 128.0 * (1152.0 + 1024.0 + 1024.0) + table);
  EXPECT_DOUBLE_EQ(backward.written.si(), 3.0 * 128.0 * 1152.0 + table + table / 2.0);
}

// Per token and layer, whole causal sequences with k = 2048, derived apart.
TEST(SparseAttentionWork, FiguresPerTokenOfGlm5AndDeepSeekV32) {
  struct Row {
    std::int64_t heads, seq_len;
    double forward, backward;  // MFLOP
    double gather, atomics;    // KB
  };
  const std::vector<Row> rows = {
      {64, 32768, 276.3, 698.9, 2285.6, 4571.2},    {64, 131072, 283.0, 715.8, 2340.9, 4681.7},
      {64, 262144, 284.1, 718.6, 2350.1, 4700.2},   {64, 1048576, 284.9, 720.7, 2357.0, 4714.0},
      {128, 32768, 552.6, 1397.8, 2285.6, 4571.2},  {128, 131072, 566.0, 1431.6, 2340.9, 4681.7},
      {128, 262144, 568.2, 1437.2, 2350.1, 4700.2}, {128, 1048576, 569.9, 1441.4, 2357.0, 4714.0},
  };
  for (const Row& row : rows) {
    const SparseAttention s = whole_sequence(row.seq_len, row.heads);
    const double tokens = static_cast<double>(row.seq_len);
    const Work forward = sparse_attention_forward(s, SparseBackend::cudnn);
    const Work backward = sparse_attention_backward(s, SparseBackend::cudnn);
    EXPECT_NEAR(forward.flops.si() / tokens / 1e6, row.forward, 0.05) << row.seq_len;
    EXPECT_NEAR(backward.flops.si() / tokens / 1e6, row.backward, 0.05) << row.seq_len;
    EXPECT_NEAR(forward.gathered.si() / tokens / 1e3, row.gather, 0.05) << row.seq_len;
    EXPECT_NEAR(backward.scattered.si() / tokens / 1e3, row.atomics, 0.05) << row.seq_len;
    // Queries and outputs in bf16: 139.3 KB at 64 heads, 278.5 at 128.
    EXPECT_NEAR((forward.read + forward.written).si() / tokens / 1e3,
                row.heads == 64 ? 139.3 : 278.5, 0.05);
  }
}

// Up to k keys every key is selected: sparse attention equals absorbed dense attention.
TEST(SparseAttentionWork, SaturatesAtTopK) {
  for (const std::int64_t seq_len : {1, 1000, 2048}) {
    const SparseAttention s = whole_sequence(seq_len, 64);
    EXPECT_EQ(s.pairs, causal_pairs(Segment{0, seq_len}));
    DenseAttention dense;
    dense.pairs = causal_pairs(Segment{0, seq_len});
    dense.heads = 64;
    dense.qk_dim = 576;
    dense.v_dim = 512;
    EXPECT_DOUBLE_EQ(sparse_attention_forward(s, SparseBackend::cudnn).flops.si(),
                     dense_attention_forward(dense).flops.si());
  }
}

// Eight heads of a TP8 rank cost as many operations as 64 on cuDNN and FlashMLA, 16 on TileLang;
// rows are gathered once for all heads and outputs are not padded.
TEST(SparseAttentionWork, FewHeadsArePadded) {
  const SparseAttention eight{2048, 1, 4096, 8, 512, 64};
  const SparseAttention sixteen{2048, 1, 4096, 16, 512, 64};
  const SparseAttention all{2048, 1, 4096, 64, 512, 64};
  EXPECT_DOUBLE_EQ(sparse_attention_forward(eight, SparseBackend::cudnn).flops.si(),
                   sparse_attention_forward(all, SparseBackend::cudnn).flops.si());
  EXPECT_DOUBLE_EQ(sparse_attention_backward(eight, SparseBackend::tilelang).flops.si(),
                   sparse_attention_backward(sixteen, SparseBackend::tilelang).flops.si());
  EXPECT_DOUBLE_EQ(sparse_attention_forward(eight, SparseBackend::cudnn).gathered.si(),
                   sparse_attention_forward(all, SparseBackend::cudnn).gathered.si());
  EXPECT_DOUBLE_EQ(sparse_attention_forward(eight, SparseBackend::cudnn).written.si() * 8.0,
                   sparse_attention_forward(all, SparseBackend::cudnn).written.si());
}

TEST(PaddedHeads, MultiplesOf64OrPowersOfTwo) {
  struct Row {
    std::int64_t heads, cudnn, tilelang;
  };
  for (const Row& row : std::vector<Row>{{1, 64, 16},
                                         {8, 64, 16},
                                         {16, 64, 16},
                                         {17, 64, 32},
                                         {64, 64, 64},
                                         {65, 128, 128},
                                         {96, 128, 128},
                                         {128, 128, 128},
                                         {129, 192, 256}}) {
    EXPECT_EQ(padded_heads(row.heads, SparseBackend::cudnn), row.cudnn) << row.heads;
    EXPECT_EQ(padded_heads(row.heads, SparseBackend::tilelang), row.tilelang) << row.heads;
  }
}

TEST(SparseAttentionWork, BackendsDifferInTheirBackwardKernel) {
  const SparseAttention s{2048, 1, 4096, 64, 512, 64};
  EXPECT_EQ(sparse_attention_backward(s, SparseBackend::cudnn).kernel,
            Kernel::sparse_attention_backward_cudnn);
  EXPECT_EQ(sparse_attention_backward(s, SparseBackend::tilelang).kernel,
            Kernel::sparse_attention_backward_tilelang);
}

// Flash attention: two products forward, five backward over the same pairs.
TEST(DenseAttentionWork, BackwardIsTwoAndAHalfTimesForward) {
  const DenseAttention s{10000, 100, 200, 16, 4, 128, 128};
  const Work forward = dense_attention_forward(s);
  const Work backward = dense_attention_backward(s);
  EXPECT_DOUBLE_EQ(forward.flops.si(), 2.0 * 10000.0 * 16.0 * 256.0);
  EXPECT_DOUBLE_EQ(backward.flops.si(), 2.5 * forward.flops.si());
  EXPECT_EQ(forward.kernel, Kernel::attention_forward);
  EXPECT_EQ(backward.kernel, Kernel::attention_backward);
}

TEST(DenseAttentionWork, BytesAreQueriesKeysValuesAndOutputsOnce) {
  const DenseAttention s{10000, 100, 200, 16, 4, 192, 128};
  const double queries = 2.0 * 100.0 * 16.0 * 192.0;
  const double keys_values = 2.0 * 200.0 * 4.0 * (192.0 + 128.0);
  const double outputs = 2.0 * 100.0 * 16.0 * 128.0;
  const Work forward = dense_attention_forward(s);
  EXPECT_DOUBLE_EQ(forward.read.si(), queries + keys_values);
  EXPECT_DOUBLE_EQ(forward.written.si(), outputs);
  const Work backward = dense_attention_backward(s);
  EXPECT_DOUBLE_EQ(backward.read.si(), queries + keys_values + 2.0 * outputs);
  EXPECT_DOUBLE_EQ(backward.written.si(), queries + keys_values);
}

// Up-projected MLA of GLM-5 (192 + 64 query-key, 256 value) and DeepSeek-V3.2 (128 + 64, 128).
TEST(DenseAttentionWork, FiguresPerTokenOfGlm5AndDeepSeekV32) {
  struct Row {
    std::int64_t heads, qk_dim, v_dim, seq_len;
    double forward;  // MFLOP
  };
  for (const Row& row : std::vector<Row>{{64, 256, 256, 32768, 1073.8},
                                         {64, 256, 256, 131072, 4295.0},
                                         {64, 256, 256, 1048576, 34359.8},
                                         {128, 192, 128, 32768, 1342.2},
                                         {128, 192, 128, 131072, 5368.8},
                                         {128, 192, 128, 1048576, 42949.7}}) {
    DenseAttention s;
    s.pairs = causal_pairs(Segment{0, row.seq_len});
    s.heads = row.heads;
    s.qk_dim = row.qk_dim;
    s.v_dim = row.v_dim;
    EXPECT_NEAR(dense_attention_forward(s).flops.si() / static_cast<double>(row.seq_len) / 1e6,
                row.forward, 0.06)
        << row.seq_len;
  }
}

}  // namespace
}  // namespace hysim::ops
