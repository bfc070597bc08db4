// Lines of calculation that share inputs: every number of a step is a node over others; a sheet is
// what one of them rests on.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "config/formula.h"
#include "hysim/explain.h"

namespace hysim::predictor {

/// Index of a node of a Calculation.
using NodeId = std::size_t;

/// A sum of nodes, each times a whole number.
using Terms = std::vector<std::pair<double, NodeId>>;

class Calculation {
 public:
  /// The result of a card. Cards with the same lines are one.
  NodeId add(const config::Card& card);
  /// An input or formula of the step itself. `names` binds the symbols of the formula.
  NodeId input(std::string symbol, double value, std::string unit, std::string meaning,
               config::Origin origin);
  NodeId setting(std::string symbol, double value, std::string document_key, std::string meaning);
  NodeId define(std::string symbol, std::string formula,
                std::vector<std::pair<std::string, NodeId>> names, std::string unit,
                std::string meaning);
  /// Seconds: factor x (n1 a + n2 b + ...); an empty sum is 0. Terms of one node are added up.
  NodeId sum(std::string symbol, const Terms& terms, std::string meaning);
  NodeId sum(std::string symbol, NodeId factor, const Terms& terms, std::string meaning);

  double value(NodeId node) const { return nodes_[node].value; }

  /// What `result` rests on, inputs first, under symbols that are unique among them. Sources of
  /// documents are left to the caller: `keys` gets the document key of every line, of a count
  /// "counted/" and the settings it hangs on.
  Sheet sheet(NodeId result, std::vector<std::string>& keys) const;

 private:
  struct Node {
    std::string symbol;
    std::string formula;
    std::vector<std::pair<std::string, NodeId>> names;
    double value = 0.0;
    std::string unit;
    std::string meaning;
    std::string document_key;
    std::string source;
    int card = -1;
    config::Origin origin;
  };

  NodeId push(Node node);

  std::vector<Node> nodes_;
  std::vector<FormulaCard> cards_;
  std::map<std::string, NodeId> known_cards_;   // by their text
  std::map<std::string, NodeId> known_inputs_;  // by document key, or symbol and value of constants
};

}  // namespace hysim::predictor
