#include "collectives/collective.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "collectives/alpha_beta.h"
#include "collectives/nccl.h"
#include "collectives/tiers.h"

namespace hysim::collectives {

namespace {

using hardware::Evidence;
using hardware::Gpu;
using topology::Network;

/// Bus bandwidth of a ring: the NVLink figure inside a node; across nodes no more than the NICs of
/// the members of one node, less what is lost per doubling of nodes beyond two.
struct RingBandwidth {
  BytesPerSecond busbw;
  Evidence evidence;
};
RingBandwidth ring_bandwidth(const topology::GroupShape& group,
                             const hardware::Known<BytesPerSecond>& inside,
                             const Network& network) {
  if (group.nodes <= 1) return {inside.value, inside.evidence};
  const double doublings = std::max(0.0, std::log2(static_cast<double>(group.nodes)) - 1.0);
  const double kept = std::max(0.1, 1.0 - network.ring_loss_per_doubling.value * doublings);
  const BytesPerSecond nics =
      network.nic.value * network.nic_efficiency.value * static_cast<double>(group.per_node) * kept;
  if (group.per_node > 1 && inside.value < nics) return {inside.value, inside.evidence};
  return {nics, network.nic_efficiency.evidence};
}

/// The faster of a ring's two passes inside a node: what its all-reduce reaches as well.
const hardware::Known<BytesPerSecond>& faster_pass(const Gpu& gpu) {
  return gpu.all_gather_busbw.value < gpu.reduce_scatter_busbw.value ? gpu.reduce_scatter_busbw
                                                                     : gpu.all_gather_busbw;
}

/// Bus bandwidth of an all-reduce by rings: no more than that of its passes, as nccl-tests of 2 and
/// 4 GPUs show (aiconfigurator @095f58a5), where the measured all-reduce may be the switches'.
/// Before Hopper it is the ring's of a whole node.
const hardware::Known<BytesPerSecond>& all_reduce_ring(const Gpu& gpu,
                                                       const topology::GroupShape& group) {
  const hardware::Known<BytesPerSecond>& pass = faster_pass(gpu);
  const bool whole = !since_hopper(gpu) && (group.nodes > 1 || group.size >= 8);
  return whole || gpu.all_reduce_busbw.value < pass.value ? gpu.all_reduce_busbw : pass;
}

/// NCCL lets the switches reduce for more than four GPUs of a node: four of an H200 get a ring
/// (stas00/ml-engineering @744d01e).
bool nvls_group(const topology::GroupShape& group) {
  return group.per_node > 4 && group.size == group.nodes * group.per_node;
}

/// The measured latency of small messages on 8 GPUs of a node over that of NCCL's model.
double latency_scale(Seconds measured, int passes) {
  return measured / ring_latency({8, 1, 8}, Protocol::ll, passes);
}

/// All-reduce by NVLink's switches, and between nodes by trees over all their NICs; the slower of
/// both carries the bytes. Latencies are scaled as LL's: by NVLS small messages took 26-27 us on
/// H100 and 30-31 us on H200 (Azure/AI-benchmarking-guide), where this gives 26.6 and 27.8 us.
CollectiveTime nvls_time(const Collective& op, const Gpu& gpu, const Network& network) {
  const topology::GroupShape& group = op.group;
  const Seconds inside = op.bytes * kNvlsBusFactor / gpu.all_reduce_busbw.value;
  const Seconds ramp = nvls_ramp(op.bytes);
  const Seconds latency =
      latency_scale(gpu.all_reduce_latency.value, 2) * nvls_latency(group.nodes);
  if (group.nodes <= 1) {
    return {latency, inside + ramp, gpu.all_reduce_busbw.evidence, Algorithm::nvls,
            Protocol::simple};
  }
  const BytesPerSecond nics =
      network.nic.value * network.nic_efficiency.value * static_cast<double>(group.per_node);
  const Seconds across = op.bytes * nvls_tree_share(group.nodes) / nics;
  return {latency, max(inside, across) + ramp,
          inside < across ? network.nic_efficiency.evidence : gpu.all_reduce_busbw.evidence,
          Algorithm::nvls_tree, Protocol::simple};
}

/// The fastest algorithm and protocol, in place of NCCL's tuner: a ring, or for all-reduce a double
/// binary tree, which moves 2 x bytes. `measured` is the small message latency inside an 8-GPU
/// node; it scales the modelled LL latencies.
CollectiveTime ring_time(const Collective& op, Bytes sent, int passes, Seconds measured,
                         const hardware::Known<BytesPerSecond>& inside, const Gpu& gpu,
                         const Network& network) {
  const RingBandwidth ring = ring_bandwidth(op.group, inside, network);
  const double scale = latency_scale(measured, passes);
  const BytesPerSecond cap = low_latency_cap(gpu.architecture, op.group.nodes);
  CollectiveTime best;
  bool first = true;
  for (const Protocol protocol : kProtocols) {
    const bool low_latency = protocol == Protocol::ll;
    const auto consider = [&](Algorithm algorithm, Seconds latency, Bytes bytes, double factor) {
      const BytesPerSecond busbw = ring.busbw * factor;
      const CollectiveTime candidate{low_latency ? latency * scale : latency,
                                     bytes / (low_latency ? min(busbw, cap) : busbw), ring.evidence,
                                     algorithm, protocol};
      if (first || candidate.total() < best.total()) best = candidate;
      first = false;
    };
    consider(Algorithm::ring, ring_latency(op.group, protocol, passes), sent,
             ring_bandwidth_factor(protocol));
    if (passes == 2) {
      consider(Algorithm::tree, tree_latency(op.group, protocol), 2.0 * op.bytes,
               tree_bandwidth_factor(protocol, op.group.nodes));
    }
  }
  return best;
}

CollectiveTime all_reduce_time(const Collective& op, Bytes sent, const Gpu& gpu,
                               const Network& network) {
  CollectiveTime best = ring_time(op, sent, 2, gpu.all_reduce_latency.value,
                                  all_reduce_ring(gpu, op.group), gpu, network);
  if (nvls_group(op.group) && has_nvls(gpu)) {
    const CollectiveTime nvls = nvls_time(op, gpu, network);
    if (nvls.total() < best.total()) best = nvls;
  }
  return best;
}

/// All-gather or reduce-scatter: few GPUs of one node have less of the bus bandwidth of 8.
CollectiveTime pass_time(const Collective& op, Bytes sent, Seconds measured,
                         hardware::Known<BytesPerSecond> inside, const Gpu& gpu,
                         const Network& network) {
  if (op.group.nodes <= 1) inside.value = inside.value * pass_bandwidth_share(op.group.size);
  return ring_time(op, sent, 1, measured, inside, gpu, network);
}

CollectiveTime tiered_time(const Phases& tiers, const Gpu& gpu, const Network& network) {
  CollectiveTime result;
  Seconds longest(0.0);
  for (std::size_t i = 0; i < tiers.count; ++i) {
    const CollectiveTime phase = time(tiers.ops[i], gpu, network);
    if (phase.total() > longest) {
      longest = phase.total();
      result.evidence = phase.evidence;
    }
    result.latency += phase.latency;
    result.transfer += phase.transfer;
  }
  result.algorithm = Algorithm::hierarchical;
  return result;
}

/// Both tiers carry their part at the same time.
CollectiveTime exchange_time(const Collective& op, const Gpu& gpu, const Network& network,
                             const hardware::Known<double>& efficiency) {
  const Seconds inside = op.nvlink_sent / gpu.all_to_all_busbw.value;
  const Seconds across = op.network_sent / (network.nic.value * efficiency.value);
  CollectiveTime result;
  result.algorithm = op.kind == Kind::dispatch ? Algorithm::fused : Algorithm::pairwise;
  result.latency = gpu.all_to_all_latency.value;
  if (op.group.nodes > 1) {
    result.latency +=
        hop_latency(true) + tree_latency({op.group.nodes, op.group.nodes, 1}, Protocol::ll);
  }
  result.transfer = max(inside, across);
  result.evidence = inside < across ? efficiency.evidence : gpu.all_to_all_busbw.evidence;
  return result;
}

}  // namespace

bool since_hopper(const Gpu& gpu) {
  const std::string_view architecture = gpu.architecture;
  return architecture.starts_with("hopper") || architecture.starts_with("blackwell");
}

bool has_nvls(const Gpu& gpu) { return gpu.all_reduce_busbw.value > kPcie && since_hopper(gpu); }

const char* to_string(Kind kind) {
  switch (kind) {
    case Kind::all_reduce:
      return "all_reduce";
    case Kind::all_gather:
      return "all_gather";
    case Kind::reduce_scatter:
      return "reduce_scatter";
    case Kind::all_to_all:
      return "all_to_all";
    case Kind::dispatch:
      return "dispatch";
    case Kind::send_recv:
      return "send_recv";
  }
  return "";
}

const char* to_string(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::ring:
      return "ring";
    case Algorithm::tree:
      return "tree";
    case Algorithm::nvls:
      return "nvls";
    case Algorithm::nvls_tree:
      return "nvls_tree";
    case Algorithm::hierarchical:
      return "hierarchical";
    case Algorithm::pairwise:
      return "pairwise";
    case Algorithm::fused:
      return "fused";
    case Algorithm::point_to_point:
      return "point_to_point";
  }
  return "";
}

