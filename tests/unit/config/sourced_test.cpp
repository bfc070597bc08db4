// Physical numbers of a profile, and draws from them: pure, bounded, centred, independent.
#include "config/sourced.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace hysim::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Outcome {
  Sourced value;
  std::vector<std::string> said;
};

Outcome read(std::string_view text, std::string_view si_unit) {
  const Node node = parse(text, "gpu.json");
  Faults faults;
  Outcome out;
  out.value = read_sourced(node, "/x", "gpu/x", si_unit, faults);
  try {
    faults.throw_if_any();
  } catch (const InputError& error) {
    for (const Diagnostic& fault : error.diagnostics()) {
      out.said.push_back("(" + fault.pointer + "): " + fault.message);
    }
  }
  return out;
}

TEST(ReadSourced, ConvertsToSi) {
  const Outcome out = read(R"({"value": 4.0, "unit": "TB/s", "low": 3.5, "high": 4.2,
                               "source": "nvidia-h20", "kind": "measured",
                               "measured_on": "h20-96", "note": "at 4 GiB"})",
                           "B/s");
  EXPECT_THAT(out.said, ElementsAre());
  EXPECT_DOUBLE_EQ(out.value.value, 4.0e12);
  EXPECT_DOUBLE_EQ(out.value.low, 3.5e12);
  EXPECT_DOUBLE_EQ(out.value.high, 4.2e12);
  EXPECT_EQ(out.value.id, "gpu/x");
  EXPECT_EQ(out.value.unit, "TB/s");
  EXPECT_EQ(out.value.source, "nvidia-h20");
  EXPECT_EQ(out.value.kind, SourceKind::measured);
  EXPECT_EQ(out.value.measured_on, "h20-96");
}

TEST(ReadSourced, KnowsEveryDimensionAndKind) {
  const auto value = [](const std::string& unit, std::string_view si, const std::string& kind) {
    const Outcome out = read(
        R"({"value": 2, "source": "s", "unit": ")" + unit + R"(", "kind": ")" + kind + "\"}", si);
    EXPECT_THAT(out.said, ElementsAre()) << unit;
    return std::pair(out.value.value, out.value.kind);
  };
  EXPECT_EQ(value("GiB", "B", "datasheet"), std::pair(2147483648.0, SourceKind::datasheet));
  EXPECT_EQ(value("Gbit/s", "B/s", "measured"), std::pair(2.5e8, SourceKind::measured));
  EXPECT_EQ(value("TFLOPS", "flop/s", "derived"), std::pair(2e12, SourceKind::derived));
  EXPECT_EQ(value("min", "s", "assumed"), std::pair(120.0, SourceKind::assumed));
  EXPECT_EQ(value("MHz", "1/s", "assumed"), std::pair(2e6, SourceKind::assumed));
  EXPECT_EQ(value("%", "1", "assumed"), std::pair(0.02, SourceKind::assumed));
}

TEST(ReadSourced, HasNoRangeUnlessOneIsGiven) {
  const Sourced none =
      read(R"({"value": 3, "unit": "s", "source": "s", "kind": "assumed"})", "s").value;
  EXPECT_EQ(none.low, 3.0);
  EXPECT_EQ(none.high, 3.0);
  const Sourced below =
      read(R"({"value": 3, "low": 1, "unit": "s", "source": "s", "kind": "assumed"})", "s").value;
  EXPECT_EQ(below.low, 1.0);
  EXPECT_EQ(below.high, 3.0);
}

TEST(ReadSourced, FindsWrongUnits) {
  EXPECT_THAT(read(R"({"value": 3, "unit": "GB", "source": "s", "kind": "assumed"})", "B/s").said,
              ElementsAre(R"((/x/unit): unit "GB" is of dimension B; expected one of dimension )"
                          R"(B/s such as "GB/s")"));
  EXPECT_THAT(read(R"({"value": 3, "unit": "G", "source": "s", "kind": "assumed"})", "B").said,
              ElementsAre(R"((/x/unit): unknown unit "G" (a prefix alone is no unit); expected )"
                          R"(one of dimension B such as "GB" or "GiB")"));
  EXPECT_THAT(
      read(R"({"value": 3, "unit": "furlong", "source": "s", "kind": "assumed"})", "1").said,
      ElementsAre(R"((/x/unit): unknown unit "furlong"; expected one of dimension )"
                  R"(dimensionless such as "1", "fraction" or "%")"));
}

TEST(ReadSourced, TellsEveryDimensionFromTheOthers) {
  const std::vector<std::string> units = {"B", "flop", "s", "B/s", "flop/s", "1/s", "1"};
  for (const std::string& written : units) {
    for (const std::string& wanted : units) {
      const std::string text =
          R"({"value": 3, "source": "s", "kind": "assumed", "unit": ")" + written + "\"}";
      EXPECT_EQ(read(text, wanted).said.empty(), written == wanted) << written << " " << wanted;
    }
  }
}

