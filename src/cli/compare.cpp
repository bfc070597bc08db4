// hysim compare: every variant of a scenario, or two scenarios, side by side.
#include <memory>

#include "cli/executor.h"
#include "cli/options.h"
#include "cli/resources.h"
#include "hysim/predict.h"
#include "report/views.h"

namespace hysim::cli {

namespace {

struct Arguments {
  std::string scenario;
  std::string other;  // a second scenario
  std::string baseline;
  std::string candidate;
  PredictionOptions prediction;
  std::vector<std::string> profiles;
  OutputOptions output;
};

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
  std::vector<ScenarioText> scenarios = {scenario_text(named, arguments.scenario)};
  if (!arguments.other.empty()) scenarios.push_back(scenario_text(named, arguments.other));
  const Resources resources = with_local_files(named, scenarios, arguments.prediction.sets);

  Progress progress(!arguments.output.quiet);
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
  comparison.warnings.insert(comparison.warnings.begin(), warnings.begin(), warnings.end());
  warnings = report::all_warnings(comparison);

  Views views;
  views.text = [&](const TextStyle& style) { return to_text(comparison, style); };
  views.json = [&] { return to_json(comparison); };
  views.csv = [&] { return report::to_csv(comparison); };
  views.markdown = [&] {
    report::Document document = report::comparison_document(comparison);
    report::add_warnings(document, warnings);
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
      ->type_name("")
      ->required();
  command->add_option("OTHER", arguments->other, "a second scenario to compare with")
      ->type_name("");
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
      "  hysim compare ./today.json ./proposal.json --require 'speedup>=1.2'");
  command->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace hysim::cli
