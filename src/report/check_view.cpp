#include "report/check_view.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "report/catalog.h"
#include "report/catalog_parts.h"
#include "report/format.h"
#include "report/json_parts.h"
#include "report/view_parts.h"
#include "units/text.h"

namespace hysim::report {

namespace {

using config::Node;

Node text(const std::string& value) { return Node::string(value); }
Node quantity_node(double value, const char* unit) {
  return Node::object({{"value", Node::number(value)}, {"unit", text(unit)}});
}
template <class Items, class Make>
Node array_of(const Items& items, const Make& make) {
  Node::Array nodes;
  for (const auto& item : items) nodes.push_back(make(item));
  return Node::array(std::move(nodes));
}

/// "GB/s" of a bandwidth, three digits.
std::string gigabytes(BytesPerSecond rate) { return significant(rate.si() / 1e9); }

std::string layers_text(const ModelCheck& model) {
  std::string result;
  for (const auto& [kind, count] : model.layers) {
    result += (result.empty() ? "" : ", ") + std::to_string(count) + " x " + kind;
  }
  if (model.mtp_layers > 0) result += ", " + std::to_string(model.mtp_layers) + " x MTP";
  return result;
}

Table plain_table() {
  Table table;
  table.show_titles = false;
  table.columns = {{"", Align::left}, {"", Align::left, true}};
  return table;
}

Table group_table(const std::vector<GroupCheck>& groups) {
  Table table;
  table.columns = {{"group", Align::left},
                   {"size"},
                   {"of them"},
                   {"nodes"},
                   {"a node"},
                   {"over", Align::left},
                   {"ranks", Align::left, true}};
  for (const GroupCheck& g : groups) {
    table.rows.push_back(Row{{g.kind, units::format_count(g.size), units::format_count(g.groups),
                              units::format_count(g.nodes), units::format_count(g.per_node),
                              g.tier.empty() ? "-" : g.tier, ranks_text(g.ranks)}});
  }
  return table;
}

bool same_groups(const VariantCheck& a, const VariantCheck& b) {
  return std::equal(a.groups.begin(), a.groups.end(), b.groups.begin(), b.groups.end(),
                    [](const GroupCheck& x, const GroupCheck& y) { return x.ranks == y.ranks; });
}

void add_defaults(Document& document, const VariantCheck& variant) {
  if (variant.defaults.empty()) return;
  std::string list;
  for (const auto& [path, value] : variant.defaults) {
    list += (list.empty() ? "" : ", ") + path + " " + value;
  }
  document.add(Heading{"Settings not written, at their defaults"});
  document.add(Paragraph{list, Tone::plain, 2});
}

void add_lines(Document& document, const char* title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  document.add(Heading{title});
  document.add(Bullets{lines});
}

Node defaults_node(const VariantCheck& variant) {
  Node node = Node::object();
  for (const auto& [path, value] : variant.defaults) node.set(path, config::parse(value, ""));
  return node;
}

Node strings(const std::vector<std::string>& items) { return array_of(items, text); }

}  // namespace

std::string ranks_text(const std::vector<std::int64_t>& ranks) {
  if (ranks.empty()) return "";
  const auto number = [](std::int64_t rank) { return std::to_string(rank); };
  bool contiguous = true;
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    contiguous = contiguous && ranks[i] == ranks[i - 1] + 1;
  }
  if (ranks.size() > 2 && contiguous) return number(ranks.front()) + "-" + number(ranks.back());
  constexpr std::size_t kAll = 8;
  std::string result;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks.size() > kAll && i == 3) {
      result += ", ...";
      i = ranks.size() - 1;
    }
    result += (result.empty() ? "" : ", ") + number(ranks[i]);
  }
  return result;
}

