// Reads and writes quantities as people write them; knows the table of units and nothing else.
// Wrong for units it has no row for: add a row to kUnits.
#include "units/text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

namespace hysim::units {

namespace {

constexpr double kBinaryKilo = 1024.0;
constexpr double kBinaryMega = kBinaryKilo * kBinaryKilo;
constexpr double kBinaryGiga = kBinaryMega * kBinaryKilo;
constexpr double kBinaryTera = kBinaryGiga * kBinaryKilo;
constexpr double kBinaryPeta = kBinaryTera * kBinaryKilo;

struct Row {
  std::string_view word;
  Unit unit;
  bool per_second = false;  // may be followed by "/s"
};

constexpr Row data(std::string_view word, double scale) { return {word, {scale, 1, 0, 0}, true}; }
constexpr Row work(std::string_view word, double scale) { return {word, {scale, 0, 1, 0}, true}; }
constexpr Row rate(std::string_view word, double scale) { return {word, {scale, 0, 1, -1}, false}; }
constexpr Row time(std::string_view word, double scale) { return {word, {scale, 0, 0, 1}, false}; }
constexpr Row often(std::string_view word, double scale) {
  return {word, {scale, 0, 0, -1}, false};
}
constexpr Row plain(std::string_view word, double scale, bool per_second = false) {
  return {word, {scale, 0, 0, 0}, per_second};
}

constexpr Row kUnits[] = {
    data("B", 1.0),           data("kB", 1e3),          data("KB", 1e3),
    data("MB", 1e6),          data("GB", 1e9),          data("TB", 1e12),
    data("PB", 1e15),         data("EB", 1e18),         data("KiB", kBinaryKilo),
    data("MiB", kBinaryMega), data("GiB", kBinaryGiga), data("TiB", kBinaryTera),
    data("PiB", kBinaryPeta), data("bit", 0.125),       data("kbit", 0.125e3),
    data("Kbit", 0.125e3),    data("Mbit", 0.125e6),    data("Gbit", 0.125e9),
    data("Tbit", 0.125e12),

    work("flop", 1.0),        work("Kflop", 1e3),       work("Mflop", 1e6),
    work("Gflop", 1e9),       work("Tflop", 1e12),      work("Pflop", 1e15),
    work("Eflop", 1e18),      work("FLOP", 1.0),        work("KFLOP", 1e3),
    work("MFLOP", 1e6),       work("GFLOP", 1e9),       work("TFLOP", 1e12),
    work("PFLOP", 1e15),      work("EFLOP", 1e18),      rate("FLOPS", 1.0),
    rate("MFLOPS", 1e6),      rate("GFLOPS", 1e9),      rate("TFLOPS", 1e12),
    rate("PFLOPS", 1e15),     rate("EFLOPS", 1e18),     rate("GOPS", 1e9),
    rate("TOPS", 1e12),       rate("POPS", 1e15),

    time("s", 1.0),           time("ms", 1e-3),         time("us", 1e-6),
    time("\xC2\xB5s", 1e-6),  // micro sign
    time("\xCE\xBCs", 1e-6),  // Greek mu
    time("ns", 1e-9),         time("ps", 1e-12),        time("min", 60.0),
    time("h", 3600.0),

    often("Hz", 1.0),         often("kHz", 1e3),        often("MHz", 1e6),
    often("GHz", 1e9),

    plain("1", 1.0, true),    plain("fraction", 1.0),   plain("%", 0.01),
};

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Splits a non-negative decimal number off the front; nothing when there is none.
std::optional<double> take_number(std::string_view& text) {
  if (text.empty() || !is_digit(text.front())) return std::nullopt;  // no sign, "inf" or "nan"
  double value = 0.0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || !std::isfinite(value)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(result.ptr - text.data()));
  return value;
}

std::string fixed(double value, int decimals) {
  std::array<char, 64> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                    std::chars_format::fixed, decimals);
  return std::string(buffer.data(), result.ptr);
}

std::string general(double value) {
  std::array<char, 64> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                    std::chars_format::general, 3);
  return std::string(buffer.data(), result.ptr);
}

/// A unit of output and how far it reaches, in SI.
struct Step {
  std::string_view word;
  double scale;
  double below;  // use the next unit from here on
};

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

/// Three significant digits of `magnitude` (0 <= magnitude); more digits before the point stay.
std::string three_digits(double magnitude) {
  if (magnitude < 9.995) return fixed(magnitude, 2);
  if (magnitude < 99.95) return fixed(magnitude, 1);
  return fixed(magnitude, 0);
}

template <std::size_t N>
std::string scaled(double si, const std::array<Step, N>& steps, std::string_view base) {
  std::string unit(" ");
  unit += base;
  if (std::isnan(si)) return "nan" + unit;
  if (std::isinf(si)) return (si < 0 ? "-inf" : "inf") + unit;
  if (si == 0.0) return "0" + unit;
  const std::string sign = si < 0 ? "-" : "";
  const double magnitude = std::fabs(si);
  for (const Step& step : steps) {
    // 0.9995 so that a value that would round up to the limit takes the next unit.
    if (magnitude >= step.below * 0.9995) continue;
    const double in_unit = magnitude / step.scale;
    std::string digits;
    if (in_unit < 0.1 || in_unit >= 1e6) {
      digits = general(in_unit);
    } else if (step.word == "B" && in_unit == std::floor(in_unit)) {
      digits = fixed(in_unit, 0);  // bytes are whole
    } else if (in_unit < 0.9995) {
      digits = fixed(in_unit, 3);
    } else {
      digits = three_digits(in_unit);
    }
    return sign + digits + " " + std::string(step.word);
  }
  return sign + general(magnitude) + unit;  // not reached: the last step has no limit
}

}  // namespace

