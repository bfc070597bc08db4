// Explanations hold: every printed formula gives the predicted number again, and moving a printed
// input moves the prediction as the formulas say.
#include "hysim/explain.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/node.h"
#include "unit/predict/printed_formula.h"
#include "unit/predict/scenarios.h"

namespace hysim::predictor {
namespace {

using test::bundle;
using test::BundledVariant;
using test::predict_nominal;
using test::PrintedFormula;
using testing::HasSubstr;

constexpr double kExact = 1e-9;

/// Waiting is what is left of long times, so it is as exact as the step is.
double tolerance(double value, double step) { return kExact * std::abs(value) + 1e-12 * step; }

Explanation explain_nominal(const ScenarioText& scenario, const std::string& variant = {},
                            const std::vector<SetText>& sets = {},
                            const Resources& resources = bundle()) {
  PredictOptions options;
  options.variant = variant;
  options.sets = sets;
  options.draws = 0;
  return explain(resources, scenario, options);
}

std::vector<const LeafExplanation*> all_of(const Explanation& explanation) {
  std::vector<const LeafExplanation*> all{&explanation.step};
  for (const LeafExplanation& leaf : explanation.leaves) all.push_back(&leaf);
  return all;
}

/// A sheet with its formulas read once.
class Reader {
 public:
  explicit Reader(const Sheet& sheet) : lines_(sheet.lines) {
    std::map<std::string, std::size_t> index_of;  // of the lines so far
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      formulas_.emplace_back();
      if (!lines_[i].formula.empty()) formulas_.back().emplace(lines_[i].formula, index_of);
      unique_ = index_of.emplace(lines_[i].symbol, i).second && unique_;
    }
  }

  bool symbols_are_unique() const { return unique_; }

  /// Every line's value when inputs are what `input_of` says.
  template <class InputOf>
  std::vector<double> values(const InputOf& input_of) const {
    std::vector<double> values;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      values.push_back(formulas_[i] ? formulas_[i]->value(values) : input_of(lines_[i]));
    }
    return values;
  }

 private:
  const std::vector<FormulaLine>& lines_;
  std::vector<std::optional<PrintedFormula>> formulas_;
  bool unique_ = true;
};

/// Every line of every sheet, computed from the printed inputs above it.
void expect_printed_formulas_hold(const Explanation& explanation, const std::string& what) {
  const double step = explanation.prediction.step_time.value.si();
  for (const LeafExplanation* leaf : all_of(explanation)) {
    const std::string where = what + " " + leaf->leaf.path + " " + to_string(leaf->leaf.kind);
    const std::vector<FormulaLine>& lines = leaf->sheet.lines;
    ASSERT_FALSE(lines.empty()) << where;
    const Reader reader(leaf->sheet);
    EXPECT_TRUE(reader.symbols_are_unique()) << where;
    const std::vector<double> values =
        reader.values([](const FormulaLine& line) { return line.value; });
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const FormulaLine& line = lines[i];
      EXPECT_NEAR(values[i], line.value, tolerance(line.value, line.unit == "s" ? step : 0.0))
          << where << ": " << line.symbol << " = " << line.formula;
      EXPECT_FALSE(line.unit.empty()) << where << ": " << line.symbol;
      EXPECT_LT(line.card, static_cast<int>(leaf->sheet.cards.size())) << where;
    }
    const double predicted = leaf->leaf.time.value.si();
    EXPECT_NEAR(values.back(), predicted, tolerance(predicted, step))
        << where << " has a law without a card (docs/adding.md), or card and law disagree";
    EXPECT_EQ(leaf->unexplained, 0.0) << where;
    EXPECT_FALSE(leaf != &explanation.step && leaf->notes.empty()) << where;
  }
}

TEST(Explain, EveryPrintedFormulaGivesThePrediction) {
  for (const BundledVariant& bundled : test::bundled_variants()) {
    const Explanation explanation = explain_nominal(bundled.scenario, bundled.variant);
    EXPECT_EQ(explanation.leaves.size(), explanation.prediction.breakdown.size());
    expect_printed_formulas_hold(explanation, bundled.name + " " + bundled.variant);
  }
}

