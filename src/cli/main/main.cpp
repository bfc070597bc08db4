// The program: everything is in cli/app.cpp, where tests reach it.
#include "cli/app.h"
#include "commit.h"

int main(int argc, char** argv) { return hysim::cli::run(argc, argv, HYSIM_COMMIT); }
