// Counts are 64-bit integers; where they enter arithmetic they become doubles explicitly.
#pragma once

#include <cstdint>

namespace hysim {

/// A count as a double; exact up to 2^53.
constexpr double real(std::int64_t count) { return static_cast<double>(count); }

}  // namespace hysim