/// Of test::two_variants().
const std::vector<std::vector<std::string>>& unusual_layouts() {
  static const std::vector<std::vector<std::string>> layouts{
      {"parallelism.pp=1", "parallelism.pipeline_layout=[78]"},
      {"workload.global_batch_size=8"},
      {"workload.global_batch_size=1024"},
      {"parallelism.vpp=2", "parallelism.pipeline_layout=[4,5,5,5,5,5,5,5,5,5,5,5,5,5,5,4]"},
      {"parallelism.vpp=2", "parallelism.pipeline_layout=[4,5,5,5,5,5,5,5,5,5,5,5,5,5,5,4]",
       "parallelism.schedule=breadth_first"},
      {"parallelism.schedule=gpipe"},
      {"parallelism.schedule=zb-h1"},
      {"parallelism.pipeline_layout=[1,1,1,1,1,1,1,71]"},
      {"parallelism.pipeline_layout=[0,13,13,13,13,13,13,0]"},
      {"training.recompute=none", "parallelism.zero=0"},
      {"training.recompute=selective"},
      {"parallelism.tp=8", "parallelism.cp=1", "kernels.indexer_tp=sharded"},
      {"parallelism.tp=2", "parallelism.cp=4", "kernels.dispatcher=deepep"},
      {"training.overlap.cp=true", "training.overlap.tp=true"},
      {"training.overlap.grad_reduce=false", "training.overlap.param_gather=false"},
      {"scale.kernels.topk=0.5", "scale.communication.dp=3", "scale.communication.pp=2",
       "scale.kernels.optimizer=0.25", "scale.communication.cp=0.7"},
      {"parallelism.hierarchical_collectives=true"},
      {"kernels.dispatcher=deepep", "training.overlap.shared_expert=true",
       "training.expert_imbalance=1.5"},
      {"kernels.selection=naive"},
      {"training.offload.activations=true", "training.recompute=none"},
      {"training.offload.activations=true", "parallelism.schedule=zb-h1"},
      {"training.precision=fp8", "kernels.selection_precision=fp8"},
      {"kernels.sparse_attention=tilelang", "training.indexer.loss=sparse"},
  };
  return layouts;
}
/// Of test::dense().
const std::vector<std::vector<std::string>>& unusual_dense_layouts() {
  static const std::vector<std::vector<std::string>> layouts{
      {},
      {"parallelism.zero=2"},
      {"parallelism.zero=2", "training.overlap.grad_reduce=false"},
      {"parallelism.zero=3"},
      {"parallelism.zero=3", "parallelism.fsdp_prefetch=0", "workload.global_batch_size=256"},
      {"parallelism.zero=3", "parallelism.reshard_after_forward=false"},
      {"parallelism.zero=3", "training.overlap.param_gather=false"},
      {"parallelism.zero=3", "parallelism.hsdp_shard=4", "scale.communication.dp=3"},
      {"parallelism.zero=1", "parallelism.hsdp_shard=2"},
      {"training.offload.activations=true"},
      {"training.offload.activations=0.5", "parallelism.zero=3"},
  };
  return layouts;
}

TEST(Explain, HoldsInUnusualLayoutsToo) {
  for (const auto& sets : unusual_layouts()) {
    expect_printed_formulas_hold(
        explain_nominal(test::two_variants(), "", {sets.begin(), sets.end()}), sets.front());
  }
  for (const auto& sets : unusual_dense_layouts()) {
    const std::string name = sets.empty() ? "dense" : "dense " + sets.back();
    expect_printed_formulas_hold(explain_nominal(test::dense(), "", {sets.begin(), sets.end()}),
                                 name);
  }
}

// ---------------------------------------------------------------- moving an input

/// A number of a document as the sheets print it.
struct Input {
  std::string path;     // of the document among the resources
  std::string pointer;  // in it
  auto operator<=>(const Input&) const = default;
};
constexpr std::string_view kBundled = "bundled:";

bool is_setting(const FormulaLine& line) { return line.source && line.source->kind == "setting"; }

std::set<Input> document_inputs(const Explanation& explanation) {
  std::set<Input> inputs;
  for (const LeafExplanation* leaf : all_of(explanation)) {
    for (const FormulaLine& line : leaf->sheet.lines) {
      if (!line.source || !line.source->document.starts_with(kBundled)) continue;
      if (line.value == 0.0 || is_setting(line)) continue;
      inputs.insert({line.source->document.substr(kBundled.size()), line.source->pointer});
    }
  }
  return inputs;
}

