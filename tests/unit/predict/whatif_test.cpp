// Sensitivity, breakeven and sweeps against predictions made one by one, Amdahl's law and closed
// forms.
#include "hysim/whatif.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/node.h"
#include "unit/predict/scenarios.h"

namespace hysim::predictor::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// One GPU: nothing overlaps and nothing waits, so the step is the sum of its parts.
ScenarioText alone() {
  return {R"({
    "schema": "hysim.scenario/1", "name": "alone", "model": "glm-5.1", "cluster": "h20-96:1x1",
    "workload": {"seq_len": "32K", "global_batch_size": 2},
    "training": {"recompute": "full", "mtp_num_layers": 1},
    "kernels": {"selection": "table", "score_clean": true}
  })",
          "alone.json"};
}

double step_of(const Prediction& prediction) { return prediction.step_time.value.si(); }

const PartSensitivity& part(const Sensitivity& s, const std::string& name) {
  for (const PartSensitivity& candidate : s.parts) {
    if (candidate.name == name) return candidate;
  }
  throw std::out_of_range(name);
}
const InputSensitivity& input(const Sensitivity& s, const std::string& id) {
  for (const InputSensitivity& candidate : s.inputs) {
    if (candidate.id == id) return candidate;
  }
  throw std::out_of_range(id);
}

SensitivityOptions nominal(std::string variant = "", std::string baseline = "") {
  SensitivityOptions options;
  options.variant = std::move(variant);
  options.baseline = std::move(baseline);
  options.draws = 0;
  return options;
}

// ---------------------------------------------------------------- sensitivity

TEST(Sensitivity, PartsObeyAmdahlWhereNothingOverlaps) {
  const Sensitivity s = sensitivity(bundle(), alone(), nominal());
  const double step = s.step_time.value.si();
  EXPECT_EQ(step, step_of(predict_nominal(alone())));
  ASSERT_GE(s.parts.size(), 12U);
  for (const PartSensitivity& p : s.parts) {
    EXPECT_NEAR(p.saved.si(), 0.1 * p.time.si(), 1e-12 * step) << p.name;
    EXPECT_NEAR(p.limit.si(), step - p.time.si(), 1e-12 * step) << p.name;
  }
}

TEST(Sensitivity, PartsAgreeWithPredictionsMadeOneByOne) {
  const ScenarioText scenario = two_variants();
  const Sensitivity s = sensitivity(bundle(), scenario, nominal("fused", "table"));
  const double step = step_of(predict_nominal(scenario, {}, "fused"));
  const double base = step_of(predict_nominal(scenario, {}, "table"));
  ASSERT_TRUE(s.speedup.has_value());
  EXPECT_NEAR(s.speedup->value, base / step, 1e-12);
  for (const char* name : {"kernels.hytopk", "kernels.linear", "communication.ep",
                           "communication.pp", "communication.dp", "kernels.optimizer"}) {
    const PartSensitivity& p = part(s, name);
    const std::string set = std::string("scale.") + name;
    const double faster = step_of(predict_nominal(scenario, {set + "=0.9"}, "fused"));
    EXPECT_NEAR(p.saved.si(), step - faster, 1e-12 * step) << name;
    EXPECT_NEAR(p.speedup.value(), base / faster, 1e-12) << name;
    // At next to no cost.
    EXPECT_NEAR(p.limit.si(), step_of(predict_nominal(scenario, {set + "=1e-6"}, "fused")),
                2e-6 * step)
        << name;
  }
}

TEST(Sensitivity, PartsHaveTheSlopeOfAFiniteDifference) {
  const ScenarioText scenario = two_variants();
  const Sensitivity s = sensitivity(bundle(), scenario, nominal("table"));
  const double step = s.step_time.value.si();
  for (const char* name : {"kernels.topk", "kernels.scoring", "kernels.experts"}) {
    const std::string set = std::string("scale.") + name + "=0.999";
    const double slope = (step - step_of(predict_nominal(scenario, {set}, "table"))) / 0.001;
    EXPECT_NEAR(part(s, name).saved.si(), kWhatIfChange * slope, 0.02 * kWhatIfChange * slope)
        << name;
  }
}

