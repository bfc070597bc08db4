// Checks the #include lines of one file against floors.txt.
// It reads text, not the preprocessor's output: an include made by a macro is not seen.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace hysim::test {

struct IncludeRules {
  std::map<std::string, std::set<std::string>> floors;     // what a floor may include, closed
  std::map<std::string, std::string> public_headers;       // header of include/hysim -> floor
  std::map<std::string, std::set<std::string>> libraries;  // <> prefix -> floors that may use it
};

/// Reads floors.txt; throws std::runtime_error on a line it does not understand.
IncludeRules parse_include_rules(std::string_view text);

/// One line a violation: "src/model/x.h:12: model may not include cost (cost/kernel.h)".
/// `path` is relative to the repository and starts with src/ or include/hysim/.
std::vector<std::string> check_file(const IncludeRules& rules, std::string_view path,
                                    std::string_view text);

/// Whether a file has an #include <library/...>.
bool includes_library(std::string_view text, std::string_view library);

}  // namespace hysim::test
