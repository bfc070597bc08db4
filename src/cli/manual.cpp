#include "cli/manual.h"

#include <string_view>
#include <vector>

#include "config/version.h"

namespace hysim::cli {

namespace {

/// Text as roff: no escapes, hyphens that can be searched for and copied.
std::string escaped(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    line_begins = c == '\n';
  }
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + escaped(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + escaped(text) + "\\fR"; }

bool is_shown(const CLI::Option& option) { return !option.get_group().empty(); }

/// "-q, --quiet", "--draws N" or "SCENARIO".
std::string heading(const CLI::Option& option) {
  if (option.nonpositional()) {
    std::string names;
    for (const std::string& name : option.get_snames()) {
      names += (names.empty() ? "" : ", ") + bold("-" + name);
    }
    for (const std::string& name : option.get_lnames()) {
      names += (names.empty() ? "" : ", ") + bold("--" + name);
    }
    const bool takes_value = option.get_items_expected_max() > 0;
    return takes_value ? names + " " + italic(option.get_type_name()) : names;
  }
  const std::string name = italic(option.get_name());
  return option.get_required() ? name : "[" + name + "]";
}

std::string options_of(const CLI::App& command) {
  std::string out;
  for (const CLI::Option* option : command.get_options()) {
    if (!is_shown(*option)) continue;
    out += ".TP\n" + heading(*option) + "\n" + escaped(option->get_description()) + "\n";
  }
  return out;
}

/// Lines as they are.
std::string verbatim(const std::string& text) {
  return text.empty() ? "" : ".PP\n.nf\n" + escaped(text) + "\n.fi\n";
}

std::string synopsis_of(const CLI::App& command) {
  std::string out = bold("hysim " + command.get_name());
  for (const CLI::Option* option : command.get_options()) {
    if (!option->nonpositional() && is_shown(*option)) out += " " + heading(*option);
  }
  return out + " [" + italic("OPTIONS") + "]";
}

}  // namespace

std::string manual_page(const CLI::App& app) {
  std::string out = ".TH HYSIM 1 \"\" \"hysim " + std::string(config::kVersion) +
                    "\" \"User Commands\"\n.SH NAME\nhysim \\- " +
                    escaped("performance model of long-context LLM training") + "\n.SH SYNOPSIS\n" +
                    bold("hysim") + " " + italic("COMMAND") + " [" + italic("ARGUMENTS") +
                    "]\n.SH DESCRIPTION\n" + escaped(app.get_description()) + "\n" +
                    options_of(app) + ".SH COMMANDS\n";
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_group().empty()) continue;
    out += ".SS " + synopsis_of(*command) + "\n" + escaped(command->get_description()) + "\n" +
           options_of(*command) + verbatim(command->get_footer());
  }
  return out + ".SH EXIT STATUS AND EXAMPLES\n" + verbatim(app.get_footer()) +
         ".SH ENVIRONMENT\n.TP\n" + bold("HYSIM_PATH") +
         "\nfolders, separated by colons, that hold models/, scenarios/ and hw_profiles/; the "
         "first one wins, and all of them over what is bundled\n.TP\n" +
         bold("NO_COLOR") + "\nno color in text\n";
}

}  // namespace hysim::cli
