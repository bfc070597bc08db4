// Both JSON documents, field by field against the structs they were made from.
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "hysim/report.h"
#include "unit/report/fixture.h"

namespace hysim::report::test {
namespace {

using nlohmann::json;

template <class D>
void expect_ranged(const json& node, const Ranged<Quantity<D>>& value, const char* unit) {
  EXPECT_EQ(node.at("value").get<double>(), value.value.si());
  EXPECT_EQ(node.at("low").get<double>(), value.low.si());
  EXPECT_EQ(node.at("high").get<double>(), value.high.si());
  EXPECT_EQ(node.at("unit"), unit);
  EXPECT_EQ(node.size(), 4U);
}

void expect_utilisation(const json& node, const Utilisation& utilisation) {
  EXPECT_EQ(node.at("value").get<double>(), utilisation.fraction.value);
  EXPECT_EQ(node.at("low").get<double>(), utilisation.fraction.low);
  EXPECT_EQ(node.at("high").get<double>(), utilisation.fraction.high);
  EXPECT_EQ(node.at("unit"), "1");
  EXPECT_EQ(node.at("flops_per_step").at("value").get<double>(), utilisation.flops_per_step.si());
  EXPECT_EQ(node.at("flops_per_step").at("unit"), "flop");
  EXPECT_EQ(node.at("peak").at("value").get<double>(), utilisation.peak.si());
  EXPECT_EQ(node.at("peak").at("unit"), "flop/s");
  EXPECT_EQ(node.at("convention"), utilisation.convention);
}

void expect_parts(const json& node, const std::vector<MemoryPart>& parts) {
  ASSERT_EQ(node.size(), parts.size());
  for (const MemoryPart& part : parts) {
    EXPECT_EQ(node.at(part.name).at("value").get<double>(), part.bytes.si());
    EXPECT_EQ(node.at(part.name).at("unit"), "B");
  }
}

void expect_prediction(const json& node, const Prediction& p) {
  EXPECT_EQ(node.at("schema"), "hysim.prediction/1");
  EXPECT_EQ(node.at("kind"), "training_step");
  EXPECT_EQ(node.at("tool").at("name"), "hysim");
  EXPECT_FALSE(node.at("tool").at("version").get<std::string>().empty());
  EXPECT_EQ(node.at("scenario"), p.scenario);
  EXPECT_EQ(node.at("variant"), p.variant);
  EXPECT_EQ(node.at("model"), p.model);
  EXPECT_EQ(node.at("cluster"), p.cluster);
  EXPECT_EQ(node.at("gpu"), p.gpu);
  EXPECT_EQ(node.at("gpus"), p.gpus);
  EXPECT_EQ(node.at("workload").at("seq_len"), p.seq_len);
  EXPECT_EQ(node.at("workload").at("micro_batch_size"), p.micro_batch_size);
  EXPECT_EQ(node.at("workload").at("global_batch_size"), p.global_batch_size);
  EXPECT_EQ(node.at("workload").at("micro_batches"), p.micro_batches);
  const json& layout = node.at("layout");
  EXPECT_EQ(layout.at("tp"), p.layout.tp);
  EXPECT_EQ(layout.at("cp"), p.layout.cp);
  EXPECT_EQ(layout.at("pp"), p.layout.pp);
  EXPECT_EQ(layout.at("vpp"), p.layout.vpp);
  EXPECT_EQ(layout.at("dp"), p.layout.dp);
  EXPECT_EQ(layout.at("ep"), p.layout.ep);
  EXPECT_EQ(layout.at("etp"), p.layout.etp);
  EXPECT_EQ(layout.at("layers_per_stage"), json(p.layout.layers_per_stage));
  EXPECT_EQ(node.at("seed"), p.seed);
  EXPECT_EQ(node.at("draws"), p.draws);
  EXPECT_EQ(node.at("critical_stage"), p.critical_stage);

  expect_ranged(node.at("step_time"), p.step_time, "s");
  const json& tokens = node.at("tokens_per_second_per_gpu");
  EXPECT_EQ(tokens.at("value").get<double>(), p.tokens_per_second_per_gpu.value);
  EXPECT_EQ(tokens.at("low").get<double>(), p.tokens_per_second_per_gpu.low);
  EXPECT_EQ(tokens.at("high").get<double>(), p.tokens_per_second_per_gpu.high);
  EXPECT_EQ(tokens.at("unit"), "1/s");
  expect_utilisation(node.at("mfu"), p.mfu);
  expect_utilisation(node.at("hfu"), p.hfu);

  const json& memory = node.at("memory");
  expect_ranged(memory.at("peak_per_gpu"), p.memory.peak_per_gpu, "B");
  EXPECT_EQ(memory.at("capacity").at("value").get<double>(), p.memory.capacity.si());
  EXPECT_EQ(memory.at("fits"), to_string(p.memory.fits));
  EXPECT_EQ(memory.at("fullest_stage"), p.memory.fullest_stage);
  expect_parts(memory.at("parts"), p.memory.parts);
  ASSERT_EQ(memory.at("by_stage").size(), p.memory.by_stage.size());
  for (std::size_t i = 0; i < p.memory.by_stage.size(); ++i) {
    const json& stage = memory.at("by_stage").at(i);
    EXPECT_EQ(stage.at("stage"), p.memory.by_stage[i].stage);
    EXPECT_EQ(stage.at("allocated").at("value").get<double>(), p.memory.by_stage[i].allocated.si());
    EXPECT_EQ(stage.at("reserved").at("value").get<double>(), p.memory.by_stage[i].reserved.si());
    EXPECT_EQ(stage.at("device").at("value").get<double>(), p.memory.by_stage[i].device.si());
    expect_parts(stage.at("parts"), p.memory.by_stage[i].parts);
  }

  ASSERT_EQ(node.at("model_flops").size(), p.model_flops.size());
  for (std::size_t i = 0; i < p.model_flops.size(); ++i) {
    const json& count = node.at("model_flops").at(i);
    EXPECT_EQ(count.at("name"), p.model_flops[i].name);
    EXPECT_EQ(count.at("per_token").at("value").get<double>(), p.model_flops[i].per_token.si());
    EXPECT_EQ(count.at("per_token").at("unit"), "flop");
    EXPECT_EQ(count.at("convention"), p.model_flops[i].convention);
  }
  ASSERT_EQ(node.at("stages").size(), p.stages.size());
  for (std::size_t i = 0; i < p.stages.size(); ++i) {
    const json& stage = node.at("stages").at(i);
    EXPECT_EQ(stage.at("stage"), p.stages[i].stage);
    EXPECT_EQ(stage.at("forward").at("value").get<double>(), p.stages[i].forward.si());
    EXPECT_EQ(stage.at("backward").at("value").get<double>(), p.stages[i].backward.si());
    EXPECT_EQ(stage.at("busy").at("value").get<double>(), p.stages[i].busy.si());
    EXPECT_EQ(stage.at("busy").at("unit"), "s");
    EXPECT_EQ(stage.at("flop_share").get<double>(), p.stages[i].flop_share);
  }

  ASSERT_EQ(node.at("breakdown").size(), p.breakdown.size());
  double critical = 0.0;
  for (std::size_t i = 0; i < p.breakdown.size(); ++i) {
    const json& leaf_node = node.at("breakdown").at(i);
    EXPECT_EQ(leaf_node.at("path"), p.breakdown[i].path);
    expect_ranged(leaf_node.at("time"), p.breakdown[i].time, "s");
    EXPECT_EQ(leaf_node.at("kind"), to_string(p.breakdown[i].kind));
    EXPECT_EQ(leaf_node.at("bound_by"), p.breakdown[i].bound_by);
    if (leaf_node.at("kind") == "critical") {
      critical += leaf_node.at("time").at("value").get<double>();
    }
  }
  EXPECT_NEAR(critical, node.at("step_time").at("value").get<double>(), 1e-9);

  ASSERT_EQ(node.at("communication").size(), p.communication.size());
  for (std::size_t i = 0; i < p.communication.size(); ++i) {
    const json& row = node.at("communication").at(i);
    EXPECT_EQ(row.at("kind"), p.communication[i].kind);
    EXPECT_EQ(row.at("tier"), p.communication[i].tier);
    EXPECT_EQ(row.at("bytes_per_rank").at("value").get<double>(),
              p.communication[i].bytes_per_rank.si());
    EXPECT_EQ(row.at("bytes_per_rank").at("unit"), "B");
    EXPECT_EQ(row.at("time").at("value").get<double>(), p.communication[i].time.si());
    EXPECT_EQ(row.at("time").at("unit"), "s");
    EXPECT_EQ(row.at("exposed").at("value").get<double>(), p.communication[i].exposed.si());
  }
  EXPECT_EQ(node.at("evidence").at("this_gpu").get<double>(), p.evidence.this_gpu);
  EXPECT_EQ(node.at("evidence").at("other_gpu").get<double>(), p.evidence.other_gpu);
  EXPECT_EQ(node.at("evidence").at("datasheet").get<double>(), p.evidence.datasheet);
  EXPECT_EQ(node.at("evidence").at("assumed").get<double>(), p.evidence.assumed);
  EXPECT_EQ(node.at("assumptions"), json(p.assumptions));
  ASSERT_EQ(node.at("warnings").size(), p.warnings.size());
  for (std::size_t i = 0; i < p.warnings.size(); ++i) {
    const json& warning = node.at("warnings").at(i);
    EXPECT_EQ(warning.at("id"), p.warnings[i].id);
    EXPECT_EQ(warning.at("message"), p.warnings[i].message);
    EXPECT_EQ(warning.at("source"),
              p.warnings[i].source.empty() ? json() : json(p.warnings[i].source));
  }
  EXPECT_EQ(node.at("resolved_scenario"), json::parse(p.resolved_scenario));
  ASSERT_EQ(node.at("inputs").size(), p.inputs.size());
  EXPECT_EQ(node.at("inputs").at(0).at("path"), p.inputs[0].path);
  EXPECT_EQ(node.at("inputs").at(0).at("sha256"), p.inputs[0].sha256);
}

TEST(PredictionJson, HasEveryField) {
  const Prediction p = tilelang();
  expect_prediction(json::parse(to_json(p)), p);
}

TEST(PredictionJson, NumbersAreTheShortestThatReadBack) {
  Prediction p = tilelang();
  p.step_time.value = Seconds(0.1 + 0.2);
  p.evidence.assumed = 0.1;
  const std::string text = to_json(p);
  EXPECT_THAT(text, testing::HasSubstr("\"value\": 0.30000000000000004,"));
  EXPECT_THAT(text, testing::HasSubstr("\"assumed\": 0.1\n"));
}

TEST(PredictionJson, WhatIsNoNumberIsNull) {
  Prediction p = tilelang();
  p.step_time.high = Seconds(std::numeric_limits<double>::infinity());
  p.mfu.fraction.value = std::nan("");
  const json node = json::parse(to_json(p));
  EXPECT_TRUE(node.at("step_time").at("high").is_null());
  EXPECT_TRUE(node.at("mfu").at("value").is_null());
}

TEST(PredictionJson, NamesMayHoldAnyCharacter) {
  Prediction p = tilelang();
  p.variant = "a\"b\\c\n\x1b[31m\xE2\x82\xAC";
  p.resolved_scenario = "{no json";
  const json node = json::parse(to_json(p));
  EXPECT_EQ(node.at("variant"), p.variant);
  EXPECT_EQ(node.at("resolved_scenario"), p.resolved_scenario);
}

TEST(PredictionJson, AnEmptyPredictionIsValid) {
  const json node = json::parse(to_json(Prediction{}));
  EXPECT_EQ(node.at("breakdown").size(), 0U);
  EXPECT_TRUE(node.at("resolved_scenario").is_null());
}

TEST(PredictionJson, ASeedBeyondAnIntegerKeepsItsDigits) {
  Prediction p = tilelang();
  p.seed = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(json::parse(to_json(p)).at("seed"), "18446744073709551615");
}

TEST(ComparisonJson, HasEveryField) {
  const Comparison c = comparison();
  const json node = json::parse(to_json(c));
  EXPECT_EQ(node.at("schema"), "hysim.comparison/1");
  EXPECT_EQ(node.at("tool").at("name"), "hysim");
  ASSERT_EQ(node.at("variants").size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(node.at("variants").at(i).at("name"), c.variants[i].variant);
    expect_prediction(node.at("variants").at(i).at("prediction"), c.variants[i]);
  }
  const json& speedup = node.at("speedup");
  EXPECT_EQ(speedup.at("baseline"), "megatron-tilelang");
  EXPECT_EQ(speedup.at("candidate"), "hyscale");
  EXPECT_EQ(speedup.at("value").get<double>(), c.speedup.ratio.value);
  EXPECT_EQ(speedup.at("low").get<double>(), c.speedup.ratio.low);
  EXPECT_EQ(speedup.at("high").get<double>(), c.speedup.ratio.high);
  EXPECT_EQ(speedup.at("hypothetical"), true);
  EXPECT_EQ(speedup.at("note"), c.speedup.note);
  EXPECT_NEAR(
      speedup.at("value").get<double>(),
      node.at("variants").at(0).at("prediction").at("step_time").at("value").get<double>() /
          node.at("variants").at(2).at("prediction").at("step_time").at("value").get<double>(),
      1e-12);
  ASSERT_EQ(node.at("hypotheses").size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    const json& hypothesis = node.at("hypotheses").at(i);
    EXPECT_EQ(hypothesis.at("value").get<double>(), c.hypotheses[i].ratio.value);
    EXPECT_EQ(hypothesis.at("low").get<double>(), c.hypotheses[i].ratio.low);
    EXPECT_EQ(hypothesis.at("high").get<double>(), c.hypotheses[i].ratio.high);
    EXPECT_EQ(hypothesis.at("fits"), "no");
  }
  EXPECT_EQ(node.at("hypotheses").at(0).at("settings").at("kernels.topk"), "torch");
  EXPECT_EQ(node.at("hypotheses").at(3).at("settings").at("kernels.selection_precision"), "fp8");
  EXPECT_EQ(node.at("envelope").at("low").get<double>(), c.envelope->first);
  EXPECT_EQ(node.at("envelope").at("high").get<double>(), c.envelope->second);
  ASSERT_EQ(node.at("ablation").size(), c.ablation.size());
  for (std::size_t i = 0; i < c.ablation.size(); ++i) {
    const json& row = node.at("ablation").at(i);
    EXPECT_EQ(row.at("kind"), to_string(c.ablation[i].kind));
    EXPECT_EQ(row.at("name"), c.ablation[i].name);
    expect_ranged(row.at("step_time"), c.ablation[i].step_time, "s");
    EXPECT_EQ(row.at("speedup").at("value").get<double>(), c.ablation[i].ratio.value);
    EXPECT_EQ(row.at("fits"), to_string(c.ablation[i].fits));
  }
  EXPECT_EQ(node.at("reference").at("speedup"), 2.07);
  EXPECT_EQ(node.at("reference").at("source"), "hyscale-abstract");
}

TEST(ComparisonJson, WarningsAreGatheredOnce) {
  const json node = json::parse(to_json(comparison()));
  ASSERT_EQ(node.at("warnings").size(), 2U);
  EXPECT_EQ(node.at("warnings").at(0).at("id"), "positions");
  EXPECT_TRUE(node.at("warnings").at(0).at("source").is_null());
  EXPECT_EQ(node.at("warnings").at(1).at("message"),
            "hyscale: HyTopK's compaction has no measurement on any GPU");
  EXPECT_EQ(node.at("warnings").at(1).at("source"), "a thread");
}

TEST(ComparisonJson, WhatIsAbsentIsNull) {
  Comparison c = comparison();
  c.envelope.reset();
  c.reference.reset();
  c.hypotheses.clear();
  const json node = json::parse(to_json(c));
  EXPECT_TRUE(node.at("envelope").is_null());
  EXPECT_TRUE(node.at("reference").is_null());
  EXPECT_EQ(node.at("hypotheses"), json::array());
}

TEST(Json, IsDeterministic) { EXPECT_EQ(to_json(comparison()), to_json(comparison())); }

}  // namespace
}  // namespace hysim::report::test
