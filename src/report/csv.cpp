// Breakdown leaves as CSV (RFC 4180 with plain newlines), numbers in the shortest form that reads
// back the same.
#include <array>
#include <charconv>
#include <string_view>

#include "report/csv_parts.h"
#include "report/views.h"

namespace hysim::report {

namespace {

constexpr std::string_view kColumns = "path,kind,bound_by,time_s,low_s,high_s";

void append(const BreakdownLeaf& leaf, std::string& out) {
  out += csv_field(leaf.path);
  out += ',';
  out += to_string(leaf.kind);
  out += ',' + csv_field(leaf.bound_by);
  out += ',' + csv_number(leaf.time.value.si());
  out += ',' + csv_number(leaf.time.low.si());
  out += ',' + csv_number(leaf.time.high.si());
  out += '\n';
}

}  // namespace

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string csv_number(double value) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return std::string(buffer.data(), end.ptr);
}

std::string to_csv(const Prediction& prediction) {
  std::string out = std::string(kColumns) + "\n";
  for (const auto& leaf : prediction.breakdown) append(leaf, out);
  return out;
}

std::string to_csv(const Comparison& comparison) {
  std::string out = "scenario,variant," + std::string(kColumns) + "\n";
  for (const auto& variant : comparison.variants) {
    for (const auto& leaf : variant.breakdown) {
      out += csv_field(variant.scenario) + ',' + csv_field(variant.variant) + ',';
      append(leaf, out);
    }
  }
  return out;
}

}  // namespace hysim::report
