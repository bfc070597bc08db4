// hysim compare: every variant of a scenario, or two scenarios, side by side.
#include <algorithm>
#include <iterator>
#include <memory>

#include "cli/errors.h"
#include "cli/executor.h"
#include "cli/job_options.h"
#include "cli/options.h"
#include "cli/resources.h"
#include "hysim/predict.h"
#include "model/transformer.h"
#include "report/starter.h"
#include "report/views.h"

namespace hysim::cli {

namespace {

struct Arguments {
  std::string scenario;
  std::string other;  // a second scenario
  JobText job;        // instead of the first
  std::string baseline;
  std::string candidate;
  PredictionOptions prediction;
  std::vector<std::string> profiles;
  OutputOptions output;
};

/// A job without a file, in the two variants of a starter scenario.
ScenarioSource variants_of_job(const Resources& named, const JobText& job,
                               const std::vector<SetText>& sets, const Executor& executor) {
  std::vector<SetText> of_all;  // the layout is every variant's; it is chosen before there are any
  std::copy_if(sets.begin(), sets.end(), std::back_inserter(of_all),
               [](const SetText& set) { return set.find(':') >= set.find('='); });
  ScenarioSource source = scenario_source(named, "", job, of_all, sets, executor);
  const auto model = model::load_transformer(source.resources, job.model);
  if (model.indexer.top_k == 0) {
    throw UsageError("nothing to compare: " + job.model +
                     " selects no tokens; write a scenario with variants (hysim new scenario)");
  }
  source.scenario.text = report::scenario_starter(source.chosen, "", true);
  return source;
}

/// The prediction the requirements are about.
const Prediction& candidate_of(const Comparison& comparison) {
  return comparison.variants[report::variant_index(
      comparison.speedup.candidate, comparison.variants, comparison.variants.size() - 1)];
}

int run(const Arguments& arguments) {
  check(arguments.output);
  const auto requirements = parse_requirements(arguments.prediction.require);

  std::vector<std::string> warnings;
  const Resources named = command_resources(arguments.profiles, warnings);
  check_budget(arguments.prediction);
  Progress progress(!arguments.output.quiet);
  std::vector<Warning> notes;
  std::vector<ScenarioText> scenarios;
  Resources resources = named;
  if (arguments.scenario.empty()) {
    ScenarioSource source = variants_of_job(named, arguments.job, arguments.prediction.sets,
                                            parallel_executor(progress));
    scenarios.push_back(std::move(source.scenario));
    resources = std::move(source.resources);
    notes = std::move(source.notes);
  } else {
    scenarios.push_back(scenario_text(named, arguments.scenario));
    if (!arguments.other.empty()) scenarios.push_back(scenario_text(named, arguments.other));
    resources = with_local_files(named, scenarios, arguments.prediction.sets);
  }

  CompareOptions options;
  options.baseline = arguments.baseline;
  options.candidate = arguments.candidate;
  options.sets = arguments.prediction.sets;
  options.seed = arguments.prediction.seed;
  options.draws = arguments.prediction.draws;
  options.executor = parallel_executor(progress);
  Comparison comparison = scenarios.size() == 1
                              ? compare(resources, scenarios[0], options)
                              : compare(resources, scenarios[0], scenarios[1], options);
  progress.finish();
  for (Prediction& prediction : comparison.variants) {
    add_budget(resources, arguments.prediction, prediction);
  }
  settle_warnings(warnings, notes, arguments.output, comparison.warnings);
  warnings = texts_of(report::all_warnings(comparison));

  Views views;
  views.text = [&](const TextStyle& style) {
    return report::render_text(report::comparison_document(comparison, messages_of(notes)), style);
  };
  views.json = [&] { return to_json(comparison); };
  views.csv = [&] { return report::to_csv(comparison); };
  views.markdown = [&] {
    report::Document document = report::comparison_document(comparison);
    report::add_warnings(document, report::all_warnings(comparison));
    return report::render_markdown(document);
  };
  emit(views, arguments.output, warnings);
  if (comparison.variants.empty()) return exit_code_of({});
  return exit_code_of(unmet(requirements, candidate_of(comparison), &comparison.speedup));
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* const command =
      app.add_subcommand("compare", "What a change buys: variants side by side");
  command->add_option("SCENARIO", arguments->scenario, "a bundled scenario or a file")
      ->type_name("");
  command->add_option("OTHER", arguments->other, "a second scenario to compare with")
      ->type_name("");
  add_job_options(*command, arguments->job);
  command->add_option("--baseline", arguments->baseline, "variant (the first)")->type_name("NAME");
  command->add_option("--candidate", arguments->candidate, "variant (the last)")->type_name("NAME");
  add_prediction_options(*command, arguments->prediction);
  add_profile_option(*command, arguments->profiles);
  add_output_options(*command, arguments->output, true);
  command->footer(
      "CONDITION is speedup>=1.5, or of the candidate fits, step_time<=20s,\n"
      "mfu>=30% or peak_memory<=90GB.\n"
      "Examples:\n"
      "  hysim compare glm-5.1-1m-h20-512\n"
      "  hysim compare glm-5.1-1m-h20-512 --baseline megatron-cudnn --json out.json\n"
      "  hysim compare ./today.json ./proposal.json --require 'speedup>=1.2'\n"
      "  hysim compare --model glm-5.1 --cluster h20-512 --seq-len 256K");
  command->callback([arguments, &action] {
    require_scenario(arguments->scenario, arguments->job);
    action = [arguments] { return run(*arguments); };
  });
}

}  // namespace hysim::cli
