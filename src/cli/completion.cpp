// Completion of the command line: `hysim completion SHELL` prints a few lines for the shell that
// ask `hysim __complete WORDS...` whenever the user presses the tabulator.
#include "cli/completion.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string_view>

#include "cli/app.h"
#include "cli/files.h"
#include "cli/options.h"
#include "cli/resources.h"
#include "config/node.h"
#include "hysim/errors.h"
#include "hysim/schema.h"

namespace hysim::cli {

namespace {

using Words = std::vector<std::string>;

const char* const kFiles = ":files";

constexpr std::string_view kBash = R"(# bash completion of hysim
_hysim() {
  local line word=${COMP_WORDS[COMP_CWORD]}
  [[ $word == = ]] && word=
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      compopt -o filenames
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$word")
    else
      COMPREPLY+=("$line")
    fi
  done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi
}
complete -F _hysim hysim
)";

constexpr std::string_view kZsh = R"(#compdef hysim
_hysim() {
  local line
  local -a candidates
  while IFS= read -r line; do
    if [[ $line == :files ]]; then _files; else candidates+=("$line"); fi
  done < <("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)
  compadd -- ${candidates:#*=}
  compadd -S '' -- ${(M)candidates:#*=}
}
if [[ $funcstack[1] == _hysim ]]; then _hysim; else compdef _hysim hysim; fi
)";

constexpr std::string_view kFish = R"(# fish completion of hysim
function __hysim_complete
  set -l words (commandline -opc)
  for line in (hysim __complete $words[2..-1] (commandline -ct) 2>/dev/null)
    if test "$line" = ":files"
      __fish_complete_path (commandline -ct)
    else
      echo $line
    end
  end
end
complete -c hysim -f -a '(__hysim_complete)'
)";

/// Names of the documents of a kind: "models".
Words names_of_kind(std::string_view plural) {
  Words warnings;
  const Resources resources = command_resources({}, warnings);
  for (const DocumentKind& kind : document_kinds()) {
    if (kind.plural == plural) return names_of(resources, kind);
  }
  return {};
}

Words plurals() {
  Words words;
  for (const DocumentKind& kind : document_kinds()) words.emplace_back(kind.plural);
  return words;
}

Words all_names() {
  Words words;
  for (const std::string& plural : plurals()) {
    for (std::string& name : names_of_kind(plural)) words.push_back(std::move(name));
  }
  return words;
}

/// "kernels.topk=" and all other settings, as the scenario's schema has them.
Words settings() {
  Words words;
  const config::Node schema = config::parse(document_schema("scenario").text, "schema");
  for (const char* section : {"workload", "parallelism", "training", "kernels"}) {
    const std::string name = section;
    const config::Node* const keys = config::find_path(schema, "/$defs/" + name + "/properties");
    if (keys == nullptr) continue;
    for (const auto& key : keys->as_object()) words.push_back(name + "." + key.first + "=");
  }
  return words;
}

/// Names of the variants of the scenario among the words.
Words variants(const Words& positionals) {
  if (positionals.empty()) return {};
  try {
    Words warnings;
    return variant_names(scenario_text(command_resources({}, warnings), positionals.front()));
  } catch (const InputError&) {
    return {};
  }
}

Words with_files(Words words) {
  words.emplace_back(kFiles);
  return words;
}

/// Values an option or a positional argument may have.
Words values_of(const CLI::App& command, const CLI::Option& option, const Words& positionals) {
  const std::string name = option.get_name();  // "--json" or "SCENARIO"
  const auto is = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (is({"SCENARIO", "OTHER"})) return with_files(names_of_kind("scenarios"));
  if (is({"--model"})) return with_files(names_of_kind("models"));
  if (is({"--cluster"})) return with_files(names_of_kind("clusters"));
  if (is({"--variant", "--baseline", "--candidate"})) return variants(positionals);
  if (is({"--color"})) return {"auto", "always", "never"};
  if (is({"--set", "--vary"})) return settings();
  if (is({"SHELL"})) return {"bash", "zsh", "fish"};
  if (is({"KIND"}) && command.get_name() == "list") return plurals();
  if (is({"NAME"}) && command.get_name() == "schema") return schema_names();
  if (is({"NAME"})) return with_files(all_names());
  return with_files({});
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

const CLI::Option* option_named(const CLI::App& command, const std::string& word) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->nonpositional() && option->check_name(word)) return option;
  }
  return nullptr;
}

