// Lists, and what is shown of clusters, stacks and scenarios: documents shown as they are written.
#include "report/catalog.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "config/version.h"
#include "report/catalog_parts.h"
#include "report/format.h"

namespace hysim::report {

namespace {

using config::Node;

/// A value on one line: strings bare, the rest as JSON.
std::string inline_text(const Node& node) {
  return node.is_string() ? node.as_string() : config::to_text(node);
}

bool is_sourced(const Node& node) {
  return node.is_object() && node.find("value") != nullptr && node.find("unit") != nullptr;
}

std::string string_at(const Node& node, std::string_view key) {
  const Node* const value = node.find(key);
  return value != nullptr && value->is_string() ? value->as_string() : "";
}

/// Dotted paths of everything that is no object, in file order. A list that is long or holds
/// objects is visited item by item ("limits.0.id").
template <class Visit>
void for_each_leaf(const Node& node, const std::string& path, const Visit& visit) {
  constexpr std::size_t kShortList = 40;
  const auto below = [&](const std::string& key) { return path.empty() ? key : path + "." + key; };
  if (node.is_array() && !node.as_array().empty() && config::to_text(node).size() > kShortList) {
    const Node::Array& items = node.as_array();
    for (std::size_t i = 0; i < items.size(); ++i) {
      for_each_leaf(items[i], below(std::to_string(i)), visit);
    }
    return;
  }
  if (!node.is_object() || is_sourced(node) || node.as_object().empty()) {
    visit(path, node);
    return;
  }
  for (const auto& [key, value] : node.as_object()) for_each_leaf(value, below(key), visit);
}

std::string number_text(const Node& node) {
  if (node.is_integer()) return std::to_string(node.as_integer());
  return node.is_number() ? significant(node.as_number(), 4) : inline_text(node);
}

/// "kernels.selection=hytopk, kernels.selection_replay=true"
std::string settings_text(const Node& patch) {
  std::string text;
  for_each_leaf(patch, "", [&](const std::string& path, const Node& value) {
    if (path.empty()) return;
    text += (text.empty() ? "" : ", ") + path + "=" + inline_text(value);
  });
  return text.empty() ? "as above" : text;
}

std::string variant_text(const Node& variant) {
  if (variant.is_object()) return settings_text(variant);
  if (!variant.is_array()) return inline_text(variant);
  std::string text;
  for (const Node& step : variant.as_array()) {
    const Node* const set = step.find("set");
    text += (text.empty() ? "" : "; ") + string_at(step, "step") + ": " +
            settings_text(set != nullptr ? *set : step);
  }
  return text.empty() ? "as above" : text;
}

}  // namespace

Node tool_node() {
  return Node::object(
      {{"name", Node::string("hysim")}, {"version", Node::string(std::string(config::kVersion))}});
}

std::size_t SourceList::number(const std::string& source) {
  const auto at = std::find(sources_.begin(), sources_.end(), source);
  if (at != sources_.end()) return static_cast<std::size_t>(at - sources_.begin()) + 1;
  sources_.push_back(source);
  return sources_.size();
}

void SourceList::add_to(Document& document) const {
  if (sources_.empty()) return;
  document.add(Heading{"Sources"});
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    document.add(Paragraph{"[" + std::to_string(i + 1) + "] " + sources_[i], Tone::plain, 4});
  }
}

Table sourced_table() {
  Table table;
  table.columns = {{"", Align::left, true}, {"value"}, {"range"}, {"from", Align::left, true}};
  return table;
}

ListEntry list_entry(std::string_view name, const Node& document) {
  ListEntry entry;
  entry.name = std::string(name);
  for (const char* key : {"description", "note", "title"}) {
    entry.summary = string_at(document, key);
    if (!entry.summary.empty()) break;
  }
  const Node* const nodes = document.find("nodes");
  const Node* const per_node = document.find("gpus_per_node");
  if (nodes != nullptr && per_node != nullptr && nodes->is_integer() && per_node->is_integer()) {
    const std::string size = std::to_string(nodes->as_integer()) + " x " +
                             std::to_string(per_node->as_integer()) + " " +
                             string_at(document, "gpu");
    entry.summary = entry.summary.empty() ? size : size + ": " + entry.summary;
  }
  const std::string model = string_at(document, "model");
  const std::string cluster = string_at(document, "cluster");
  if (!model.empty() && !cluster.empty()) {
    const Node* const seq_len = config::find_path(document, "workload.seq_len");
    std::string what = model + " on " + cluster;
    if (seq_len != nullptr) what += ", " + inline_text(*seq_len) + " tokens";
    entry.summary = entry.summary.empty() ? what : what + ": " + entry.summary;
  }
  for (const char* key : {"gpu", "nodes", "gpus_per_node", "model", "cluster", "description"}) {
    if (const Node* const value = document.find(key)) entry.fields.set(key, *value);
  }
  return entry;
}

ListEntry list_entry_of_fault(std::string_view name, std::string_view message) {
  ListEntry entry;
  entry.name = std::string(name);
  entry.summary = "not usable: " + std::string(message.substr(0, message.find(';')));
  entry.fields.set("error", Node::string(std::string(message)));
  entry.usable = false;
  return entry;
}

