// hysim.version/1: which build this is and which documents it holds.
#pragma once

#include <string>
#include <string_view>

namespace hysim::report {

/// `commit`: of the source it was built from, or "unknown".
std::string version_json(std::string_view commit);

}  // namespace hysim::report