/// "--json", "=", "x" is "--json=x": bash takes words apart at '='.
Words joined(const Words& words) {
  Words out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool assigns = words[i] == "=" && !out.empty() && out.back().starts_with("--");
    if (!assigns) {
      out.push_back(words[i]);
      continue;
    }
    out.back() += "=";
    if (i + 1 < words.size()) out.back() += words[++i];
  }
  return out;
}

Words options_of(const CLI::App& command) {
  Words words;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  }
  return words;
}

Words command_names(const CLI::App& app) {
  Words words;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) words.push_back(command->get_name());
  }
  return words;
}

/// What stands before the last word: positional arguments, and the option that waits for a value.
struct Before {
  Words positionals;
  const CLI::Option* waiting = nullptr;
};
Before read_before(const CLI::App& command, const Words& words, std::size_t first) {
  Before before;
  for (std::size_t i = first; i + 1 < words.size(); ++i) {
    if (before.waiting != nullptr) {
      before.waiting = nullptr;
    } else if (!words[i].starts_with("-") || words[i] == "-") {
      before.positionals.push_back(words[i]);
    } else if (const CLI::Option* option = option_named(command, words[i])) {
      if (takes_value(*option)) before.waiting = option;
    }
  }
  return before;
}

Words arguments_after(const CLI::App& command, const Words& words, std::size_t first) {
  const Before before = read_before(command, words, first);
  const std::string& last = words.back();
  if (before.waiting != nullptr && !last.starts_with("-")) {
    return values_of(command, *before.waiting, before.positionals);
  }
  if (last.starts_with("-")) return options_of(command);
  std::size_t place = before.positionals.size();
  for (const CLI::Option* option : command.get_options()) {
    if (option->nonpositional()) continue;
    if (place-- == 0) return values_of(command, *option, before.positionals);
  }
  return {};
}

const CLI::App* command_named(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

Words beginning_with(const std::string& prefix, const Words& candidates) {
  Words words;
  for (const std::string& candidate : candidates) {
    if (candidate == kFiles || candidate.starts_with(prefix)) words.push_back(candidate);
  }
  return words;
}

int run(const std::string& shell) {
  write_stdout(shell == "bash" ? kBash : shell == "zsh" ? kZsh : kFish);
  return kAnswered;
}

}  // namespace

std::vector<std::string> completions(const CLI::App& app, std::vector<std::string> words) {
  if (words.empty()) words.emplace_back();
  const bool split = words.back() == "=" || (words.size() > 1 && words[words.size() - 2] == "=");
  words = joined(words);
  const CLI::App* const command = words.size() > 1 ? command_named(app, words.front()) : nullptr;
  if (command == nullptr) {
    if (words.size() > 1) return {};
    const std::string& last = words.back();
    return beginning_with(last, last.starts_with("-") ? options_of(app) : command_names(app));
  }
  const std::string last = words.back();
  const std::size_t equals = last.find('=');
  if (!last.starts_with("--") || equals == std::string::npos) {
    return beginning_with(last, arguments_after(*command, words, 1));
  }
  const CLI::Option* const option = option_named(*command, last.substr(0, equals));
  if (option == nullptr || !takes_value(*option)) return {};
  Words found =
      beginning_with(last.substr(equals + 1),
                     values_of(*command, *option, read_before(*command, words, 1).positionals));
  if (!split) {
    for (std::string& word : found) {
      if (word != kFiles) word.insert(0, last.substr(0, equals + 1));
    }
  }
  return found;
}

void add_completion(CLI::App& app, Action& action) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* const command =
      app.add_subcommand("completion", "What makes a shell complete hysim's arguments");
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->type_name("")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""));
  command->footer(
      "Examples:\n"
      "  hysim completion bash > ~/.local/share/bash-completion/completions/hysim\n"
      "  hysim completion fish > ~/.config/fish/completions/hysim.fish");
  command->callback([shell, &action] { action = [shell] { return run(*shell); }; });
}

}  // namespace hysim::cli
