#include "report/format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

namespace hysim::report {

namespace {

std::string chars(double value, std::chars_format format, int precision) {
  std::array<char, 400> buffer{};
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format, precision);
  return std::string(buffer.data(), end.ptr);
}

/// Commas in the digits before the point.
std::string grouped(std::string text) {
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  std::size_t at = std::min(text.find('.'), text.size());
  while (at > first + 3) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string joined(std::string value, const std::string& brackets) {
  return brackets.empty() ? value : std::move(value) + "  " + brackets;
}

}  // namespace

std::string significant(double value, int digits) {
  if (std::isnan(value)) return "n/a";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  if (value == 0.0) return "0";
  // The exponent after rounding: 9.996 has three digits as 10.0.
  std::string scientific = chars(value, std::chars_format::scientific, digits - 1);
  int exponent = 0;
  const std::size_t e = scientific.find('e');
  const char* const from = scientific.data() + e + (scientific[e + 1] == '+' ? 2 : 1);
  std::from_chars(from, scientific.data() + scientific.size(), exponent);
  if (exponent >= 7 || exponent < -4) return scientific;
  return grouped(chars(value, std::chars_format::fixed, std::max(0, digits - 1 - exponent)));
}

Scale scale_of(Seconds value) {
  const double magnitude = std::fabs(value.si());
  if (magnitude >= 0.9995 || magnitude == 0.0 || std::isnan(magnitude)) return {"s", 1.0};
  if (magnitude >= 0.9995e-3) return {"ms", 1e-3};
  return {"us", 1e-6};
}

Scale scale_of(Bytes value) {
  const double magnitude = std::fabs(value.si());
  if (magnitude >= 0.99995e12) return {"TB", 1e12};
  if (magnitude >= 0.99995e9) return {"GB", 1e9};
  if (magnitude >= 0.99995e6) return {"MB", 1e6};
  if (magnitude >= 0.99995e3) return {"KB", 1e3};
  return {"B", 1.0};
}

std::string quantity(double si, Scale scale, int digits) {
  std::string text = significant(si / scale.si, digits);
  if (*scale.unit != '\0') text += std::string(" ") + scale.unit;
  return text;
}

std::string range(double low, double value, double high, Scale scale, int digits) {
  if (low == value && high == value) return "";
  return "[" + significant(low / scale.si, digits) + ", " + significant(high / scale.si, digits) +
         "]";
}

std::string text_of(Seconds value) { return quantity(value.si(), scale_of(value)); }

std::string text_of(Bytes value) {
  const Scale scale = scale_of(value);
  return quantity(value.si(), scale, scale.si == 1.0 ? 3 : 4);
}

std::string percent(double fraction) { return quantity(fraction, kPercent); }

std::string with_range(const Ranged<Seconds>& time) {
  const Scale scale = scale_of(time.value);
  return joined(quantity(time.value.si(), scale),
                range(time.low.si(), time.value.si(), time.high.si(), scale));
}

std::string with_range(const Ranged<Bytes>& bytes) {
  const Scale scale = scale_of(bytes.value);
  return joined(text_of(bytes.value),
                range(bytes.low.si(), bytes.value.si(), bytes.high.si(), scale, 4));
}

std::string with_range(const Ranged<double>& value, Scale scale) {
  return joined(quantity(value.value, scale), range(value.low, value.value, value.high, scale));
}

std::string times(double ratio) { return significant(ratio) + "x"; }

std::string times_with_range(const Ranged<double>& ratio) {
  return joined(times(ratio.value), range(ratio.low, ratio.value, ratio.high, kPlain));
}

std::vector<std::int64_t> rounded_to_sum(const std::vector<double>& values, double unit) {
  constexpr double kLargest = 1e15;
  double sum = 0.0;
  std::vector<std::int64_t> counts;
  for (const double value : values) {
    const double in_units = value / unit;
    sum += in_units;
    if (!(std::fabs(in_units) < kLargest) || !(std::fabs(sum) < kLargest)) return {};
    counts.push_back(static_cast<std::int64_t>(std::floor(in_units)));
  }
  std::int64_t missing =
      std::llround(sum) - std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto remainder = [&](std::size_t i) {
    return values[i] / unit - static_cast<double>(counts[i]);
  };
  std::vector<double> remainders;
  for (std::size_t i = 0; i < values.size(); ++i) remainders.push_back(remainder(i));
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  for (const std::size_t i : order) {
    if (missing <= 0) break;
    if (remainders[i] == 0.0) continue;  // what is zero stays zero
    ++counts[i];
    --missing;
  }
  return counts;
}

std::string fixed_point(std::int64_t count, int decimals) {
  std::string digits = std::to_string(std::llabs(count));
  const auto places = static_cast<std::size_t>(std::max(0, decimals));
  if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
  if (places > 0) digits.insert(digits.size() - places, 1, '.');
  return (count < 0 ? "-" : "") + grouped(digits);
}

}  // namespace hysim::report
