// Reading and writing quantities as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hysim/units.h"

namespace hysim::units {

/// Scale of a unit to SI and its dimension, as exponents of byte, flop and second.
/// Links say bits or bytes: "Gbit/s" is 1.25e8 B/s, "GB/s" 1e9 B/s; "GB" is 1e9, "GiB" 2^30;
/// "TFLOPS" and "Tflop/s" are 1e12 flop/s; "MHz" 1e6 /s; "1", "fraction", "%" are dimensionless.
/// A bare prefix ("G", "K") is refused.
struct Unit {
  double scale = 1.0;
  int byte = 0;
  int flop = 0;
  int second = 0;
};
std::optional<Unit> parse_unit(std::string_view text);

/// "1 GiB", "1.5e9 B"; nothing when it is not a number and a unit of bytes.
std::optional<Bytes> parse_bytes(std::string_view text);

/// "131072", "128K", "1M" with K = 2^10 and M = 2^20; nothing otherwise or when not integral.
std::optional<std::int64_t> parse_token_count(std::string_view text);

/// Three significant digits with a fitting unit: "12.3 s", "845 ms", "38.2 GB", "123 TFLOP/s".
std::string format(Seconds value);
std::string format(Bytes value);
std::string format(FlopsPerSecond value);
std::string format(BytesPerSecond value);
/// "1,048,576"
std::string format_count(std::int64_t value);
/// "1M", "128K" when a power-of-two multiple, digits otherwise.
std::string format_tokens(std::int64_t value);

}  // namespace hysim::units
