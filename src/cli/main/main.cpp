// The program: everything is in cli/app.cpp, where tests reach it.
#include "cli/app.h"

namespace hysim {
extern const char kCommit[];  // of the source; made by cmake/commit.cmake
}

int main(int argc, char** argv) { return hysim::cli::run(argc, argv, hysim::kCommit); }
