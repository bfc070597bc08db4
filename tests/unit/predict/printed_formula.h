// What a reader would compute from a printed formula: an evaluator of its own, by precedence
// climbing into postfix order, that shares nothing with the library's.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hysim::predictor::test {

/// A formula read once, for any values of its symbols.
class PrintedFormula {
 public:
  /// `index_of` holds the symbols that may be named. Throws std::runtime_error for a formula
  /// outside the documented grammar or another symbol.
  PrintedFormula(std::string_view formula, const std::map<std::string, std::size_t>& index_of);

  double value(const std::vector<double>& symbols) const;

 private:
  enum class Op {
    number,
    symbol,
    add,
    subtract,
    multiply,
    divide,
    power,
    max,
    min,
    ceil,
    floor,
    log2
  };
  struct Step {
    Op op;
    double number = 0.0;
    std::size_t symbol = 0;
  };
  class Reading;
  std::vector<Step> steps_;
};

}  // namespace hysim::predictor::test
