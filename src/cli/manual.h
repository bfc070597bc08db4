// The manual page, made from the same tables as the arguments' parser: it cannot name an option
// that is not there or miss one that is.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace hysim::cli {

/// hysim(1) in man's roff: every command and option that is not hidden.
std::string manual_page(const CLI::App& app);

}  // namespace hysim::cli
