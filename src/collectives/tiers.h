// A collective tier by tier: every GPU of a node works on its share of the buffer across nodes,
// with its own NIC, and the members of a node exchange shares before, after, or both.
#pragma once

#include <array>
#include <cstddef>

#include "collectives/collective.h"

namespace hysim::collectives {

/// The plain operations that follow one another.
struct Phases {
  std::array<Collective, 3> ops;
  std::size_t count = 0;
};

/// None when the operation is not `tiered`, or its group is not several GPUs on each of several
/// nodes: then it is one plain operation.
Phases phases(const Collective& op);

}  // namespace hysim::collectives