Bytes buffer_bytes(const Collective& op) {
  if (op.kind != Kind::all_to_all && op.kind != Kind::dispatch) return op.bytes;
  if (op.group.size <= 1) return Bytes(0.0);
  const double ranks = static_cast<double>(op.group.size);
  return (op.nvlink_sent + op.network_sent) * (ranks / (ranks - 1.0));
}

BytesPerSecond algorithm_bandwidth(const Collective& op, Seconds time) {
  return time > Seconds(0.0) ? buffer_bytes(op) / time : BytesPerSecond(0.0);
}

// What a rank sends is what nccl-tests count as bus traffic: 2(n-1)/n, (n-1)/n or all of the
// buffer.
BytesPerSecond bus_bandwidth(const Collective& op, Seconds time) {
  return time > Seconds(0.0) ? bytes_sent(op) / time : BytesPerSecond(0.0);
}

Bytes bytes_sent(const Collective& op) {
  if (op.group.size <= 1) return Bytes(0.0);
  switch (op.kind) {
    case Kind::all_reduce:
      return ring_all_reduce(op.group.size, op.bytes).sent;
    case Kind::all_gather:
      return ring_all_gather(op.group.size, op.bytes).sent;
    case Kind::reduce_scatter:
      return ring_reduce_scatter(op.group.size, op.bytes).sent;
    case Kind::all_to_all:
    case Kind::dispatch:
      return op.nvlink_sent + op.network_sent;
    case Kind::send_recv:
      return op.bytes;
  }
  return Bytes(0.0);
}

