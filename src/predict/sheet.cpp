#include "predict/sheet.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "config/node.h"

namespace hysim::predictor {

namespace {

/// A number in a formula: shortest text that reads back the same.
std::string number_text(double value) {
  return value == std::floor(value) && std::abs(value) < 1e15
             ? config::to_text(config::Node::integer(static_cast<std::int64_t>(value)))
             : config::to_text(config::Node::number(value));
}

/// A card as one text, to find equal ones.
std::string identity(const config::Card& card) {
  std::string text = card.title + '\n' + card.use;
  for (const config::CardLine& line : card.lines) {
    text += '\n' + line.symbol + '=' + line.formula + '=' + number_text(line.value) + '=' +
            line.document_key + '=' + line.origin.counted;
  }
  return text;
}

}  // namespace

NodeId Calculation::push(Node node) {
  if (!node.formula.empty()) {
    node.value = config::evaluate(node.formula, [&](std::string_view symbol) {
      for (const auto& [name, id] : node.names) {
        if (name == symbol) return nodes_[id].value;
      }
      throw std::logic_error("formula \"" + node.formula + "\" names \"" + std::string(symbol) +
                             "\", which no line defines");
    });
  }
  nodes_.push_back(std::move(node));
  return nodes_.size() - 1;
}

NodeId Calculation::add(const config::Card& card) {
  const std::string text = identity(card);
  if (const auto found = known_cards_.find(text); found != known_cards_.end()) return found->second;
  const int index = static_cast<int>(cards_.size());
  cards_.push_back({card.title, card.leaves_out, card.where, card.use});
  std::map<std::string, NodeId> names;
  NodeId last = 0;
  for (const config::CardLine& line : card.lines) {
    if (!line.document_key.empty()) {
      last = setting(line.symbol, line.value, line.document_key, line.meaning);
      names[line.symbol] = last;
      continue;
    }
    Node node{line.symbol,  line.formula, {},          line.value, line.unit,
              line.meaning, "",           line.source, index,      line.origin};
    for (const std::string& symbol : config::symbols_of(line.formula)) {
      if (const auto found = names.find(symbol); found != names.end()) {
        node.names.emplace_back(symbol, found->second);
      }
    }
    last = push(std::move(node));
    names[line.symbol] = last;
  }
  return known_cards_[text] = last;
}

NodeId Calculation::input(std::string symbol, double value, std::string unit, std::string meaning,
                          config::Origin origin) {
  Node node;
  node.symbol = std::move(symbol);
  node.value = value;
  node.unit = std::move(unit);
  node.meaning = std::move(meaning);
  node.origin = std::move(origin);
  return push(std::move(node));
}

NodeId Calculation::setting(std::string symbol, double value, std::string document_key,
                            std::string meaning) {
  if (const auto found = known_inputs_.find(document_key); found != known_inputs_.end()) {
    return found->second;
  }
  Node node;
  node.symbol = std::move(symbol);
  node.value = value;
  node.unit = "1";
  node.meaning = std::move(meaning);
  node.document_key = document_key;
  return known_inputs_[document_key] = push(std::move(node));
}

NodeId Calculation::define(std::string symbol, std::string formula,
                           std::vector<std::pair<std::string, NodeId>> names, std::string unit,
                           std::string meaning) {
  Node node;
  node.symbol = std::move(symbol);
  node.formula = std::move(formula);
  node.names = std::move(names);
  node.unit = std::move(unit);
  node.meaning = std::move(meaning);
  return push(std::move(node));
}

NodeId Calculation::sum(std::string symbol, const Terms& terms, std::string meaning) {
  std::vector<std::pair<NodeId, double>> counts;  // in order of first use
  for (const auto& [count, node] : terms) {
    const auto found = std::find_if(counts.begin(), counts.end(),
                                    [node = node](const auto& c) { return c.first == node; });
    if (found == counts.end()) {
      counts.emplace_back(node, count);
    } else {
      found->second += count;
    }
  }
  std::string formula;
  std::vector<std::pair<std::string, NodeId>> names;
  for (const auto& [node, count] : counts) {
    if (count == 0.0) continue;
    const std::string name = "a" + std::to_string(names.size());
    formula += formula.empty() ? (count < 0.0 ? "0 - " : "") : (count < 0.0 ? " - " : " + ");
    if (std::abs(count) != 1.0) formula += number_text(std::abs(count)) + " * ";
    formula += name;
    names.emplace_back(name, node);
  }
  if (formula.empty()) formula = "0";
  return define(std::move(symbol), std::move(formula), std::move(names), "s", std::move(meaning));
}

NodeId Calculation::sum(std::string symbol, NodeId factor, const Terms& terms,
                        std::string meaning) {
  const NodeId total = sum(std::move(symbol), terms, std::move(meaning));
  Node& node = nodes_[total];
  node.formula = "factor * (" + node.formula + ")";
  node.names.emplace_back("factor", factor);
  node.value *= nodes_[factor].value;
  return total;
}

Sheet Calculation::sheet(NodeId result, std::vector<std::string>& keys) const {
  // A node comes after the nodes it names, so ids are in order of definition.
  std::vector<bool> needed(result + 1, false);
  needed[result] = true;
  for (NodeId id = result + 1; id-- > 0;) {
    if (!needed[id]) continue;
    for (const auto& [name, other] : nodes_[id].names) needed[other] = true;
  }

  Sheet sheet;
  std::map<int, int> cards;  // index here -> index on the sheet
  for (NodeId id = 0; id <= result; ++id) {
    const int card = nodes_[id].card;
    if (!needed[id] || card < 0 || cards.count(card) > 0) continue;
    cards[card] = static_cast<int>(sheet.cards.size());
    sheet.cards.push_back(cards_[static_cast<std::size_t>(card)]);
  }

  // Lines of a card are numbered when there are several cards.
  std::map<NodeId, std::string> symbols;
  std::set<std::string> taken;
  for (const bool shared : {true, false}) {
    for (NodeId id = 0; id <= result; ++id) {
      const Node& node = nodes_[id];
      if (!needed[id] || (node.card < 0) != shared) continue;
      std::string symbol = node.symbol;
      if (!shared && sheet.cards.size() > 1) {
        symbol += "_" + std::to_string(cards.at(node.card) + 1);
      }
      while (!taken.insert(symbol).second) symbol += "_b";
      symbols[id] = std::move(symbol);
    }
  }
  for (NodeId id = 0; id <= result; ++id) {
    if (!needed[id]) continue;
    const Node& node = nodes_[id];
    FormulaLine line;
    line.symbol = symbols.at(id);
    line.formula = config::renamed(node.formula, [&](std::string_view symbol) {
      const auto found = std::find_if(node.names.begin(), node.names.end(),
                                      [&](const auto& name) { return name.first == symbol; });
      return symbols.at(found->second);
    });
    line.value = line.low = line.high = node.value;
    line.unit = node.unit;
    line.meaning = node.meaning;
    line.card = node.card < 0 ? -1 : cards.at(node.card);
    if (!node.source.empty())
      line.source = InputSource{"source code", "", "published", node.source, ""};
    std::string key = node.document_key;
    if (const config::Origin& origin = node.origin; !origin.where.empty()) {
      std::string text = origin.counted;
      if (line.card >= 0) {
        const std::string& use = sheet.cards[static_cast<std::size_t>(line.card)].use;
        if (!use.empty() && use != text) text += "; " + use;
      }
      line.counted = origin.counted;
      line.source = InputSource{origin.where, "", "counted", std::move(text), ""};
      key = "counted/" + origin.settings;
    }
    sheet.lines.push_back(std::move(line));
    keys.push_back(std::move(key));
  }
  return sheet;
}

}  // namespace hysim::predictor
