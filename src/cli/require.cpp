#include "cli/require.h"

#include <charconv>
#include <cmath>

#include "cli/errors.h"
#include "config/reader.h"
#include "config/words.h"
#include "report/format.h"
#include "units/text.h"

namespace hysim::cli {

namespace {

using Quantity = Requirement::Quantity;
using Relation = Requirement::Relation;

struct Name {
  std::string_view word;
  Quantity quantity;
  units::Unit dimension;  // of the bound
};
const std::vector<Name>& names() {
  static const std::vector<Name> table = {
      {"fits", Quantity::fits, {}},
      {"speedup", Quantity::speedup, {}},
      {"step_time", Quantity::step_time, {1.0, 0, 0, 1}},
      {"mfu", Quantity::mfu, {}},
      {"peak_memory", Quantity::peak_memory, {1.0, 1, 0, 0}},
  };
  return table;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// "1.5", "20 s", "30%", "90GB" in SI; nothing when the number or its unit is wrong. A size needs
/// its unit (90 may be meant as GB or GiB), and so does a fraction above 1 (20 may be meant as %).
std::optional<double> parse_bound(std::string_view text, Quantity quantity,
                                  const units::Unit& dimension) {
  text = trimmed(text);
  double value = 0.0;
  const auto number = std::from_chars(text.data(), text.data() + text.size(), value);
  if (number.ec != std::errc() || !std::isfinite(value)) return std::nullopt;
  text = trimmed(text.substr(static_cast<std::size_t>(number.ptr - text.data())));
  if (text.empty()) {
    const bool bare =
        quantity != Quantity::peak_memory && !(quantity == Quantity::mfu && std::fabs(value) > 1.0);
    return bare ? std::optional(value) : std::nullopt;
  }
  const bool ratio = dimension.byte == 0 && dimension.second == 0;
  if (ratio && text == "x") return value;  // "1.5x"
  const auto unit = units::parse_unit(text);
  if (!unit || unit->byte != dimension.byte || unit->flop != dimension.flop ||
      unit->second != dimension.second) {
    return std::nullopt;
  }
  return value * unit->scale;
}

[[noreturn]] void refuse(std::string_view text, const std::string& message) {
  throw UsageError("--require " + config::in_quotes(text) + ": " + message);
}

bool holds(Relation relation, double value, double bound) {
  switch (relation) {
    case Relation::at_least:
      return value >= bound;
    case Relation::at_most:
      return value <= bound;
    case Relation::more:
      return value > bound;
    case Relation::less:
      return value < bound;
  }
  return false;
}

}  // namespace

Requirement parse_requirement(std::string_view text) {
  Requirement requirement;
  requirement.text = std::string(trimmed(text));
  const std::string_view whole = requirement.text;
  const std::size_t at = std::min(whole.find_first_of("<>="), whole.size());
  const std::string_view word = trimmed(whole.substr(0, at));
  const Name* known = nullptr;
  std::vector<std::string> words;
  for (const Name& name : names()) {
    words.emplace_back(name.word);
    if (name.word == word) known = &name;
  }
  if (known == nullptr) {
    const std::string near = config::nearest(word, words);
    refuse(text, near.empty() ? "known are fits, speedup, step_time, mfu and peak_memory"
                              : "did you mean " + config::in_quotes(near) + "?");
  }
  requirement.quantity = known->quantity;
  std::string_view rest = whole.substr(at);
  if (known->quantity == Quantity::fits) {
    if (!rest.empty()) refuse(text, "fits stands alone");
    return requirement;
  }
  struct Sign {
    std::string_view text;
    Relation relation;
  };
  constexpr Sign kSigns[] = {{">=", Relation::at_least},
                             {"<=", Relation::at_most},
                             {">", Relation::more},
                             {"<", Relation::less}};
  const Sign* sign = nullptr;
  for (const Sign& candidate : kSigns) {
    if (rest.starts_with(candidate.text)) {
      sign = &candidate;
      break;
    }
  }
  if (sign == nullptr) refuse(text, "needs >=, <=, > or < and a number");
  requirement.relation = sign->relation;
  rest.remove_prefix(sign->text.size());
  const auto bound = parse_bound(rest, known->quantity, known->dimension);
  if (!bound) {
    const char* const example = known->quantity == Quantity::step_time     ? "20 s"
                                : known->quantity == Quantity::peak_memory ? "90 GB"
                                : known->quantity == Quantity::mfu         ? "0.3 or 30%"
                                                                           : "1.5";
    refuse(text,
           "needs a number such as " + std::string(example) + " after " + std::string(sign->text));
  }
  requirement.bound = *bound;
  return requirement;
}

std::vector<std::string> unmet(const std::vector<Requirement>& requirements, const Prediction& p,
                               const Speedup* speedup) {
  std::vector<std::string> lines;
  for (const Requirement& requirement : requirements) {
    bool met = false;
    std::string found;
    const auto compare = [&](double value) {
      met = holds(requirement.relation, value, requirement.bound);
    };
    switch (requirement.quantity) {
      case Quantity::fits:
        met = p.memory.fits != Fit::no;
        found = p.variant + " needs " + report::text_of(p.memory.peak_per_gpu.value) + " of " +
                report::text_of(p.memory.capacity);
        if (p.memory.host_exceeded()) {
          found += ", and " + report::text_of(p.memory.host_per_node) + " of " +
                   report::text_of(p.memory.host_capacity) + " of host memory a node";
        }
        break;
      case Quantity::speedup:
        if (speedup == nullptr) refuse(requirement.text, "a speedup needs hysim compare");
        compare(speedup->ratio.value);
        found = report::times(speedup->ratio.value);
        if (speedup->hypothetical) found += ", hypothetical";
        break;
      case Quantity::step_time:
        compare(p.step_time.value.si());
        found = report::text_of(p.step_time.value);
        break;
      case Quantity::mfu:
        compare(p.mfu.fraction.value);
        found = report::percent(p.mfu.fraction.value);
        break;
      case Quantity::peak_memory:
        compare(p.memory.peak_per_gpu.value.si());
        found = report::text_of(p.memory.peak_per_gpu.value);
        break;
    }
    if (!met) lines.push_back("required " + requirement.text + ": not met (" + found + ")");
  }
  return lines;
}

}  // namespace hysim::cli
