// Views of a diff: JSON, and the first screen: how much, where, why.
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "config/node.h"
#include "hysim/diff.h"
#include "hysim/errors.h"
#include "report/catalog_parts.h"
#include "report/document.h"
#include "report/format.h"

namespace hysim {

namespace {

using config::Node;
using namespace report;

constexpr std::size_t kShownLeaves = 12;
constexpr std::size_t kShownReasons = 24;
constexpr double kShownShare = 0.0005;  // of the step: smaller differences are in the JSON only

Node text(const std::string& value) { return Node::string(value); }

template <class Items, class Make>
Node array_of(const Items& items, const Make& make) {
  Node::Array nodes;
  for (const auto& item : items) nodes.push_back(make(item));
  return Node::array(std::move(nodes));
}

Node quantity_node(double value, double low, double high, const char* unit) {
  return Node::object({{"value", Node::number(value)},
                       {"unit", text(unit)},
                       {"low", Node::number(low)},
                       {"high", Node::number(high)}});
}
template <class Q>
Node ranged(const Ranged<Q>& r, const char* unit) {
  return quantity_node(r.value.si(), r.low.si(), r.high.si(), unit);
}

Node ranged(const Ranged<double>& r, const char* unit) {
  return quantity_node(r.value, r.low, r.high, unit);
}

/// A JSON value as such; text that is none (a number with its unit) as a string; none as null.
Node value_node(const std::string& value) {
  if (value.empty()) return Node::null();
  try {
    return config::parse(value, "");
  } catch (const InputError&) {
    return text(value);
  }
}

Node differences_node(const std::vector<Difference>& list) {
  return array_of(list, [](const Difference& d) {
    return Node::object({{"what", text(d.what)}, {"a", value_node(d.a)}, {"b", value_node(d.b)}});
  });
}

Node node_of(const PredictionDiff& d) {
  return Node::object(
      {{"a", text(d.a)},
       {"b", text(d.b)},
       {"step_time", Node::object({{"a", ranged(d.step_a, "s")}, {"b", ranged(d.step_b, "s")}})},
       {"tokens_per_second_per_gpu", Node::object({{"a", ranged(d.tokens_rate_a, "1/s")},
                                                   {"b", ranged(d.tokens_rate_b, "1/s")}})},
       {"mfu", Node::object({{"a", ranged(d.mfu_a, "1")}, {"b", ranged(d.mfu_b, "1")}})},
       {"tokens_per_step",
        Node::object({{"a", Node::number(d.tokens_a)}, {"b", Node::number(d.tokens_b)}})},
       {"peak_per_gpu", Node::object({{"a", ranged(d.peak_a, "B")}, {"b", ranged(d.peak_b, "B")}})},
       {"fits", Node::object({{"a", text(d.fits_a)}, {"b", text(d.fits_b)}})},
       {"breakdown", array_of(d.leaves,
                              [](const LeafDifference& leaf) {
                                return Node::object({{"path", text(leaf.path)},
                                                     {"a", Node::number(leaf.a.si())},
                                                     {"b", Node::number(leaf.b.si())},
                                                     {"unit", text("s")}});
                              })},
       {"memory", array_of(d.memory,
                           [](const PartDifference& part) {
                             return Node::object({{"name", text(part.name)},
                                                  {"a", Node::number(part.a.si())},
                                                  {"b", Node::number(part.b.si())},
                                                  {"unit", text("B")}});
                           })},
       {"settings", differences_node(d.settings)},
       {"constants", differences_node(d.constants)},
       {"constants_known", Node::boolean(d.constants_known)},
       {"inputs", differences_node(d.inputs)},
       {"program", differences_node(d.program)},
       {"unexplained", Node::boolean(d.unexplained())}});
}

/// "+12.3 %", "none" when equal
std::string change_text(double a, double b) {
  if (a == b) return "none";
  if (a == 0.0) return "new";
  const double change = 100.0 * (b / a - 1.0);
  return (change < 0.0 ? "-" : "+") + significant(std::fabs(change), 3) + " %";
}

template <class Items, class Text>
void add_numbers(Document& document, const char* title, const Items& items, double unit,
                 double floor, const Text& name) {
  Table table;
  const Scale scale{"", unit};
  table.columns = {{"", Align::left, true}, {"A"}, {"B"}, {"B - A"}};
  std::size_t left = 0;
  for (const auto& item : items) {
    const double difference = (item.b - item.a).si();
    if (table.rows.size() >= kShownLeaves || std::fabs(difference) < floor) {
      ++left;
      continue;
    }
    table.rows.push_back(
        Row{{name(item), quantity(item.a.si(), scale), quantity(item.b.si(), scale),
             (difference < 0.0 ? "-" : "+") + quantity(std::fabs(difference), scale)}});
  }
  if (table.rows.empty()) return;
  document.add(Heading{title});
  document.add(std::move(table));
  if (left > 0) {
    document.add(
        Paragraph{std::to_string(left) + " smaller differences are in the JSON", Tone::faint});
  }
}

/// A setting as it is; of a constant ("1.2499999999999999e-05 s") six digits.
std::string shown(const std::string& value) {
  constexpr int kDigits = 6;
  if (value.empty()) return "-";
  const std::size_t space = value.find(' ');
  const std::string number = value.substr(0, space);
  if (number.find('.') == std::string::npos) return value;
  const Node node = value_node(number);
  if (!node.is_number()) return value;
  return significant(node.as_number(), kDigits) +
         (space == std::string::npos ? "" : value.substr(space));
}

void add_reasons(Document& document, const char* title, const std::vector<Difference>& list) {
  if (list.empty()) return;
  Table table;
  table.columns = {{"", Align::left, true}, {"A", Align::left, true}, {"B", Align::left, true}};
  for (const Difference& d : list) {
    if (table.rows.size() == kShownReasons) break;
    table.rows.push_back(Row{{d.what, shown(d.a), shown(d.b)}});
  }
  document.add(Heading{title});
  document.add(std::move(table));
  if (list.size() > kShownReasons) {
    document.add(Paragraph{std::to_string(list.size() - kShownReasons) + " more are in the JSON",
                           Tone::faint});
  }
}

/// Inputs by name: their hashes are in the JSON.
void add_inputs(Document& document, const std::vector<Difference>& inputs) {
  if (inputs.empty()) return;
  std::vector<std::string> items;
  for (const Difference& d : inputs) {
    const char* how = d.a.empty() ? "only B read it" : d.b.empty() ? "only A read it" : "changed";
    items.push_back(d.what + ": " + how);
  }
  document.add(Heading{"Input documents"});
  document.add(Bullets{std::move(items)});
}

/// B against A in a sentence. Steps of different work are compared by their tokens: a step of
/// twice the tokens in less than twice the time is faster.
std::string answer_of(const PredictionDiff& d) {
  const double a = d.step_a.value.si();
  const double b = d.step_b.value.si();
  const std::string head = d.b + " against " + d.a + ": ";
  const std::string steps = text_of(d.step_b.value) + " instead of " + text_of(d.step_a.value);
  if (d.tokens_a != d.tokens_b) {
    const double from = d.tokens_rate_a.value;
    const double to = d.tokens_rate_b.value;
    return head + significant(to) + " instead of " + significant(from) + " tokens/s/GPU, " +
           change_text(from, to) + "; " + steps + " for a step of " +
           significant(d.tokens_b / d.tokens_a) + " times the tokens";
  }
  if (a == b) return head + "the same step time, " + text_of(d.step_a.value);
  return head + steps + " a step, " + change_text(a, b);
}

void add_pair(Document& document, const PredictionDiff& d) {
  const double a = d.step_a.value.si();
  const double b = d.step_b.value.si();
  document.add(Paragraph{answer_of(d), Tone::strong});
  Table table;
  table.columns = {{"", Align::left}, {"A"}, {"B"}, {"change"}};
  table.rows.push_back(
      Row{{"Step time", with_range(d.step_a), with_range(d.step_b), change_text(a, b)}});
  table.rows.push_back(Row{{"Tokens a step", significant(d.tokens_a), significant(d.tokens_b),
                            change_text(d.tokens_a, d.tokens_b)}});
  table.rows.push_back(
      Row{{"Tokens/s/GPU", with_range(d.tokens_rate_a, kPlain), with_range(d.tokens_rate_b, kPlain),
           change_text(d.tokens_rate_a.value, d.tokens_rate_b.value)}});
  table.rows.push_back(Row{{"MFU", with_range(d.mfu_a, kPercent), with_range(d.mfu_b, kPercent),
                            change_text(d.mfu_a.value, d.mfu_b.value)}});
  table.rows.push_back(Row{{"Peak memory", text_of(d.peak_a.value), text_of(d.peak_b.value),
                            change_text(d.peak_a.value.si(), d.peak_b.value.si())}});
  table.rows.push_back(Row{{"Fits", d.fits_a, d.fits_b}});
  document.add(std::move(table));
  const double longest = std::max(a, b);
  const Scale time = scale_of(Seconds(longest));
  add_numbers(document, ("Where the time differs (" + std::string(time.unit) + ")").c_str(),
              d.leaves, time.si, kShownShare * longest,
              [](const LeafDifference& leaf) { return leaf.path; });
  const double most = std::max(d.peak_a.value.si(), d.peak_b.value.si());
  const Scale size = scale_of(Bytes(most));
  add_numbers(document, ("Where the memory differs (" + std::string(size.unit) + ")").c_str(),
              d.memory, size.si, kShownShare * most,
              [](const PartDifference& part) { return part.name; });
  add_reasons(document, "Settings that differ", d.settings);
  add_reasons(document, "Constants that differ", d.constants);
  add_inputs(document, d.inputs);
  add_reasons(document, "Program and draws", d.program);
  if (!d.constants_known) {
    document.add(
        Paragraph{"One of the files carries no constants (it is of an older hysim), so "
                  "only hashes tell whether profiles differ.",
                  Tone::caution});
  }
  if (d.unexplained()) {
    document.add(
        Paragraph{"Neither settings nor constants differ: the formulas do (see the "
                  "version and commit of each).",
                  Tone::caution});
  }
}

Document document_of(const Diff& diff) {
  Document document;
  if (diff.pairs.empty()) {
    document.add(
        Paragraph{"Nothing to compare: the files have no variant in common", Tone::strong});
  }
  for (const PredictionDiff& pair : diff.pairs) add_pair(document, pair);
  document.add(Heading{"Files"});
  std::vector<std::string> files = {"A: " + diff.path_a, "B: " + diff.path_b};
  for (const std::string& name : diff.only_a) files.push_back("only A has variant " + name);
  for (const std::string& name : diff.only_b) files.push_back("only B has variant " + name);
  document.add(Bullets{std::move(files)});
  return document;
}

}  // namespace

std::string to_json(const Diff& diff) {
  const auto names = [](const std::vector<std::string>& list) { return array_of(list, text); };
  const Node node = Node::object({{"schema", text("hysim.diff/1")},
                                  {"tool", tool_node()},
                                  {"a", text(diff.path_a)},
                                  {"b", text(diff.path_b)},
                                  {"pairs", array_of(diff.pairs, node_of)},
                                  {"only_a", names(diff.only_a)},
                                  {"only_b", names(diff.only_b)}});
  return config::to_text(node, 2) + "\n";
}

std::string to_text(const Diff& diff, const TextStyle& style) {
  return render_text(document_of(diff), style);
}

std::string to_markdown(const Diff& diff) { return render_markdown(document_of(diff)); }

}  // namespace hysim