/// The bundle with one number times `factor`; factors below 1 keep fractions legal.
Resources moved(const Input& input, double factor) {
  config::Node document = config::parse(test::bundled_text(input.path), input.path);
  config::Node number = *config::find_path(document, input.pointer);
  const double value = number.find("value")->as_number() * factor;
  number.set("value", config::Node::number(value));
  for (const char* const key : {"low", "high"}) {
    if (number.find(key) != nullptr) number.set(key, config::Node::number(value));
  }
  config::set_path(document, input.pointer, std::move(number));
  return overlay(memory_resources({{input.path, config::to_text(document)}}), bundle());
}

bool is(const FormulaLine& line, const Input& input) {
  return line.source && line.source->pointer == input.pointer &&
         line.source->document == std::string(kBundled) + input.path;
}

/// Seconds of every leaf by path and kind.
using Times = std::map<std::pair<std::string, TimeKind>, double>;
Times times_of(const Prediction& prediction) {
  Times times;
  for (const BreakdownLeaf& leaf : prediction.breakdown) {
    times[{leaf.path, leaf.kind}] = leaf.time.value.si();
  }
  times[{"step", TimeKind::critical}] = prediction.step_time.value.si();
  return times;
}

std::vector<std::string> formulas_of(const Sheet& sheet) {
  std::vector<std::string> formulas;
  for (const FormulaLine& line : sheet.lines) formulas.push_back(line.symbol + "=" + line.formula);
  return formulas;
}

/// Whether `there` explains the leaf by other formulas, or of another stage.
bool is_another_branch(const LeafExplanation& leaf, const Explanation& there) {
  for (const LeafExplanation* other : all_of(there)) {
    if (other->leaf.path == leaf.leaf.path && other->leaf.kind == leaf.leaf.kind) {
      return formulas_of(other->sheet) != formulas_of(leaf.sheet) ||
             other->sheet.lines.back().meaning != leaf.sheet.lines.back().meaning;
    }
  }
  return true;
}

/// What a move of one input by `factor` did against what the sheets say.
struct Moved {
  std::vector<std::string> branches;  // leaves whose formulas are others after the move
  std::vector<std::string> wrong;
};
Moved move(const BundledVariant& bundled, const Explanation& before,
           const std::vector<Reader>& readers, const Input& input, double factor) {
  const Resources resources = moved(input, factor);
  const Times after = times_of(predict_nominal(bundled.scenario, {}, bundled.variant, resources));
  const double step = after.at({"step", TimeKind::critical});
  Moved result;
  std::vector<const LeafExplanation*> mismatched;
  const std::vector<const LeafExplanation*> all = all_of(before);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const LeafExplanation* const leaf = all[i];
    const double said = readers[i]
                            .values([&](const FormulaLine& line) {
                              return is(line, input) ? line.value * factor : line.value;
                            })
                            .back();
    const auto found = after.find({leaf->leaf.path, leaf->leaf.kind});
    const double predicted = found == after.end() ? 0.0 : found->second;
    if (std::abs(said - predicted) > tolerance(predicted, step)) mismatched.push_back(leaf);
  }
  if (mismatched.empty()) return result;
  const Explanation there = explain_nominal(bundled.scenario, bundled.variant, {}, resources);
  for (const LeafExplanation* leaf : mismatched) {
    (is_another_branch(*leaf, there) ? result.branches : result.wrong)
        .push_back(leaf->leaf.path + " " + to_string(leaf->leaf.kind));
  }
  return result;
}

/// Every number of a GPU, cluster or stack that a scenario's sheets print, moved by 0.1 %. Where
/// that crosses into another branch (another protocol, another longest path) the formulas are
/// others, which is found by asking again; a smaller move must then agree.
void expect_moves_agree(const std::string& scenario) {
  int inputs = 0;
  for (const BundledVariant& bundled : test::bundled_variants()) {
    if (bundled.name != scenario) continue;
    const Explanation before = explain_nominal(bundled.scenario, bundled.variant);
    std::vector<Reader> readers;
    for (const LeafExplanation* leaf : all_of(before)) readers.emplace_back(leaf->sheet);
    for (const Input& input : document_inputs(before)) {
      const std::string where = bundled.variant + ": " + input.path + input.pointer;
      ++inputs;
      const Moved far = move(bundled, before, readers, input, 1.0 - 1e-3);
      EXPECT_THAT(far.wrong, testing::IsEmpty()) << where;
      if (far.branches.empty()) continue;
      const Moved near = move(bundled, before, readers, input, 1.0 - 1e-6);
      EXPECT_THAT(near.wrong, testing::IsEmpty()) << where;
      EXPECT_THAT(near.branches, testing::IsEmpty()) << where << ": no branch is left at 1e-6";
    }
  }
  EXPECT_GT(inputs, 10) << scenario;
}