TEST(Sensitivity, MostSavedComesFirstAndAbsentPartsAreLeftOut) {
  const Sensitivity s = sensitivity(bundle(), two_variants(), nominal("table"));
  const auto falling = [](const auto& rows) {
    return std::is_sorted(rows.begin(), rows.end(),
                          [](const auto& a, const auto& b) { return a.saved > b.saved; });
  };
  EXPECT_TRUE(falling(s.parts));
  EXPECT_TRUE(falling(s.inputs));
  for (const PartSensitivity& p : s.parts) EXPECT_NE(p.name, "kernels.hytopk");
}

/// The bundle with one number of a document multiplied, its range left as it is or moved along.
Resources with_value_times(const std::string& path, const std::string& pointer, double factor) {
  config::Node document = config::parse(bundled_text(path), path);
  config::Node* at = &document;
  std::size_t from = 0;
  while (from < pointer.size()) {
    const std::size_t slash = std::min(pointer.find('/', from), pointer.size());
    at = at->find(pointer.substr(from, slash - from));
    from = slash + 1;
  }
  for (const char* key : {"value", "low", "high"}) {
    at->set(key, config::Node::number(factor * at->find(key)->as_number()));
  }
  return overlay(memory_resources({{path, config::to_text(document)}}), bundle());
}

TEST(Sensitivity, InputsAgreeWithChangedProfiles) {
  const ScenarioText scenario = two_variants();
  const Sensitivity s = sensitivity(bundle(), scenario, nominal("table"));
  const double step = s.step_time.value.si();
  struct Known {
    const char* id;
    const char* path;
    const char* pointer;
    double factor;  // of the better value
  };
  for (const Known& known :
       {Known{"gpu/h20-96/clock", "hw_profiles/gpus/h20-96.json", "clock", 1.1},
        Known{"gpu/h20-96/bf16", "hw_profiles/gpus/h20-96.json", "bf16", 1.1},
        Known{"gpu/h20-96/laws/torch_topk_cycles", "hw_profiles/gpus/h20-96.json",
              "laws/torch_topk_cycles", 1.0 / 1.1},
        Known{"stack/launch_gap", "hw_profiles/stacks/megatron-core-2026.json", "launch_gap",
              1.0 / 1.1},
        Known{"cluster/nic_bandwidth", "hw_profiles/clusters/h20-512.json", "nic_bandwidth",
              1.1}}) {
    const Resources changed = with_value_times(known.path, known.pointer, known.factor);
    const double better = step_of(predict_nominal(scenario, {}, "table", changed));
    const InputSensitivity& i = input(s, known.id);
    EXPECT_LT(better, step) << known.id;
    EXPECT_NEAR(i.saved.si(), step - better, 1e-9 * step) << known.id;
    EXPECT_NEAR(i.better, known.factor * i.value, 1e-9 * i.value) << known.id;
  }
}

TEST(Sensitivity, AFractionStaysAtMostOne) {
  const Sensitivity s = sensitivity(bundle(), two_variants(), nominal("table"));
  const InputSensitivity& i = input(s, "gpu/h20-96/laws/gemm_bf16");
  ASSERT_GT(1.1 * i.value, 1.0);
  EXPECT_EQ(i.better, 1.0);
  EXPECT_EQ(i.unit, "1");
  EXPECT_EQ(input(s, "cluster/nic_bandwidth").unit, "B/s");
}

/// Every range of the document collapsed, but for the member `kept` of "laws".
void collapse(config::Node& node, const std::string& kept) {
  if (!node.is_object()) return;
  if (node.find("value") != nullptr && node.find("low") != nullptr) {
    node.set("low", *node.find("value"));
    node.set("high", *node.find("value"));
    return;
  }
  for (auto& [key, value] : node.as_object()) {
    if (key != kept) collapse(value, kept);
  }
}

