// Time of a collective operation on a cluster: algorithm and protocol chosen as NCCL does, bus
// bandwidth from what was measured inside a node and from the NICs across nodes.
// Wrong under contention with other traffic (the simulated predictor's business) and for
// messages so small that host overhead dominates.
#pragma once

#include <cstdint>
#include <optional>

#include "collectives/nccl.h"
#include "hardware/gpu.h"
#include "hysim/units.h"
#include "topology/cluster.h"
#include "topology/groups.h"

namespace hysim::collectives {

enum class Kind { all_reduce, all_gather, reduce_scatter, all_to_all, dispatch, send_recv };
const char* to_string(Kind kind);

/// How an operation is carried out: NCCL's ring or double binary tree, the
/// same tier by tier, all pairs at once, a fused
/// MoE dispatch or combine, a message to one neighbour.
enum class Algorithm { ring, tree, hierarchical, pairwise, fused, point_to_point };
const char* to_string(Algorithm algorithm);

/// One operation over one group. `bytes` is the nccl-tests size (alpha_beta.h); for all_to_all and
/// dispatch what a rank sends is split by tier instead, since routing decides it.
struct Collective {
  Kind kind = Kind::all_gather;
  topology::GroupShape group;
  Bytes bytes;          // ring collectives and send_recv
  Bytes nvlink_sent;    // all_to_all, dispatch: to ranks of the same node
  Bytes network_sent;   // all_to_all, dispatch: to ranks of other nodes, by one rank
  bool tiered = false;  // ring collectives: one after the other inside nodes and across them
};

struct CollectiveTime {
  Seconds latency;
  Seconds transfer;
  Seconds total() const { return latency + transfer; }
  hardware::Evidence evidence = hardware::Evidence::assumed;
  Algorithm algorithm = Algorithm::ring;
  std::optional<Protocol> protocol;  // where NCCL's tuner chooses one
};
inline CollectiveTime operator*(double factor, CollectiveTime time) {
  time.latency *= factor;
  time.transfer *= factor;
  return time;
}

/// Bytes one rank sends; zero for a group of one.
Bytes bytes_sent(const Collective& op);

/// The size nccl-tests would give: what `Collective::bytes` is, and for all_to_all and dispatch one
/// rank's buffer with the part that stays.
Bytes buffer_bytes(const Collective& op);
/// Buffer over time, and bytes on the bus over time: algbw and busbw as nccl-tests print them. Zero
/// for a group of one.
BytesPerSecond algorithm_bandwidth(const Collective& op, Seconds time);
BytesPerSecond bus_bandwidth(const Collective& op, Seconds time);

/// Time on `gpu`s joined by `network`; zero for a group of one.
CollectiveTime time(const Collective& op, const hardware::Gpu& gpu,
                    const topology::Network& network);

}  // namespace hysim::collectives
