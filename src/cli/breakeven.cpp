// hysim breakeven: how fast a kernel must be for the step to reach a speedup.
#include <memory>

#include "cli/question.h"
#include "hysim/whatif.h"

namespace hysim::cli {

namespace {

struct Arguments {
  Question question;
  std::string part;
  double speedup = 0.0;
};

int run(const Arguments& arguments) {
  const Question& question = arguments.question;
  Progress progress(!question.output.quiet);
  const Asked about = asked(question, question.prediction.sets, progress);
  BreakevenOptions options;
  set_options(question, progress, options);
  options.part = arguments.part;
  options.speedup = arguments.speedup;
  options.baseline = question.baseline;
  Breakeven result = breakeven(about.source.resources, about.source.scenario, options);
  progress.finish();
  return show(question, about, std::move(result), report::breakeven_document);
}

/// As CLI::Range would say it; that lets NaN through, which is neither below nor above.
std::string fault_of_speedup(const std::string& text) {
  constexpr double kLeast = 1e-3;
  constexpr double kMost = 1e3;
  double value = 0.0;
  if (CLI::detail::lexical_cast(text, value) && value >= kLeast && value <= kMost) return "";
  return "Value " + text + " not in range [0.001 - 1000]";
}

}  // namespace

void add_breakeven(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* const command =
      app.add_subcommand("breakeven", "How fast a kernel must be to reach a speedup");
  add_scenario(*command, arguments->question);
  command->add_option("--kernel", arguments->part, "what gets faster, as --scale names it")
      ->type_name("NAME")
      ->required();
  command->add_option("--speedup", arguments->speedup, "to reach, of the whole step")
      ->type_name("X")
      ->check(CLI::Validator(fault_of_speedup, ""))
      ->required();
  add_question_options(*command, arguments->question, "speedup over it (the variant as it is)",
                       false);
  command->footer(
      "Examples:\n"
      "  hysim breakeven glm-5.1-1m-h20-512 --kernel topk --speedup 1.2\n"
      "  hysim breakeven glm-5.1-1m-h20-512 --kernel hytopk --speedup 2.07 \\\n"
      "    --variant hyscale --baseline megatron-tilelang");
  command->callback([arguments, &action] {
    require_scenario(arguments->question.scenario, arguments->question.job);
    action = [arguments] { return run(*arguments); };
  });
}

}  // namespace hysim::cli