TEST(Sensitivity, AnInputDrawnAloneGivesTheRangeOfProfilesWithoutOtherRanges) {
  const std::string kept = "torch_topk_cycles";
  std::map<std::string, std::string> documents;
  for (const char* path : {"hw_profiles/gpus/h20-96.json", "hw_profiles/clusters/h20-512.json",
                           "hw_profiles/stacks/megatron-core-2026.json"}) {
    config::Node document = config::parse(bundled_text(path), path);
    collapse(document, kept);
    documents[path] = config::to_text(document);
  }
  PredictOptions predict_options;
  predict_options.variant = "table";
  predict_options.draws = 60;
  const Prediction expected =
      predict(overlay(memory_resources(documents), bundle()), two_variants(), predict_options);
  SensitivityOptions options = nominal("table");
  options.draws = 60;
  const Sensitivity s = sensitivity(bundle(), two_variants(), options);
  const InputSensitivity& i = input(s, "gpu/h20-96/laws/" + kept);
  EXPECT_NEAR(i.step.low.si(), expected.step_time.low.si(), 1e-9 * expected.step_time.low.si());
  EXPECT_NEAR(i.step.high.si(), expected.step_time.high.si(), 1e-9 * expected.step_time.high.si());
  double shares = 0.0;
  for (const InputSensitivity& other : s.inputs) {
    EXPECT_GE(other.spread, 0.0);
    if (other.low == other.high) {
      EXPECT_EQ(other.spread, 0.0) << other.id;
    }
    shares += other.spread;
  }
  EXPECT_NEAR(shares, 1.0, 1e-9);
}

// ---------------------------------------------------------------- breakeven

BreakevenOptions wanted(std::string name, double speedup, std::string variant = "",
                        std::string baseline = "") {
  BreakevenOptions options;
  options.part = std::move(name);
  options.speedup = speedup;
  options.variant = std::move(variant);
  options.baseline = std::move(baseline);
  options.draws = 0;
  return options;
}

TEST(Breakeven, IsAmdahlsWhereNothingOverlaps) {
  const double step = step_of(predict_nominal(alone()));
  for (const double speedup : {1.05, 1.01, 0.8}) {
    const Breakeven b = breakeven(bundle(), alone(), wanted("linear", speedup));
    // step + (f - 1) part = step / speedup
    const double factor = 1.0 - (step - step / speedup) / b.part_time.si();
    ASSERT_TRUE(b.factor.has_value()) << speedup;
    EXPECT_NEAR(b.factor->value, factor, 1e-6) << speedup;
    EXPECT_EQ(b.present, 1.0);
    EXPECT_NEAR(b.limit, step / (step - b.part_time.si()), 1e-9);
  }
}

TEST(Breakeven, SaysWhatIsImpossible) {
  const Breakeven b = breakeven(bundle(), alone(), wanted("kernels.optimizer", 5.0));
  EXPECT_FALSE(b.factor.has_value());
  EXPECT_EQ(b.reachable, 0.0);
  EXPECT_GT(b.limit, 1.0);
  EXPECT_LT(b.limit, 5.0);
}

TEST(Breakeven, ItsFactorReachesTheSpeedup) {
  const ScenarioText scenario = two_variants();
  const double base = step_of(predict_nominal(scenario, {}, "table"));
  struct Wanted {
    const char* name;
    double over_present;
  };
  const double present = base / step_of(predict_nominal(scenario, {}, "fused"));
  for (const Wanted& w : {Wanted{"hytopk", 1.02}, Wanted{"hytopk", 0.9}, Wanted{"linear", 1.05}}) {
    const double target = w.over_present * present;
    const Breakeven b = breakeven(bundle(), scenario, wanted(w.name, target, "fused", "table"));
    ASSERT_TRUE(b.factor.has_value()) << w.name;
    EXPECT_NEAR(b.present, present, 1e-12);
    EXPECT_EQ(b.factor->value<1.0, w.over_present> 1.0);
    const auto speedup_at = [&](double factor) {
      const std::string set =
          "scale." + b.part + "=" + config::to_text(config::Node::number(factor));
      return base / step_of(predict_nominal(scenario, {set}, "fused"));
    };
    EXPECT_NEAR(speedup_at(b.factor->value), target, 1e-6 * target) << w.name;
    EXPECT_LT(speedup_at(1.001 * b.factor->value), target) << w.name;
  }
}

