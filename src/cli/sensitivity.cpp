// hysim sensitivity: which parts and inputs a step depends on most.
#include <memory>

#include "cli/app.h"
#include "cli/executor.h"
#include "cli/options.h"
#include "cli/resources.h"
#include "hysim/whatif.h"
#include "report/views.h"

namespace hysim::cli {

namespace {

struct Arguments {
  std::string scenario;
  std::string variant;
  std::string baseline;
  PredictionOptions prediction;
  std::vector<std::string> profiles;
  OutputOptions output;
};

int run(const Arguments& arguments) {
  check(arguments.output);
  std::vector<std::string> warnings;
  const Resources named = command_resources(arguments.profiles, warnings);
  const ScenarioText scenario = scenario_text(named, arguments.scenario);
  const Resources resources = with_local_files(named, {scenario}, arguments.prediction.sets);

  Progress progress(!arguments.output.quiet);
  SensitivityOptions options;
  options.variant = arguments.variant;
  options.baseline = arguments.baseline;
  options.sets = arguments.prediction.sets;
  options.seed = arguments.prediction.seed;
  options.draws = arguments.prediction.draws;
  options.executor = parallel_executor(progress);
  Sensitivity result = sensitivity(resources, scenario, options);
  progress.finish();
  result.warnings.insert(result.warnings.begin(), warnings.begin(), warnings.end());

  Views views;
  views.text = [&](const TextStyle& style) {
    return report::render_text(report::sensitivity_document(result), style);
  };
  views.json = [&] { return to_json(result); };
  views.csv = [&] { return report::to_csv(result); };
  views.markdown = [&] {
    report::Document document = report::sensitivity_document(result);
    report::add_warnings(document, result.warnings);
    return report::render_markdown(document);
  };
  emit(views, arguments.output, result.warnings);
  return kAnswered;
}

}  // namespace

void add_sensitivity(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* const command =
      app.add_subcommand("sensitivity", "What a faster part or a better input would buy");
  command->add_option("SCENARIO", arguments->scenario, "a bundled scenario or a file")
      ->type_name("")
      ->required();
  command->add_option("--variant", arguments->variant, "which variant (the first)")
      ->type_name("NAME");
  command->add_option("--baseline", arguments->baseline, "show the speedup over it, too")
      ->type_name("VARIANT");
  add_prediction_options(*command, arguments->prediction, false);
  add_profile_option(*command, arguments->profiles);
  add_output_options(*command, arguments->output, true);
  command->footer(
      "Examples:\n"
      "  hysim sensitivity glm-5.1-1m-h20-512 --variant hyscale\n"
      "  hysim sensitivity glm-5.1-1m-h20-512 --variant hyscale \\\n"
      "    --baseline megatron-cudnn\n"
      "  hysim sensitivity ./mine.json --csv rows.csv");
  command->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace hysim::cli
