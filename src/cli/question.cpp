#include "cli/question.h"

#include "cli/resources.h"

namespace hysim::cli {

void add_scenario(CLI::App& command, Question& question) {
  command.add_option("SCENARIO", question.scenario, "a bundled scenario or a file")
      ->type_name("")
      ->required();
}

void add_question_options(CLI::App& command, Question& question, const std::string& baseline,
                          bool csv) {
  command.add_option("--variant", question.variant, "which variant (the first)")->type_name("NAME");
  if (!baseline.empty()) {
    command.add_option("--baseline", question.baseline, baseline)->type_name("VARIANT");
  }
  add_prediction_options(command, question.prediction, false);
  add_profile_option(command, question.profiles);
  add_output_options(command, question.output, csv);
}

Asked asked(const Question& question, const std::vector<SetText>& sets) {
  check(question.output);
  Asked result;
  const Resources named = command_resources(question.profiles, result.warnings);
  result.scenario = scenario_text(named, question.scenario);
  result.resources = with_local_files(named, {result.scenario}, sets);
  return result;
}

}  // namespace hysim::cli