TEST(Breakeven, RangesOverDraws) {
  BreakevenOptions options = wanted("topk", 1.01, "table");
  options.draws = 20;
  const Breakeven b = breakeven(bundle(), two_variants(), options);
  ASSERT_TRUE(b.factor.has_value());
  EXPECT_LE(b.factor->low, b.factor->value);
  EXPECT_GE(b.factor->high, b.factor->value);
  EXPECT_LT(b.factor->low, b.factor->high);
  EXPECT_GT(b.reachable, 0.0);
  EXPECT_LE(b.reachable, 1.0);
}

TEST(Breakeven, RefusesWhatTheJobDoesNotHave) {
  const auto fault = [](const BreakevenOptions& options) {
    return faults_of([&] { breakeven(bundle(), two_variants(), options); }).front().text();
  };
  EXPECT_THAT(fault(wanted("hytopk", 1.1, "table")), HasSubstr("has no fused scoring"));
  EXPECT_THAT(fault(wanted("hytopk", 1.1, "table")), HasSubstr("kernels.topk"));
  EXPECT_THAT(fault(wanted("tokp", 1.1)), HasSubstr("did you mean \"kernels.topk\"?"));
  EXPECT_THAT(fault(wanted("topk", 1.1, "tabel")), HasSubstr("did you mean \"table\"?"));
  EXPECT_THROW(breakeven(bundle(), two_variants(), wanted("topk", 0.0)), std::invalid_argument);
  EXPECT_THROW(breakeven(bundle(), two_variants(), wanted("topk", std::nan(""))),
               std::invalid_argument);
}

// ---------------------------------------------------------------- sweep

SweepOptions over(std::vector<std::string> axes) {
  SweepOptions options;
  for (const std::string& axis : axes) options.axes.push_back(parse_sweep_axis(axis));
  options.draws = 0;
  return options;
}

TEST(Sweep, RowsAreThePredictionsOfTheirSettings) {
  const ScenarioText scenario = two_variants();
  const Sweep s =
      sweep(bundle(), scenario, over({"workload.seq_len=64K,128K", "kernels.topk=torch,radix"}));
  ASSERT_EQ(s.rows.size(), 4U);
  EXPECT_EQ(s.variant, "table");
  std::size_t row = 0;
  for (const char* length : {"64K", "128K"}) {
    for (const char* topk : {"torch", "radix"}) {
      EXPECT_THAT(s.rows[row].values, ElementsAre(length, topk));
      std::vector<SetText> sets;  // a --set must change something
      if (std::string(length) != "128K") sets.push_back(std::string("workload.seq_len=") + length);
      if (std::string(topk) != "torch") sets.push_back(std::string("kernels.topk=") + topk);
      const Prediction p = predict_nominal(scenario, sets, "table");
      EXPECT_THAT(s.rows[row].reason, IsEmpty());
      EXPECT_EQ(s.rows[row].step_time.value, p.step_time.value);
      EXPECT_EQ(s.rows[row].peak_memory.value, p.memory.peak_per_gpu.value);
      EXPECT_EQ(s.rows[row].mfu.value, p.mfu.fraction.value);
      EXPECT_EQ(s.rows[row].fits, p.memory.fits);
      ++row;
    }
  }
}

