// hysim predict: one training step of one variant.
#include "hysim/predict.h"

#include <memory>

#include "cli/errors.h"
#include "cli/executor.h"
#include "cli/job_options.h"
#include "cli/options.h"
#include "cli/resources.h"
#include "report/views.h"

namespace hysim::cli {

namespace {

struct Arguments {
  std::string scenario;
  JobText job;  // instead of a scenario
  std::string variant;
  bool remedies = false;
  PredictionOptions prediction;
  std::vector<std::string> profiles;
  OutputOptions output;
};

/// Says which variant was taken when none was named and there are several.
std::string note_on_variant(const ScenarioText& scenario, const Prediction& prediction) {
  std::string others;
  for (const std::string& name : variant_names(scenario)) {
    if (name != prediction.variant) others += (others.empty() ? "" : ", ") + name;
  }
  if (others.empty()) return "";
  return "no --variant given: this is " + prediction.variant + ", the first; others: " + others;
}

int run(const Arguments& arguments) {
  check(arguments.output);
  const auto requirements = parse_requirements(arguments.prediction.require);
  for (const Requirement& requirement : requirements) {
    if (requirement.quantity == Requirement::Quantity::speedup) {
      throw UsageError("--require " + requirement.text + ": a speedup needs hysim compare");
    }
  }

  std::vector<std::string> warnings;
  const Resources named = command_resources(arguments.profiles, warnings);

  check_budget(arguments.prediction);
  Progress progress(!arguments.output.quiet);
  const ScenarioSource source =
      scenario_source(named, arguments.scenario, arguments.job, arguments.prediction.sets,
                      arguments.prediction.sets, parallel_executor(progress));
  PredictOptions options;
  options.variant = arguments.variant;
  options.sets = arguments.prediction.sets;
  options.seed = arguments.prediction.seed;
  options.draws = arguments.prediction.draws;
  if (arguments.remedies) options.remedies = SeekRemedies::when_tight;
  options.executor = parallel_executor(progress);
  Prediction prediction = predict(source.resources, source.scenario, options);
  progress.finish();
  add_budget(source.resources, arguments.prediction, prediction);

  // In text the note on the variant is part of the answer; elsewhere it is a warning.
  std::vector<Warning> notes = source.notes;
  if (arguments.variant.empty()) {
    const std::string note = note_on_variant(source.scenario, prediction);
    if (!note.empty()) notes.push_back({"no-variant", note, ""});
  }
  warnings = settle_warnings(warnings, notes, arguments.output, prediction.warnings);

  Views views;
  views.text = [&](const TextStyle& style) {
    return report::render_text(report::prediction_document(prediction, messages_of(notes)), style);
  };
  views.json = [&] { return to_json(prediction); };
  views.csv = [&] { return report::to_csv(prediction); };
  views.markdown = [&] {
    report::Document document = report::prediction_document(prediction);
    report::add_warnings(document, prediction.warnings);
    return report::render_markdown(document);
  };
  emit(views, arguments.output, warnings);
  return exit_code_of(unmet(requirements, prediction));
}

}  // namespace

void add_predict(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* const command =
      app.add_subcommand("predict", "Time, memory and bottlenecks of one training step");
  command->add_option("SCENARIO", arguments->scenario, "a bundled scenario or a file")
      ->type_name("");
  add_job_options(*command, arguments->job);
  command->add_option("--variant", arguments->variant, "which variant (the first)")
      ->type_name("NAME");
  command->add_flag("--remedies", arguments->remedies,
                    "what would give room, also when it fits tightly");
  add_prediction_options(*command, arguments->prediction);
  add_profile_option(*command, arguments->profiles);
  add_output_options(*command, arguments->output, true);
  command->footer(
      "CONDITION is fits, step_time<=20s, mfu>=30% or peak_memory<=90GB.\n"
      "Examples:\n"
      "  hysim predict glm-5.1-1m-h20-512 --variant hyscale\n"
      "  hysim predict glm-5.1-1m-h20-512 --set parallelism.cp=32 --json -\n"
      "  hysim predict ./mine.json --require fits --require 'step_time<=20s'\n"
      "  hysim predict --model glm-5.1 --cluster h20-96:64x8 --seq-len 1M --pp 8");
  command->callback([arguments, &action] {
    require_scenario(arguments->scenario, arguments->job);
    action = [arguments] { return run(*arguments); };
  });
}

}  // namespace hysim::cli