Document check_document(const ScenarioCheck& check) {
  Document document;
  const std::size_t count = check.variants.size();
  document.add(Paragraph{check.name + ": understood" +
                             (count > 1 ? ", all " + std::to_string(count) + " variants" : ""),
                         Tone::strong});
  std::vector<Prediction> predictions;
  for (const VariantCheck& v : check.variants) predictions.push_back(v.prediction);
  Table facts = plain_table();
  Table apart;
  facts.rows.push_back(Row{{"Layers", layers_text(check.model)}});
  std::string parameters = parameter_text(check.model.parameters);
  if (check.model.active_parameters != check.model.parameters) {
    parameters += ", " + parameter_text(check.model.active_parameters) + " active a token";
  }
  facts.rows.push_back(Row{{"Parameters", parameters}});
  add_facts(predictions, facts, apart);
  document.add(std::move(facts));
  if (!apart.rows.empty()) {
    apart.columns = {{"", Align::left}};
    for (const std::string& name : column_names(predictions)) apart.columns.push_back({name});
    document.add(std::move(apart));
  }

  Table memory;
  memory.columns = {{"variant", Align::left}, {"peak"}, {"of"}, {"", Align::left}, {"step"}};
  for (const Prediction& p : predictions) {
    memory.rows.push_back(
        Row{{p.variant, text_of(p.memory.peak_per_gpu.value), text_of(p.memory.capacity),
             Cell(p.memory.fits == Fit::yes ? "fits" : fits_text(p.memory.fits),
                  tone_of(p.memory.fits)),
             text_of(p.step_time.value)}});
  }
  document.add(Heading{"Memory of the fullest GPU, and the step (nominal)"});
  document.add(std::move(memory));
  for (const VariantCheck& v : check.variants) {
    const bool first = &v == &check.variants.front();
    if (!first && same_groups(v, check.variants.front())) continue;
    document.add(Heading{"Groups of rank 0" + (first ? "" : ", " + v.prediction.variant)});
    document.add(group_table(v.groups));
  }
  add_defaults(document, check.variants.front());
  add_lines(document, "Assumptions", check.variants.front().prediction.assumptions);
  add_lines(document, "Unpublished: compare tries every combination", check.unpublished);
  return document;
}

Document check_document(const ClusterCheck& check) {
  Document document;
  document.add(Paragraph{check.name + ": " +
                             units::format_count(check.nodes * check.gpus_per_node) + " x " +
                             check.gpu + " in " + units::format_count(check.nodes) +
                             (check.nodes == 1 ? " node" : " nodes"),
                         Tone::strong});
  Table facts = plain_table();
  facts.rows.push_back(
      Row{{"GPU", check.gpu_full_name + ", " + text_of(check.usable_memory) + " usable"}});
  facts.rows.push_back(Row{{"A node", units::format_count(check.gpus_per_node) + " GPUs"}});
  document.add(std::move(facts));
  Table tiers;
  tiers.columns = {{"tier", Align::left}, {"joins"}, {"line rate"}, {"achieved"}, {"bisection"}};
  for (const TierCheck& tier : check.tiers) {
    tiers.rows.push_back(
        Row{{tier.name, units::format_count(tier.gpus) + " GPUs", gigabytes(tier.per_gpu),
             gigabytes(tier.achieved), gigabytes(tier.bisection)}});
  }
  if (!tiers.rows.empty()) {
    document.add(Heading{"Links (GB/s; rates per GPU and direction, bisection per direction)"});
    document.add(std::move(tiers));
  }
  add_lines(document, "Assumptions", check.assumptions);
  return document;
}

