// The bundled GPU profiles as the tests of this floor see them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hysim/resources.h"

namespace hysim::hardware {

/// hw_profiles/ of the source tree.
Resources bundled_profiles();
/// Names of all bundled GPUs.
std::vector<std::string> gpu_names();
/// Text of a bundled profile.
std::string profile_text(std::string_view name);

}  // namespace hysim::hardware
