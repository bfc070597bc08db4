// hysim breakeven: how fast a kernel must be for the step to reach a speedup.
#include <memory>

#include "cli/app.h"
#include "cli/errors.h"
#include "cli/executor.h"
#include "cli/options.h"
#include "cli/resources.h"
#include "hysim/whatif.h"
#include "report/views.h"

namespace hysim::cli {

namespace {

struct Arguments {
  std::string scenario;
  std::string part;
  double speedup = 0.0;
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
  BreakevenOptions options;
  options.part = arguments.part;
  options.speedup = arguments.speedup;
  options.variant = arguments.variant;
  options.baseline = arguments.baseline;
  options.sets = arguments.prediction.sets;
  options.seed = arguments.prediction.seed;
  options.draws = arguments.prediction.draws;
  options.executor = parallel_executor(progress);
  Breakeven result = breakeven(resources, scenario, options);
  progress.finish();
  result.warnings.insert(result.warnings.begin(), warnings.begin(), warnings.end());

  Views views;
  views.text = [&](const TextStyle& style) {
    return report::render_text(report::breakeven_document(result), style);
  };
  views.json = [&] { return to_json(result); };
  views.markdown = [&] {
    report::Document document = report::breakeven_document(result);
    report::add_warnings(document, result.warnings);
    return report::render_markdown(document);
  };
  emit(views, arguments.output, result.warnings);
  return kAnswered;
}

}  // namespace

void add_breakeven(CLI::App& app, Action& action) {
  constexpr double kLeast = 1e-3;
  constexpr double kMost = 1e3;
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* const command =
      app.add_subcommand("breakeven", "How fast a kernel must be to reach a speedup");
  command->add_option("SCENARIO", arguments->scenario, "a bundled scenario or a file")
      ->type_name("")
      ->required();
  command->add_option("--kernel", arguments->part, "what gets faster, as --scale names it")
      ->type_name("NAME")
      ->required();
  command->add_option("--speedup", arguments->speedup, "to reach, of the whole step")
      ->type_name("X")
      ->check(CLI::Range(kLeast, kMost).description(""))
      ->required();
  command->add_option("--variant", arguments->variant, "which variant (the first)")
      ->type_name("NAME");
  command->add_option("--baseline", arguments->baseline, "speedup over it (the variant as it is)")
      ->type_name("VARIANT");
  add_prediction_options(*command, arguments->prediction, false);
  add_profile_option(*command, arguments->profiles);
  add_output_options(*command, arguments->output, false);
  command->footer(
      "Examples:\n"
      "  hysim breakeven glm-5.1-1m-h20-512 --kernel topk --speedup 1.2\n"
      "  hysim breakeven glm-5.1-1m-h20-512 --kernel hytopk --speedup 2.07 \\\n"
      "    --variant hyscale --baseline megatron-tilelang");
  command->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace hysim::cli
