// hysim import megatron: a launch script or YAML file of Megatron-LM as a scenario.
#include <memory>

#include "cli/app.h"
#include "cli/errors.h"
#include "cli/files.h"
#include "cli/megatron_yaml.h"
#include "cli/options.h"
#include "cli/resources.h"
#include "config/words.h"
#include "hysim/megatron.h"
#include "report/megatron_view.h"

namespace hysim::cli {

namespace {

struct Arguments {
  std::string file;
  std::string target;  // -o
  std::string json;
  std::vector<std::string> defines;
  std::vector<std::string> sets;
  std::vector<std::string> profiles;
  ImportOptions options;
  bool quiet = false;
};

MegatronVariables variables_of(const std::vector<std::string>& defines) {
  MegatronVariables variables;
  for (const std::string& define : defines) {
    const std::size_t equals = define.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw UsageError("--define " + config::in_quotes(define) + " must be NAME=VALUE");
    }
    variables[define.substr(0, equals)] = define.substr(equals + 1);
  }
  return variables;
}

bool is_yaml(const std::string& path) { return path.ends_with(".yaml") || path.ends_with(".yml"); }

MegatronRun read_run(const Arguments& arguments) {
  const MegatronVariables variables = variables_of(arguments.defines);
  const std::string text = read_file(arguments.file);
  MegatronRun run = is_yaml(arguments.file) ? read_megatron_yaml(text, arguments.file, variables)
                                            : read_megatron_script(text, arguments.file, variables);
  for (const std::string& set : arguments.sets) {
    const std::size_t equals = set.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw UsageError("--set " + config::in_quotes(set) + " must be PATH=VALUE");
    }
    run.settings.push_back(
        {set.substr(0, equals), {set.substr(equals + 1)}, {}, "--set " + set, 0});
  }
  return run;
}

/// "run.json" and "run.config.json" beside it.
std::string model_path_beside(const std::string& target) {
  const std::size_t slash = target.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : target.substr(0, slash + 1);
  return folder + stem_of(target) + ".config.json";
}

std::string stem_of_script(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.substr(0, name.rfind('.'));
}

int run(Arguments arguments) {
  const bool to_file = !arguments.target.empty() && arguments.target != "-";
  if (arguments.json == "-" && !to_file) {
    throw UsageError("--json - and the scenario cannot both go to standard output: give -o FILE");
  }
  std::vector<std::string> warnings;
  const Resources resources = command_resources(arguments.profiles, warnings);
  if (arguments.options.name.empty()) arguments.options.name = stem_of_script(arguments.file);
  std::string model_file;
  if (to_file) {
    model_file = model_path_beside(arguments.target);
    // A scenario finds the files it names beside itself.
    arguments.options.model_path = model_file.substr(model_file.rfind('/') + 1);
  }
  const MegatronRun found = read_run(arguments);
  const MegatronImport imported = import_megatron(resources, found, arguments.options);

  if (!imported.model_config.empty()) write_file(model_file, imported.model_config);
  if (to_file) write_file(arguments.target, imported.scenario);
  const std::string json = report::megatron_import_json(imported, found);
  if (!arguments.json.empty() && arguments.json != "-") write_file(arguments.json, json);
  if (!to_file) {
    write_stdout(imported.scenario);
  } else if (arguments.json == "-") {
    write_stdout(json);
  }
  if (!arguments.quiet) {
    for (const std::string& warning : warnings) write_stderr_line("hysim: warning: " + warning);
    for (const std::string& line : report::megatron_import_lines(imported, found)) {
      write_stderr_line(line);
    }
  }
  return kAnswered;
}

}  // namespace

void add_import(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* const command =
      app.add_subcommand("import", "A scenario from another tool's configuration");
  command->require_subcommand(1);
  CLI::App* const megatron =
      command->add_subcommand("megatron", "A Megatron-LM launch script or YAML file");
  megatron->add_option("FILE", arguments->file, "train.sh, or args.yaml")
      ->type_name("")
      ->required();
  megatron->add_option("--gpu", arguments->options.gpu, "the GPU of the script's nodes")
      ->type_name("NAME");
  megatron->add_option("--cluster", arguments->options.cluster, "a cluster, or GPU:NODESxGPUS")
      ->type_name("NAME");
  megatron->add_option("--model", arguments->options.model, "a bundled model")->type_name("NAME");
  megatron->add_option("--name", arguments->options.name, "of the scenario (the file's)")
      ->type_name("NAME");
  const auto repeatable = [&](const char* name, std::vector<std::string>& target, const char* what,
                              const char* type) {
    megatron->add_option(name, target, what)
        ->type_size(1)
        ->expected(1)
        ->take_all()
        ->allow_extra_args(false)
        ->type_name(type);
  };
  repeatable("-D,--define", arguments->defines, "a variable that the script takes from outside",
             "NAME=VALUE");
  repeatable("--set", arguments->sets, "a setting that no argument says", "PATH=VALUE");
  add_profile_option(*megatron, arguments->profiles);
  megatron->add_option("-o,--output", arguments->target, "the scenario (standard output)")
      ->type_name("FILE|-")
      ->group("Output");
  megatron->add_option("--json", arguments->json, "what became of every argument")
      ->type_name("FILE|-")
      ->group("Output");
  megatron->add_flag("-q,--quiet", arguments->quiet, "no report on stderr")->group("Output");
  megatron->footer(
      "Arguments that are unknown or not modelled are listed on stderr and in the\n"
      "scenario's assumptions.\n"
      "Examples:\n"
      "  hysim import megatron train.sh --gpu h20-96 -o mine.json\n"
      "  hysim import megatron args.yaml --cluster h100-sxm-80:64x8 -D TP=2 -D PP=8");
  megatron->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace hysim::cli
