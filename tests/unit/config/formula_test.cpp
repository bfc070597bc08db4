// The grammar of printed formulas.
#include "config/formula.h"

#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hysim::config {
namespace {

double value(std::string_view formula) {
  return evaluate(formula, [](std::string_view symbol) {
    if (symbol == "a") return 2.0;
    if (symbol == "b_1") return 5.0;
    throw std::logic_error("unknown symbol");
  });
}

TEST(Formula, IsArithmetic) {
  EXPECT_EQ(value("1 + 2 * 3"), 7.0);
  EXPECT_EQ(value("(1 + 2) * 3"), 9.0);
  EXPECT_EQ(value("10 - 4 - 3"), 3.0);
  EXPECT_EQ(value("16 / 4 / 2"), 2.0);
  EXPECT_EQ(value("2 ^ 3 ^ 2"), 512.0);
  EXPECT_EQ(value("2 * a ^ 2"), 8.0);
  EXPECT_EQ(value("a*b_1"), 10.0);
  EXPECT_EQ(value("1.5e3"), 1500.0);
  EXPECT_EQ(value(" ( a ) "), 2.0);
}

TEST(Formula, HasAFewFunctions) {
  EXPECT_EQ(value("max(a, b_1, 3)"), 5.0);
  EXPECT_EQ(value("min(a, b_1, 3)"), 2.0);
  EXPECT_EQ(value("ceil(a / b_1)"), 1.0);
  EXPECT_EQ(value("floor(b_1 / a)"), 2.0);
  EXPECT_EQ(value("log2(8 * a)"), 4.0);
  EXPECT_EQ(value("max(1, min(floor(7 / a), 2))"), 2.0);
}

TEST(Formula, AnythingElseIsAnError) {
  for (const char* const wrong : {"", "1 +", "(1", "1)", "-1", "a b_1", "c", "sqrt(4)", "max(1)",
                                  "ceil(1, 2)", "1 ** 2", "_a", "1,2"}) {
    EXPECT_THROW(static_cast<void>(value(wrong)), std::logic_error) << wrong;
  }
}

TEST(Formula, KnowsItsSymbols) {
  EXPECT_THAT(symbols_of("max(flops / (bf16 * wave), 1e3 * t_1 + flops)"),
              testing::ElementsAre("flops", "bf16", "wave", "t_1"));
  EXPECT_EQ(renamed("2e3 * max(t, te)", [](std::string_view s) { return std::string(s) + "_4"; }),
            "2e3 * max(t_4, te_4)");
}

TEST(Card, KeepsItsLinesInOrder) {
  Card card;
  card.counted("flops", 6.0, "flop", "counted", {"2 * m", "src/a.cpp", "workload.seq_len"})
      .field("peak", "gpu/bf16", 2.0)
      .constant("gap", 1.0, "s", "start", "a source")
      .define("t", "flops / peak + gap", "s", "time");
  ASSERT_EQ(card.lines.size(), 4U);
  EXPECT_EQ(card.lines[0].origin.counted, "2 * m");
  EXPECT_EQ(card.lines[0].origin.where, "src/a.cpp");
  EXPECT_EQ(card.lines[0].origin.settings, "workload.seq_len");
  EXPECT_EQ(card.lines[1].document_key, "gpu/bf16");
  EXPECT_EQ(card.lines[2].source, "a source");
  EXPECT_EQ(card.lines[3].formula, "flops / peak + gap");
}

}  // namespace
}  // namespace hysim::config
