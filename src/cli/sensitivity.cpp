// hysim sensitivity: which parts and inputs a step depends on most.
#include <memory>

#include "cli/question.h"
#include "hysim/whatif.h"

namespace hysim::cli {

namespace {

int run(const Question& question) {
  Progress progress(!question.output.quiet);
  const Asked about = asked(question, question.prediction.sets, progress);
  SensitivityOptions options;
  set_options(question, progress, options);
  options.baseline = question.baseline;
  Sensitivity result = sensitivity(about.source.resources, about.source.scenario, options);
  progress.finish();
  return show<Sensitivity>(question, about, std::move(result), report::sensitivity_document,
                           report::to_csv);
}

}  // namespace

void add_sensitivity(CLI::App& app, Action& action) {
  const auto question = std::make_shared<Question>();
  CLI::App* const command =
      app.add_subcommand("sensitivity", "What a faster part or a better input would buy");
  add_scenario(*command, *question);
  add_question_options(*command, *question, "show the speedup over it, too", true);
  command->footer(
      "Examples:\n"
      "  hysim sensitivity glm-5.1-1m-h20-512 --variant hyscale\n"
      "  hysim sensitivity glm-5.1-1m-h20-512 --variant hyscale \\\n"
      "    --baseline megatron-cudnn\n"
      "  hysim sensitivity ./mine.json --csv rows.csv");
  command->callback([question, &action] {
    require_scenario(question->scenario, question->job);
    action = [question] { return run(*question); };
  });
}

}  // namespace hysim::cli
