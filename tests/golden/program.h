// Runs the program in a folder of its own, as its users would.
#pragma once

#include <cstdlib>
#include <string>

#include <sys/wait.h>

#include "test_paths.h"
#include "unit/cli/temporary_folder.h"

namespace hysim::test {

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

class Program {
 public:
  /// Runs `hysim ARGUMENTS` in a shell inside the folder; the program is also $HYSIM there.
  Outcome run(const std::string& arguments) const { return shell("\"$HYSIM\" " + arguments); }
  Outcome shell(const std::string& line) const {
    const std::string command = "cd '" + folder_.path(".") +
                                "' && unset HYSIM_PATH NO_COLOR && export HYSIM='" HYSIM_BINARY
                                "' && mkdir -p streams && { " +
                                line + "\n} >streams/out 2>streams/err";
    const int status = std::system(command.c_str());
    Outcome outcome;
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    outcome.out = folder_.read("streams/out");
    outcome.err = folder_.read("streams/err");
    return outcome;
  }
  const cli::test::TemporaryFolder& folder() const { return folder_; }

 private:
  cli::test::TemporaryFolder folder_;
};

}  // namespace hysim::test