TEST(ReadSourced, FindsRangesThatDoNotHoldTheValue) {
  const Outcome low =
      read(R"({"value": 3, "low": 4, "unit": "s", "source": "s", "kind": "assumed"})", "s");
  EXPECT_THAT(low.said,
              ElementsAre(R"((/x/low): "low" must not exceed "value", which is 3.0; found 4.0)"));
  EXPECT_LE(low.value.low, low.value.value);
  const Outcome high =
      read(R"({"value": 3, "high": 2, "unit": "s", "source": "s", "kind": "assumed"})", "s");
  EXPECT_THAT(
      high.said,
      ElementsAre(R"((/x/high): "high" must not be below "value", which is 3.0; found 2.0)"));
  EXPECT_GE(high.value.high, high.value.value);
}

TEST(ReadSourced, FindsWhatIsTooLargeInSi) {
  EXPECT_THAT(read(R"({"value": 1e300, "unit": "TB", "source": "s", "kind": "assumed"})", "B").said,
              ElementsAre(HasSubstr("too large when converted from \"TB\" to B")));
}

TEST(ReadSourced, FindsEveryFaultAtOnce) {
  EXPECT_THAT(read(R"({"valeu": 3})", "s").said,
              testing::UnorderedElementsAre(
                  R"((/x): missing key "value")", R"((/x): missing key "unit", a string)",
                  R"((/x): missing key "source", a string)", R"((/x): missing key "kind")",
                  R"((/x/valeu): unknown key "valeu"; did you mean "value"?)"));
  EXPECT_THAT(read(R"({"value": "3", "unit": 1, "source": "", "kind": "rumor", "note": 1,
                       "measured_on": 2})",
                   "s")
                  .said,
              ElementsAre(HasSubstr("\"value\" must be a number"), HasSubstr("\"unit\" must be"),
                          HasSubstr("\"source\" must name"), HasSubstr("\"kind\" must be one of"),
                          HasSubstr("\"note\" must be a string"),
                          HasSubstr("\"measured_on\" must be a string")));
  EXPECT_THAT(read("3", "s").said,
              ElementsAre(R"((/x): "x" must be an object, found the integer 3)"));
}

TEST(EvidenceWord, IsTheEnumerator) {
  EXPECT_EQ(to_string(Evidence::this_gpu), "this_gpu");
  EXPECT_EQ(to_string(Evidence::other_gpu), "other_gpu");
  EXPECT_EQ(to_string(Evidence::datasheet), "datasheet");
  EXPECT_EQ(to_string(Evidence::assumed), "assumed");
}

TEST(EvidenceOf, DependsOnTheKindAndOnWhoseGpuWasMeasured) {
  const auto of = [](SourceKind kind, std::string measured_on) {
    Sourced value;
    value.kind = kind;
    value.measured_on = std::move(measured_on);
    return evidence_of(value, "h20");
  };
  EXPECT_EQ(of(SourceKind::measured, ""), Evidence::this_gpu);
  EXPECT_EQ(of(SourceKind::measured, "h20"), Evidence::this_gpu);
  EXPECT_EQ(of(SourceKind::measured, "h800"), Evidence::other_gpu);
  EXPECT_EQ(of(SourceKind::derived, ""), Evidence::datasheet);
  EXPECT_EQ(of(SourceKind::derived, "h20"), Evidence::this_gpu);
  EXPECT_EQ(of(SourceKind::derived, "h800"), Evidence::other_gpu);
  EXPECT_EQ(of(SourceKind::datasheet, ""), Evidence::datasheet);
  EXPECT_EQ(of(SourceKind::assumed, ""), Evidence::assumed);
}

Sourced sourced(double low, double value, double high, std::string id = "gpu/a") {
  Sourced out;
  out.low = low;
  out.value = value;
  out.high = high;
  out.id = std::move(id);
  return out;
}

TEST(SamplerNominal, IsTheValue) { EXPECT_EQ(Sampler()(sourced(1, 2, 7)), 2.0); }

TEST(SamplerDraw, IsAPureFunctionOfSeedIdAndSample) {
  const Sourced a = sourced(1, 2, 7);
  const double first = Sampler(3, 5)(a);
  Sampler(3, 6)(a);
  Sampler(4, 5)(sourced(1, 2, 7, "gpu/b"));
  EXPECT_EQ(Sampler(3, 5)(a), first);
  EXPECT_NE(Sampler(3, 6)(a), first);
  EXPECT_NE(Sampler(4, 5)(a), first);
  EXPECT_NE(Sampler(3, 5)(sourced(1, 2, 7, "gpu/b")), first);
}