std::optional<Unit> parse_unit(std::string_view text) {
  constexpr std::string_view kPerSecond = "/s";
  bool divided = false;
  std::string_view word = text;
  if (word.size() > kPerSecond.size() &&
      word.substr(word.size() - kPerSecond.size()) == kPerSecond) {
    word.remove_suffix(kPerSecond.size());
    divided = true;
  }
  for (const Row& row : kUnits) {
    if (row.word != word) continue;
    if (!divided) return row.unit;
    if (!row.per_second) return std::nullopt;
    Unit unit = row.unit;
    unit.second -= 1;
    return unit;
  }
  return std::nullopt;
}

std::optional<Bytes> parse_bytes(std::string_view text) {
  text = trim(text);
  const auto number = take_number(text);
  if (!number) return std::nullopt;
  const auto unit = parse_unit(trim(text));
  if (!unit || unit->byte != 1 || unit->flop != 0 || unit->second != 0) return std::nullopt;
  const double value = *number * unit->scale;
  if (!std::isfinite(value)) return std::nullopt;
  return Bytes(value);
}

std::optional<std::int64_t> parse_token_count(std::string_view text) {
  text = trim(text);
  if (text.empty() || !is_digit(text.front())) return std::nullopt;

  std::int64_t factor = 1;
  if (text.back() == 'K') factor = std::int64_t{1} << 10;
  if (text.back() == 'M') factor = std::int64_t{1} << 20;
  if (factor != 1) {
    text.remove_suffix(1);
    text = trim(text);
  }

  std::int64_t whole = 0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, whole);
  if (result.ec != std::errc()) return std::nullopt;
  if (result.ptr == end) {
    if (whole > std::numeric_limits<std::int64_t>::max() / factor) return std::nullopt;
    return whole * factor;
  }

  // "1.5M": a fraction is fine when the count is whole and small enough to be exact.
  const auto number = take_number(text);
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (!number || !text.empty()) return std::nullopt;
  const double count = *number * static_cast<double>(factor);
  if (count != std::floor(count) || count >= kExact) return std::nullopt;
  return static_cast<std::int64_t>(count);
}

std::string format(Seconds value) {
  static constexpr std::array<Step, 7> kSteps = {{{"ps", 1e-12, 1e-9},
                                                  {"ns", 1e-9, 1e-6},
                                                  {"us", 1e-6, 1e-3},
                                                  {"ms", 1e-3, 1.0},
                                                  {"s", 1.0, 1000.0},
                                                  {"min", 60.0, 7200.0},
                                                  {"h", 3600.0, kNoLimit}}};
  return scaled(value.si(), kSteps, "s");
}

std::string format(Bytes value) {
  static constexpr std::array<Step, 7> kSteps = {{{"B", 1.0, 1e3},
                                                  {"KB", 1e3, 1e6},
                                                  {"MB", 1e6, 1e9},
                                                  {"GB", 1e9, 1e12},
                                                  {"TB", 1e12, 1e15},
                                                  {"PB", 1e15, 1e18},
                                                  {"EB", 1e18, kNoLimit}}};
  return scaled(value.si(), kSteps, "B");
}

std::string format(FlopsPerSecond value) {
  static constexpr std::array<Step, 7> kSteps = {{{"FLOP/s", 1.0, 1e3},
                                                  {"KFLOP/s", 1e3, 1e6},
                                                  {"MFLOP/s", 1e6, 1e9},
                                                  {"GFLOP/s", 1e9, 1e12},
                                                  {"TFLOP/s", 1e12, 1e15},
                                                  {"PFLOP/s", 1e15, 1e18},
                                                  {"EFLOP/s", 1e18, kNoLimit}}};
  return scaled(value.si(), kSteps, "FLOP/s");
}

std::string format(BytesPerSecond value) {
  static constexpr std::array<Step, 7> kSteps = {{{"B/s", 1.0, 1e3},
                                                  {"KB/s", 1e3, 1e6},
                                                  {"MB/s", 1e6, 1e9},
                                                  {"GB/s", 1e9, 1e12},
                                                  {"TB/s", 1e12, 1e15},
                                                  {"PB/s", 1e15, 1e18},
                                                  {"EB/s", 1e18, kNoLimit}}};
  return scaled(value.si(), kSteps, "B/s");
}

std::string format_count(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::size_t first = digits.front() == '-' ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string format_tokens(std::int64_t value) {
  constexpr std::int64_t kKilo = std::int64_t{1} << 10;
  constexpr std::int64_t kMega = std::int64_t{1} << 20;
  if (value > 0 && value % kMega == 0) return std::to_string(value / kMega) + "M";
  if (value > 0 && value % kKilo == 0) return std::to_string(value / kKilo) + "K";
  return std::to_string(value);
}

}  // namespace hysim::units
