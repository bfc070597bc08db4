// Counts what the test executable allocates: allocations.cpp replaces operator new.
#pragma once

#include <cstdint>

namespace hysim::test {

/// Calls of operator new so far, by any thread.
std::int64_t allocations();

}  // namespace hysim::test
