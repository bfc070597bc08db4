// Parses the arguments, runs one command, and turns what was thrown into an exit code.
#include "cli/app.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "cli/completion.h"
#include "cli/errors.h"
#include "cli/files.h"
#include "cli/manual.h"
#include "cli/options.h"
#include "config/reader.h"
#include "config/version.h"
#include "config/words.h"
#include "hysim/errors.h"
#include "hysim/layout.h"
#include "report/document.h"
#include "report/version.h"

namespace hysim::cli {

namespace {

extern "C" void on_interrupt(int) {
  constexpr char kMessage[] = "hysim: interrupted\n";
  const auto written = ::write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
  static_cast<void>(written);  // nothing can be done here
  ::_exit(kInterrupted);
}

/// A closed pipe is seen where it is written to; a closed standard stream stays closed.
void set_up_process() {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGINT, on_interrupt);
  ::signal(SIGTERM, on_interrupt);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) == -1) {
      const int null = ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
      static_cast<void>(null);  // the lowest free number is `fd`
    }
  }
}

bool is_output_option(std::string_view argument) {
  return argument == "--json" || argument == "--csv" || argument == "--md";
}

/// The arguments, with "--json" alone (last, or before another option) made "--json=-".
std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) arguments.emplace_back(argv[i]);
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    if (!is_output_option(arguments[i])) continue;
    const bool alone = i + 1 == arguments.size() ||
                       (arguments[i + 1].size() > 1 && arguments[i + 1].front() == '-');
    if (alone) arguments[i] += "=-";
  }
  return arguments;
}

/// `hysim predict --json SCENARIO` takes the scenario for the file.
std::string taken_by_output(int argc, char** argv) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (!is_output_option(argv[i]) || argv[i + 1][0] == '-') continue;
    return std::string("; ") + argv[i] + " took " + config::in_quotes(argv[i + 1]) +
           " as its file: write " + argv[i] + "=-";
  }
  return "";
}

std::string program_help_hint(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  const std::string command = chosen.empty() ? "" : " " + chosen.front()->get_name();
  return "hysim: see hysim" + command + " --help";
}

/// "--varient" is no option: the nearest known one.
std::string nearest_to(const std::string& word, const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  std::vector<std::string> known;
  if (word.starts_with("-")) {
    for (const CLI::Option* option : command.get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
  } else if (chosen.empty()) {
    for (const CLI::App* subcommand : app.get_subcommands([](const CLI::App*) { return true; })) {
      known.push_back(subcommand->get_name());
    }
  }
  return config::nearest(word.substr(0, word.find('=')), known);
}

int usage_error(const std::string& message, const CLI::App& app) {
  write_stderr_line("hysim: error: " + message);
  write_stderr_line(program_help_hint(app));
  return kUsage;
}

/// "compare, list and predict", without what is hidden.
std::string command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 < names.size() ? ", " : " and ";
    text += names[i];
  }
  return text;
}

/// "hysim: commands are ...", in lines that fit.
void write_commands(const CLI::App& app) {
  report::Document document;
  document.add(report::Paragraph{"hysim: commands are " + command_names(app)});
  std::istringstream lines(report::render_text(document, {}));
  for (std::string line; std::getline(lines, line);) write_stderr_line(line);
}

int print_version(const std::string& json_target, std::string_view commit) {
  if (json_target.empty()) {
    write_stdout("hysim " + std::string(config::kVersion) + "\n");
    return kAnswered;
  }
  const std::string text = report::version_json(commit);
  if (json_target == "-") {
    write_stdout(text);
  } else {
    write_file(json_target, text);
  }
  return kAnswered;
}

/// `hysim __complete WORDS...` for the shells and `hysim __man` for the build: what is made from
/// the tables of all commands.
std::optional<std::string> about_commands(const CLI::App& app, int argc, char** argv) {
  if (argc < 2) return std::nullopt;
  const std::string_view command = argv[1];
  if (command == "__man") return manual_page(app);
  if (command != "__complete") return std::nullopt;
  std::string lines;
  for (const std::string& word : completions(app, {argv + 2, argv + argc})) lines += word + "\n";
  return lines;
}

