// Seeds RapidCheck before its first check: runs repeat, and RC_PARAMS still overrides the seed.
#include <cstdlib>

namespace {
[[maybe_unused]] const int kSeeded = setenv("RC_PARAMS", "seed=20260901", 0);
}  // namespace
