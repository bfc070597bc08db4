#include "cli/question.h"

#include "cli/resources.h"

namespace hysim::cli {

void add_scenario(CLI::App& command, Question& question) {
  command.add_option("SCENARIO", question.scenario, "a bundled scenario or a file")->type_name("");
  add_job_options(command, question.job);
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

Asked asked(const Question& question, const std::vector<SetText>& named, Progress& progress) {
  check(question.output);
  Asked result;
  const Resources resources = command_resources(question.profiles, result.found);
  result.source = scenario_source(resources, question.scenario, question.job,
                                  question.prediction.sets, named, parallel_executor(progress));
  return result;
}

}  // namespace hysim::cli
