// The program: everything is in cli/app.cpp, where tests reach it.
#include "cli/app.h"

int main(int argc, char** argv) { return hysim::cli::run(argc, argv); }
