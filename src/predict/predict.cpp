#include "hysim/predict.h"

#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>

#include "config/reader.h"
#include "config/words.h"
#include "hysim/explain.h"
#include "predict/explain.h"
#include "predict/profiles.h"
#include "predict/remedies.h"
#include "predict/request.h"
#include "predict/run.h"
#include "predict/scenario.h"

namespace hysim {

namespace {

using predictor::Inputs;
using predictor::Job;
using predictor::Override;
using predictor::Run;
using predictor::RunOptions;
using predictor::Scenario;
using predictor::Unpublished;
using predictor::Variant;
using predictor::VariantStep;

// More combinations of unpublished settings than this are refused rather than run.
constexpr std::size_t kMaxHypotheses = 256;
// Draws behind the range of one hypothesis; its nominal value needs none.
constexpr std::int64_t kHypothesisDraws = 50;
constexpr std::size_t kMany = 1'000'000;  // so many combinations are not counted further

/// Resolves and runs variants of one scenario; a settings document is run once.
class Runner {
 public:
  Runner(const Resources& resources, const Scenario& scenario, const RunOptions& options,
         const Executor& executor)
      : profiles_(resources), scenario_(scenario), options_(options), executor_(executor) {}

  std::shared_ptr<const Run> get(const std::string& variant, const std::vector<VariantStep>& steps,
                                 const std::vector<Override>& overrides, bool breakdown_ranges) {
    const config::Node document = predictor::variant_document(scenario_, steps, variant, overrides);
    Job job = predictor::resolve(profiles_, scenario_, variant, document);
    const std::string key =
        config::to_text(job.resolved) + (breakdown_ranges ? variant : std::string());
    if (const auto found = runs_.find(key); found != runs_.end()) return found->second;
    RunOptions options = options_;
    options.breakdown_ranges = breakdown_ranges;
    auto run = std::make_shared<const Run>(predictor::run(std::move(job), options, executor_));
    runs_.emplace(key, run);
    return run;
  }

