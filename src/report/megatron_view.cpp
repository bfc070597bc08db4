#include "report/megatron_view.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "config/node.h"
#include "config/version.h"

namespace hysim::report {

namespace {

using config::Node;

constexpr std::size_t kWidth = 80;

Node text(std::string_view value) { return Node::string(std::string(value)); }

Node texts(const std::vector<std::string>& values) {
  Node::Array list;
  for (const std::string& value : values) list.push_back(text(value));
  return Node::array(std::move(list));
}

std::ptrdiff_t count(const MegatronImport& imported, MegatronUse use) {
  return std::count_if(imported.report.begin(), imported.report.end(),
                       [&](const MegatronReportLine& line) { return line.use == use; });
}

/// Breaks at blanks; what follows the first line is indented.
void add_wrapped(std::string line, std::vector<std::string>& lines) {
  while (line.size() > kWidth) {
    const std::size_t at = line.rfind(' ', kWidth);
    if (at == std::string::npos || at < 8) break;
    lines.push_back(line.substr(0, at));
    line = "      " + line.substr(at + 1);
  }
  lines.push_back(std::move(line));
}

void add_list(const std::string& title, MegatronUse use, const MegatronImport& imported,
              std::vector<std::string>& lines) {
  if (count(imported, use) == 0) return;
  lines.push_back(title);
  for (const MegatronReportLine& line : imported.report) {
    if (line.use != use) continue;
    const std::string place = line.argument.file + ":" + std::to_string(line.argument.line) + ": ";
    lines.push_back("  " + place + line.argument.text() +
                    (line.note.empty() ? "" : ": " + line.note));
  }
}

}  // namespace

std::string megatron_import_json(const MegatronImport& imported, const MegatronRun& run) {
  Node::Array arguments;
  for (const MegatronReportLine& line : imported.report) {
    arguments.push_back(Node::object({{"name", text(line.argument.name)},
                                      {"values", texts(line.argument.values)},
                                      {"file", text(line.argument.file)},
                                      {"line", Node::integer(line.argument.line)},
                                      {"use", text(to_string(line.use))},
                                      {"note", text(line.note)}}));
  }
  Node::Array not_evaluated;
  for (const Diagnostic& found : run.not_evaluated) {
    not_evaluated.push_back(Node::object({{"file", text(found.file)},
                                          {"line", Node::integer(found.line)},
                                          {"message", text(found.message)}}));
  }
  const Node node = Node::object({
      {"schema", text("hysim.import/1")},
      {"tool", Node::object({{"name", text("hysim")}, {"version", text(config::kVersion)}})},
      {"from", text("megatron")},
      {"model", text(imported.model)},
      {"model_config", imported.model_config.empty()
                           ? Node::null()
                           : config::parse(imported.model_config, "config.json")},
      {"notes", texts(imported.notes)},
      {"arguments", Node::array(std::move(arguments))},
      {"not_evaluated", Node::array(std::move(not_evaluated))},
      {"scenario", config::parse(imported.scenario, "scenario")},
  });
  return config::to_text(node, 2) + "\n";
}

std::vector<std::string> megatron_import_lines(const MegatronImport& imported,
                                               const MegatronRun& run) {
  std::vector<std::string> lines;
  const auto number = [&](MegatronUse use) { return std::to_string(count(imported, use)); };
  lines.push_back("hysim: model " + imported.model);
  lines.push_back("hysim: " + number(MegatronUse::used) + " arguments used, " +
                  number(MegatronUse::no_effect) + " without effect on a step, " +
                  number(MegatronUse::not_modelled) + " not modelled, " +
                  number(MegatronUse::unknown) + " unknown");
  for (const std::string& note : imported.notes) add_wrapped("hysim: note: " + note, lines);
  add_list("hysim: not modelled:", MegatronUse::not_modelled, imported, lines);
  add_list("hysim: unknown, not taken into account:", MegatronUse::unknown, imported, lines);
  if (!run.not_evaluated.empty()) lines.emplace_back("hysim: not evaluated:");
  for (const Diagnostic& found : run.not_evaluated) lines.push_back("  " + found.text());
  return lines;
}

}  // namespace hysim::report