CollectiveTime time(const Collective& op, const Gpu& gpu, const Network& network) {
  if (op.group.size <= 1) return {};
  if (op.tiered) {
    const Phases tiers = phases(op);
    if (tiers.count > 0) return tiered_time(tiers, gpu, network);
  }
  const Bytes sent = bytes_sent(op);
  switch (op.kind) {
    case Kind::all_reduce:
      return all_reduce_time(op, sent, gpu, network);
    case Kind::all_gather:
      return pass_time(op, sent, gpu.all_gather_latency.value, gpu.all_gather_busbw, gpu, network);
    case Kind::reduce_scatter:
      return pass_time(op, sent, gpu.reduce_scatter_latency.value, gpu.reduce_scatter_busbw, gpu,
                       network);
    case Kind::all_to_all:
      return exchange_time(op, gpu, network, network.all_to_all_efficiency);
    case Kind::dispatch:
      return exchange_time(op, gpu, network, network.dispatch_efficiency);
    case Kind::send_recv: {
      const bool across = op.group.nodes > 1;
      const BytesPerSecond bandwidth =
          across ? network.nic.value * network.nic_efficiency.value : gpu.all_to_all_busbw.value;
      return {hop_latency(across), sent / bandwidth,
              across ? network.nic_efficiency.evidence : gpu.all_to_all_busbw.evidence,
              Algorithm::point_to_point, std::nullopt};
    }
  }
  return {};
}

}  // namespace hysim::collectives
