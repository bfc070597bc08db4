// What --require understands and when it is met.
#include "cli/require.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/errors.h"

namespace hysim::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::string message_of(std::string_view text) {
  try {
    parse_requirement(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(ParseRequirement, ReadsRelationsAndUnits) {
  EXPECT_EQ(parse_requirement("fits").quantity, Requirement::Quantity::fits);
  const Requirement speedup = parse_requirement("speedup>=1.5");
  EXPECT_EQ(speedup.quantity, Requirement::Quantity::speedup);
  EXPECT_EQ(speedup.relation, Requirement::Relation::at_least);
  EXPECT_EQ(speedup.bound, 1.5);
  EXPECT_EQ(parse_requirement("speedup > 2x").bound, 2.0);
  EXPECT_EQ(parse_requirement("step_time<20").bound, 20.0);
  EXPECT_EQ(parse_requirement("step_time <= 500 ms").bound, 0.5);
  EXPECT_EQ(parse_requirement("step_time<=2min").bound, 120.0);
  EXPECT_DOUBLE_EQ(parse_requirement("mfu>=30%").bound, 0.3);
  EXPECT_EQ(parse_requirement("mfu<=1").bound, 1.0);
  EXPECT_EQ(parse_requirement("mfu<=120%").bound, 1.2);
  EXPECT_EQ(parse_requirement("mfu>0.3").relation, Requirement::Relation::more);
  EXPECT_EQ(parse_requirement("peak_memory<=90GB").bound, 90e9);
  EXPECT_EQ(parse_requirement("peak_memory<1 GiB").bound, 1073741824.0);
}

TEST(ParseRequirement, RefusesWhatItDoesNotUnderstand) {
  EXPECT_EQ(message_of("speedpu>=1"), "--require \"speedpu>=1\": did you mean \"speedup\"?");
  for (const char* text : {"", "fits>=1", "speedup", "speedup=1.5", "speedup==1.5",
                           "speedup>=", "speedup>=fast", "step_time<=20 GB", "peak_memory<=3 s",
                           "peak_memory<=90G", "mfu>=nan", "speedup>=1.5 s", "speedup>=inf",
                           // 200 of what, 20 or 20 %?
                           "peak_memory<=200", "peak_memory<=0", "mfu>=20", "mfu>=1.5"}) {
    EXPECT_NE(message_of(text), "") << text;
  }
}

Prediction prediction() {
  Prediction p;
  p.variant = "new";
  p.step_time.value = Seconds(20.0);
  p.mfu.fraction.value = 0.3;
  p.memory.peak_per_gpu.value = Bytes(90e9);
  p.memory.capacity = Bytes(100e9);
  return p;
}

std::vector<std::string> unmet_of(const std::vector<std::string>& texts, const Prediction& p,
                                  const Speedup* speedup = nullptr) {
  std::vector<Requirement> requirements;
  for (const auto& text : texts) requirements.push_back(parse_requirement(text));
  return unmet(requirements, p, speedup);
}

TEST(Unmet, ComparesNominalValues) {
  const Prediction p = prediction();
  EXPECT_THAT(unmet_of({"fits", "step_time<=20s", "mfu>=30%", "peak_memory<=90GB"}, p), IsEmpty());
  EXPECT_THAT(unmet_of({"step_time<20s", "mfu>30%", "peak_memory<90GB"}, p), SizeIs(3));
  EXPECT_THAT(unmet_of({"step_time<20s"}, p),
              ElementsAre("required step_time<20s: not met (20.0 s)"));
}

TEST(Unmet, TightFits) {
  Prediction p = prediction();
  p.memory.fits = Fit::tight;
  EXPECT_THAT(unmet_of({"fits"}, p), IsEmpty());
  p.memory.fits = Fit::no;
  EXPECT_THAT(unmet_of({"fits"}, p),
              ElementsAre("required fits: not met (new needs 90.00 GB of 100.0 GB)"));
}

TEST(Unmet, ASpeedupNeedsAComparison) {
  EXPECT_THROW(unmet_of({"speedup>=1.5"}, prediction()), UsageError);
  Speedup speedup;
  speedup.ratio.value = 1.42;
  EXPECT_THAT(unmet_of({"speedup>=1.4"}, prediction(), &speedup), IsEmpty());
  EXPECT_THAT(unmet_of({"speedup>=1.5"}, prediction(), &speedup),
              ElementsAre("required speedup>=1.5: not met (1.42x)"));
}

}  // namespace
}  // namespace hysim::cli