Node check_node(const ScenarioCheck& check) {
  const auto group = [](const GroupCheck& g) {
    return Node::object(
        {{"kind", text(g.kind)},
         {"size", Node::integer(g.size)},
         {"groups", Node::integer(g.groups)},
         {"nodes", Node::integer(g.nodes)},
         {"per_node", Node::integer(g.per_node)},
         {"tier", g.tier.empty() ? Node::null() : text(g.tier)},
         {"ranks", array_of(g.ranks, [](std::int64_t rank) { return Node::integer(rank); })}});
  };
  const auto variant = [&](const VariantCheck& v) {
    const Prediction& p = v.prediction;
    const Layout& l = p.layout;
    return Node::object(
        {{"name", text(p.variant)},
         {"layout", Node::object({{"tp", Node::integer(l.tp)},
                                  {"cp", Node::integer(l.cp)},
                                  {"pp", Node::integer(l.pp)},
                                  {"vpp", Node::integer(l.vpp)},
                                  {"dp", Node::integer(l.dp)},
                                  {"ep", Node::integer(l.ep)},
                                  {"etp", Node::integer(l.etp)},
                                  {"layers_per_stage",
                                   array_of(l.layers_per_stage,
                                            [](std::int64_t n) { return Node::integer(n); })}})},
         {"micro_batches", Node::integer(p.micro_batches)},
         {"groups", array_of(v.groups, group)},
         {"peak_per_gpu", quantity_node(p.memory.peak_per_gpu.value.si(), "B")},
         {"capacity", quantity_node(p.memory.capacity.si(), "B")},
         {"fits", text(to_string(p.memory.fits))},
         {"step_time", quantity_node(p.step_time.value.si(), "s")},
         {"defaults", defaults_node(v)},
         {"assumptions", strings(p.assumptions)},
         {"warnings", json::warnings(p.warnings)}});
  };
  Node layers = Node::object();
  for (const auto& [kind, number] : check.model.layers) layers.set(kind, Node::integer(number));
  return Node::object(
      {{"model",
        Node::object({{"name", text(check.model.name)},
                      {"layers", std::move(layers)},
                      {"mtp_layers", Node::integer(check.model.mtp_layers)},
                      {"parameters", Node::number(check.model.parameters)},
                      {"active_parameters", Node::number(check.model.active_parameters)}})},
       {"variants", array_of(check.variants, variant)},
       {"unpublished", strings(check.unpublished)}});
}

Node check_node(const ClusterCheck& check) {
  const auto rate = [](BytesPerSecond value) { return quantity_node(value.si(), "B/s"); };
  return Node::object({{"gpu", text(check.gpu)},
                       {"gpus", Node::integer(check.nodes * check.gpus_per_node)},
                       {"nodes", Node::integer(check.nodes)},
                       {"gpus_per_node", Node::integer(check.gpus_per_node)},
                       {"usable_memory", quantity_node(check.usable_memory.si(), "B")},
                       {"tiers", array_of(check.tiers,
                                          [&](const TierCheck& tier) {
                                            return Node::object(
                                                {{"name", text(tier.name)},
                                                 {"gpus", Node::integer(tier.gpus)},
                                                 {"per_gpu", rate(tier.per_gpu)},
                                                 {"achieved", rate(tier.achieved)},
                                                 {"bisection", rate(tier.bisection)}});
                                          })},
                       {"oversubscription", Node::number(check.oversubscription)},
                       {"assumptions", strings(check.assumptions)}});
}

std::string check_json(const std::string& kind, const std::string& file, const std::string& name,
                       Node understood) {
  const Node node = Node::object({{"schema", text("hysim.check/1")},
                                  {"tool", tool_node()},
                                  {"file", text(file)},
                                  {"kind", text(kind)},
                                  {"name", text(name)},
                                  {"understood", std::move(understood)}});
  return config::to_text(node, 2) + "\n";
}

std::string faults_json(const std::string& file, const std::vector<Diagnostic>& faults) {
  const auto place = [](int number) { return number > 0 ? Node::integer(number) : Node::null(); };
  const auto fault = [&](const Diagnostic& d) {
    return Node::object({{"file", text(d.file)},
                         {"line", place(d.line)},
                         {"column", place(d.column)},
                         {"pointer", text(d.pointer)},
                         {"message", text(d.message)}});
  };
  const Node node = Node::object({{"schema", text("hysim.check/1")},
                                  {"tool", tool_node()},
                                  {"file", text(file)},
                                  {"faults", array_of(faults, fault)}});
  return config::to_text(node, 2) + "\n";
}

}  // namespace hysim::report
