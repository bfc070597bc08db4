// What a part made faster or an input made better buys, by evaluating the step again with it, and
// which inputs its range comes from, by drawing one at a time. Wrong for changes so large that the
// job would be laid out differently.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "graph/scale.h"
#include "hysim/whatif.h"
#include "predict/inputs.h"
#include "predict/request.h"
#include "predict/whatif_parts.h"
#include "units/text.h"

namespace hysim {

namespace {

using predictor::Job;
using predictor::WhatIfSide;

// Steps that differ by less are the same: rounding of long sums.
constexpr double kSame = 1e-12;

/// One side, or both sides of a speedup.
struct Question {
  const WhatIfSide* side = nullptr;
  const WhatIfSide* baseline = nullptr;  // null: none

  std::optional<double> speedup(double base_step, double step) const {
    if (baseline == nullptr) return std::nullopt;
    return base_step / step;
  }
};

std::optional<PartSensitivity> part_of(const Question& question, const graph::ScaleName& name) {
  const WhatIfSide& side = *question.side;
  if (!graph::touches(side.program, name)) return std::nullopt;
  const double step = side.run->nominal.step;
  const double faster =
      predictor::step_of(predictor::scaled(side.program, name, 1.0 - kWhatIfChange), side.nominal);
  PartSensitivity part;
  part.name = name.name;
  part.family = name.family;
  part.time = Seconds(predictor::part_seconds(*side.run, name));
  part.saved = Seconds(step - faster);
  part.limit =
      Seconds(predictor::step_of(predictor::scaled(side.program, name, 0.0), side.nominal));
  if (question.baseline != nullptr) {
    part.speedup = question.speedup(question.baseline->run->nominal.step, faster);
  }
  return part;
}

/// "B/s" of "GB/s".
std::string si_unit(const std::string& written) {
  const auto unit = units::parse_unit(written);
  if (!unit) return written;
  const auto power = [](const char* name, int exponent) {
    return exponent == 0 ? std::string()
                         : name + (exponent == 1 ? std::string() : std::to_string(exponent));
  };
  const std::string top =
      power("B", unit->byte) + power("flop", unit->flop) + power("s", std::max(0, unit->second));
  const std::string bottom = power("s", std::max(0, -unit->second));
  return (top.empty() ? "1" : top) + (bottom.empty() ? "" : "/" + bottom);
}

std::string kind_word(config::SourceKind kind) {
  for (const auto& choice : config::source_kinds()) {
    if (choice.value == kind) return std::string(choice.word);
  }
  return "";
}

/// The step of one side with the input `id` times `factor`.
double step_with(const WhatIfSide& side, const std::string& id, double factor) {
  const Job job = predictor::with_input_times(side.run->job, id, factor);
  return predictor::step_of(side.program, predictor::machine(job, config::Sampler()));
}

double variance(const std::vector<double>& samples) {
  if (samples.empty()) return 0.0;
  double mean = 0.0;
  for (const double sample : samples) mean += sample;
  mean /= static_cast<double>(samples.size());
  double sum = 0.0;
  for (const double sample : samples) sum += (sample - mean) * (sample - mean);
  return sum / static_cast<double>(samples.size());
}

std::vector<double> steps_drawn_alone(const WhatIfSide& side, const config::Sourced& input,
                                      std::uint64_t seed, std::int64_t draws) {
  if (input.low == input.high) return {};
  const std::string& id = input.id;
  const Job job = predictor::with_only_input_drawn(side.run->job, id);
  std::vector<double> steps;
  steps.reserve(static_cast<std::size_t>(draws));
  for (std::int64_t d = 0; d < draws; ++d) {
    const config::Sampler sampler(seed, static_cast<std::uint64_t>(d));
    steps.push_back(predictor::step_of(side.program, predictor::machine(job, sampler)));
  }
  return steps;
}

/// Nothing when the step does not depend on it. `spread` is the variance for now.
std::optional<InputSensitivity> input_of(const Question& question, const config::Sourced& input,
                                         const SensitivityOptions& options) {
  const WhatIfSide& side = *question.side;
  const std::string& id = input.id;
  const double step = side.run->nominal.step;
  constexpr double kUp = 1.0 + kWhatIfChange;
  const double up = step_with(side, id, kUp);
  const double down = step_with(side, id, 1.0 / kUp);
  const bool moves =
      std::max(std::fabs(up - step), std::fabs(down - step)) > kSame * step || input.value == 0.0;
  const std::vector<double> alone =
      moves ? steps_drawn_alone(side, input, options.seed, options.draws) : std::vector<double>();
  const double spread = variance(alone);
  if (!moves || (input.value == 0.0 && spread == 0.0)) return std::nullopt;

  const double factor = up <= down ? kUp : 1.0 / kUp;
  const double better = std::min(up, down);
  InputSensitivity result;
  result.id = id;
  result.value = input.value;
  result.low = input.low;
  result.high = input.high;
  result.unit = si_unit(input.unit);
  result.kind = kind_word(input.kind);
  const Job changed = predictor::with_input_times(side.run->job, id, factor);
  for (const config::Sourced* const other : predictor::sourced_inputs(changed)) {
    if (other->id == id) result.better = other->value;
  }
  result.saved = Seconds(std::max(0.0, step - better));
  const Ranged<double> range = predictor::ranged(step, alone);
  result.step = {Seconds(range.value), Seconds(range.low), Seconds(range.high)};
  result.spread = spread;
  if (question.baseline != nullptr) {
    result.speedup = question.speedup(step_with(*question.baseline, id, factor), better);
  }
  return result;
}

/// Variances to shares of their sum.
void normalise_spread(std::vector<InputSensitivity>& inputs) {
  double sum = 0.0;
  for (const InputSensitivity& input : inputs) sum += input.spread;
  for (InputSensitivity& input : inputs) input.spread = sum > 0.0 ? input.spread / sum : 0.0;
}

template <class Row>
void sort_by_saved(std::vector<Row>& rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.saved > b.saved; });
}

}  // namespace

