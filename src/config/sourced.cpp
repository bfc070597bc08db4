// Reads physical numbers with their range and source, and draws from them.
#include "config/sourced.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "config/words.h"
#include "units/text.h"

namespace hysim::config {

namespace {

/// "B/s", "flop", "dimensionless", ... from exponents.
std::string dimension(const units::Unit& unit) {
  std::string above;
  std::string below;
  const auto add = [&](int exponent, std::string_view word) {
    std::string& side = exponent > 0 ? above : below;
    for (int i = std::abs(exponent); i > 0; --i) {
      if (!side.empty()) side += ' ';
      side += word;
    }
  };
  add(unit.byte, "B");
  add(unit.flop, "flop");
  add(unit.second, "s");
  if (above.empty() && below.empty()) return "dimensionless";
  if (above.empty()) above = "1";
  return below.empty() ? above : above + "/" + below;
}

bool same_dimension(const units::Unit& a, const units::Unit& b) {
  return a.byte == b.byte && a.flop == b.flop && a.second == b.second;
}

std::string example(const units::Unit& unit) {
  if (unit.byte == 1 && unit.second == -1) return "\"GB/s\"";
  if (unit.byte == 1) return R"("GB" or "GiB")";
  if (unit.flop == 1 && unit.second == -1) return "\"TFLOPS\"";
  if (unit.flop == 1) return "\"Gflop\"";
  if (unit.second == 1) return "\"us\"";
  if (unit.second == -1) return "\"MHz\"";
  return R"("1", "fraction" or "%")";
}

/// What a unit has to be, in words.
std::string expected(const units::Unit& unit) {
  return "expected one of dimension " + dimension(unit) + " such as " + example(unit);
}

constexpr std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211ULL;
  }
  return hash;
}

constexpr std::uint64_t splitmix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}

double uniform(std::uint64_t seed, std::uint64_t id_hash, std::uint64_t sample) {
  const std::uint64_t bits = splitmix64(splitmix64(splitmix64(seed) ^ id_hash) ^ sample);
  return static_cast<double>(bits >> 11U) * 0x1.0p-53;
}

/// The scale of `written` to SI; a fault and nothing when it is not what `si_unit` asks for.
std::optional<double> unit_scale(Reader& reader, const std::string& written,
                                 std::string_view si_unit) {
  const units::Unit wanted = units::parse_unit(si_unit).value_or(units::Unit{});
  const auto unit = units::parse_unit(written);
  if (!unit) {
    std::string message = "unknown unit " + in_quotes(written);
    constexpr std::array<std::string_view, 7> kPrefixes = {"k", "K", "M", "G", "T", "P", "E"};
    if (std::find(kPrefixes.begin(), kPrefixes.end(), written) != kPrefixes.end()) {
      message += " (a prefix alone is no unit)";
    }
    reader.fault("unit", message + "; " + expected(wanted));
    return std::nullopt;
  }
  if (!same_dimension(*unit, wanted)) {
    reader.fault("unit", "unit " + in_quotes(written) + " is of dimension " + dimension(*unit) +
                             "; " + expected(wanted));
    return std::nullopt;
  }
  return unit->scale;
}

}  // namespace

InputId::InputId(std::string name) : name_(std::move(name)), hash_(fnv1a(name_)) {}

std::string_view to_string(Evidence evidence) {
  switch (evidence) {
    case Evidence::this_gpu:
      return "this_gpu";
    case Evidence::other_gpu:
      return "other_gpu";
    case Evidence::datasheet:
      return "datasheet";
    case Evidence::assumed:
      return "assumed";
  }
  return "assumed";
}

Sourced read_sourced(const Node& node, std::string pointer, std::string id,
                     std::string_view si_unit, Faults& faults) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Sourced out;
  out.id = std::move(id);

  Reader reader(node, std::move(pointer), faults);
  if (!node.is_object()) return out;

  const bool has_value = reader.required("value") != nullptr;
  const double value = reader.number("value", 0.0, -kInfinity, kInfinity);
  const double low = reader.number("low", value, -kInfinity, kInfinity);
  const double high = reader.number("high", value, -kInfinity, kInfinity);
  if (has_value && low > value) {
    reader.fault("low", "\"low\" must not exceed \"value\", which is " +
                            to_text(Node::number(value)) + "; found " + to_text(Node::number(low)));
  }
  if (has_value && high < value) {
    reader.fault("high", "\"high\" must not be below \"value\", which is " +
                             to_text(Node::number(value)) + "; found " +
                             to_text(Node::number(high)));
  }

  double scale = 1.0;
  const bool has_unit = reader.has("unit");
  out.unit = reader.required_string("unit");
  if (has_unit && reader.raw("unit")->is_string()) {
    scale = unit_scale(reader, out.unit, si_unit).value_or(1.0);
  }
  out.value = value * scale;
  out.low = low * scale;
  out.high = high * scale;
  if (!std::isfinite(out.value) || !std::isfinite(out.low) || !std::isfinite(out.high)) {
    reader.fault("value", "the value or its range is too large when converted from " +
                              in_quotes(out.unit) + " to " + std::string(si_unit));
  }
  // After a fault the value must still be usable by what is read next.
  out.low = std::min(out.low, out.value);
  out.high = std::max(out.high, out.value);

  out.source = reader.required_string("source");
  if (reader.has("source") && reader.raw("source")->is_string() && out.source.empty()) {
    reader.fault("source", "\"source\" must name where the value comes from, found \"\"");
  }
  reader.required("kind");
  out.kind = reader.choice("kind", SourceKind::assumed, source_kinds());
  out.measured_on = reader.string("measured_on", "");
  reader.string("note", "");
  reader.finish();
  return out;
}

const std::vector<Choice<SourceKind>>& source_kinds() {
  static const std::vector<Choice<SourceKind>> kKinds = {{"datasheet", SourceKind::datasheet},
                                                         {"measured", SourceKind::measured},
                                                         {"published", SourceKind::published},
                                                         {"derived", SourceKind::derived},
                                                         {"assumed", SourceKind::assumed}};
  return kKinds;
}

Evidence evidence_of(const Sourced& sourced, std::string_view gpu) {
  const bool elsewhere = !sourced.measured_on.empty() && sourced.measured_on != gpu;
  switch (sourced.kind) {
    case SourceKind::measured:
    case SourceKind::published:
      return elsewhere ? Evidence::other_gpu : Evidence::this_gpu;
    case SourceKind::derived:
      if (elsewhere) return Evidence::other_gpu;
      return sourced.measured_on.empty() ? Evidence::datasheet : Evidence::this_gpu;
    case SourceKind::datasheet:
      return Evidence::datasheet;
    case SourceKind::assumed:
      return Evidence::assumed;
  }
  return Evidence::assumed;
}

double Sampler::operator()(const Sourced& sourced) const {
  if (!draw_) return sourced.value;
  const double u = uniform(seed_, sourced.id.hash(), sample_);
  const double drawn = u < 0.5 ? sourced.low + (sourced.value - sourced.low) * (2.0 * u)
                               : sourced.value + (sourced.high - sourced.value) * (2.0 * u - 1.0);
  return std::clamp(drawn, sourced.low, sourced.high);
}

double uniform(std::uint64_t seed, std::string_view id, std::uint64_t sample) {
  return uniform(seed, fnv1a(id), sample);
}

}  // namespace hysim::config
