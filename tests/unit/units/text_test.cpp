// Units as people write them: what is read, what is refused, what is written.
#include "units/text.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace hysim::units {
namespace {

struct Known {
  std::string_view text;
  double scale;
  int byte;
  int flop;
  int second;
};

class ParseUnit : public testing::TestWithParam<Known> {};

TEST_P(ParseUnit, HasItsScaleAndDimension) {
  const Known& known = GetParam();
  const auto unit = parse_unit(known.text);
  ASSERT_TRUE(unit) << known.text;
  EXPECT_DOUBLE_EQ(unit->scale, known.scale) << known.text;
  EXPECT_EQ(unit->byte, known.byte) << known.text;
  EXPECT_EQ(unit->flop, known.flop) << known.text;
  EXPECT_EQ(unit->second, known.second) << known.text;
}

INSTANTIATE_TEST_SUITE_P(
    Units, ParseUnit,
    testing::Values(
        Known{"B", 1, 1, 0, 0}, Known{"KB", 1000, 1, 0, 0}, Known{"kB", 1000, 1, 0, 0},
        Known{"MB", 1e6, 1, 0, 0}, Known{"GB", 1e9, 1, 0, 0}, Known{"TB", 1e12, 1, 0, 0},
        Known{"PB", 1e15, 1, 0, 0}, Known{"KiB", 1024, 1, 0, 0}, Known{"MiB", 1048576, 1, 0, 0},
        Known{"GiB", 1073741824, 1, 0, 0}, Known{"TiB", 1099511627776, 1, 0, 0},
        Known{"B/s", 1, 1, 0, -1}, Known{"GB/s", 1e9, 1, 0, -1}, Known{"TB/s", 1e12, 1, 0, -1},
        Known{"GiB/s", 1073741824, 1, 0, -1}, Known{"bit", 0.125, 1, 0, 0},
        Known{"Kbit", 125, 1, 0, 0}, Known{"Mbit", 1.25e5, 1, 0, 0},
        Known{"Gbit/s", 1.25e8, 1, 0, -1}, Known{"Tbit/s", 1.25e11, 1, 0, -1},
        Known{"flop", 1, 0, 1, 0}, Known{"Gflop", 1e9, 0, 1, 0}, Known{"Tflop", 1e12, 0, 1, 0},
        Known{"flop/s", 1, 0, 1, -1}, Known{"Gflop/s", 1e9, 0, 1, -1},
        Known{"Tflop/s", 1e12, 0, 1, -1}, Known{"FLOPS", 1, 0, 1, -1},
        Known{"GFLOPS", 1e9, 0, 1, -1}, Known{"TFLOPS", 1e12, 0, 1, -1},
        Known{"PFLOPS", 1e15, 0, 1, -1}, Known{"TFLOP/s", 1e12, 0, 1, -1},
        Known{"TOPS", 1e12, 0, 1, -1}, Known{"s", 1, 0, 0, 1}, Known{"ms", 1e-3, 0, 0, 1},
        Known{"us", 1e-6, 0, 0, 1}, Known{"\xC2\xB5s", 1e-6, 0, 0, 1}, Known{"ns", 1e-9, 0, 0, 1},
        Known{"ps", 1e-12, 0, 0, 1}, Known{"min", 60, 0, 0, 1}, Known{"h", 3600, 0, 0, 1},
        Known{"Hz", 1, 0, 0, -1}, Known{"kHz", 1e3, 0, 0, -1}, Known{"MHz", 1e6, 0, 0, -1},
        Known{"GHz", 1e9, 0, 0, -1}, Known{"1/s", 1, 0, 0, -1}, Known{"1", 1, 0, 0, 0},
        Known{"fraction", 1, 0, 0, 0}, Known{"%", 0.01, 0, 0, 0}));

TEST(ParseUnitRefuses, WhatIsAmbiguousOrMeaningless) {
  for (const std::string_view text :
       {"",     " ",          "G",    "K",      "M",      "T",       "k",        "Gi",
        "b",    "Gb",         "Gbps", "GBps",   "gb",     "gib",     "GB ",      " GB",
        "GB/S", "GB/",        "/s",   "GB/s/s", "s/s",    "FLOPS/s", "TFLOPS/s", "Hz/s",
        "%/s",  "fraction/s", "2",    "1/s/s",  "Tflops", "sec",     "W"}) {
    EXPECT_FALSE(parse_unit(text)) << '"' << text << '"';
  }
}

TEST(ParseBytes, ReadsANumberAndAUnitOfBytes) {
  EXPECT_EQ(parse_bytes("1 GiB"), Bytes(1073741824.0));
  EXPECT_EQ(parse_bytes("1GiB"), Bytes(1073741824.0));
  EXPECT_EQ(parse_bytes("1.5e9 B"), Bytes(1.5e9));
  EXPECT_EQ(parse_bytes(" 80  GB "), Bytes(80e9));
  EXPECT_EQ(parse_bytes("0 B"), Bytes(0.0));
  EXPECT_EQ(parse_bytes("8 Gbit"), Bytes(1e9));
  EXPECT_EQ(parse_bytes("0.5 MiB"), Bytes(524288.0));
}

TEST(ParseBytes, RefusesEverythingElse) {
  for (const std::string_view text :
       {"",         "GB",      "1",       "1 G",    "1G",     "-1 GB", "+1 GB",
        "inf B",    "nan B",   "0x10 B",  "1e B",   "1 GB/s", "1 s",   "1,5 GB",
        "1e308 TB", "1e999 B", "1 GB GB", "one GB", ".5 GB",  "1 EiBs"}) {
    EXPECT_FALSE(parse_bytes(text)) << '"' << text << '"';
  }
}

TEST(ParseTokenCount, KnowsBinarySuffixes) {
  EXPECT_EQ(parse_token_count("131072"), 131072);
  EXPECT_EQ(parse_token_count("128K"), 131072);
  EXPECT_EQ(parse_token_count("1M"), 1048576);
  EXPECT_EQ(parse_token_count("128 K"), 131072);
  EXPECT_EQ(parse_token_count("1.5M"), 1572864);
  EXPECT_EQ(parse_token_count("0"), 0);
  EXPECT_EQ(parse_token_count("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_token_count("8796093022207M"), 9223372036853727232);
}

TEST(ParseTokenCount, RefusesWhatIsNoWholeCount) {
  for (const std::string_view text : {"",
                                      "K",
                                      "128k",
                                      "1G",
                                      "1m",
                                      "-1",
                                      "-1K",
                                      "1.1K",
                                      "0.1M",
                                      "1.5",
                                      "9223372036854775808",
                                      "8796093022208M",
                                      "1KK",
                                      "1 K K",
                                      "1e999M",
                                      "0x10",
                                      "K1",
                                      "1_000",
                                      "1,000",
                                      "nan",
                                      "inf"}) {
    EXPECT_FALSE(parse_token_count(text)) << '"' << text << '"';
  }
}

TEST(Format, HasThreeSignificantDigitsAndAFittingUnit) {
  EXPECT_EQ(format(Seconds(12.34)), "12.3 s");
  EXPECT_EQ(format(Seconds(0.8449)), "845 ms");
  EXPECT_EQ(format(Seconds(1.0)), "1.00 s");
  EXPECT_EQ(format(Seconds(999.0)), "999 s");
  EXPECT_EQ(format(Seconds(1230.0)), "20.5 min");
  EXPECT_EQ(format(Seconds(7200.0)), "2.00 h");
  EXPECT_EQ(format(Seconds(3.6e6)), "1000 h");
  EXPECT_EQ(format(Seconds(45.6e-6)), "45.6 us");
  EXPECT_EQ(format(Seconds(7.89e-9)), "7.89 ns");
  EXPECT_EQ(format(Seconds(1e-12)), "1.00 ps");
  EXPECT_EQ(format(Bytes(38.2e9)), "38.2 GB");
  EXPECT_EQ(format(Bytes(512.0)), "512 B");
  EXPECT_EQ(format(Bytes(4.0)), "4 B");
  EXPECT_EQ(format(Bytes(1024.0)), "1.02 KB");
  EXPECT_EQ(format(FlopsPerSecond(123.4e12)), "123 TFLOP/s");
  EXPECT_EQ(format(FlopsPerSecond(75.8e15)), "75.8 PFLOP/s");
  EXPECT_EQ(format(BytesPerSecond(4.8e12)), "4.80 TB/s");
}

TEST(Format, TakesTheNextUnitWhenRoundingReachesIt) {
  EXPECT_EQ(format(Seconds(0.99949)), "999 ms");
  EXPECT_EQ(format(Seconds(0.9996)), "1.00 s");
  EXPECT_EQ(format(Bytes(999.7e6)), "1.00 GB");
  EXPECT_EQ(format(Seconds(9.996)), "10.0 s");
  EXPECT_EQ(format(Seconds(99.96)), "100 s");
}

TEST(Format, SaysWhatIsNoOrdinaryNumber) {
  EXPECT_EQ(format(Seconds(0.0)), "0 s");
  EXPECT_EQ(format(Seconds(-0.25)), "-250 ms");
  EXPECT_EQ(format(Bytes(std::numeric_limits<double>::infinity())), "inf B");
  EXPECT_EQ(format(Bytes(-std::numeric_limits<double>::infinity())), "-inf B");
  EXPECT_EQ(format(Seconds(std::nan(""))), "nan s");
  EXPECT_EQ(format(Seconds(1e-15)), "0.001 ps");
  EXPECT_EQ(format(Bytes(1e30)), "1e+12 EB");
}

TEST(Format, ReadsBackWithinThreeDigits) {
  for (double value = 1.0; value < 1e18; value *= 1.0371) {
    const std::string text = format(Bytes(value));
    const auto back = parse_bytes(text);
    ASSERT_TRUE(back) << text;
    EXPECT_NEAR(back->si(), value, value * 0.00501) << text;
  }
  for (double value = 1e-12; value < 1e7; value *= 1.0371) {
    const std::string text = format(Seconds(value));
    const std::size_t space = text.find(' ');
    const auto unit = parse_unit(text.substr(space + 1));
    ASSERT_TRUE(unit) << text;
    EXPECT_EQ(unit->second, 1) << text;
    EXPECT_NEAR(std::stod(text.substr(0, space)) * unit->scale, value, value * 0.00501) << text;
  }
}

TEST(FormatCount, GroupsByThousands) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(1048576), "1,048,576");
  EXPECT_EQ(format_count(-123456), "-123,456");
  EXPECT_EQ(format_count(-1000), "-1,000");
  EXPECT_EQ(format_count(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(FormatTokens, UsesTheLargestExactSuffix) {
  EXPECT_EQ(format_tokens(1048576), "1M");
  EXPECT_EQ(format_tokens(131072), "128K");
  EXPECT_EQ(format_tokens(1572864), "1536K");
  EXPECT_EQ(format_tokens(1000), "1000");
  EXPECT_EQ(format_tokens(0), "0");
  EXPECT_EQ(format_tokens(-1024), "-1024");
}

TEST(FormatTokens, ReadsBackExactly) {
  for (const std::int64_t value :
       {std::int64_t{1}, std::int64_t{1023}, std::int64_t{1024}, std::int64_t{1025},
        std::int64_t{3} << 20, (std::int64_t{5} << 20) + 1024}) {
    EXPECT_EQ(parse_token_count(format_tokens(value)), value);
  }
}

}  // namespace
}  // namespace hysim::units
