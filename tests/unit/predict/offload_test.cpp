// Offloading in whole predictions: what it hides, what it shows, and what it refuses.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/predict/scenarios.h"

namespace hysim::predictor {
namespace {

using test::bundle;
using test::dense;
using test::faults_of;
using test::predict_nominal;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

double leaf(const Prediction& p, const std::string& path, TimeKind kind) {
  for (const BreakdownLeaf& l : p.breakdown) {
    if (l.path == path && l.kind == kind) return l.time.value.si();
  }
  return 0.0;
}
double critical(const Prediction& p, const std::string& path) {
  return leaf(p, path, TimeKind::critical);
}
double all(const Prediction& p, const std::string& path) {
  return critical(p, path) + leaf(p, path, TimeKind::overlapped);
}

const std::string kToHost = "offload/to_host/forward";
const std::string kFromHost = "offload/from_host/backward";
// dense.json recomputes in full.
const std::vector<SetText> kInputs = {"training.offload.activations=true"};

/// The cluster of dense.json with links to host memory of `rate`.
Resources with_host_rate(const std::string& rate) {
  Resources resources = bundle();
  resources.read = [inner = bundle(), rate](std::string_view path) -> std::optional<std::string> {
    std::optional<std::string> text = inner.read(path);
    if (path != "hw_profiles/clusters/generic.json" || !text) return text;
    const std::size_t at = text->find("\"host_bandwidth\": {");
    EXPECT_NE(at, std::string::npos);
    if (rate.empty()) return text->substr(0, text->rfind(",", at)) + "}";
    return text->substr(0, at) + "\"host_bandwidth\": {\"value\": " + rate +
           ", \"unit\": \"GB/s\", \"kind\": \"datasheet\", \"source\": \"made up\"}}";
  };
  return resources;
}

// Llama-2-7B, 4096 tokens: an input of a layer is 4096 x 4096 x 2 B, 32 of them a micro-batch.
constexpr double kInput = 4096.0 * 4096.0 * 2.0;

TEST(Offload, CopiesTakeBytesOverTheLink) {
  const Resources resources = with_host_rate("50");
  const Prediction p = predict_nominal(dense(), kInputs, {}, resources);
  const double copies = static_cast<double>(p.micro_batches) * 32.0 * kInput / 50e9;
  EXPECT_NEAR(all(p, kToHost), copies, 1e-9 * copies);
  EXPECT_NEAR(all(p, kFromHost), copies, 1e-9 * copies);
  // A layer computes for 20 ms and copies for 0.7: nothing shows.
  EXPECT_EQ(critical(p, kToHost), 0.0);
  EXPECT_EQ(critical(p, kFromHost), 0.0);
  EXPECT_THAT(p.assumptions, Contains(HasSubstr("of host memory a GPU")));
}

TEST(Offload, HiddenCopiesChangeNoTime) {
  const double base = predict_nominal(dense()).step_time.value.si();
  const double with = predict_nominal(dense(), kInputs).step_time.value.si();
  EXPECT_NEAR(with, base, 1e-12 * base);
}

// A link so slow that copies bind: alike layers take 2 f + 30 c forward and b + 31 c backward.
TEST(Offload, ASlowLinkSetsThePace) {
  const Prediction p = predict_nominal(dense(), kInputs, {}, with_host_rate("0.05"));
  const double base = predict_nominal(dense()).step_time.value.si();
  const double m = static_cast<double>(p.micro_batches);
  const double copy = kInput / 0.05e9;
  const double shown = critical(p, kToHost) + critical(p, kFromHost);
  EXPECT_NEAR(p.step_time.value.si(), base + shown, 1e-9 * base);
  // 61 copies show but for 30 forwards and 31 backwards of a layer beside them.
  EXPECT_LT(shown, m * 61.0 * copy);
  EXPECT_GT(shown, m * 61.0 * copy - base);
  double sum = 0.0;
  for (const BreakdownLeaf& l : p.breakdown) {
    if (l.kind == TimeKind::critical) sum += l.time.value.si();
    if (l.path == kToHost || l.path == kFromHost) {
      EXPECT_EQ(l.bound_by, "host");
    }
  }
  EXPECT_NEAR(sum / p.step_time.value.si(), 1.0, 1e-9);
}

TEST(Offload, WantsARateOfTheLink) {
  const std::vector<Diagnostic> faults = faults_of([] {
    const Resources resources = with_host_rate("");
    predict_nominal(dense(), kInputs, {}, resources);
  });
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_THAT(faults[0].message, HasSubstr("host_bandwidth"));
  EXPECT_THAT(faults[0].pointer, HasSubstr("/training/offload"));
}

TEST(Offload, SettingsAreChecked) {
  const auto message = [](const std::string& set) {
    const std::vector<Diagnostic> faults = faults_of([&] { predict_nominal(dense(), {set}); });
    return faults.empty() ? std::string() : faults[0].message;
  };
  EXPECT_THAT(message("training.offload.activations=\"all\""), HasSubstr("share from 0 to 1"));
  EXPECT_THAT(message("training.offload.activations=1.5"), HasSubstr("1.5"));
  EXPECT_THAT(message("training.offload.optimizer=true"), HasSubstr("optimizer"));
}

TEST(Offload, IndicesThatAreNotKeptAreWarnedOf) {
  EXPECT_THAT(
      texts_of(predict_nominal(test::two_variants(), {"training.offload.indices=true"}).warnings),
      Contains(HasSubstr("training.offload.indices changes nothing: no indices are kept")));
  EXPECT_THAT(texts_of(predict_nominal(test::two_variants(), {"training.offload.indices=true",
                                                              "kernels.selection_replay=true"})
                           .warnings),
              testing::Not(Contains(HasSubstr("training.offload.indices"))));
}

TEST(Offload, TooLittleHostMemoryIsWarnedOf) {
  Resources resources = bundle();
  resources.read = [inner = bundle()](std::string_view path) -> std::optional<std::string> {
    std::optional<std::string> text = inner.read(path);
    if (path == "hw_profiles/clusters/generic.json" && text) {
      text = test::replaced(*text, "\"gpus_per_node\": 8,",
                            "\"gpus_per_node\": 8, \"host_memory\": \"1 GB\",");
    }
    return text;
  };
  EXPECT_THAT(texts_of(predict_nominal(dense(), kInputs, {}, resources).warnings),
              Contains(HasSubstr("[host-memory]")));
}

}  // namespace
}  // namespace hysim::predictor
