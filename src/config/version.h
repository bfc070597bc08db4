// The version of this build, as the project() line of CMakeLists.txt has it.
#pragma once

#include <string_view>

namespace hysim::config {

extern const std::string_view kVersion;  // "0.1.0"

}  // namespace hysim::config
