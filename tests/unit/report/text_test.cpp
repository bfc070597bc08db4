// The text views: what they say, that they fit 80 columns and that their tables add up.
#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hysim/report.h"
#include "report/table.h"
#include "report/views.h"
#include "unit/report/fixture.h"

namespace hysim::report::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// No line is too long, has trailing blanks or control characters, or is no ASCII.
void expect_clean(const std::string& text, int width = 80) {
  EXPECT_THAT(text, testing::EndsWith("\n"));
  for (const std::string& line : lines_of(text)) {
    EXPECT_LE(display_width(line), width) << line;
    EXPECT_THAT(line, Not(testing::EndsWith(" "))) << line;
    for (const char c : line) EXPECT_TRUE(c >= ' ' && c < 127) << line;
  }
}

std::string collapsed(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const char shown = c == '\n' ? ' ' : c;
    if (shown != ' ' || !result.ends_with(' ')) result += shown;
  }
  return result;
}

/// The numbers of the rows between a heading and the sum below the rule, by column.
struct Sums {
  std::vector<double> rows;
  std::vector<double> sum;
};
Sums sums_below(const std::string& text, const std::string& heading, std::size_t columns,
                std::size_t label_width) {
  Sums sums{std::vector<double>(columns), {}};
  const auto lines = lines_of(text);
  auto line = std::find_if(lines.begin(), lines.end(),
                           [&](const std::string& l) { return l.starts_with(heading); });
  const auto numbers = [&](const std::string& l) {
    std::vector<double> values;
    std::istringstream cells(l.substr(std::min(label_width, l.size())));
    for (std::string cell; values.size() < columns && cells >> cell;) {
      cell.erase(std::remove(cell.begin(), cell.end(), ','), cell.end());
      values.push_back(cell == "-" ? 0.0 : std::stod(cell));
    }
    return values;
  };
  for (line += 2; line != lines.end() && !line->starts_with("---"); ++line) {
    const auto values = numbers(*line);
    for (std::size_t i = 0; i < values.size(); ++i) sums.rows[i] += values[i];
  }
  if (line != lines.end()) sums.sum = numbers(*(line + 1));
  return sums;
}

TEST(PredictionText, StartsWithTheAnswer) {
  const auto lines = lines_of(to_text(hyscale()));
  EXPECT_EQ(lines[0], "hyscale: 18.4 s  [15.8, 21.7] a step");
}

TEST(PredictionText, SaysThatItDoesNotFit) {
  const std::string text = collapsed(to_text(tilelang()));
  EXPECT_THAT(text, StartsWith("megatron-tilelang: 32.0 s [27.5, 37.7] a step, hypothetical: does "
                               "not fit (132.0 GB of 102.6 GB)"));
}