TEST(Sweep, ExecutorsChangeNothing) {
  const Executor backwards = [](std::int64_t count, const std::function<void(std::int64_t)>& body) {
    for (std::int64_t i = count; i-- > 0;) body(i);
  };
  SweepOptions options = over({"workload.seq_len=32K,64K,128K"});
  options.draws = 5;
  const Sweep a = sweep(bundle(), two_variants(), options);
  options.executor = backwards;
  const Sweep b = sweep(bundle(), two_variants(), options);
  ASSERT_EQ(a.rows.size(), b.rows.size());
  for (std::size_t i = 0; i < a.rows.size(); ++i) {
    EXPECT_EQ(a.rows[i].step_time.low, b.rows[i].step_time.low);
    EXPECT_EQ(a.rows[i].step_time.high, b.rows[i].step_time.high);
  }
  EXPECT_EQ(a.warnings, b.warnings);
}

TEST(Sweep, AnIllegalCombinationIsARowWithItsReason) {
  const Sweep s = sweep(bundle(), two_variants(), over({"parallelism.cp=8,7"}));
  ASSERT_EQ(s.rows.size(), 2U);
  EXPECT_THAT(s.rows[0].reason, IsEmpty());
  EXPECT_THAT(s.rows[1].reason, HasSubstr("cp"));
  const auto faults =
      faults_of([] { sweep(bundle(), two_variants(), over({"parallelism.cp=7,9"})); });
  EXPECT_FALSE(faults.empty());
}

TEST(Sweep, GoesThroughVariantsAndFactorsAgainstABaseline) {
  SweepOptions options = over({"scale.kernels.topk=0.5,1,2", "variant=table,fused"});
  options.baseline = "table";
  const Sweep s = sweep(bundle(), two_variants(), options);
  ASSERT_EQ(s.rows.size(), 6U);
  EXPECT_EQ(s.variant, "");
  EXPECT_NEAR(s.rows[2].speedup->value, 1.0, 1e-12);  // table over itself
  const Comparison c = compare_nominal(two_variants(), {"scale.kernels.topk=2"});
  EXPECT_NEAR(s.rows[5].speedup->value, c.speedup.ratio.value, 1e-12);
}

TEST(Sweep, ReadsAxes) {
  const SweepAxis axis = parse_sweep_axis("parallelism.pipeline_layout=[9,10],[10,9]");
  EXPECT_EQ(axis.path, "parallelism.pipeline_layout");
  EXPECT_THAT(axis.values, ElementsAre("[9,10]", "[10,9]"));
  EXPECT_THAT(parse_sweep_axis("a=\"x,y\",z").values, ElementsAre("\"x,y\"", "z"));
  EXPECT_THAT(parse_sweep_axis("a={\"b\":1,\"c\":2}").values, ElementsAre("{\"b\":1,\"c\":2}"));
  for (const char* text : {"a", "=1", "a=", "a=1,,2", "a=1,1"}) {
    EXPECT_FALSE(faults_of([&] { parse_sweep_axis(text); }).empty()) << text;
  }
}

TEST(Sweep, RefusesTooManyAndTwiceTheSame) {
  SweepAxis long_axis{"workload.seq_len", {}};
  for (int i = 1; i <= 65; ++i) long_axis.values.push_back(std::to_string(1024 * i));
  SweepOptions options = over({});
  options.axes = {long_axis, {"parallelism.cp", long_axis.values}};
  const auto fault = [](const SweepOptions& o) {
    return faults_of([&] { sweep(bundle(), two_variants(), o); }).front().text();
  };
  EXPECT_THAT(fault(options), HasSubstr("4096"));
  EXPECT_THAT(fault(over({"parallelism.cp=1", "parallelism.cp=2"})), HasSubstr("varied twice"));
  EXPECT_THAT(fault(over({})), HasSubstr("something to vary"));
  EXPECT_THAT(fault(over({"variant=tabel"})), HasSubstr("did you mean \"table\"?"));
}

}  // namespace
}  // namespace hysim::predictor::test