 private:
  predictor::Profiles profiles_;
  const Scenario& scenario_;
  RunOptions options_;
  const Executor& executor_;
  std::map<std::string, std::shared_ptr<const Run>> runs_;
};

Fit worse(Fit a, Fit b) { return std::max(a, b); }

Speedup make_speedup(const Run& baseline, const Run& candidate, const std::string& baseline_name,
                     const std::string& candidate_name) {
  Speedup speedup;
  speedup.baseline = baseline_name;
  speedup.candidate = candidate_name;
  speedup.ratio = predictor::speedup(baseline, candidate);
  const auto note = [&](const Run& run, const std::string& name) {
    if (run.memory.fits != Fit::no) return;
    speedup.hypothetical = true;
    speedup.note +=
        (speedup.note.empty() ? "" : "; ") + name +
        (run.memory.peak_per_gpu.value <= run.memory.capacity ? " does not fit its host memory"
                                                              : " does not fit its GPUs");
  };
  note(baseline, baseline_name);
  note(candidate, candidate_name);
  return speedup;
}

std::vector<AblationRow> ablation(Runner& runner, const Variant& candidate,
                                  const std::vector<Override>& overrides, const Run& baseline) {
  std::vector<AblationRow> rows;
  if (candidate.steps.size() < 2) return rows;
  const auto row = [&](AblationKind kind, const std::string& name,
                       const std::vector<VariantStep>& steps) {
    const auto run = runner.get(candidate.name, steps, overrides, false);
    const Ranged<double> step = predictor::ranged(run->nominal.step, run->steps);
    rows.push_back({kind,
                    name,
                    {Seconds(step.value), Seconds(step.low), Seconds(step.high)},
                    predictor::speedup(baseline, *run),
                    run->memory.fits});
  };
  std::vector<VariantStep> so_far;
  for (const VariantStep& step : candidate.steps) {
    so_far.push_back(step);
    row(AblationKind::cumulative, step.name, so_far);
  }
  for (const VariantStep& step : candidate.steps) row(AblationKind::alone, step.name, {step});
  for (std::size_t i = 0; i < candidate.steps.size(); ++i) {
    std::vector<VariantStep> others = candidate.steps;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    row(AblationKind::all_but, candidate.steps[i].name, others);
  }
  return rows;
}

/// Every combination of the unpublished settings that concern the two sides.
std::vector<Hypothesis> hypotheses(Runner& runner, const Scenario& scenario,
                                   const Variant& baseline, const Variant& candidate,
                                   const std::vector<Override>& overrides) {
  std::vector<const Unpublished*> axes;
  std::size_t combinations = 1;  // at most kMany
  for (const Unpublished& axis : scenario.unpublished) {
    if (!axis.variant.empty() && axis.variant != baseline.name && axis.variant != candidate.name) {
      continue;
    }
    axes.push_back(&axis);
    combinations = std::min(kMany, combinations * axis.values.size());
  }
  if (axes.empty()) return {};
  if (combinations > kMaxHypotheses) {
    predictor::refuse(scenario, "unpublished",
                      "makes " + std::to_string(combinations) +
                          (combinations == kMany ? " or more" : "") + " combinations; at most " +
                          std::to_string(kMaxHypotheses) + " are run");
  }
  std::vector<Hypothesis> rows;
  for (std::size_t c = 0; c < combinations; ++c) {
    std::vector<Override> changes = overrides;
    Hypothesis row;
    std::size_t rest = c;
    for (const Unpublished* axis : axes) {
      const config::Node& value = axis->values[rest % axis->values.size()];
      rest /= axis->values.size();
      changes.push_back({axis->variant, axis->path, value});
      row.settings.emplace_back((axis->variant.empty() ? "" : axis->variant + ":") + axis->path,
                                config::to_text(value));
    }
    const auto a = runner.get(baseline.name, baseline.steps, changes, false);
    const auto b = runner.get(candidate.name, candidate.steps, changes, false);
    row.ratio = predictor::speedup(*a, *b);
    row.fits = worse(a->memory.fits, b->memory.fits);
    rows.push_back(std::move(row));
  }
  return rows;
}

Prediction finished(const Run& run, std::uint64_t seed, const Inputs& inputs) {
  Prediction prediction = predictor::to_prediction(run, seed);
  prediction.inputs = inputs.files();
  return prediction;
}

template <class Options>
void add_remedies(const Resources& resources, const Scenario& scenario, const Variant& variant,
                  const std::vector<Override>& overrides, const Run& run, const Options& options,
                  Prediction& prediction) {
  const Fit fits = run.memory.fits;
  if (options.remedies == SeekRemedies::never || fits == Fit::yes) return;
  if (options.remedies == SeekRemedies::when_unfit && fits != Fit::no) return;
  prediction.memory.remedies =
      predictor::remedies(resources, scenario, variant, overrides, run, options.executor);
}

/// The variant that `options` ask for, and its run.
struct Asked {
  Scenario scenario;
  Variant variant;
  std::vector<Override> overrides;
  std::shared_ptr<const Run> run;
};
Asked run_variant(Inputs& inputs, const ScenarioText& text, const PredictOptions& options) {
  predictor::require_draws(options.draws);
  inputs.add(text);
  Asked asked;
  asked.scenario = predictor::parse_scenario(text);
  asked.variant = predictor::variant_or_first(asked.scenario, options.variant);
  asked.overrides = predictor::parse_sets(options.sets, asked.scenario.variants);
  predictor::check_settings(asked.scenario, asked.overrides, &inputs.resources());
  predictor::require_effects(asked.scenario, {asked.variant}, options.sets, asked.overrides);
  Runner runner(inputs.resources(), asked.scenario, {options.seed, options.draws, true},
                options.executor);
  asked.run = runner.get(asked.variant.name, asked.variant.steps, asked.overrides, true);
  return asked;
}

}  // namespace

Executor serial_executor() {
  return [](std::int64_t count, const std::function<void(std::int64_t)>& body) {
    for (std::int64_t i = 0; i < count; ++i) body(i);
  };
}

Prediction predict(const Resources& resources, const ScenarioText& text,
                   const PredictOptions& options) {
  Inputs inputs(resources);
  const Asked asked = run_variant(inputs, text, options);
  Prediction prediction = finished(*asked.run, options.seed, inputs);
  add_remedies(resources, asked.scenario, asked.variant, asked.overrides, *asked.run, options,
               prediction);
  return prediction;
}

Explanation explain(const Resources& resources, const ScenarioText& text,
                    const PredictOptions& options) {
  Inputs inputs(resources);
  const auto run = run_variant(inputs, text, options).run;
  return predictor::explain_run(*run, finished(*run, options.seed, inputs), resources, text.path);
}

Comparison compare(const Resources& resources, const ScenarioText& text,
                   const CompareOptions& options) {
  predictor::require_draws(options.draws);
  Inputs inputs(resources);
  inputs.add(text);
  const Scenario scenario = predictor::parse_scenario(text);
  const Variant& baseline = predictor::variant_or_first(scenario, options.baseline);
  const Variant& candidate = options.candidate.empty()
                                 ? scenario.variants.back()
                                 : predictor::find_variant(scenario, options.candidate);
  const std::vector<Override> overrides = predictor::parse_sets(options.sets, scenario.variants);
  predictor::check_settings(scenario, overrides, &inputs.resources());
  predictor::require_effects(scenario, scenario.variants, options.sets, overrides);
  Runner runner(inputs.resources(), scenario, {options.seed, options.draws, true},
                options.executor);
  Comparison comparison;
  config::Faults faults;  // of all variants
  for (const Variant& variant : scenario.variants) {
    try {
      const auto run = runner.get(variant.name, variant.steps, overrides, true);
      comparison.variants.push_back(finished(*run, options.seed, inputs));
      add_remedies(resources, scenario, variant, overrides, *run, options,
                   comparison.variants.back());
    } catch (const InputError& error) {
      for (const Diagnostic& fault : error.diagnostics()) faults.add(fault);
    }
  }
  faults.throw_if_any();
  const auto base = runner.get(baseline.name, baseline.steps, overrides, true);
  const auto cand = runner.get(candidate.name, candidate.steps, overrides, true);
  comparison.speedup = make_speedup(*base, *cand, baseline.name, candidate.name);
  comparison.ablation = ablation(runner, candidate, overrides, *base);
  Runner quick(inputs.resources(), scenario,
               {options.seed, std::min(options.draws, kHypothesisDraws), false}, options.executor);
  comparison.hypotheses = hypotheses(quick, scenario, baseline, candidate, overrides);
  for (const Hypothesis& row : comparison.hypotheses) {
    if (!comparison.envelope) comparison.envelope.emplace(row.ratio.value, row.ratio.value);
    comparison.envelope->first = std::min(comparison.envelope->first, row.ratio.value);
    comparison.envelope->second = std::max(comparison.envelope->second, row.ratio.value);
  }
  comparison.reference = scenario.reference;
  return comparison;
}

Comparison compare(const Resources& resources, const ScenarioText& a, const ScenarioText& b,
                   const CompareOptions& options) {
  predictor::require_draws(options.draws);
  Comparison comparison;
  std::vector<std::shared_ptr<const Run>> runs;
  std::vector<std::string> names;
  std::vector<predictor::Effect> effects(options.sets.size());
  const Scenario scenarios[] = {predictor::parse_scenario(a), predictor::parse_scenario(b)};
  // A --set may name a variant that only one of the two has.
  std::vector<Variant> variants = scenarios[0].variants;
  variants.insert(variants.end(), scenarios[1].variants.begin(), scenarios[1].variants.end());
  const std::vector<Override> overrides = predictor::parse_sets(options.sets, variants);
  for (const bool first : {true, false}) {
    const ScenarioText& text = first ? a : b;
    const Scenario& scenario = scenarios[first ? 0 : 1];
    Inputs inputs(resources);
    inputs.add(text);
    const std::string& wanted = first ? options.baseline : options.candidate;
    const Variant& variant = predictor::variant_or_first(scenario, wanted);
    predictor::check_settings(scenario, overrides, &inputs.resources());
    predictor::note_effects(scenario, {variant}, overrides, effects);
    Runner runner(inputs.resources(), scenario, {options.seed, options.draws, true},
                  options.executor);
    runs.push_back(runner.get(variant.name, variant.steps, overrides, true));
    Prediction prediction = finished(*runs.back(), options.seed, inputs);
    add_remedies(resources, scenario, variant, overrides, *runs.back(), options, prediction);
    std::string name = scenario.name;
    if (scenario.variants.size() > 1) name += ":" + variant.name;
    if (!names.empty() && names.front() == name) name += " (2)";
    prediction.variant = name;
    names.push_back(name);
    comparison.variants.push_back(std::move(prediction));
  }
  predictor::require_effects(options.sets, effects);
  comparison.speedup = make_speedup(*runs[0], *runs[1], names[0], names[1]);
  const double tokens_a = static_cast<double>(comparison.variants[0].seq_len) *
                          static_cast<double>(comparison.variants[0].global_batch_size);
  const double tokens_b = static_cast<double>(comparison.variants[1].seq_len) *
                          static_cast<double>(comparison.variants[1].global_batch_size);
  if (tokens_a != tokens_b) {
    comparison.warnings.push_back(
        {"tokens",
         "the two steps process different numbers of tokens; the speedup is of step times, not of "
         "throughput",
         ""});
  }
  return comparison;
}

}  // namespace hysim
