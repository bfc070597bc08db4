// A job in a few words: what is chosen is legal, fits, and is the best of what was tried.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/node.h"
#include "hysim/errors.h"
#include "hysim/layout.h"
#include "unit/predict/scenarios.h"

namespace hysim::predictor::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

JobText job(const std::string& model, const std::string& cluster, const std::string& seq_len) {
  JobText text;
  text.model = model;
  text.cluster = cluster;
  text.seq_len = seq_len;
  return text;
}

/// The best of all powers of two on 8 GPUs, predicted one by one from scenario files.
struct Best {
  double step = 0.0;
  std::string recompute;
  Fit fits = Fit::no;
  bool found = false;
};
Best by_brute_force(const std::string& model, const std::string& seq_len, std::int64_t batch) {
  Best best;
  for (const int tp : {1, 2, 4, 8}) {
    for (const int pp : {1, 2, 4, 8}) {
      for (const int cp : {1, 2, 4, 8}) {
        for (const char* recompute : {"none", "selective", "full"}) {
          const ScenarioText scenario = {
              R"({"schema": "hysim.scenario/1", "name": "b", "cluster": "h100-sxm-80:1x8",)"
              R"("model": ")" +
                  model + R"(", "workload": {"seq_len": ")" + seq_len +
                  R"(", "global_batch_size": )" + std::to_string(batch) +
                  R"(}, "parallelism": {"tp": )" + std::to_string(tp) + R"(, "pp": )" +
                  std::to_string(pp) + R"(, "cp": )" + std::to_string(cp) +
                  R"(}, "training": {"recompute": ")" + recompute + R"("}})",
              "b.json"};
          std::optional<Prediction> p;
          try {
            PredictOptions options;
            options.draws = 0;
            options.remedies = SeekRemedies::never;
            p = predict(bundle(), scenario, options);
          } catch (const InputError&) {
            break;  // illegal
          }
          if (p->memory.fits == Fit::no) continue;
          const double step = p->step_time.value.si();
          const bool first = !best.found || p->memory.fits < best.fits;
          if (first || (p->memory.fits == best.fits && step < best.step)) {
            best = {step, recompute, p->memory.fits, true};
          }
          break;  // the least recomputation that fits
        }
      }
    }
  }
  return best;
}

TEST(ChooseLayout, TakesTheFastestThatFits) {
  struct Case {
    const char* model;
    const char* seq_len;
    std::int64_t batch;
  };
  for (const Case& c : {Case{"llama2-7b", "4K", 64}, Case{"qwen3-8b", "32K", 16}}) {
    SCOPED_TRACE(c.model);
    JobText text = job(c.model, "h100-sxm-80:1x8", c.seq_len);
    text.global_batch_size = c.batch;
    const ChosenLayout chosen = choose_layout(bundle(), text);
    const Prediction p = predict_nominal(chosen.scenario);
    const Best best = by_brute_force(c.model, c.seq_len, c.batch);
    ASSERT_TRUE(best.found);
    EXPECT_EQ(p.memory.fits, best.fits);
    EXPECT_EQ(p.step_time.value.si(), best.step);
    const config::Node document = config::parse(chosen.scenario.text, "chosen");
    EXPECT_EQ(config::find_path(document, "training.recompute")->as_string(), best.recompute);
  }
}

TEST(ChooseLayout, KeepsWhatIsGivenAndTellsTheRest) {
  JobText text = job("glm-5.1", "h20-96:64x8", "1M");
  text.pp = 8;
  text.cp = 64;
  text.ep = 64;
  const ChosenLayout chosen = choose_layout(bundle(), text);
  const Prediction p = predict_nominal(chosen.scenario);
  EXPECT_EQ(p.layout.tp, 1);
  EXPECT_EQ(p.layout.pp, 8);
  EXPECT_EQ(p.layout.cp, 64);
  EXPECT_EQ(p.layout.ep, 64);
  EXPECT_EQ(p.layout.dp, 1);
  EXPECT_EQ(p.global_batch_size, 16);  // 2^24 tokens
  EXPECT_EQ(p.scenario, "glm-5.1-1m-h20-96-64x8");
  for (const char* setting :
       {"tp 1", "dp 1", "pipeline_layout 9,10,10,10,10,10,10,9", "global_batch_size 16",
        "recompute full", "table with torch top-k", "zero 1", "cp_comm all_gather",
        "dispatcher alltoall", "indexer loss sparse", "mtp_num_layers 0"}) {
    EXPECT_THAT(chosen.summary, HasSubstr(setting));
    EXPECT_THAT(chosen.chose, Contains(HasSubstr(setting)));
    EXPECT_THAT(p.assumptions, Contains(HasSubstr(setting)));
  }
  EXPECT_THAT(chosen.summary, testing::Not(HasSubstr("cp 64")));
}

