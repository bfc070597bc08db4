// A GPU's numbers, what they mean and where they come from.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "report/catalog.h"
#include "report/catalog_parts.h"
#include "report/format.h"

namespace hysim::report {

namespace {

using config::Node;
using config::Sourced;
using hardware::GpuFieldInfo;
using hardware::GpuProfile;

std::string word_of(config::SourceKind kind) {
  for (const config::Choice<config::SourceKind>& choice : config::source_kinds()) {
    if (choice.value == kind) return std::string(choice.word);
  }
  return "";
}

/// A decimal prefix for a value in an SI unit: 4e12 B/s is 4 TB/s.
struct Prefixed {
  double factor = 1.0;
  std::string unit;
};
Prefixed prefixed(double value, std::string_view si_unit) {
  if (si_unit == "1" || value == 0.0 || !std::isfinite(value)) {
    return {1.0, si_unit == "1" ? "" : std::string(si_unit)};
  }
  constexpr std::array<std::pair<double, const char*>, 8> kPrefixes = {{{1e15, "P"},
                                                                        {1e12, "T"},
                                                                        {1e9, "G"},
                                                                        {1e6, "M"},
                                                                        {1e3, "K"},
                                                                        {1.0, ""},
                                                                        {1e-3, "m"},
                                                                        {1e-6, "u"}}};
  std::string unit(si_unit);
  if (unit == "1/s") unit = "Hz";
  for (const auto& [factor, prefix] : kPrefixes) {
    if (std::fabs(value) >= 0.9995 * factor || factor == kPrefixes.back().first) {
      return {factor, prefix + unit};
    }
  }
  return {1.0, unit};
}

/// Whole numbers whole, others with three digits.
std::string digits(double value, std::string_view si_unit) {
  const bool whole = value == std::floor(value) && std::fabs(value) < 1e6;
  // Four digits of bytes: capacities differ by little.
  return whole ? fixed_point(static_cast<std::int64_t>(value), 0)
               : significant(value, si_unit == "B" ? 4 : 3);
}

std::string value_text(const Sourced& field, std::string_view si_unit) {
  const Prefixed scale = prefixed(field.value, si_unit);
  std::string text = digits(field.value / scale.factor, si_unit);
  return scale.unit.empty() ? text : text + " " + scale.unit;
}

std::string range_text(const Sourced& field, std::string_view si_unit) {
  if (field.low == field.value && field.high == field.value) return "";
  const Prefixed scale = prefixed(field.value, si_unit);
  return "[" + digits(field.low / scale.factor, si_unit) + ", " +
         digits(field.high / scale.factor, si_unit) + "]";
}

const Sourced* field_named(const GpuProfile& profile, std::string_view key) {
  const auto& infos = hardware::gpu_fields();
  for (std::size_t i = 0; i < infos.size() && i < profile.fields.size(); ++i) {
    if (infos[i].key == key) return &profile.fields[i];
  }
  return nullptr;
}

/// Kernels that documents define for this GPU, a row a constant.
void add_named_kernels(Document& document, const GpuProfile& profile,
                       const std::vector<hardware::NamedKernel>& kernels, SourceList& sources) {
  Table table = sourced_table();
  for (const hardware::NamedKernel& kernel : kernels) {
    if (kernel.gpu != profile.name) continue;
    table.rows.push_back(
        Row{{"kernels." + kernel.family + "=" + kernel.name, "like " + kernel.like}});
    for (const hardware::NamedKernel::Constant& constant : kernel.constants) {
      const Sourced& value = constant.value;
      const std::string& id = value.id;
      const std::string unit(hardware::gpu_fields()[constant.field].si_unit);
      Row row{{id.substr(id.rfind('/') + 1), value_text(value, unit), range_text(value, unit),
               word_of(value.kind) + " [" + std::to_string(sources.number(value.source)) + "]"}};
      row.indent = 2;
      table.rows.push_back(std::move(row));
    }
  }
  if (table.rows.empty()) return;
  document.add(Heading{"Named kernels"});
  document.add(std::move(table));
}

}  // namespace

ListEntry list_entry(const GpuProfile& profile) {
  ListEntry entry;
  entry.name = profile.name;
  entry.summary = profile.full_name;
  struct Shown {
    const char* key;
    const char* si_unit;
    const char* words;
  };
  constexpr std::array<Shown, 3> kShown = {
      {{"bf16", "flop/s", " bf16"}, {"hbm_capacity", "B", ""}, {"hbm_bandwidth", "B/s", ""}}};
  for (const Shown& shown : kShown) {
    const Sourced* const field = field_named(profile, shown.key);
    if (field == nullptr) continue;
    entry.summary += ", " + value_text(*field, shown.si_unit) + shown.words;
    entry.fields.set(shown.key, Node::object({{"value", Node::number(field->value)},
                                              {"unit", Node::string(shown.si_unit)}}));
  }
  entry.fields.set("full_name", Node::string(profile.full_name));
  entry.fields.set("architecture", Node::string(profile.architecture));
  return entry;
}

Document gpu_document(const GpuProfile& profile,
                      const std::vector<hardware::NamedKernel>& kernels) {
  Document document;
  document.add(Paragraph{
      profile.name + ": " + profile.full_name + " (" + profile.architecture + ")", Tone::strong});
  // One table a group of fields: the part of the key before '/'.
  std::vector<std::pair<std::string, Table>> tables;
  SourceList sources;
  const auto& infos = hardware::gpu_fields();
  for (std::size_t i = 0; i < infos.size() && i < profile.fields.size(); ++i) {
    const GpuFieldInfo& info = infos[i];
    const Sourced& field = profile.fields[i];
    std::string from = word_of(field.kind);
    if (!field.measured_on.empty() && field.measured_on != profile.name) {
      from += " on " + field.measured_on;
    }
    if (!field.source.empty()) from += " [" + std::to_string(sources.number(field.source)) + "]";
    const std::size_t slash = info.key.find('/');
    const bool nested = slash != std::string_view::npos;
    const std::string group(nested ? info.key.substr(0, slash) : "");
    const std::string key(nested ? info.key.substr(slash + 1) : info.key);
    if (tables.empty() || tables.back().first != group) {
      tables.emplace_back(group, sourced_table());
    }
    tables.back().second.rows.push_back(
        Row{{key, value_text(field, info.si_unit), range_text(field, info.si_unit), from}});
  }
  for (auto& [group, table] : tables) {
    if (group == "laws") {
      document.add(Heading{"Constants of the efficiency laws"});
    } else if (group == "collectives") {
      document.add(Heading{"Collectives inside a node"});
    } else if (!group.empty()) {
      document.add(Heading{group});
    }
    document.add(std::move(table));
  }
  add_named_kernels(document, profile, kernels, sources);
  sources.add_to(document);
  return document;
}

std::string gpu_json(const GpuProfile& profile) {
  Node fields = Node::object();
  const auto& infos = hardware::gpu_fields();
  for (std::size_t i = 0; i < infos.size() && i < profile.fields.size(); ++i) {
    const GpuFieldInfo& info = infos[i];
    const Sourced& field = profile.fields[i];
    Node node = Node::object({{"value", Node::number(field.value)},
                              {"unit", Node::string(std::string(info.si_unit))},
                              {"low", Node::number(field.low)},
                              {"high", Node::number(field.high)},
                              {"kind", Node::string(word_of(field.kind))},
                              {"source", Node::string(field.source)}});
    if (!field.measured_on.empty()) node.set("measured_on", Node::string(field.measured_on));
    node.set("meaning", Node::string(std::string(info.meaning)));
    fields.set(info.key, std::move(node));
  }
  const Node result = Node::object({{"schema", Node::string("hysim.show/1")},
                                    {"kind", Node::string("gpu")},
                                    {"name", Node::string(profile.name)},
                                    {"tool", tool_node()},
                                    {"full_name", Node::string(profile.full_name)},
                                    {"architecture", Node::string(profile.architecture)},
                                    {"fields", std::move(fields)}});
  return config::to_text(result, 2) + "\n";
}

}  // namespace hysim::report
