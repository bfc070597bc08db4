// Numbers as the text views show them: a fixed number of significant digits and one unit for a
// value and its range.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hysim/prediction.h"

namespace hysim::report {

/// Fixed notation with `digits` significant digits, "27.9", "0.0123"; exponents outside
/// 1e-4 to 1e7; thousands are grouped.
std::string significant(double value, int digits = 3);

/// A unit and how many SI units it is.
struct Scale {
  const char* unit;
  double si;
};
Scale scale_of(Seconds value);  // us, ms, s
Scale scale_of(Bytes value);    // B, KB, MB, GB, TB
inline constexpr Scale kPercent{"%", 0.01};
inline constexpr Scale kPlain{"", 1.0};

/// "27.9 s"
std::string quantity(double si, Scale scale, int digits = 3);
/// "[24.1, 33.0]" in the value's unit; "" when there is no range.
std::string range(double low, double value, double high, Scale scale, int digits = 3);

std::string text_of(Seconds value);
/// Four digits: capacities differ from peaks by little.
std::string text_of(Bytes value);
/// "31.2 %"
std::string percent(double fraction);

/// "27.9 s  [24.1, 33.0]"
std::string with_range(const Ranged<Seconds>& time);
std::string with_range(const Ranged<Bytes>& bytes);
std::string with_range(const Ranged<double>& value, Scale scale);
/// "1.86x" and "1.86x  [1.62, 2.10]"
std::string times(double ratio);
std::string times_with_range(const Ranged<double>& ratio);

/// Whole multiples of `unit` that add up to the rounded sum of `values` (largest remainders are
/// rounded up). Empty when the values are too large or not finite.
std::vector<std::int64_t> rounded_to_sum(const std::vector<double>& values, double unit);

/// `count` units of 10^-decimals in fixed notation: (2790, 2) is "27.90".
std::string fixed_point(std::int64_t count, int decimals);

}  // namespace hysim::report