Sensitivity sensitivity(const Resources& resources, const ScenarioText& text,
                        const SensitivityOptions& options) {
  const predictor::WhatIfSides sides = predictor::whatif_sides(
      resources, text,
      {options.variant, options.baseline, options.sets, options.seed, options.draws},
      options.executor);
  const Question question{&sides.variant, sides.baseline ? &*sides.baseline : nullptr};
  Sensitivity result;
  result.scenario = sides.variant.run->job.scenario;
  result.variant = sides.variant.run->job.variant;
  result.baseline = options.baseline;
  const Ranged<double> step =
      predictor::ranged(sides.variant.run->nominal.step, sides.variant.run->steps);
  result.step_time = {Seconds(step.value), Seconds(step.low), Seconds(step.high)};
  if (sides.baseline) {
    result.speedup = predictor::speedup(*sides.baseline->run, *sides.variant.run);
  }

  for (const graph::ScaleName& name : graph::scale_names()) {
    if (auto part = part_of(question, name)) result.parts.push_back(std::move(*part));
  }
  sort_by_saved(result.parts);

  const std::vector<const config::Sourced*> inputs =
      predictor::sourced_inputs(sides.variant.run->job);
  std::vector<std::optional<InputSensitivity>> found(inputs.size());
  options.executor(static_cast<std::int64_t>(inputs.size()), [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    found[at] = input_of(question, *inputs[at], options);
  });
  for (auto& input : found) {
    if (input) {
      result.inputs.push_back(std::move(*input));
    } else {
      ++result.unmoved_inputs;
    }
  }
  normalise_spread(result.inputs);
  sort_by_saved(result.inputs);
  result.warnings = sides.warnings;
  result.files = sides.files;
  result.seed = options.seed;
  result.draws = options.draws;
  return result;
}

}  // namespace hysim
