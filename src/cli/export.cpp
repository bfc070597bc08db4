// hysim export megatron: a scenario as Megatron-LM arguments.
#include <memory>

#include "cli/app.h"
#include "cli/files.h"
#include "cli/options.h"
#include "cli/resources.h"
#include "hysim/megatron.h"

namespace hysim::cli {

namespace {

struct Arguments {
  std::string scenario;
  std::string variant;
  std::string format = "sh";
  std::string target;
  std::vector<std::string> sets;
  std::vector<std::string> profiles;
  bool quiet = false;
};

int run(const Arguments& arguments) {
  std::vector<std::string> warnings;
  const Resources named = command_resources(arguments.profiles, warnings);
  const ScenarioText scenario = scenario_text(named, arguments.scenario);
  const Resources resources = with_local_files(named, {scenario}, arguments.sets);
  const MegatronFormat format = arguments.format == "yaml"   ? MegatronFormat::yaml
                                : arguments.format == "args" ? MegatronFormat::arguments
                                                             : MegatronFormat::script;
  const MegatronExport exported =
      export_megatron(resources, scenario, arguments.variant, arguments.sets, format);
  if (arguments.target.empty() || arguments.target == "-") {
    write_stdout(exported.text);
  } else {
    write_file(arguments.target, exported.text);
  }
  if (!arguments.quiet) {
    for (const std::string& warning : warnings) write_stderr_line("hysim: warning: " + warning);
    write_stderr_line("hysim: " + std::to_string(exported.unexpressed.size()) +
                      " settings have no Megatron argument and stand as \"# hysim:\" comments");
  }
  return kAnswered;
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* const command =
      app.add_subcommand("export", "A scenario as another tool's configuration");
  command->require_subcommand(1);
  CLI::App* const megatron = command->add_subcommand("megatron", "Megatron-LM arguments");
  megatron->add_option("SCENARIO", arguments->scenario, "a bundled scenario or a file")
      ->type_name("")
      ->required();
  megatron->add_option("--variant", arguments->variant, "which variant (the first)")
      ->type_name("NAME");
  megatron->add_option("--format", arguments->format, "sh, args or yaml (sh)")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"sh", "args", "yaml"}).description(""));
  add_set_option(*megatron, arguments->sets);
  add_profile_option(*megatron, arguments->profiles);
  megatron->add_option("-o,--output", arguments->target, "where to (standard output)")
      ->type_name("FILE|-")
      ->group("Output");
  megatron->add_flag("-q,--quiet", arguments->quiet, "no note on stderr")->group("Output");
  megatron->footer(
      "What no argument of Megatron-LM says stands in the text as \"# hysim:\" comments,\n"
      "which hysim import megatron takes back.\n"
      "Example:\n"
      "  hysim export megatron glm-5.1-1m-h20-512 --variant megatron-cudnn -o train.sh");
  megatron->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace hysim::cli
