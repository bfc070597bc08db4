// How values stand in every JSON document: quantities as {"value", "unit", "low", "high"} in SI.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "config/node.h"
#include "config/version.h"
#include "hysim/errors.h"
#include "hysim/prediction.h"

namespace hysim::report::json {

using config::Node;

inline constexpr std::string_view kSecond = "s";
inline constexpr std::string_view kByte = "B";
inline constexpr std::string_view kOne = "1";

inline Node text(std::string_view value) { return Node::string(std::string(value)); }

inline Node ranged(double value, double low, double high, std::string_view unit) {
  return Node::object({{"value", Node::number(value)},
                       {"unit", text(unit)},
                       {"low", Node::number(low)},
                       {"high", Node::number(high)}});
}
/// A nominal value of which no range is told.
inline Node nominal(double value, std::string_view unit) {
  return Node::object({{"value", Node::number(value)}, {"unit", text(unit)}});
}
/// Without a range the three agree.
inline Node quantity(double value, std::string_view unit) {
  return ranged(value, value, value, unit);
}
template <class D>
Node ranged(const Ranged<Quantity<D>>& value, std::string_view unit) {
  return ranged(value.value.si(), value.low.si(), value.high.si(), unit);
}
inline Node ranged(const Ranged<double>& value, std::string_view unit) {
  return ranged(value.value, value.low, value.high, unit);
}

template <class Items, class Make>
Node array_of(const Items& items, Make make) {
  Node::Array nodes;
  for (const auto& item : items) nodes.push_back(make(item));
  return Node::array(std::move(nodes));
}

inline Node texts(const std::vector<std::string>& items) {
  return array_of(items, [](const std::string& item) { return text(item); });
}

inline Node warnings(const std::vector<Warning>& items) {
  return array_of(items, [](const Warning& warning) {
    return Node::object({{"id", text(warning.id)},
                         {"message", text(warning.message)},
                         {"source", warning.source.empty() ? Node::null() : text(warning.source)}});
  });
}

/// A document inside a document; text that is no JSON stays text.
inline Node embedded(const std::string& document) {
  if (document.empty()) return Node::null();
  try {
    return config::parse(document, "");
  } catch (const InputError&) {
    return text(document);
  }
}

/// JSON readers hold integers to 2^63 or less; a larger seed is written as its digits.
inline Node seed(std::uint64_t value) {
  if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return text(std::to_string(value));
  }
  return Node::integer(static_cast<std::int64_t>(value));
}

inline Node tool() {
  return Node::object({{"name", text("hysim")}, {"version", text(config::kVersion)}});
}

inline Node files(const std::vector<InputFile>& inputs) {
  return array_of(inputs, [](const InputFile& input) {
    return Node::object({{"path", text(input.path)}, {"sha256", text(input.sha256)}});
  });
}

}  // namespace hysim::report::json
