// The stages of a pipeline side by side: time, work and memory.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hysim/report.h"
#include "unit/report/fixture.h"

namespace hysim::report {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Stages, AreOneRowEach) {
  const std::string text = to_text(test::hyscale());
  EXPECT_THAT(text, HasSubstr("Stages (one micro-batch; busy over the step)"));
  // 9 of 78 layers and 10 of 78.
  EXPECT_THAT(text, HasSubstr("11.5"));
  EXPECT_THAT(text, HasSubstr("12.8"));
}

TEST(Stages, NeighboursThatReadAlikeShareARow) {
  Prediction p = test::hyscale();
  for (StageMemory& stage : p.memory.by_stage) stage.device = Bytes(80e9);
  const std::string text = to_text(p);
  EXPECT_THAT(text, HasSubstr("\n1-6 "));
  EXPECT_THAT(text, HasSubstr("\n7 "));
  EXPECT_THAT(text, Not(HasSubstr("\n2 ")));
}

TEST(Stages, OfOneStageAreNotShown) {
  Prediction p = test::hyscale();
  p.stages.resize(1);
  EXPECT_THAT(to_text(p), Not(HasSubstr("Stages (")));
}

TEST(Stages, EveryCountOfModelFlopIsNamed) {
  const std::string text = to_text(test::hyscale());
  EXPECT_THAT(text, HasSubstr("333.6 GFLOP absorbed, 298.1 GFLOP up_projected"));
}

}  // namespace
}  // namespace hysim::report
