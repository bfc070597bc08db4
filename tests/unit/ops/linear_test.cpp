// Matrix products against closed forms worked by hand and tiles counted one by one.
#include "ops/linear.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace hysim::ops {
namespace {

/// 128 x 128 tiles that cover rows x columns, by walking their corners.
double walk_tiles(std::int64_t rows, std::int64_t columns) {
  double count = 0.0;
  for (std::int64_t r = 0; r < rows; r += 128) {
    for (std::int64_t c = 0; c < columns; c += 128) count += 1.0;
  }
  return count;
}

TEST(Gemm, WorkedExample) {
  const Work work = gemm(8192, 8192, 8192, Precision::bf16);
  EXPECT_EQ(work.kernel, Kernel::gemm);
  EXPECT_DOUBLE_EQ(work.flops.si(), 1099511627776.0);  // 2 x 2^39
  EXPECT_DOUBLE_EQ(work.tiles, 4096.0);
  EXPECT_DOUBLE_EQ(work.depth, 8192.0);
  EXPECT_DOUBLE_EQ(work.read.si(), 2.0 * 2.0 * 67108864.0);
  EXPECT_DOUBLE_EQ(work.written.si(), 2.0 * 67108864.0);
  EXPECT_DOUBLE_EQ(work.launches, 1.0);
  EXPECT_DOUBLE_EQ(work.vector_flops.si(), 0.0);
  EXPECT_DOUBLE_EQ(work.total_flops().si(), work.flops.si());
}

TEST(Gemm, ClosedFormOfEveryShape) {
  for (const std::int64_t m : {1, 127, 128, 129, 5000}) {
    for (const std::int64_t n : {1, 256, 300}) {
      for (const std::int64_t k : {64, 192, 7168}) {
        for (const std::int64_t batch : {1, 3}) {
          const double md = static_cast<double>(m);
          const double nd = static_cast<double>(n);
          const double kd = static_cast<double>(k);
          const double b = static_cast<double>(batch);
          for (const Precision precision : {Precision::bf16, Precision::fp8}) {
            const double e = precision == Precision::bf16 ? 2.0 : 1.0;
            const Work work = gemm(m, n, k, precision, batch);
            EXPECT_DOUBLE_EQ(work.flops.si(), 2.0 * md * nd * kd * b);
            EXPECT_DOUBLE_EQ(work.read.si(), e * b * (md * kd + kd * nd));
            EXPECT_DOUBLE_EQ(work.written.si(), 2.0 * b * md * nd);  // bf16 out of fp8 too
            EXPECT_DOUBLE_EQ(work.tiles, b * walk_tiles(m, n));
            EXPECT_DOUBLE_EQ(work.depth, kd);
            EXPECT_EQ(work.precision, precision);
          }
        }
      }
    }
  }
}

// dA[m,k] = dC[m,n] B^T: the inner product runs over n.
TEST(Gemm, InputGradientMultipliesByTheTransposedWeight) {
  const Work work = gemm_input_gradient(1000, 300, 700, Precision::bf16, 2);
  EXPECT_DOUBLE_EQ(work.flops.si(), 2.0 * 2.0 * 1000.0 * 300.0 * 700.0);
  EXPECT_DOUBLE_EQ(work.read.si(), 2.0 * 2.0 * (1000.0 * 300.0 + 300.0 * 700.0));
  EXPECT_DOUBLE_EQ(work.written.si(), 2.0 * 2.0 * 1000.0 * 700.0);
  EXPECT_DOUBLE_EQ(work.tiles, 2.0 * walk_tiles(1000, 700));
  EXPECT_DOUBLE_EQ(work.depth, 300.0);
}

// dB[k,n] += A^T dC in fp32: the inner product runs over m; the accumulator is read and written.
TEST(Gemm, WeightGradientAccumulatesInFp32) {
  const Work work = gemm_weight_gradient(1000, 300, 700, Precision::fp8);
  EXPECT_DOUBLE_EQ(work.flops.si(), 2.0 * 1000.0 * 300.0 * 700.0);
  EXPECT_DOUBLE_EQ(work.written.si(), 4.0 * 300.0 * 700.0);
  EXPECT_DOUBLE_EQ(work.read.si(), 1.0 * (1000.0 * 700.0 + 1000.0 * 300.0) + 4.0 * 300.0 * 700.0);
  EXPECT_DOUBLE_EQ(work.tiles, walk_tiles(700, 300));
  EXPECT_DOUBLE_EQ(work.depth, 1000.0);
}

// Forward, input gradient and weight gradient cost the same operations: backward is twice forward.
TEST(Gemm, BackwardIsTwiceForward) {
  const Work forward = gemm(4096, 1536, 6144, Precision::bf16);
  EXPECT_DOUBLE_EQ(gemm_input_gradient(4096, 1536, 6144, Precision::bf16).flops.si() +
                       gemm_weight_gradient(4096, 1536, 6144, Precision::bf16).flops.si(),
                   2.0 * forward.flops.si());
  const Work grouped = grouped_gemm(8, 4096, 4096, 6144, Precision::bf16);
  EXPECT_DOUBLE_EQ(
      grouped_gemm_input_gradient(8, 4096, 4096, 6144, Precision::bf16).flops.si() +
          grouped_gemm_weight_gradient(8, 4096, 4096, 6144, Precision::bf16).flops.si(),
      2.0 * grouped.flops.si());
}

// Four experts with 1024 rows each: every weight matrix is read once, every row once.
TEST(GroupedGemm, WeightsAreReadOncePerExpert) {
  const Work work = grouped_gemm(4, 4096, 2048, 6144, Precision::bf16);
  EXPECT_EQ(work.kernel, Kernel::grouped_gemm);
  EXPECT_DOUBLE_EQ(work.flops.si(), 2.0 * 4096.0 * 2048.0 * 6144.0);
  EXPECT_DOUBLE_EQ(work.read.si(), 2.0 * (4096.0 * 6144.0 + 4.0 * 6144.0 * 2048.0));
  EXPECT_DOUBLE_EQ(work.written.si(), 2.0 * 4096.0 * 2048.0);
  EXPECT_DOUBLE_EQ(work.tiles, 4.0 * walk_tiles(1024, 2048));
  EXPECT_DOUBLE_EQ(work.depth, 6144.0);
}

// The same rows over more experts: the same operations, more weight traffic, more partial tiles.
TEST(GroupedGemm, MoreExpertsCostBandwidthAndPartialTiles) {
  const Work few = grouped_gemm(4, 4096, 2048, 6144, Precision::fp8);
  const Work many = grouped_gemm(64, 4096, 2048, 6144, Precision::fp8);
  EXPECT_DOUBLE_EQ(many.flops.si(), few.flops.si());
  EXPECT_DOUBLE_EQ(many.read.si() - few.read.si(), 60.0 * 6144.0 * 2048.0);
  EXPECT_DOUBLE_EQ(many.tiles, 64.0 * walk_tiles(64, 2048));
  EXPECT_DOUBLE_EQ(few.tiles, 4.0 * walk_tiles(1024, 2048));
}

TEST(GroupedGemm, Gradients) {
  const Work input = grouped_gemm_input_gradient(4, 4096, 2048, 6144, Precision::bf16);
  EXPECT_DOUBLE_EQ(input.written.si(), 2.0 * 4096.0 * 6144.0);
  EXPECT_DOUBLE_EQ(input.depth, 2048.0);
  const Work weight = grouped_gemm_weight_gradient(4, 4096, 2048, 6144, Precision::bf16);
  EXPECT_DOUBLE_EQ(weight.written.si(), 4.0 * 4.0 * 6144.0 * 2048.0);
  EXPECT_DOUBLE_EQ(weight.read.si(), 2.0 * 4096.0 * (6144.0 + 2048.0) + weight.written.si());
  EXPECT_DOUBLE_EQ(weight.depth, 1024.0);
  EXPECT_DOUBLE_EQ(weight.tiles, 4.0 * walk_tiles(6144, 2048));
}

TEST(Precisions, BytesOfAnElement) {
  EXPECT_DOUBLE_EQ(element_bytes(Precision::bf16), 2.0);
  EXPECT_DOUBLE_EQ(element_bytes(Precision::fp8), 1.0);
  EXPECT_DOUBLE_EQ(element_bytes(Precision::fp32), 4.0);
}

}  // namespace
}  // namespace hysim::ops
