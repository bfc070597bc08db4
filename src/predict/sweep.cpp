// A grid of settings: every combination of the axes' values, evaluated apart from each other.
#include <algorithm>
#include <cstddef>
#include <map>
#include <set>

#include "config/words.h"
#include "hysim/errors.h"
#include "hysim/whatif.h"
#include "predict/request.h"
#include "predict/run.h"

namespace hysim {

namespace {

using predictor::Override;
using predictor::Scenario;
using predictor::Variant;

constexpr std::string_view kVariantAxis = "variant";

[[noreturn]] void refuse(const std::string& text, std::string message) {
  throw InputError({Diagnostic{"--vary " + text, 0, 0, "", std::move(message)}});
}

/// The text between commas that stand outside of brackets, braces and quotes.
std::vector<std::string> split_values(const std::string& text) {
  std::vector<std::string> values(1);
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\' && i + 1 < text.size()) {
      values.back() += c;
      values.back() += text[++i];
      continue;
    }
    if (c == '"') quoted = !quoted;
    if (!quoted) depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    if (c == ',' && depth == 0 && !quoted) {
      values.emplace_back();
    } else {
      values.back() += c;
    }
  }
  return values;
}

/// What a combination changes, before it is known whether it may.
struct Combination {
  const Variant* variant = nullptr;
  std::vector<Override> overrides;
  std::vector<std::string> values;
};

struct Answer {
  SweepRow row;
  std::vector<Diagnostic> faults;
  std::vector<Warning> warnings;
  std::vector<InputFile> files;
};

std::string reason_of(const std::vector<Diagnostic>& faults) {
  if (faults.empty()) return "invalid";
  const std::string more =
      faults.size() > 1 ? " (and " + std::to_string(faults.size() - 1) + " more)" : "";
  return faults.front().message + more;
}

/// One combination; never throws InputError.
class Evaluation {
 public:
  Evaluation(const Resources& resources, const ScenarioText& text, const Scenario& scenario,
             const Variant* baseline, const predictor::RunOptions& options)
      : inputs_(resources), scenario_(scenario), baseline_(baseline), options_(options) {
    inputs_.add(text);
  }

  Answer answer(const Combination& combination) {
    Answer result;
    result.row.values = combination.values;
    try {
      fill(combination, result);
    } catch (const InputError& error) {
      result.faults = error.diagnostics();
      result.row.reason = reason_of(result.faults);
    }
    result.files = inputs_.files();
    return result;
  }

 private:
  predictor::Run run(const Variant& variant, const std::vector<Override>& overrides) const {
    const config::Node settings =
        predictor::variant_document(scenario_, variant.steps, variant.name, overrides);
    return predictor::run(
        predictor::resolve(inputs_.resources(), scenario_, variant.name, settings), options_,
        serial_executor());
  }

  void fill(const Combination& combination, Answer& result) const {
    const predictor::Run candidate = run(*combination.variant, combination.overrides);
    const Prediction p = predictor::to_prediction(candidate, options_.seed);
    SweepRow& row = result.row;
    row.step_time = p.step_time;
    row.tokens_per_second_per_gpu = p.tokens_per_second_per_gpu;
    row.mfu = p.mfu.fraction;
    row.peak_memory = p.memory.peak_per_gpu;
    row.fits = p.memory.fits;
    result.warnings = p.warnings;
    if (baseline_ == nullptr) return;
    row.speedup = predictor::speedup(run(*baseline_, combination.overrides), candidate);
  }

  predictor::Inputs inputs_;
  const Scenario& scenario_;
  const Variant* baseline_;
  predictor::RunOptions options_;
};

void check_axes(const std::vector<SweepAxis>& axes) {
  std::set<std::string> paths;
  std::int64_t rows = 1;
  for (const SweepAxis& axis : axes) {
    if (axis.values.empty()) refuse(axis.path, "has no values");
    if (!paths.insert(axis.path).second) refuse(axis.path, "is varied twice");
    rows *= static_cast<std::int64_t>(axis.values.size());
    if (rows > kMostSweepRows) {
      refuse(axis.path, "makes more than " + std::to_string(kMostSweepRows) + " combinations");
    }
  }
  if (axes.empty()) throw InputError({Diagnostic{"", 0, 0, "", "a sweep needs something to vary"}});
}

