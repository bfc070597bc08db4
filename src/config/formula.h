// Formulas as text: what a law prints about itself is evaluated as printed, so text and law can be
// held against each other.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hysim::config {

/// The value of a formula: numbers, symbols, + - * / ^, parentheses, and the functions max, min
/// (two or more arguments), ceil, floor and log2. `^` binds tightest and to the right; a symbol is
/// a letter followed by letters, digits and '_'. Throws std::logic_error for anything else:
/// formulas are written by us, not by users.
double evaluate(std::string_view formula, const std::function<double(std::string_view)>& value_of);

/// The symbols of a formula, each once, in order; function names are none.
std::vector<std::string> symbols_of(std::string_view formula);

/// The formula with every symbol replaced by what `name_of` answers.
std::string renamed(std::string_view formula,
                    const std::function<std::string(std::string_view)>& name_of);

/// What an input was counted from.
struct Origin {
  std::string counted;   // "2 * m * n * k", or in words
  std::string where;     // the file that counts it
  std::string settings;  // what it hangs on, apart by spaces: "workload.seq_len model.hidden_size"
};

/// One line of a card.
struct CardLine {
  std::string symbol;
  std::string formula;  // over symbols of earlier lines; "" for an input
  double value = 0.0;   // of an input, in SI units; that of a formula follows
  std::string unit;     // "s", "B", "flop", "1", ...; "" when `document_key` says it
  std::string meaning;
  // Of inputs only:
  std::string document_key;  // "gpu/laws/gemm_bf16", "cluster/nic_bandwidth", "stack/launch_gap"
  std::string source;        // of a constant that stands in the code
  Origin origin;             // of what is counted
};

/// A law as it is printed: the lines that lead from its inputs to its result, the last one.
struct Card {
  std::string title;
  std::string leaves_out;  // what the law does not know of; may be empty
  std::string where;       // the function that computes the same
  std::string use;         // what it is used for here, and the sizes that the counts are made of
  std::vector<CardLine> lines;

  /// A number of a GPU, cluster or stack document; unit and meaning stand there.
  Card& field(std::string symbol, std::string document_key, double value);
  /// A number counted from shapes, groups or settings.
  Card& counted(std::string symbol, double value, std::string unit, std::string meaning,
                Origin origin);
  /// A number that stands in the code, with its source.
  Card& constant(std::string symbol, double value, std::string unit, std::string meaning,
                 std::string source);
  Card& define(std::string symbol, std::string formula, std::string unit, std::string meaning);
};

}  // namespace hysim::config