class MovingAnInput : public testing::TestWithParam<std::string> {};
TEST_P(MovingAnInput, MovesThePredictionAsTheSheetsSay) { expect_moves_agree(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Bundled, MovingAnInput, testing::ValuesIn(test::scenario_names()),
                         [](const auto& named) {
                           std::string name = named.param;
                           std::replace_if(
                               name.begin(), name.end(),
                               [](char c) { return c == '-' || c == '.'; }, '_');
                           return name;
                         });

/// The legal doubles of every setting that sheets print, and whether the sheets that print one say
/// what the scenario then gives. Sheets that hold for one number only print none.
void expect_settings_agree(const ScenarioText& scenario, const std::string& variant,
                           const std::vector<std::string>& sets, const Explanation& before) {
  std::map<std::string, double> settings;
  for (const LeafExplanation* leaf : all_of(before)) {
    for (const FormulaLine& line : leaf->sheet.lines) {
      if (is_setting(line)) settings[line.source->pointer] = line.value;
    }
  }
  EXPECT_GE(settings.size(), 1U);
  for (const auto& [pointer, value] : settings) {
    std::string key = pointer.substr(1);
    std::replace(key.begin(), key.end(), '/', '.');
    std::vector<SetText> moved(sets.begin(), sets.end());
    moved.emplace_back(key + "=" + std::to_string(static_cast<std::int64_t>(2.0 * value)));
    const Explanation there = explain_nominal(scenario, variant, moved);
    const Times after = times_of(there.prediction);
    const double step = after.at({"step", TimeKind::critical});
    int agreed = 0;
    for (const LeafExplanation* leaf : all_of(before)) {
      const std::vector<FormulaLine>& lines = leaf->sheet.lines;
      const auto moves = [&setting = pointer](const FormulaLine& line) {
        return is_setting(line) && line.source->pointer == setting;
      };
      if (std::none_of(lines.begin(), lines.end(), moves)) continue;
      const double said = Reader(leaf->sheet)
                              .values([&](const FormulaLine& line) {
                                return moves(line) ? 2.0 * line.value : line.value;
                              })
                              .back();
      const auto found = after.find({leaf->leaf.path, leaf->leaf.kind});
      const double predicted = found == after.end() ? 0.0 : found->second;
      const bool agrees = std::abs(said - predicted) <= tolerance(predicted, step);
      agreed += agrees ? 1 : 0;
      EXPECT_TRUE(agrees || is_another_branch(*leaf, there))
          << leaf->leaf.path << ": " << moved.back() << " makes it " << predicted
          << " s, its sheet says " << said;
    }
    EXPECT_GT(agreed, 10) << key;
  }
}

TEST(Explain, MovingASettingMovesThePredictionAsTheSheetsSay) {
  for (const BundledVariant& bundled : test::bundled_variants()) {
    SCOPED_TRACE(bundled.name + " " + bundled.variant);
    expect_settings_agree(bundled.scenario, bundled.variant, {},
                          explain_nominal(bundled.scenario, bundled.variant));
  }
  const auto check = [](const ScenarioText& scenario, const std::vector<std::string>& sets) {
    SCOPED_TRACE(testing::PrintToString(sets));
    expect_settings_agree(scenario, "", sets,
                          explain_nominal(scenario, "", {sets.begin(), sets.end()}));
  };
  for (const auto& sets : unusual_layouts()) check(test::two_variants(), sets);
  for (const auto& sets : unusual_dense_layouts()) check(test::dense(), sets);
}

// ---------------------------------------------------------------- what a sheet says

/// "product of m x k by k x n: m 4096, n 6144" -> m, n and their numbers.
std::map<std::string, double> sizes_of(const std::string& use) {
  std::map<std::string, double> sizes;
  std::istringstream list(use.substr(std::min(use.size(), use.rfind(": ") + 2)));
  for (std::string item; std::getline(list >> std::ws, item, ',');) {
    const std::size_t space = item.find(' ');
    sizes[item.substr(0, space)] = std::stod(item.substr(space));
  }
  return sizes;
}

/// A kernel's counts, computed from the sizes that its use names.
double counted_again(const FormulaLine& line, const FormulaCard& card) {
  std::map<std::string, std::size_t> index_of;
  std::vector<double> values;
  for (const auto& [name, size] : sizes_of(card.use)) {
    index_of.emplace(name, values.size());
    values.push_back(size);
  }
  return PrintedFormula(line.counted, index_of).value(values);
}

/// Every printed line has a formula or a source, and what a kernel's source says is the number.
int expect_sources(const Explanation& explanation, const std::string& what) {
  int counts = 0;
  for (const LeafExplanation* leaf : all_of(explanation)) {
    for (const FormulaLine& line : leaf->sheet.lines) {
      if (!line.formula.empty()) continue;
      const std::string where = what + " " + leaf->leaf.path + ": " + line.symbol;
      EXPECT_TRUE(line.source) << where << " has neither formula nor source";
      if (!line.source || line.source->kind != "counted") continue;
      EXPECT_TRUE(line.source->document.starts_with("src/")) << where;
      EXPECT_FALSE(line.counted.empty()) << where;
      EXPECT_THAT(line.source->text, HasSubstr(line.counted)) << where;
      EXPECT_THAT(line.source->text, HasSubstr(line.counted_from)) << where;
      if (line.card < 0) continue;
      const FormulaCard& card = leaf->sheet.cards[static_cast<std::size_t>(line.card)];
      EXPECT_FALSE(card.use.empty()) << where << " does not say which operation it is of";
      if (card.where != "src/cost/kernel_time.cpp") continue;
      EXPECT_NEAR(counted_again(line, card), line.value, kExact * line.value)
          << where << ": " << line.source->text;
      ++counts;
    }
  }
  return counts;
}

TEST(Explain, EveryInputHasASourceAndCountsFollowFromTheirSizes) {
  for (const BundledVariant& bundled : test::bundled_variants()) {
    const std::string name = bundled.name + " " + bundled.variant;
    EXPECT_GT(expect_sources(explain_nominal(bundled.scenario, bundled.variant), name), 50) << name;
  }
  for (const auto& sets : unusual_layouts()) {
    expect_sources(explain_nominal(test::two_variants(), "", {sets.begin(), sets.end()}),
                   testing::PrintToString(sets));
  }
  for (const auto& sets : unusual_dense_layouts()) {
    expect_sources(explain_nominal(test::dense(), "", {sets.begin(), sets.end()}),
                   testing::PrintToString(sets));
  }
}

TEST(Explain, CountsNameTheSettingsTheyHangOn) {
  const Explanation explanation =
      explain_nominal(test::bundled_scenario("glm-5.1-1m-h20-512"), "megatron-tilelang");
  const auto found = matching_leaves(explanation, "selection/topk/forward");
  ASSERT_EQ(found.size(), 1U);
  for (const FormulaLine& line : found.front().sheet.lines) {
    if (line.symbol != "elements") continue;
    EXPECT_EQ(line.counted, "queries * keys_a_row");
    EXPECT_THAT(line.source->text, HasSubstr("workload.seq_len "));
    EXPECT_THAT(line.source->text, HasSubstr("parallelism.cp 64"));
    EXPECT_THAT(line.source->text, HasSubstr("model.index_topk 2048"));
    // Rows of one of 64 ranks, against all keys of 2^20.
    EXPECT_THAT(line.source->text, HasSubstr("queries 16384, keys_a_row 1048576"));
    return;
  }
  FAIL() << "no elements";
}

TEST(Explain, InputsNameTheirDatasheetLines) {
  const Explanation explanation =
      explain_nominal(test::bundled_scenario("glm-5.1-1m-h20-512"), "hyscale");
  const auto found = matching_leaves(explanation, "selection/hytopk/forward");
  ASSERT_EQ(found.size(), 1U);
  std::map<std::string, FormulaLine> inputs;
  for (const FormulaLine& line : found.front().sheet.lines) {
    if (line.source) inputs[line.source->pointer] = line;
  }
  ASSERT_EQ(inputs.count("/laws/hytopk_compaction_cycles"), 1U);
  const FormulaLine& compactions = inputs.at("/laws/hytopk_compaction_cycles");
  EXPECT_EQ(compactions.source->document, "bundled:hw_profiles/gpus/h20-96.json");
  EXPECT_LT(compactions.low, compactions.high);
  EXPECT_FALSE(compactions.source->text.empty());
  EXPECT_EQ(inputs.at("/clock").unit, "1/s");
  EXPECT_EQ(inputs.at("/workload/global_batch_size").value, 16.0);
}

TEST(Explain, CitationsAreThoseOfTheProfile) {
  const Explanation explanation =
      explain_nominal(test::bundled_scenario("glm-5.1-1m-h20-512"), "hyscale");
  int seen = 0;
  for (const LeafExplanation& leaf : explanation.leaves) {
    for (const FormulaLine& line : leaf.sheet.lines) {
      if (!line.source || !line.source->document.starts_with(kBundled)) continue;
      if (line.source->kind == "setting") continue;
      const std::string path = line.source->document.substr(kBundled.size());
      const config::Node document = config::parse(test::bundled_text(path), path);
      const config::Node* const number = config::find_path(document, line.source->pointer);
      ASSERT_NE(number, nullptr) << path << line.source->pointer;
      EXPECT_EQ(number->find("source")->as_string(), line.source->text);
      EXPECT_EQ(number->find("kind")->as_string(), line.source->kind);
      ++seen;
    }
  }
  EXPECT_GT(seen, 100);
}

TEST(Explain, LeavesAreFoundByPathPrefixPartOrLetters) {
  const Explanation explanation =
      explain_nominal(test::bundled_scenario("glm-5.1-1m-h20-512"), "hyscale");
  const auto paths = [&](const std::string& pattern) {
    std::vector<std::string> found;
    for (const LeafExplanation& leaf : matching_leaves(explanation, pattern)) {
      found.push_back(leaf.leaf.path);
    }
    return found;
  };
  EXPECT_THAT(paths("bubble"), testing::ElementsAre("bubble"));
  EXPECT_THAT(paths("selection/hy"), testing::ElementsAre("selection/hytopk/forward"));
  EXPECT_THAT(paths("attention/sparse"),
              testing::UnorderedElementsAre("attention/sparse_forward/forward",
                                            "attention/sparse_forward/recompute",
                                            "attention/sparse_backward/backward"));
  EXPECT_THAT(paths("hytopk"), testing::ElementsAre("selection/hytopk/forward"));
  EXPECT_THAT(paths("hytk"), testing::ElementsAre("selection/hytopk/forward"));
  EXPECT_THAT(paths("sel/hytk/f"), testing::ElementsAre("selection/hytopk/forward"));
  EXPECT_THAT(paths("step"), testing::ElementsAre("step"));
  EXPECT_THAT(paths("STEP"), testing::ElementsAre("step"));
  EXPECT_THAT(paths("Selection/HyTopK"), testing::ElementsAre("selection/hytopk/forward"));
  // Letters of one word do not come from two: "cp" is in no "communication/ep".
  EXPECT_THAT(paths("comm/cp"), testing::Each(testing::StartsWith("communication/cp")));
  EXPECT_THAT(paths("comm/cp"), testing::Not(testing::IsEmpty()));
  EXPECT_THAT(paths("slhytk"), testing::IsEmpty());
  // In order, each in a component of its own.
  EXPECT_THAT(paths("forward/selection"), testing::IsEmpty());
  EXPECT_THAT(paths("hytopk/hytopk"), testing::IsEmpty());
  EXPECT_THAT(paths("zebra"), testing::IsEmpty());
  EXPECT_NEAR(explanation.step.share, 1.0, 1e-15);
}

TEST(Explain, SaysWhyALeafIsCriticalOrHidden) {
  const Explanation explanation =
      explain_nominal(test::two_variants(), "", {"training.overlap.cp=true"});
  int hidden = 0;
  for (const LeafExplanation& leaf : explanation.leaves) {
    const std::string notes = testing::PrintToString(leaf.notes);
    if (leaf.leaf.kind == TimeKind::overlapped && leaf.leaf.path.starts_with("communication/cp")) {
      EXPECT_THAT(notes, HasSubstr("hidden: runs beside ")) << leaf.leaf.path;
      ++hidden;
    }
  }
  EXPECT_GT(hidden, 0);
}

}  // namespace
}  // namespace hysim::predictor
