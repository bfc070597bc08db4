// What may follow on a command line, from the same tables as the arguments' parser.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace hysim::cli {

/// Candidates for the last of `words` (what follows "hysim"; it may be empty or begun), one each.
/// ":files" among them stands for the names of files. Words split at '=' as bash does it are
/// understood.
std::vector<std::string> completions(const CLI::App& app, std::vector<std::string> words);

}  // namespace hysim::cli