// tp 3 divides no 64 GPUs; 2^24 tokens are 2048 sequences, which tp 4, 2 and 8 divide.
TEST(ChooseLayout, NearestLayoutsAreThoseOfTheBatchThatWouldBeChosen) {
  const auto message = [](std::optional<std::int64_t> batch) {
    JobText text = job("glm-5.1", "h20-96:8x8", "8K");
    text.tp = 3;
    text.global_batch_size = batch;
    const std::vector<Diagnostic> faults = faults_of([&] { choose_layout(bundle(), text); });
    return faults.empty() ? std::string() : faults.back().message;
  };
  const std::string open = message(std::nullopt);
  EXPECT_THAT(open, HasSubstr("nearest legal layouts: tp 4 (dp 16) | tp 2 (dp 32)"));
  EXPECT_EQ(open, message(2048));
}

TEST(ChooseLayout, TellsOnlyTheDefaultsThatCount) {
  const std::vector<SetText> sets = {"parallelism.zero=0"};
  const ChosenLayout dense =
      choose_layout(bundle(), job("llama2-7b", "h100-sxm-80:1x8", "4K"), sets);
  for (const char* absent : {"zero", "dispatcher", "indexer", "mtp_num_layers"}) {
    EXPECT_THAT(dense.summary, testing::Not(HasSubstr(absent)));
  }
}

TEST(ChooseLayout, IsTheSameEveryTime) {
  const JobText text = job("llama3-8b", "h100-sxm-80:2x8", "8K");
  EXPECT_EQ(choose_layout(bundle(), text).scenario.text,
            choose_layout(bundle(), text).scenario.text);
}

TEST(ChooseLayout, LeavesWhatSetsWillChange) {
  const std::vector<SetText> sets = {"parallelism.tp=2", "training.recompute=full"};
  const ChosenLayout chosen =
      choose_layout(bundle(), job("llama2-7b", "h100-sxm-80:1x8", "4K"), sets);
  const Prediction p = predict_nominal(chosen.scenario, sets);
  EXPECT_EQ(p.layout.tp, 2);
  EXPECT_THAT(chosen.summary, testing::Not(HasSubstr("tp ")));
  EXPECT_THAT(chosen.summary, testing::Not(HasSubstr("recompute")));
}

TEST(ChooseLayout, FindsABatchForOddClusters) {
  // 3 nodes: dp has the factor 3 unless another size takes it.
  const ChosenLayout chosen = choose_layout(bundle(), job("llama3-8b", "h100-sxm-80:3x8", "8K"));
  const Prediction p = predict_nominal(chosen.scenario);
  EXPECT_EQ(p.global_batch_size, 1536);  // 3 x 2^9 sequences of 2^13 tokens
  EXPECT_EQ(p.gpus, 24);
}

TEST(ChooseLayout, TakesLeastMemoryWhenNothingFits) {
  const ChosenLayout chosen =
      choose_layout(bundle(), job("llama3.1-405b", "h100-sxm-80:1x8", "8K"));
  EXPECT_EQ(chosen.fitting, 0);
  EXPECT_GT(chosen.tried, 4);
  EXPECT_THAT(chosen.chose, Contains(HasSubstr("fits and this one needs least memory")));
  EXPECT_EQ(predict_nominal(chosen.scenario).memory.fits, Fit::no);
}

TEST(ChooseLayout, SaysWhatIsWrongOfTheOptions) {
  const auto faults = [](JobText text) {
    return faults_of([&] { choose_layout(bundle(), text); });
  };
  std::vector<Diagnostic> found = faults(job("glm-5.11", "h20-96:64x8", "1M"));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().file, kJobPath);
  EXPECT_EQ(found.front().pointer, "/model");
  EXPECT_THAT(found.front().message, HasSubstr("did you mean \"glm-5.1\"?"));
  found = faults(job("glm-5.1", "h20-96:64x8", "1000000000"));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().pointer, "/workload/seq_len");

  JobText illegal = job("llama2-7b", "h100-sxm-80:1x8", "4K");
  illegal.tp = 3;
  found = faults(illegal);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found.front().message, HasSubstr("tp x cp x pp = 3 does not divide"));
  EXPECT_THAT(found.front().message, HasSubstr("nearest legal layouts: tp 4 (dp 2) | tp 2 (dp 4)"));
}

}  // namespace
}  // namespace hysim::predictor::test
