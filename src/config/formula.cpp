#include "config/formula.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

namespace hysim::config {

namespace {

// By hand: no locale decides what a letter is.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_symbol(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool continues_symbol(char c) { return begins_symbol(c) || is_digit(c) || c == '_'; }

/// Recursive descent over one formula.
class Evaluator {
 public:
  Evaluator(std::string_view text, const std::function<double(std::string_view)>& value_of)
      : text_(text), value_of_(value_of) {}

  double run() {
    const double value = sum();
    if (!at_end()) fail("an operator");
    return value;
  }

 private:
  double sum() {
    double value = product();
    for (;;) {
      if (take('+')) {
        value += product();
      } else if (take('-')) {
        value -= product();
      } else {
        return value;
      }
    }
  }
  double product() {
    double value = power();
    for (;;) {
      if (take('*')) {
        value *= power();
      } else if (take('/')) {
        value /= power();
      } else {
        return value;
      }
    }
  }
  double power() {
    const double base = operand();
    return take('^') ? std::pow(base, power()) : base;
  }
  double operand() {
    if (take('(')) {
      const double value = sum();
      expect(')');
      return value;
    }
    if (at_end()) fail("an operand");
    if (is_digit(text_[next_])) return number();
    if (!begins_symbol(text_[next_])) fail("an operand");
    const std::size_t begin = next_;
    while (next_ < text_.size() && continues_symbol(text_[next_])) ++next_;
    const std::string_view name = text_.substr(begin, next_ - begin);
    return take('(') ? call(name) : value_of_(name);
  }
  double number() {
    double value = 0.0;
    const auto end = std::from_chars(text_.data() + next_, text_.data() + text_.size(), value);
    next_ = static_cast<std::size_t>(end.ptr - text_.data());
    return value;
  }
  double call(std::string_view function) {
    std::vector<double> arguments{sum()};
    while (take(',')) arguments.push_back(sum());
    expect(')');
    const bool several = arguments.size() > 1;
    if (several && function == "max") return *std::max_element(arguments.begin(), arguments.end());
    if (several && function == "min") return *std::min_element(arguments.begin(), arguments.end());
    if (!several && function == "ceil") return std::ceil(arguments.front());
    if (!several && function == "floor") return std::floor(arguments.front());
    if (!several && function == "log2") return std::log2(arguments.front());
    fail("a function of " + std::to_string(arguments.size()) + " arguments");
  }

  bool at_end() {
    while (next_ < text_.size() && text_[next_] == ' ') ++next_;
    return next_ == text_.size();
  }
  bool take(char c) {
    if (at_end() || text_[next_] != c) return false;
    ++next_;
    at_end();
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(std::string("'") + c + "'");
  }
  [[noreturn]] void fail(const std::string& expected) const {
    throw std::logic_error("formula \"" + std::string(text_) + "\": expected " + expected + " at " +
                           std::to_string(next_ + 1));
  }

  std::string_view text_;
  const std::function<double(std::string_view)>& value_of_;
  std::size_t next_ = 0;
};

/// Calls on_symbol for symbols and on_other for what stands between them. The digits and exponent
/// of a number are no symbol, a name before a parenthesis is a function.
template <class OnSymbol, class OnOther>
void scan(std::string_view formula, const OnSymbol& on_symbol, const OnOther& on_other) {
  for (std::size_t i = 0; i < formula.size();) {
    const std::size_t begin = i;
    if (is_digit(formula[i])) {
      double ignored = 0.0;
      const char* const end = formula.data() + formula.size();
      i += static_cast<std::size_t>(std::from_chars(formula.data() + i, end, ignored).ptr -
                                    (formula.data() + i));
      on_other(formula.substr(begin, i - begin));
    } else if (begins_symbol(formula[i])) {
      while (i < formula.size() && continues_symbol(formula[i])) ++i;
      const std::string_view name = formula.substr(begin, i - begin);
      if (i < formula.size() && formula[i] == '(') {
        on_other(name);
      } else {
        on_symbol(name);
      }
    } else {
      on_other(formula.substr(i++, 1));
    }
  }
}

}  // namespace

double evaluate(std::string_view formula, const std::function<double(std::string_view)>& value_of) {
  return Evaluator(formula, value_of).run();
}

std::vector<std::string> symbols_of(std::string_view formula) {
  std::vector<std::string> symbols;
  scan(
      formula,
      [&](std::string_view name) {
        if (std::find(symbols.begin(), symbols.end(), name) == symbols.end()) {
          symbols.emplace_back(name);
        }
      },
      [](std::string_view) {});
  return symbols;
}

std::string renamed(std::string_view formula,
                    const std::function<std::string(std::string_view)>& name_of) {
  std::string text;
  scan(
      formula, [&](std::string_view name) { text += name_of(name); },
      [&](std::string_view other) { text += other; });
  return text;
}

Card& Card::field(std::string symbol, std::string document_key, double value) {
  lines.push_back({std::move(symbol), "", value, "", "", std::move(document_key), "", {}});
  return *this;
}

Card& Card::counted(std::string symbol, double value, std::string unit, std::string meaning,
                    Origin origin) {
  lines.push_back({std::move(symbol), "", value, std::move(unit), std::move(meaning), "", "",
                   std::move(origin)});
  return *this;
}

Card& Card::constant(std::string symbol, double value, std::string unit, std::string meaning,
                     std::string source) {
  lines.push_back({std::move(symbol),
                   "",
                   value,
                   std::move(unit),
                   std::move(meaning),
                   "",
                   std::move(source),
                   {}});
  return *this;
}

Card& Card::define(std::string symbol, std::string formula, std::string unit, std::string meaning) {
  lines.push_back({std::move(symbol),
                   std::move(formula),
                   0.0,
                   std::move(unit),
                   std::move(meaning),
                   "",
                   "",
                   {}});
  return *this;
}

}  // namespace hysim::config
