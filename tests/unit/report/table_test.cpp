// The column formatter and the number formats.
#include "report/table.h"

#include <cmath>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/format.h"

namespace hysim::report {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Significant, KeepsThreeDigits) {
  EXPECT_EQ(significant(27.94), "27.9");
  EXPECT_EQ(significant(9.996), "10.0");
  EXPECT_EQ(significant(33.0), "33.0");
  EXPECT_EQ(significant(1024.4), "1,024");
  EXPECT_EQ(significant(0.01234), "0.0123");
  EXPECT_EQ(significant(-1.5), "-1.50");
  EXPECT_EQ(significant(0.0), "0");
  EXPECT_EQ(significant(1.5e-7), "1.50e-07");
  EXPECT_EQ(significant(1.5e30), "1.50e+30");
  EXPECT_EQ(significant(std::nan("")), "n/a");
  EXPECT_EQ(significant(HUGE_VAL), "inf");
}

TEST(Quantity, ValueAndRangeShareAUnit) {
  EXPECT_EQ(with_range(Ranged<Seconds>{Seconds(27.9), Seconds(24.1), Seconds(33.0)}),
            "27.9 s  [24.1, 33.0]");
  EXPECT_EQ(with_range(Ranged<Seconds>{Seconds(1.2), Seconds(0.9), Seconds(1.5)}),
            "1.20 s  [0.900, 1.50]");
  EXPECT_EQ(with_range(Ranged<Seconds>{Seconds(0.0042), Seconds(0.0042), Seconds(0.0042)}),
            "4.20 ms");
  EXPECT_EQ(text_of(Bytes(102625181696.0)), "102.6 GB");
  EXPECT_EQ(times_with_range({1.86, 1.62, 2.10}), "1.86x  [1.62, 2.10]");
  EXPECT_EQ(percent(0.312), "31.2 %");
}

TEST(RoundedToSum, AddsUp) {
  const std::vector<double> thirds = {1.0 / 3, 1.0 / 3, 1.0 / 3};
  const auto counts = rounded_to_sum(thirds, 0.01);
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), 100);
  EXPECT_THAT(rounded_to_sum({0.0, 0.995, 0.005}, 0.01), ElementsAre(0, 100, 0));
  EXPECT_THAT(rounded_to_sum({HUGE_VAL}, 0.01), IsEmpty());
  EXPECT_THAT(rounded_to_sum({std::nan("")}, 0.01), IsEmpty());
}

TEST(FixedPoint, PutsThePoint) {
  EXPECT_EQ(fixed_point(2790, 2), "27.90");
  EXPECT_EQ(fixed_point(5, 2), "0.05");
  EXPECT_EQ(fixed_point(-211, 2), "-2.11");
  EXPECT_EQ(fixed_point(1234567, 2), "12,345.67");
  EXPECT_EQ(fixed_point(12, 0), "12");
}

TEST(Wrapped, BreaksAtBlanks) {
  EXPECT_THAT(wrapped("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(wrapped("one two three", 8, 2), ElementsAre("one two", "  three"));
  EXPECT_THAT(wrapped("abcdefghij k", 4), ElementsAre("abcd", "efgh", "ij k"));
  EXPECT_THAT(wrapped("1.86x  [1.62]", 20), ElementsAre("1.86x  [1.62]"));
  EXPECT_THAT(wrapped("", 10), ElementsAre(""));
}

TEST(Shortened, KeepsBothEnds) {
  EXPECT_EQ(shortened("megatron-tilelang", 10), "mega..lang");
  EXPECT_EQ(shortened("short", 10), "short");
  EXPECT_EQ(shortened("abc", 1), "a");
}

TEST(Printable, ReplacesControlCharacters) {
  EXPECT_EQ(printable("a\x1b[0m\x07"), "a?[0m?");
  EXPECT_EQ(printable("tab\tline\n"), "tab line ");
  EXPECT_EQ(printable("\xE2\x82\xAC"), "\xE2\x82\xAC");
  EXPECT_EQ(printable("\xC2\x9B"), "??");  // a C1 control character
  EXPECT_EQ(printable("\xff\xfe"), "??");
}

Table two_columns(std::string first, std::string second) {
  Table table;
  table.columns = {{"", Align::left}, {std::move(first)}, {std::move(second)}};
  table.rows = {Row{{"time", "1.5", "20.25"}}, Row{{"memory", "80", "-"}}};
  return table;
}

TEST(Layout, AlignsColumns) {
  EXPECT_THAT(layout(two_columns("a", "b"), 80, false),
              ElementsAre("          a      b",  //
                          "time    1.5  20.25",  //
                          "memory   80      -"));
}

TEST(Layout, WrapsTitlesWhereTheTableIsTooWide) {
  EXPECT_THAT(layout(two_columns("megatron-tilelang", "hyscale"), 30, false),
              ElementsAre("        megatron-",           //
                          "         tilelang  hyscale",  //
                          "time          1.5    20.25",  //
                          "memory         80        -"));
}

TEST(Layout, ShortenedTitlesStayDistinct) {
  const std::string one = "aaaaaaaaaaaaaaaaaaaaaaaa1bbbbbbbbbbbbbbbbbbbbbbbbbbb";
  const std::string two = "aaaaaaaaaaaaaaaaaaaaaaaa2bbbbbbbbbbbbbbbbbbbbbbbbbbb";
  const auto lines = layout(two_columns(one, two), 60, false);
  EXPECT_EQ(lines[0], "        aaaaaa..bbbbbb  aaaaa..bbbbb#2");
}

TEST(Layout, RepeatsTheNamesOfRowsInASecondTable) {
  Table table;
  table.columns = {{"", Align::left}};
  Row row{{"time"}};
  for (int i = 0; i < 8; ++i) {
    table.columns.push_back({"variant" + std::to_string(i)});
    row.cells.emplace_back("123.45");
  }
  table.rows = {row};
  const auto lines = layout(table, 40, false);
  ASSERT_EQ(lines.size(), 8U);
  EXPECT_EQ(lines[0], "      variant0  variant1  variant2");
  EXPECT_EQ(lines[3], "      variant3  variant4  variant5");
  EXPECT_EQ(lines[7], "time    123.45    123.45");
}

TEST(Layout, WrapsTextColumns) {
  Table table;
  table.show_titles = false;
  table.columns = {{"", Align::left}, {"", Align::left, true}};
  table.rows = {Row{{"Source", "one two three four five six seven eight nine"}}};
  EXPECT_THAT(layout(table, 40, false),
              ElementsAre("Source  one two three four five six",  //
                          "        seven eight nine"));
}

TEST(Layout, DrawsARuleAboveASum) {
  Table table = two_columns("a", "b");
  table.rows[1].rule_above = true;
  EXPECT_EQ(layout(table, 80, false)[2], "------------------");
}

TEST(Layout, ShortRowsAreFine) {
  Table table = two_columns("a", "b");
  table.rows.push_back(Row{{"empty"}});
  table.rows.push_back(Row{});
  EXPECT_EQ(layout(table, 80, false).size(), 5U);
}

}  // namespace
}  // namespace hysim::report