void print_diagnostics(const InputError& error) {
  for (Diagnostic diagnostic : error.diagnostics()) {
    // Nobody has written the lines of a scenario made of options.
    if (diagnostic.file == kJobPath) diagnostic.line = diagnostic.column = 0;
    write_stderr_line("hysim: error: " + diagnostic.text());
  }
  if (error.diagnostics().empty()) write_stderr_line("hysim: error: invalid input");
}

int run_checked(int argc, char** argv, std::string_view commit) {
  CLI::App app("Predicts what long-context LLM training with learned sparse attention costs.",
               "hysim");
  app.get_formatter()->column_width(30);
  bool version = false;
  std::string version_json;
  Action action;
  app.add_flag("--version", version, "print the version");
  app.add_option("--json", version_json, "with --version: commit and hashes of what is bundled")
      ->group("");
  app.require_subcommand(0, 1);
  app.footer(
      "Examples:\n"
      "  hysim list scenarios\n"
      "  hysim predict glm-5.1-1m-h20-512 --variant hyscale\n"
      "  hysim compare glm-5.1-1m-h20-512\n"
      "Exit codes: 0 answered, 1 a --require is false, 2 usage, 3 input,\n"
      "5 cannot write, 70 a bug of ours, 130 interrupted.");
  add_predict(app, action);
  add_compare(app, action);
  add_explain(app, action);
  add_check(app, action);
  add_diff(app, action);
  add_new(app, action);
  add_list(app, action);
  add_show(app, action);
  add_import(app, action);
  add_export(app, action);
  add_schema(app, action);
  add_completion(app, action);
  add_sensitivity(app, action);
  add_breakeven(app, action);
  add_sweep(app, action);

  if (const auto text = about_commands(app, argc, argv)) {
    write_stdout(*text);
    return kAnswered;
  }
  std::vector<std::string> arguments = arguments_of(argc, argv);
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
  try {
    app.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    write_stdout(chosen.empty() ? app.help() : chosen.front()->help("hysim"));
    return kAnswered;
  } catch (const CLI::ExtrasError& error) {
    const std::vector<std::string> extras = app.remaining(true);
    if (extras.empty()) return usage_error(error.what(), app);
    const bool command = app.get_subcommands().empty() && !extras.front().starts_with("-");
    const std::string near = nearest_to(extras.front(), app);
    return usage_error(std::string(command ? "no command " : "unexpected argument ") +
                           config::in_quotes(extras.front()) +
                           (near.empty() ? "" : "; did you mean " + near + "?"),
                       app);
  } catch (const CLI::RequiredError& error) {
    return usage_error(error.what() + taken_by_output(argc, argv), app);
  } catch (const CLI::ParseError& error) {
    return usage_error(error.what(), app);
  }
  if (version) return print_version(version_json, commit);
  if (!action) {
    if (!version_json.empty()) return usage_error("--json stands after the command", app);
    write_stderr_line("hysim: error: no command");
    write_commands(app);
    write_stderr_line("hysim: see hysim --help");
    return kUsage;
  }
  try {
    return action();
  } catch (const UsageError& error) {
    return usage_error(error.what(), app);
  }
}

}  // namespace

int run(int argc, char** argv, std::string_view commit) {
  set_up_process();
  try {
    return run_checked(argc, argv, commit);
  } catch (const InputError& error) {
    print_diagnostics(error);
    return kInput;
  } catch (const WriteError& error) {
    write_stderr_line(std::string("hysim: error: ") + error.what());
    return kCannotWrite;
  } catch (const std::exception& error) {
    write_stderr_line(std::string("hysim: internal error: ") + error.what());
  } catch (...) {
    write_stderr_line("hysim: internal error");
  }
  write_stderr_line("hysim: this is a bug of hysim " + std::string(config::kVersion) +
                    ": please report it with the command and its input files");
  return kBug;
}

}  // namespace hysim::cli
