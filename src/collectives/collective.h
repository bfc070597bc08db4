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

/// How an operation is carried out: NCCL's ring or double binary tree, a reduction by NVLink's
/// switches inside a node (NVLS) or with trees between nodes (NVLSTree), rings tier by tier, all
/// pairs at once, a fused MoE dispatch or combine, a message to one neighbour.
enum class Algorithm { ring, tree, nvls, nvls_tree, hierarchical, pairwise, fused, point_to_point };
const char* to_string(Algorithm algorithm);

/// What the bytes of an operation were counted from, for people.
struct CountedFrom {
  const char* text = "";      // "2 B x tokens of the rank x hidden"
  const char* where = "";     // the file that counts it
  const char* settings = "";  // what it hangs on, apart by spaces: "workload.seq_len ..."
};

/// One operation over one group. `bytes` is the nccl-tests size (alpha_beta.h); for all_to_all and
/// dispatch what a rank sends is split by tier instead, since routing decides it.
struct Collective {
  Kind kind = Kind::all_gather;
  topology::GroupShape group;
  Bytes bytes;          // ring collectives and send_recv
  Bytes nvlink_sent;    // all_to_all, dispatch: to ranks of the same node
  Bytes network_sent;   // all_to_all, dispatch: to ranks of other nodes, by one rank
  bool tiered = false;  // ring collectives: one after the other inside nodes and across them
  const CountedFrom* counted = nullptr;
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

/// Whether NVLink's switches can reduce on such a machine (NVLS): a GPU since Hopper whose
/// all-reduce is faster than kPcie, so that a switch joins all GPUs of a node.
bool has_nvls(const hardware::Gpu& gpu);
inline constexpr BytesPerSecond kPcie{64e9};  // one way, 16 lanes of the fifth generation
/// Whether a whole node's measured all-reduce may be the switches' rather than a ring's.
bool since_hopper(const hardware::Gpu& gpu);
/// all_reduce_busbw counts 2(n-1)/n of the buffer on the 8 GPUs that were measured. The switches
/// pass the buffer itself, at one rate for 5 to 8 GPUs (stas00/ml-engineering @744d01e).
inline constexpr double kNvlsBusFactor = 2.0 * 7.0 / 8.0;

/// Time on `gpu`s joined by `network`; zero for a group of one.
CollectiveTime time(const Collective& op, const hardware::Gpu& gpu,
                    const topology::Network& network);

}  // namespace hysim::collectives
