// hysim.explanation/1: sheets with every digit, so that a reader can compute them again.
#include <utility>

#include "config/node.h"
#include "report/catalog_parts.h"
#include "report/explanation.h"
#include "report/json_parts.h"

namespace hysim::report {

namespace {

using config::Node;

Node text(std::string value) { return Node::string(std::move(value)); }

Node node_of(const Ranged<Seconds>& time) {
  return Node::object({{"value", Node::number(time.value.si())},
                       {"unit", text("s")},
                       {"low", Node::number(time.low.si())},
                       {"high", Node::number(time.high.si())}});
}

Node node_of(const FormulaLine& line) {
  Node node = Node::object({{"symbol", text(line.symbol)}});
  if (!line.formula.empty()) node.set("formula", text(line.formula));
  node.set("value", Node::number(line.value));
  node.set("unit", text(line.unit));
  node.set("meaning", text(line.meaning));
  if (line.card >= 0) node.set("card", Node::integer(line.card));
  if (line.low != line.high) {
    node.set("low", Node::number(line.low));
    node.set("high", Node::number(line.high));
  }
  if (line.source) {
    node.set("source", Node::object({{"document", text(line.source->document)},
                                     {"pointer", text(line.source->pointer)},
                                     {"kind", text(line.source->kind)},
                                     {"text", text(line.source->text)},
                                     {"measured_on", text(line.source->measured_on)}}));
  }
  return node;
}

Node node_of(const LeafExplanation& leaf) {
  Node::Array notes;
  for (const std::string& note : leaf.notes) notes.push_back(text(note));
  Node::Array cards;
  for (const FormulaCard& card : leaf.sheet.cards) {
    cards.push_back(Node::object({{"title", text(card.title)},
                                  {"leaves_out", text(card.leaves_out)},
                                  {"where", text(card.where)},
                                  {"use", text(card.use)}}));
  }
  Node::Array lines;
  for (const FormulaLine& line : leaf.sheet.lines) lines.push_back(node_of(line));
  return Node::object({{"path", text(leaf.leaf.path)},
                       {"kind", text(to_string(leaf.leaf.kind))},
                       {"time", node_of(leaf.leaf.time)},
                       {"share", Node::number(leaf.share)},
                       {"bound_by", text(leaf.leaf.bound_by)},
                       {"unexplained", Node::number(leaf.unexplained)},
                       {"notes", Node::array(std::move(notes))},
                       {"cards", Node::array(std::move(cards))},
                       {"lines", Node::array(std::move(lines))}});
}

}  // namespace

std::string explanation_json(const Explanation& explanation,
                             const std::vector<LeafExplanation>& leaves) {
  const Prediction& p = explanation.prediction;
  Node::Array items;
  for (const LeafExplanation& leaf : leaves) items.push_back(node_of(leaf));
  Node::Array inputs;
  for (const InputFile& input : p.inputs) {
    inputs.push_back(Node::object({{"path", text(input.path)}, {"sha256", text(input.sha256)}}));
  }
  const Node result = Node::object(
      {{"schema", text("hysim.explanation/1")},
       {"tool", tool_node()},
       {"scenario", text(p.scenario)},
       {"variant", text(p.variant)},
       {"step_time", node_of(p.step_time)},
       {"grammar", text("numbers, symbols, + - * / ^ ( ), max, min, ceil, floor, log2; "
                        "lines in order, SI units; the last line is the leaf's time")},
       {"leaves", Node::array(std::move(items))},
       {"warnings", json::warnings(p.warnings)},
       {"inputs", Node::array(std::move(inputs))}});
  return config::to_text(result, 2) + "\n";
}

}  // namespace hysim::report
