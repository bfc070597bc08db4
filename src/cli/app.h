// Runs the command that the arguments name and answers with the exit code.
#pragma once

#include <string_view>

namespace hysim::cli {

/// Exit codes of all commands.
enum ExitCode : int {
  kAnswered = 0,  // "does not fit" included
  kNotMet = 1,    // a --require is false
  kUsage = 2,
  kInput = 3,
  kCannotWrite = 5,
  kBug = 70,
  kInterrupted = 130,
};

/// `commit`: of the source it was built from, or "unknown".
int run(int argc, char** argv, std::string_view commit);

}  // namespace hysim::cli