Document list_document(const std::vector<Listing>& listings) {
  Document document;
  for (const Listing& listing : listings) {
    if (listings.size() > 1) document.add(Heading{listing.kind});
    if (listing.entries.empty()) {
      document.add(Paragraph{"none"});
      continue;
    }
    Table table;
    table.show_titles = false;
    table.columns = {{"name", Align::left}, {"", Align::left, true}};
    for (const ListEntry& entry : listing.entries) {
      table.rows.push_back(
          Row{{entry.name, Cell(entry.summary, entry.usable ? Tone::plain : Tone::caution)}});
    }
    document.add(std::move(table));
  }
  return document;
}

std::string list_json(const std::vector<Listing>& listings) {
  Node result = Node::object({{"schema", Node::string("hysim.list/1")}, {"tool", tool_node()}});
  for (const Listing& listing : listings) {
    Node::Array entries;
    for (const ListEntry& entry : listing.entries) {
      Node node = Node::object({{"name", Node::string(entry.name)}});
      node.set("summary", Node::string(entry.summary));
      node.set("usable", Node::boolean(entry.usable));
      for (const auto& [key, value] : entry.fields.as_object()) node.set(key, value);
      entries.push_back(std::move(node));
    }
    result.set(listing.kind, Node::array(std::move(entries)));
  }
  return config::to_text(result, 2) + "\n";
}

Document profile_document(std::string_view kind, std::string_view name, const Node& document) {
  Document result;
  result.add(Paragraph{std::string(name) + " (" + std::string(kind) + ")", Tone::strong});
  Table settings;
  settings.show_titles = false;
  settings.columns = {{"", Align::left, true}, {"", Align::left, true}};
  Table numbers = sourced_table();
  SourceList sources;
  for_each_leaf(document, "", [&](const std::string& path, const Node& value) {
    if (path == "schema" || path == "name") return;
    if (!is_sourced(value)) {
      settings.rows.push_back(Row{{path, inline_text(value)}});
      return;
    }
    const std::string unit = string_at(value, "unit");
    std::string shown = number_text(*value.find("value"));
    if (unit != "1") shown += " " + unit;
    std::string range;
    const Node* const low = value.find("low");
    const Node* const high = value.find("high");
    if (low != nullptr && high != nullptr && !(*low == *high)) {
      range = "[" + number_text(*low) + ", " + number_text(*high) + "]";
    }
    std::string from = string_at(value, "kind");
    if (const std::string on = string_at(value, "measured_on"); !on.empty()) from += " on " + on;
    if (const std::string source = string_at(value, "source"); !source.empty()) {
      from += " [" + std::to_string(sources.number(source)) + "]";
    }
    numbers.rows.push_back(Row{{path, shown, range, from}});
  });
  if (const Node* const nodes = document.find("nodes")) {
    const Node* const per_node = document.find("gpus_per_node");
    if (nodes->is_integer() && per_node != nullptr && per_node->is_integer()) {
      settings.rows.push_back(
          Row{{"GPUs", std::to_string(nodes->as_integer() * per_node->as_integer())}});
    }
  }
  if (!settings.rows.empty()) result.add(std::move(settings));
  if (!numbers.rows.empty()) {
    result.add(Heading{"Numbers"});
    result.add(std::move(numbers));
  }
  sources.add_to(result);
  return result;
}

Document scenario_document(std::string_view name, const Node& document) {
  Document result;
  result.add(Paragraph{std::string(name) + " (scenario)", Tone::strong});
  Table settings;
  settings.show_titles = false;
  settings.columns = {{"", Align::left, true}, {"", Align::left, true}};
  const Node* variants = nullptr;
  if (document.is_object()) {
    for (const auto& [key, value] : document.as_object()) {
      if (key == "schema" || key == "name") continue;
      if (key == "variants" && value.is_object()) {
        variants = &value;
        continue;
      }
      for_each_leaf(value, key, [&](const std::string& path, const Node& leaf) {
        settings.rows.push_back(Row{{path, inline_text(leaf)}});
      });
    }
  }
  if (!settings.rows.empty()) result.add(std::move(settings));
  if (variants != nullptr && !variants->as_object().empty()) {
    Table table;
    table.show_titles = false;
    table.columns = {{"", Align::left, true}, {"", Align::left, true}};
    for (const auto& [variant, value] : variants->as_object()) {
      table.rows.push_back(Row{{variant, variant_text(value)}});
    }
    result.add(Heading{"Variants"});
    result.add(std::move(table));
  }
  return result;
}

std::string raw_json(std::string_view kind, std::string_view name, const Node& document) {
  Node result = Node::object({{"schema", Node::string("hysim.show/1")},
                              {"kind", Node::string(std::string(kind))},
                              {"name", Node::string(std::string(name))},
                              {"tool", tool_node()}});
  const Node* const nodes = document.find("nodes");
  const Node* const per_node = document.find("gpus_per_node");
  if (kind == "cluster" && nodes != nullptr && per_node != nullptr && nodes->is_integer() &&
      per_node->is_integer()) {
    result.set("gpus", Node::integer(nodes->as_integer() * per_node->as_integer()));
  }
  result.set("document", document);
  return config::to_text(result, 2) + "\n";
}

}  // namespace hysim::report
