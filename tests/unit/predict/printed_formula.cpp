#include "unit/predict/printed_formula.h"

#include <cctype>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace hysim::predictor::test {

namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Words, numbers and single characters; "" at the end.
std::vector<std::string> tokens_of(std::string_view text) {
  std::vector<std::string> tokens;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    if (is_digit(text[i])) {
      std::size_t used = 0;
      static_cast<void>(std::stod(std::string(text.substr(i)), &used));
      end = i + used;
    } else if (is_word(text[i])) {
      while (end < text.size() && is_word(text[end])) ++end;
    }
    if (text[i] != ' ') tokens.emplace_back(text.substr(i, end - i));
    i = end;
  }
  tokens.emplace_back();
  return tokens;
}

int precedence(const std::string& token) {
  if (token == "+" || token == "-") return 1;
  if (token == "*" || token == "/") return 2;
  return token == "^" ? 3 : 0;
}

}  // namespace

class PrintedFormula::Reading {
 public:
  Reading(std::string_view text, const std::map<std::string, std::size_t>& index_of,
          std::vector<Step>& steps)
      : tokens_(tokens_of(text)), index_of_(index_of), steps_(steps) {}

  void whole() {
    expression(1);
    if (!now().empty()) fail();
  }

 private:
  void expression(int least) {
    atom();
    while (precedence(now()) >= least) {
      const std::string op = take();
      expression(precedence(op) + (op == "^" ? 0 : 1));
      steps_.push_back({op == "+"   ? Op::add
                        : op == "-" ? Op::subtract
                        : op == "*" ? Op::multiply
                        : op == "/" ? Op::divide
                                    : Op::power});
    }
  }
  void atom() {
    const std::string token = take();
    if (token.empty()) fail();
    if (token == "(") {
      expression(1);
      if (take() != ")") fail();
    } else if (is_digit(token.front())) {
      steps_.push_back({Op::number, std::stod(token)});
    } else if (now() == "(") {
      function(token);
    } else {
      const auto found = index_of_.find(token);
      if (found == index_of_.end()) throw std::runtime_error("unknown symbol " + token);
      steps_.push_back({Op::symbol, 0.0, found->second});
    }
  }
  void function(const std::string& name) {
    static const std::map<std::string, Op> kFunctions = {{"max", Op::max},
                                                         {"min", Op::min},
                                                         {"ceil", Op::ceil},
                                                         {"floor", Op::floor},
                                                         {"log2", Op::log2}};
    const Op op = kFunctions.at(name);
    const bool several = op == Op::max || op == Op::min;
    int arguments = 0;
    do {
      take();  // '(' or ','
      expression(1);
      if (++arguments > 1) steps_.push_back({op});
    } while (now() == ",");
    if (take() != ")" || several != (arguments > 1)) fail();
    if (!several) steps_.push_back({op});
  }
  const std::string& now() const { return tokens_[next_]; }
  std::string take() {
    const std::string token = now();
    if (!token.empty()) ++next_;
    return token;
  }
  [[noreturn]] void fail() const { throw std::runtime_error("cannot read at '" + now() + "'"); }

  std::vector<std::string> tokens_;
  const std::map<std::string, std::size_t>& index_of_;
  std::vector<Step>& steps_;
  std::size_t next_ = 0;
};

PrintedFormula::PrintedFormula(std::string_view formula,
                               const std::map<std::string, std::size_t>& index_of) {
  Reading(formula, index_of, steps_).whole();
}

double PrintedFormula::value(const std::vector<double>& symbols) const {
  std::vector<double> stack;
  for (const Step& step : steps_) {
    if (step.op == Op::number || step.op == Op::symbol) {
      stack.push_back(step.op == Op::number ? step.number : symbols[step.symbol]);
      continue;
    }
    const double last = stack.back();
    if (step.op == Op::ceil) {
      stack.back() = std::ceil(last);
    } else if (step.op == Op::floor) {
      stack.back() = std::floor(last);
    } else if (step.op == Op::log2) {
      stack.back() = std::log2(last);
    } else {
      stack.pop_back();
      double& value = stack.back();
      if (step.op == Op::add) value += last;
      if (step.op == Op::subtract) value -= last;
      if (step.op == Op::multiply) value *= last;
      if (step.op == Op::divide) value /= last;
      if (step.op == Op::power) value = std::pow(value, last);
      if (step.op == Op::max) value = std::fmax(value, last);
      if (step.op == Op::min) value = std::fmin(value, last);
    }
  }
  return stack.back();
}

}  // namespace hysim::predictor::test
