// Fields of a line of CSV (RFC 4180).
#pragma once

#include <string>
#include <string_view>

namespace hysim::report {

/// In quotes where it has to be.
std::string csv_field(std::string_view text);
/// The shortest form that reads back the same.
std::string csv_number(double value);

}  // namespace hysim::report