std::vector<Combination> combinations(const Scenario& scenario, const SweepOptions& options,
                                      const std::vector<Override>& sets) {
  std::vector<Combination> all(1);
  all.front().variant = &predictor::variant_or_first(scenario, options.variant);
  all.front().overrides = sets;
  for (const SweepAxis& axis : options.axes) {
    std::vector<Combination> longer;
    longer.reserve(all.size() * axis.values.size());
    for (const Combination& combination : all) {
      for (const std::string& value : axis.values) {
        Combination& next = longer.emplace_back(combination);
        next.values.push_back(value);
        if (axis.path == kVariantAxis) {
          next.variant = &predictor::find_variant(scenario, value);
        } else {
          next.overrides.push_back(
              predictor::parse_override(axis.path + "=" + value, scenario.variants));
        }
      }
    }
    all = std::move(longer);
  }
  return all;
}

bool varies_variants(const SweepOptions& options) {
  return std::any_of(options.axes.begin(), options.axes.end(),
                     [](const SweepAxis& axis) { return axis.path == kVariantAxis; });
}

/// The variants that a --set may be about.
std::vector<Variant> variants_asked(const std::vector<Combination>& all, const Variant* baseline) {
  std::map<std::string, const Variant*> asked;
  for (const Combination& combination : all) {
    asked.emplace(combination.variant->name, combination.variant);
  }
  if (baseline != nullptr) asked.emplace(baseline->name, baseline);
  std::vector<Variant> variants;
  for (const auto& [name, variant] : asked) variants.push_back(*variant);
  return variants;
}

/// Each warning once; those of some rows only say of how many.
std::vector<Warning> merged(const std::vector<Answer>& answers, std::size_t legal) {
  std::vector<Warning> all;
  std::vector<std::size_t> counts;
  for (const Answer& answer : answers) {
    for (const Warning& warning : answer.warnings) {
      const auto found = std::find(all.begin(), all.end(), warning);
      if (found == all.end()) {
        all.push_back(warning);
        counts.push_back(1);
      } else {
        ++counts[static_cast<std::size_t>(found - all.begin())];
      }
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (counts[i] == legal) continue;
    all[i].message +=
        " (in " + std::to_string(counts[i]) + " of " + std::to_string(legal) + " combinations)";
  }
  return all;
}

/// Puts the answers together, in order.
void collect(std::vector<Answer> answers, Sweep& result) {
  std::map<std::string, std::string> files;
  std::size_t legal = 0;
  for (const Answer& answer : answers) legal += answer.faults.empty() ? 1U : 0U;
  if (legal == 0) throw InputError(answers.front().faults);
  result.warnings = merged(answers, legal);
  for (Answer& answer : answers) {
    for (const InputFile& file : answer.files) files.emplace(file.path, file.sha256);
    result.rows.push_back(std::move(answer.row));
  }
  for (const auto& [path, hash] : files) result.files.push_back({path, hash});
}

}  // namespace

SweepAxis parse_sweep_axis(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    refuse(text, "must be path=value,value,..., for example workload.seq_len=128K,256K");
  }
  SweepAxis axis{text.substr(0, equals), split_values(text.substr(equals + 1))};
  for (const std::string& value : axis.values) {
    if (value.empty()) refuse(text, "has an empty value");
  }
  const std::set<std::string> unique(axis.values.begin(), axis.values.end());
  if (unique.size() < axis.values.size()) refuse(text, "has a value twice");
  return axis;
}

Sweep sweep(const Resources& resources, const ScenarioText& text, const SweepOptions& options) {
  predictor::require_draws(options.draws);
  check_axes(options.axes);
  const Scenario scenario = predictor::parse_scenario(text);
  const std::vector<Override> sets = predictor::parse_sets(options.sets, scenario.variants);
  const Variant* const baseline =
      options.baseline.empty() ? nullptr : &predictor::find_variant(scenario, options.baseline);
  const std::vector<Combination> all = combinations(scenario, options, sets);
  predictor::check_settings(scenario, sets, &resources);
  predictor::require_effects(scenario, variants_asked(all, baseline), options.sets, sets);

  std::vector<Answer> answers(all.size());
  options.executor(static_cast<std::int64_t>(all.size()), [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    Evaluation evaluation(resources, text, scenario, baseline,
                          {options.seed, options.draws, false});
    answers[at] = evaluation.answer(all[at]);
  });
  Sweep result;
  result.scenario = scenario.name;
  if (!varies_variants(options)) {
    result.variant = predictor::variant_or_first(scenario, options.variant).name;
  }
  result.baseline = options.baseline;
  result.axes = options.axes;
  result.seed = options.seed;
  result.draws = options.draws;
  collect(std::move(answers), result);
  return result;
}

}  // namespace hysim
