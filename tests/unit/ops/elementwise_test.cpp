// Streaming kernels: bytes per element, tensor by tensor.
#include "ops/elementwise.h"

#include <gtest/gtest.h>

namespace hysim::ops {
namespace {

struct PerElement {
  double read;
  double written;
};

void expect_stream(const Work& work, double elements, const PerElement& bytes) {
  EXPECT_EQ(work.kernel, Kernel::stream);
  EXPECT_DOUBLE_EQ(work.read.si(), elements * bytes.read);
  EXPECT_DOUBLE_EQ(work.written.si(), elements * bytes.written);
  EXPECT_DOUBLE_EQ(work.flops.si(), 0.0);
  EXPECT_GE(work.launches, 1.0);
}

constexpr double kBf16 = 2.0;
constexpr double kFp32 = 4.0;

TEST(Elementwise, NormReadsItsInputAndInBackwardTheGradientToo) {
  expect_stream(norm(1000, Pass::forward), 1000, {kBf16, kBf16});
  expect_stream(norm(1000, Pass::backward), 1000, {kBf16 + kBf16, kBf16});
}

TEST(Elementwise, ResidualReadsTwoTensors) {
  expect_stream(residual_add(1000), 1000, {kBf16 + kBf16, kBf16});
}

TEST(Elementwise, RotaryRewritesInPlace) {
  expect_stream(rotary(1000, Pass::forward), 1000, {kBf16, kBf16});
  expect_stream(rotary(1000, Pass::backward), 1000, {kBf16, kBf16});
}

// SwiGLU: gate and up in, one out; backward: gate, up and the gradient in, two gradients out.
TEST(Elementwise, ActivationFollowsItsGate) {
  expect_stream(activation(1000, true, Pass::forward), 1000, {2 * kBf16, kBf16});
  expect_stream(activation(1000, true, Pass::backward), 1000, {3 * kBf16, 2 * kBf16});
  expect_stream(activation(1000, false, Pass::forward), 1000, {kBf16, kBf16});
  expect_stream(activation(1000, false, Pass::backward), 1000, {2 * kBf16, kBf16});
}

// Copies are gathered and written on one side, read and summed on the other.
TEST(Elementwise, PermuteMovesEveryCopyTwice) {
  expect_stream(permute(100, 64, Pass::forward), 6400, {2 * kBf16, 2 * kBf16});
  EXPECT_DOUBLE_EQ(permute(100, 64, Pass::forward).launches, 2.0);
}

// One bf16 read, an fp8 tensor and its transpose written.
TEST(Elementwise, QuantizeWritesTheTransposeToo) {
  expect_stream(quantize(1000), 1000, {kBf16, 1.0 + 1.0});
}

TEST(Elementwise, EmbeddingAccumulatesInFp32) {
  expect_stream(embedding(100, 64, Pass::forward), 6400, {kBf16, kBf16});
  expect_stream(embedding(100, 64, Pass::backward), 6400, {kBf16 + kFp32, kFp32});
}

// Forward, unfused: bf16 to fp32 (2 in, 4 out), maximum (4 in), exponentials in place (4 in, 4
// out), sum (4 in). Backward: probabilities scaled in place, then cast to bf16.
TEST(Elementwise, CrossEntropyPassesOverTheLogits) {
  expect_stream(cross_entropy(10, 1000, Pass::forward), 10000,
                {kBf16 + kFp32 + kFp32 + kFp32, kFp32 + kFp32});
  expect_stream(cross_entropy(10, 1000, Pass::backward), 10000, {2 * kFp32, kFp32 + kBf16});
}

// Gradient, master weight and two moments in; master weight, moments and bf16 weight out: 30 B.
TEST(Elementwise, AdamMoves30BytesAParameter) {
  expect_stream(adam(1000.0), 1000, {4 * kFp32, 3 * kFp32 + kBf16});
  const Work work = adam(1.0);
  EXPECT_DOUBLE_EQ((work.read + work.written).si(), 30.0);
}

TEST(Elementwise, GradientNormReadsEveryGradientOnce) {
  expect_stream(gradient_norm(1000.0, 4.0), 1000, {4.0, 0.0});
  expect_stream(gradient_norm(1000.0, 2.0), 1000, {2.0, 0.0});
}

}  // namespace
}  // namespace hysim::ops
