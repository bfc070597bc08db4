#include <compare>
#include <type_traits>

#include <gtest/gtest.h>

#include "hysim/units.h"

namespace hysim {
namespace {

template <class Expected, class Actual>
constexpr bool is = std::is_same_v<Expected, Actual>;

// Dimensions follow from the operation.
static_assert(is<Seconds, decltype(Bytes{} / BytesPerSecond{})>);
static_assert(is<Seconds, decltype(Flops{} / FlopsPerSecond{})>);
static_assert(is<Seconds, decltype(1.0 / PerSecond{})>);
static_assert(is<PerSecond, decltype(1.0 / Seconds{})>);
static_assert(is<BytesPerSecond, decltype(Bytes{} / Seconds{})>);
static_assert(is<Bytes, decltype(BytesPerSecond{} * Seconds{})>);
static_assert(is<Bytes, decltype(Seconds{} * BytesPerSecond{})>);
static_assert(is<FlopsPerSecond, decltype(Flops{} * PerSecond{})>);
static_assert(is<Quantity<Dim<2, 0, 0>>, decltype(Bytes{} * Bytes{})>);
static_assert(is<Quantity<Dim<-1, 1, 0>>, decltype(FlopsPerSecond{} / BytesPerSecond{})>);  // ridge

// A dimensionless result is a plain double.
static_assert(is<double, decltype(Bytes{} / Bytes{})>);
static_assert(is<double, decltype(Seconds{} * PerSecond{})>);

// Scaling and sums keep the dimension.
static_assert(is<Bytes, decltype(2.0 * Bytes{})>);
static_assert(is<Bytes, decltype(Bytes{} * 2.0)>);
static_assert(is<Bytes, decltype(Bytes{} / 2.0)>);
static_assert(is<Bytes, decltype(Bytes{} - Bytes{})>);

// As cheap as a double, and never made of one by accident.
static_assert(sizeof(Bytes) == sizeof(double));
static_assert(std::is_trivially_copyable_v<Bytes>);
static_assert(std::is_constructible_v<Bytes, double> && !std::is_convertible_v<double, Bytes>);
static_assert(!std::is_convertible_v<Bytes, double> && !std::is_convertible_v<Bytes, Seconds>);

// Everything is usable at compile time.
static_assert((Bytes{6.0} / BytesPerSecond{3.0}).si() == 2.0);

TEST(Quantity, StartsAtZero) { EXPECT_EQ(Bytes{}, Bytes{0.0}); }

TEST(Quantity, AddsAndSubtracts) {
  EXPECT_EQ(Bytes{1.5} + Bytes{2.0}, Bytes{3.5});
  EXPECT_EQ(Bytes{1.5} - Bytes{2.0}, Bytes{-0.5});
  EXPECT_EQ(-Bytes{1.5}, Bytes{-1.5});
  Seconds t{1.0};
  t += Seconds{2.0};
  EXPECT_EQ(t, Seconds{3.0});
  t -= Seconds{0.5};
  EXPECT_EQ(t, Seconds{2.5});
}

TEST(Quantity, Scales) {
  EXPECT_EQ(2.0 * Flops{3.0}, Flops{6.0});
  EXPECT_EQ(Flops{3.0} * 2.0, Flops{6.0});
  EXPECT_EQ(Flops{3.0} / 2.0, Flops{1.5});
  Flops f{3.0};
  f *= 4.0;
  EXPECT_EQ(f, Flops{12.0});
}

TEST(Quantity, DividesAcrossDimensions) {
  EXPECT_EQ(Bytes{4e12} / BytesPerSecond{2e12}, Seconds{2.0});
  EXPECT_EQ(Flops{1e15} / FlopsPerSecond{2e15}, Seconds{0.5});
  EXPECT_EQ(Bytes{8.0} / Bytes{2.0}, 4.0);
  EXPECT_EQ(BytesPerSecond{3.0} * Seconds{2.0}, Bytes{6.0});
  EXPECT_EQ(1000.0 / PerSecond{2000.0}, Seconds{0.5});
  EXPECT_EQ(Seconds{3.0} * PerSecond{2.0}, 6.0);
}

TEST(Quantity, Compares) {
  EXPECT_LT(Seconds{1.0}, Seconds{2.0});
  EXPECT_LE(Seconds{1.0}, Seconds{1.0});
  EXPECT_GT(Seconds{2.0}, Seconds{1.0});
  EXPECT_NE(Seconds{2.0}, Seconds{1.0});
  EXPECT_TRUE(std::is_eq(Seconds{2.0} <=> Seconds{2.0}));
}

TEST(Quantity, LargerAndSmaller) {
  EXPECT_EQ(max(Bytes{1.0}, Bytes{2.0}), Bytes{2.0});
  EXPECT_EQ(max(Bytes{2.0}, Bytes{1.0}), Bytes{2.0});
  EXPECT_EQ(min(Bytes{1.0}, Bytes{2.0}), Bytes{1.0});
  EXPECT_EQ(min(Bytes{2.0}, Bytes{1.0}), Bytes{1.0});
}

}  // namespace
}  // namespace hysim
