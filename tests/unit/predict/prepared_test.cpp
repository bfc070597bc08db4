// A prepared prediction says what predict says.
#include "hysim/prepared.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "unit/predict/scenarios.h"

namespace hysim::predictor {
namespace {

using test::bundle;
using test::BundledVariant;
using test::predict_nominal;

TEST(Prepared, EqualsPredictOfEveryBundledVariant) {
  for (const BundledVariant& bundled : test::bundled_variants()) {
    PreparedPrediction prepared(bundle(), bundled.scenario, bundled.variant);
    const Prediction p = predict_nominal(bundled.scenario, {}, bundled.variant);
    EXPECT_EQ(prepared.step_time(), p.step_time.value) << bundled.name << " " << bundled.variant;
  }
}

TEST(Prepared, DrawsAreThoseOfTheRange) {
  PredictOptions options;
  options.draws = 1;
  options.seed = 5;
  const Prediction p = predict(bundle(), test::two_variants(), options);
  PreparedPrediction prepared(bundle(), test::two_variants());
  const Seconds nominal = prepared.step_time();
  const Seconds drawn = prepared.step_time(5, 0);
  EXPECT_NE(drawn, nominal);
  EXPECT_EQ(std::min(nominal, drawn), p.step_time.low);
  EXPECT_EQ(std::max(nominal, drawn), p.step_time.high);
  EXPECT_EQ(prepared.step_time(), nominal);
}

TEST(Prepared, ScalesAsAScenarioDoes) {
  PreparedPrediction prepared(bundle(), test::two_variants(), "table", {"kernels.topk=radix"});
  const Seconds before = prepared.step_time();
  prepared.scale("kernels.topk", 0.5);
  prepared.scale("communication.ep", 3.0);
  const Prediction p = predict_nominal(
      test::two_variants(),
      {"kernels.topk=radix", "scale.kernels.topk=0.5", "scale.communication.ep=3"}, "table");
  EXPECT_EQ(prepared.step_time(), p.step_time.value);
  prepared.reset();
  EXPECT_EQ(prepared.step_time(), before);
  PreparedPrediction moved = std::move(prepared);
  EXPECT_EQ(moved.step_time(), before);
}

TEST(Prepared, RefusesWhatItCannotScale) {
  PreparedPrediction prepared(bundle(), test::dense());
  EXPECT_THROW(prepared.scale("kernels.topkk", 0.5), std::invalid_argument);
  EXPECT_THROW(prepared.scale("kernels.topk", 0.5), std::invalid_argument);
  EXPECT_THROW(prepared.scale("kernels.linear", -1.0), std::invalid_argument);
  EXPECT_THROW(prepared.scale("kernels.linear", std::nan("")), std::invalid_argument);
}

}  // namespace
}  // namespace hysim::predictor