TEST(PredictionText, NamesWhatWasAsked) {
  const std::string text = to_text(hyscale());
  for (const char* part :
       {"glm-5.1", "512 x h20-96\n", "16 sequences of 1M a step (16,777,216 tokens)",
        "16 a pipeline, of 1 sequence", "tp 1, cp 64, pp 8, dp 1, ep 64; layers 9, 10 x6, 9",
        "[10th, 90th percentile] of 200 draws, seed 1"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(PredictionText, GivesMemoryAndEvidence) {
  const std::string text = to_text(hyscale());
  EXPECT_THAT(text, HasSubstr("85.68 GB  [83.11, 90.83] of 102.6 GB on stage 0: fits"));
  EXPECT_THAT(text, HasSubstr("this GPU 58 %, other GPUs 20 %, datasheets 10 %, assumed 12 %"));
  EXPECT_THAT(text, HasSubstr("checkpoints                    26.00 GB      25.3"));
}

TEST(PredictionText, PartsSumToTheStep) {
  const Sums sums = sums_below(to_text(tilelang()), "Where the time goes", 2, 21);
  ASSERT_EQ(sums.sum.size(), 2U);
  EXPECT_NEAR(sums.rows[0], sums.sum[0], 1e-9);
  EXPECT_NEAR(sums.sum[0], tilelang().step_time.value.si(), 0.005);
  EXPECT_NEAR(sums.rows[1], 100.0, 1e-9);
}

TEST(PredictionText, HiddenWorkStandsApart) {
  const std::string text = to_text(tilelang());
  EXPECT_THAT(text, HasSubstr("Hidden behind other work, not in the sum\n"
                              "CP comm  1.28 s\nEP comm  2.27 s\n"));
}

TEST(PredictionText, WithoutDrawsThereIsNoRange) {
  Prediction p = hyscale();
  p.draws = 0;
  p.step_time.low = p.step_time.high = p.step_time.value;
  const std::string text = to_text(p);
  EXPECT_THAT(text, StartsWith("hyscale: 18.4 s a step\n"));
  EXPECT_THAT(text, HasSubstr("nominal values only (0 draws)"));
}

TEST(ComparisonText, StartsWithTheSpeedup) {
  const std::string text = collapsed(to_text(comparison()));
  EXPECT_THAT(text, StartsWith("hyscale vs megatron-tilelang: 1.74x [1.53, 1.95] hypothetical: "
                               "megatron-tilelang does not fit (132.0 GB of 102.6 GB) "
                               "Over unpublished settings: 1.42x to 2.31x (4 hypotheses) "
                               "Published: 2.07x (hyscale-abstract), shown beside ours and not "
                               "used"));
}

TEST(ComparisonText, ASpeedupOfWhatFitsIsNotHypothetical) {
  Comparison c = comparison();
  c.variants[0].memory.fits = Fit::yes;
  c.speedup.hypothetical = false;
  c.speedup.note.clear();
  EXPECT_THAT(lines_of(to_text(c))[0], "hyscale vs megatron-tilelang: 1.74x  [1.53, 1.95]");
}

TEST(ComparisonText, MarksWhatDoesNotFit) {
  const std::string text = to_text(comparison());
  EXPECT_THAT(text, HasSubstr("32.0 s*"));
  EXPECT_THAT(text,
              HasSubstr("Fits                    does not fit           tight           yes\n"));
  EXPECT_THAT(collapsed(text),
              HasSubstr("* megatron-tilelang does not fit, its time is as if it did: 132.0 GB of "
                        "102.6 GB on stage 0 (checkpoints 26.0 GB"));
}

TEST(ComparisonText, ColumnsSumToTheSteps) {
  const Comparison c = comparison();
  const Sums sums = sums_below(to_text(c), "Where the time goes", 4, 21);
  ASSERT_EQ(sums.sum.size(), 4U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(sums.rows[i], sums.sum[i], 1e-9);
    EXPECT_NEAR(sums.sum[i], c.variants[i].step_time.value.si(), 0.0051);
  }
  EXPECT_NEAR(sums.rows[3], sums.sum[3], 1e-9);
  EXPECT_NEAR(sums.sum[3], sums.sum[0] - sums.sum[2], 1e-9);
}

TEST(ComparisonText, ShowsAblationAndHypotheses) {
  const std::string text = to_text(comparison());
  EXPECT_THAT(text, HasSubstr("What each step of hyscale buys"));
  EXPECT_THAT(text, HasSubstr("  + selection replay        21.7 s*  [18.4, 25.0]  1.47x"));
  EXPECT_THAT(text, HasSubstr("  without selection replay  20.8 s   [17.7, 23.9]  1.54x"));
  EXPECT_THAT(text, HasSubstr("torch  fp8"));
}

TEST(ComparisonText, HypothesesGoFromTheLeastToTheMost) {
  Comparison c = comparison();
  std::swap(c.hypotheses[0], c.hypotheses[3]);
  EXPECT_THAT(collapsed(to_text(c)),
              HasSubstr("torch bf16 1.42x* [1.28, 1.56] torch fp8 1.72x* [1.54, 1.89] "
                        "radix bf16 2.01x* [1.81, 2.21] radix fp8 2.31x* [2.08, 2.54] "
                        "* one of the two does not fit "));
}

TEST(ComparisonText, OfManyHypothesesSettingsAreShownAloneAndBothEnds) {
  Comparison c = comparison();
  c.hypotheses.clear();
  const std::string layouts[] = {R"({"tp":1,"pp":8,"cp":64})", R"({"tp":2,"pp":8,"cp":32})"};
  for (int i = 0; i < 16; ++i) {
    Hypothesis hypothesis;
    hypothesis.settings = {{"parallelism", layouts[i % 2]},
                           {"base:kernels.topk", i / 2 % 2 == 0 ? "\"torch\"" : "\"radix\""},
                           {"training.mtp_num_layers", std::to_string(i / 4)}};
    hypothesis.ratio = {1.0 + 0.1 * i, 1.0, 4.0};
    hypothesis.fits = i == 1 ? Fit::no : Fit::yes;
    c.hypotheses.push_back(hypothesis);
  }
  const std::string text = collapsed(to_text(c));
  EXPECT_THAT(text, HasSubstr("all at their first value 1.00x"));
  EXPECT_THAT(text, HasSubstr("parallelism: tp 2, cp 32 1.10x*"));
  EXPECT_THAT(text, HasSubstr("base:kernels.topk: radix 1.20x"));
  EXPECT_THAT(text, HasSubstr("training.mtp_num_layers: 3 2.20x"));
  EXPECT_THAT(text, Not(HasSubstr("1.30x")));  // two settings differ
  EXPECT_THAT(text, HasSubstr("Least of all 16 combinations: 1.00x "));
  EXPECT_THAT(text, HasSubstr("Most of all 16 combinations: 2.50x with parallelism: tp 2, cp 32; "
                              "base:kernels.topk: radix; training.mtp_num_layers: 3"));
}

TEST(ComparisonText, WhatDiffersBecomesARow) {
  Comparison c = comparison();
  c.variants[2].layout.cp = 32;
  c.variants[2].layout.dp = 2;
  c.variants[2].micro_batches = 8;
  const std::string text = to_text(c);
  EXPECT_THAT(text, HasSubstr("tp 1, pp 8, ep 64; layers 9, 10 x6, 9"));
  EXPECT_THAT(collapsed(text),
              HasSubstr(" Micro-batches 16 of 1 16 of 1 8 of 1 cp 64 64 32 dp 1 1 2 "));
}

TEST(ComparisonText, EqualNamesGiveWayToScenarios) {
  Comparison c = comparison();
  c.variants[0].scenario = "today";
  c.variants[2].scenario = "proposal";
  c.variants.erase(c.variants.begin() + 1);
  c.variants[0].variant = c.variants[1].variant = "default";
  c.speedup.baseline = "today:default";
  c.speedup.candidate = "proposal:default";
  std::string text = collapsed(to_text(c));
  EXPECT_THAT(text, HasSubstr("today:default does not fit (132.0 GB of 102.6 GB)"));
  EXPECT_THAT(text, HasSubstr(" today proposal "));
  EXPECT_THAT(text, HasSubstr(" 31.96 18.37 13.59 "));
  c.variants.push_back(c.variants[1]);
  c.variants[2].variant = "other";
  text = collapsed(to_text(c));
  EXPECT_THAT(text, HasSubstr(" today:default proposal:default proposal:other "));
}

TEST(ComparisonText, ManyVariantsTakeSeveralTables) {
  Comparison c = comparison();
  for (int i = 0; i < 6; ++i) {
    c.variants.push_back(hyscale());
    c.variants.back().variant = "hyscale-with-another-layout-" + std::to_string(i);
  }
  const std::string text = to_text(c);
  expect_clean(text);
  EXPECT_THAT(text, HasSubstr("layout-5"));
}

TEST(ComparisonText, AssumptionsNotSharedSayWhose) {
  const std::string text = to_text(comparison());
  EXPECT_THAT(text, HasSubstr("- packed sequences are one document of 1M tokens\n"));
  EXPECT_THAT(text, HasSubstr("- megatron-tilelang: the TileLang backward keeps"));
}

TEST(Text, FitsEightyColumns) {
  expect_clean(to_text(comparison()));
  for (const Prediction& p : comparison().variants) expect_clean(to_text(p));
  expect_clean(to_text(comparison(), {60, false}), 60);
  expect_clean(to_text(tilelang(), {60, false}), 60);
}

TEST(Text, FitsEightyColumnsWithExtremeValues) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double scale : {0.0, 1e-12, 1e-6, 1e3, 1e9, 1e30, 1e300, infinity, std::nan("")}) {
    Comparison c = comparison();
    for (Prediction& p : c.variants) {
      for (BreakdownLeaf& l : p.breakdown) l.time.value *= scale;
      p.step_time = {p.step_time.value * scale, p.step_time.low * scale, p.step_time.high * scale};
      p.tokens_per_second_per_gpu.value *= scale;
      p.mfu.fraction.value *= scale;
      p.memory.peak_per_gpu.value *= scale;
      p.memory.capacity = Bytes(p.memory.capacity.si() * scale);
      p.memory.parts[0].bytes *= scale;
      p.evidence.assumed *= scale;
      p.gpus = std::numeric_limits<std::int64_t>::max();
      p.global_batch_size = std::numeric_limits<std::int64_t>::max();
    }
    c.speedup.ratio.value *= scale;
    c.envelope = {0.0, scale};
    expect_clean(to_text(c));
    expect_clean(to_text(c.variants[0]));
  }
}

TEST(Text, FitsEightyColumnsWithLongNames) {
  Comparison c = comparison();
  c.speedup.baseline = c.variants[0].variant = std::string(200, 'b');
  c.speedup.candidate = c.variants[2].variant = std::string(200, 'c');
  c.variants[1].variant = "a-name-of-many-parts-that-is-longer-than-one-column-of-the-table";
  c.variants[0].model = std::string(300, 'm');
  c.variants[0].breakdown.push_back(leaf(std::string(120, 'p'), 1.0, std::string(90, 'q')));
  c.ablation[0].name = std::string(150, 's');
  c.hypotheses[0].settings[0].second = std::string(150, 'v');
  c.reference->source = std::string(150, 'r');
  expect_clean(to_text(c));
  for (const Prediction& p : c.variants) expect_clean(to_text(p));
}

TEST(Text, EscapesAreOnlyInColor) {
  Comparison c = comparison();
  c.variants[0].variant = "evil\x1b[31m\nname";
  c.variants[0].assumptions.emplace_back("\x1b]0;title\x07");
  EXPECT_THAT(to_text(c), Not(HasSubstr("\x1b")));
  EXPECT_THAT(to_text(c.variants[0]), Not(HasSubstr("\x1b")));
  EXPECT_THAT(to_text(c, {80, true}), HasSubstr("\x1b[31m"));
  EXPECT_THAT(to_text(c, {80, true}), Not(HasSubstr("\x1b]")));
}

TEST(Text, ColorChangesNothingElse) {
  std::string colored = to_text(comparison(), {80, true});
  std::string plain;
  for (std::size_t i = 0; i < colored.size(); ++i) {
    if (colored[i] == '\x1b') {
      i = colored.find('m', i);
      continue;
    }
    plain += colored[i];
  }
  EXPECT_EQ(plain, to_text(comparison()));
}

TEST(Text, IsDeterministic) {
  EXPECT_EQ(to_text(comparison()), to_text(comparison()));
  EXPECT_EQ(to_text(tilelang()), to_text(tilelang()));
}

TEST(Text, AnEmptyAnswerIsNoFault) {
  expect_clean(to_text(Prediction{}));
  expect_clean(to_text(Comparison{}));
}

TEST(Markdown, HasTheSameTables) {
  Document document = comparison_document(comparison());
  add_warnings(document, std::vector<Warning>{{"odd", "a | b", ""}});
  const std::string text = render_markdown(document);
  EXPECT_THAT(text, HasSubstr("| Step time | 32.0 s\\* | 28.0 s | 18.4 s |\n"));
  EXPECT_THAT(text, HasSubstr("## Where the time goes"));
  EXPECT_THAT(text, HasSubstr("- [odd] a \\| b\n"));
}

TEST(Csv, HasOneRowALeaf) {
  const Comparison c = comparison();
  const auto lines = lines_of(to_csv(c));
  std::size_t leaves = 0;
  for (const Prediction& p : c.variants) leaves += p.breakdown.size();
  ASSERT_EQ(lines.size(), leaves + 1);
  EXPECT_EQ(lines[0], "scenario,variant,path,kind,bound_by,time_s,low_s,high_s");
  EXPECT_THAT(lines[1],
              StartsWith("glm-5.1-1m-h20-512,megatron-tilelang,attention/sparse_forward/forward,"
                         "critical,memory,0.93,"));
  EXPECT_EQ(lines_of(to_csv(c.variants[0])).size(), c.variants[0].breakdown.size() + 1);
}

TEST(Csv, QuotesWhatNeedsIt) {
  Prediction p;
  p.breakdown = {leaf("a,\"b\"", 1.0, "x\ny")};
  EXPECT_THAT(to_csv(p), HasSubstr("\n\"a,\"\"b\"\"\",critical,\"x\ny\",1,"));
}

}  // namespace
}  // namespace hysim::report::test
