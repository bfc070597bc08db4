// What the text views of what-if answers say, and that numbers they tell apart differ.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/view_parts.h"
#include "report/views.h"
#include "unit/report/fixture.h"

namespace hysim::report::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A step of 673.5 s of which 120 s are the part.
Breakeven question(double target, std::optional<double> factor) {
  Breakeven b;
  b.scenario = "job";
  b.variant = "base";
  b.part = "kernels.topk";
  b.target = target;
  b.present = 1.0;
  b.limit = 1.34339;
  if (factor) b.factor = {*factor, *factor, *factor};
  b.part_time = Seconds(120.0);
  b.step = Seconds(673.5);
  b.reference = b.step;
  return b;
}

std::string answer(const Breakeven& b) { return render_text(breakeven_document(b), {300, false}); }

TEST(BreakevenText, TellsTheTargetFromWhatIsReached) {
  const std::string text = answer(question(1.3434, std::nullopt));
  EXPECT_THAT(text, HasSubstr("1.34339x as fast as it is, not 1.34340x"));
  // Three digits where they suffice.
  EXPECT_THAT(answer(question(5.0, std::nullopt)), HasSubstr("1.34x as fast as it is, not 5.00x"));
}

TEST(BreakevenText, TellsTheTargetFromTheStepAsItIs) {
  // 673.5 / 1.001 is 0.673 s less: 119.327 s of the part's 120.
  const std::string text = answer(question(1.001, 119.3272 / 120.0));
  EXPECT_THAT(text, HasSubstr("1.001x as fast as it is"));
  EXPECT_THAT(text, Not(HasSubstr("1.000x")));
  EXPECT_THAT(text, HasSubstr("673.5 s"));
  EXPECT_THAT(text, HasSubstr("672.8 s"));
  EXPECT_THAT(text, HasSubstr("119.3 s"));
}

TEST(BreakevenText, TellsAFactorFromOne) {
  const std::string text = answer(question(1.00001, 0.99994));
  EXPECT_THAT(text, HasSubstr("time x 0.99994"));
  EXPECT_THAT(text, HasSubstr("1.0001x faster"));
}

// ---------------------------------------------------------------- ranges

TEST(RangeText, SaysWhichEndIsTheNominalStep) {
  Prediction inside = prediction_of("inside", {leaf("bubble", 10.0, "schedule")});
  inside.draws = 200;
  Prediction low = prediction_of("low", {leaf("bubble", 10.0, "schedule")});
  low.draws = 200;
  low.step_time.low = low.step_time.value;
  Prediction high = inside;
  high.variant = "high";
  high.step_time.high = high.step_time.value;

  EXPECT_THAT(draws_text({inside}), Not(HasSubstr("nominal")));
  EXPECT_THAT(draws_text({low}), HasSubstr("shorter than the nominal step, the low end"));
  EXPECT_THAT(draws_text({low}), Not(HasSubstr("(low")));
  low.step_time.low = low.step_time.value * 0.9999;  // "10.0 s  [10.0, 11.8]" reads the same
  EXPECT_THAT(draws_text({low}), HasSubstr("the low end"));
  EXPECT_THAT(draws_text({inside, low, high}), HasSubstr("the low end (low)"));
  EXPECT_THAT(draws_text({inside, low, high}), HasSubstr("the high end (high)"));
  low.draws = 0;
  EXPECT_THAT(draws_text({low}), Not(HasSubstr("shorter")));
}

TEST(RangeText, OfASensitivitySaysItToo) {
  Sensitivity s;
  s.variant = "base";
  s.draws = 200;
  s.step_time = {Seconds(371.0), Seconds(371.0), Seconds(402.0)};
  EXPECT_THAT(render_text(sensitivity_document(s), {300, false}),
              HasSubstr("of 200 draws, seed 0; about a tenth of them at most are shorter than"));
  s.step_time.low = Seconds(360.0);
  EXPECT_THAT(render_text(sensitivity_document(s), {300, false}), Not(HasSubstr("nominal step")));
}

}  // namespace
}  // namespace hysim::report::test
