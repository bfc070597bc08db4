// NCCL's own latency model: base and per-hop latencies of its protocols, from which a protocol is
// chosen as its tuner does. Latencies steer the choice; they are not guaranteed times.
// Source: NVIDIA/nccl src/graph/tuning.cc at 5067397c (2.30.7); hop latencies of its NVLink column.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "hysim/units.h"
#include "topology/groups.h"

namespace hysim::collectives {

enum class Protocol { ll, ll128, simple };
inline constexpr std::array<Protocol, 3> kProtocols = {Protocol::ll, Protocol::ll128,
                                                       Protocol::simple};
const char* to_string(Protocol protocol);

/// Latencies of one protocol: of the start, and of a hop over NVLink or the network.
struct HopLatencies {
  Seconds base;
  Seconds nvlink_hop;
  Seconds network_hop;
};
HopLatencies ring_latencies(Protocol protocol);
HopLatencies tree_latencies(Protocol protocol);
/// On several nodes a hop of a ring inside a node costs at least the network's host overhead.
inline constexpr Seconds kNetworkOverhead{1e-6};
/// A ring all-reduce with the Simple protocol over several nodes pays a plateau.
inline constexpr double kSimplePlateau = 1.4;

/// Latency of a ring over `group`: `passes` is 1 for all-gather and reduce-scatter, 2 for
/// all-reduce. Of passes x (size-1) steps, passes x (nodes-1) cross the network.
Seconds ring_latency(const topology::GroupShape& group, Protocol protocol, int passes);

/// Steps' worth of time that a rank's own share takes in an all-gather or reduce-scatter besides
/// the n-1 of its peers. With it large messages on 2 and 4 GPUs of a node reach 0.74 and 0.93 of
/// the bus bandwidth of 8; measured are 0.69-0.77 and 0.91-0.94, two collectives on A100, H100,
/// H200, B200 and B300 (ai-dynamo/aiconfigurator @095f58a5; one constant for all, fitted December
/// 2026).
inline constexpr double kOwnShare = 0.45;
/// Bus bandwidth of such a pass on `ranks` GPUs of a node over that of 8; more get that of 8.
double pass_bandwidth_share(std::int64_t ranks);

/// Latency of the double binary tree all-reduce.
Seconds tree_latency(const topology::GroupShape& group, Protocol protocol);

/// Share of the ring's bus bandwidth that the protocol reaches, and its cap.
double ring_bandwidth_factor(Protocol protocol);
/// Cap of the LL protocol on 1, 2 or more nodes, by GPU architecture ("ampere", "blackwell"; any
/// other as "hopper").
BytesPerSecond low_latency_cap(std::string_view architecture, std::int64_t nodes);

/// Share of the ring's bus bandwidth that the double binary tree reaches with `protocol`.
double tree_bandwidth_factor(Protocol protocol, std::int64_t nodes);

/// Latency of an all-reduce that NVLink's switches do: in each node (NVLS), and between nodes by
/// trees (NVLSTree). NCCL's constants; two nodes of H20 were measured at 46-48 us
/// (NVIDIA/nccl#1244) where they give 67.
inline constexpr Seconds kNvlsLatency{25e-6};
inline constexpr Seconds kNvlsNetworkHop{20.9e-6};
Seconds nvls_latency(std::int64_t nodes);

/// What NVLS takes beyond its latency and its bytes over their bandwidth: kNvlsRamp of a large
/// message, half of it at kNvlsHalfRamp. A measurement, not NCCL's: least squares of log(time) over
/// nccl-tests of 2 MiB to 16 GiB with NVLS on 8 H100 (NCCL 2.18.5) and 8 H200 (2.20.5 and 2.27.7),
/// Azure/AI-benchmarking-guide and stas00/ml-engineering @744d01e, fitted in December 2026. The
/// minimum is flat; of it, the pair with which 2.27.7's choice on H200 (2 MiB by NVLS) is fastest.
inline constexpr Seconds kNvlsRamp{70e-6};
inline constexpr Bytes kNvlsHalfRamp{18.0 * 1048576.0};
Seconds nvls_ramp(Bytes bytes);

/// What NVLSTree sends from a node over its bytes: two trees carry half each. With two nodes a node
/// is the root of one and the leaf of the other; with more, one inside a tree sends to its parent
/// and two children, and half as a leaf of the other.
double nvls_tree_share(std::int64_t nodes);

/// Latency of a point-to-point message: one hop of the Simple protocol.
Seconds hop_latency(bool crosses_network);

}  // namespace hysim::collectives
