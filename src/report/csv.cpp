// Breakdown leaves as CSV (RFC 4180 with plain newlines), numbers in the shortest form that reads
// back the same.
#include <array>
#include <charconv>
#include <string_view>

#include "report/views.h"

namespace hysim::report {

namespace {

constexpr std::string_view kColumns = "path,kind,bound_by,time_s,low_s,high_s";

std::string field(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string number(double value) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return std::string(buffer.data(), end.ptr);
}

void append(const BreakdownLeaf& leaf, std::string& out) {
  out += field(leaf.path);
  out += ',';
  out += to_string(leaf.kind);
  out += ',' + field(leaf.bound_by);
  out += ',' + number(leaf.time.value.si());
  out += ',' + number(leaf.time.low.si());
  out += ',' + number(leaf.time.high.si());
  out += '\n';
}

}  // namespace

std::string to_csv(const Prediction& prediction) {
  std::string out = std::string(kColumns) + "\n";
  for (const auto& leaf : prediction.breakdown) append(leaf, out);
  return out;
}

std::string to_csv(const Comparison& comparison) {
  std::string out = "scenario,variant," + std::string(kColumns) + "\n";
  for (const auto& variant : comparison.variants) {
    for (const auto& leaf : variant.breakdown) {
      out += field(variant.scenario) + ',' + field(variant.variant) + ',';
      append(leaf, out);
    }
  }
  return out;
}

}  // namespace hysim::report