TEST(SamplerDraw, StaysInRangeWithTheValueAsMedian) {
  const Sourced skewed = sourced(1, 2, 7);
  constexpr int kDraws = 20'000;
  int below = 0;
  double lowest = skewed.high;
  double highest = skewed.low;
  double sum_below = 0.0;
  double sum_above = 0.0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = Sampler(1, static_cast<std::uint64_t>(i))(skewed);
    ASSERT_GE(x, 1.0);
    ASSERT_LE(x, 7.0);
    lowest = std::min(lowest, x);
    highest = std::max(highest, x);
    below += x < 2.0 ? 1 : 0;
    (x < 2.0 ? sum_below : sum_above) += x;
  }
  EXPECT_NEAR(below, kDraws / 2, 5 * std::sqrt(kDraws / 4.0));
  EXPECT_LT(lowest, 1.01);
  EXPECT_GT(highest, 6.95);
  // Uniform on either side: the means are the midpoints.
  EXPECT_NEAR(sum_below / below, 1.5, 0.02);
  EXPECT_NEAR(sum_above / (kDraws - below), 4.5, 0.08);
}

TEST(SamplerDraw, IsExactlyTheValueWithoutARange) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(Sampler(1, i)(sourced(0.1, 0.1, 0.1)), 0.1);
  }
}

TEST(SamplerDraw, OfOneInputIsNotDisturbedByAnother) {
  std::vector<double> alone;
  std::vector<double> with_another;
  for (std::uint64_t i = 0; i < 100; ++i) alone.push_back(Sampler(9, i)(sourced(0, 1, 2, "a")));
  for (std::uint64_t i = 0; i < 100; ++i) {
    const Sampler sampler(9, i);
    sampler(sourced(0, 1, 2, "b"));
    with_another.push_back(sampler(sourced(0, 1, 2, "a")));
  }
  EXPECT_EQ(alone, with_another);
}

/// The definition again, step by step.
double uniform_by_hand(std::uint64_t seed, std::string_view id, std::uint64_t sample) {
  const auto mix = [](std::uint64_t x) {
    x += 0x9e3779b97f4a7c15ULL;
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ULL;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebULL;
    x ^= x >> 31;
    return x;
  };
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (std::size_t i = 0; i < id.size(); ++i) {
    hash = (hash ^ static_cast<std::uint8_t>(id[i])) * 0x100000001b3ULL;
  }
  return std::ldexp(static_cast<double>(mix(mix(mix(seed) ^ hash) ^ sample) / 2048), -53);
}

TEST(Uniform, IsTheStatedHash) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const std::string_view id : {"", "a", "gpu/h20-96/hbm_bandwidth", "\xC3\xA9"}) {
      for (const std::uint64_t sample : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
        EXPECT_EQ(uniform(seed, id, sample), uniform_by_hand(seed, id, sample));
      }
    }
  }
}

TEST(Uniform, HasTheMomentsOfAUniform) {
  for (const std::string_view id : {"a", "b", "gpu/h20-96/hbm_bandwidth"}) {
    constexpr int kDraws = 40'000;
    double sum = 0.0;
    double square = 0.0;
    double lag = 0.0;
    double last = 0.5;
    for (int i = 0; i < kDraws; ++i) {
      const double u = uniform(42, id, static_cast<std::uint64_t>(i));
      ASSERT_GE(u, 0.0);
      ASSERT_LT(u, 1.0);
      sum += u;
      square += (u - 0.5) * (u - 0.5);
      lag += (u - 0.5) * (last - 0.5);
      last = u;
    }
    EXPECT_NEAR(sum / kDraws, 0.5, 0.0075) << id;  // five standard errors
    EXPECT_NEAR(square / kDraws, 1.0 / 12.0, 0.002) << id;
    EXPECT_NEAR(lag / kDraws, 0.0, 0.0021) << id;  // consecutive samples
  }
}

TEST(Uniform, IsUncorrelatedBetweenIdsAndSeeds) {
  constexpr int kDraws = 40'000;
  double ids = 0.0;
  double seeds = 0.0;
  for (int i = 0; i < kDraws; ++i) {
    const auto sample = static_cast<std::uint64_t>(i);
    const double u = uniform(42, "a", sample) - 0.5;
    ids += u * (uniform(42, "b", sample) - 0.5);
    seeds += u * (uniform(43, "a", sample) - 0.5);
  }
  EXPECT_NEAR(ids / kDraws, 0.0, 0.0021);
  EXPECT_NEAR(seeds / kDraws, 0.0, 0.0021);
}

}  // namespace
}  // namespace hysim::config
