#include "collectives/nccl.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace hysim::collectives {

namespace {

constexpr double kMicro = 1e-6;

/// Indexed by Protocol; microseconds.
struct Latencies {
  double base;
  double nvlink_hop;
  double network_hop;
};
constexpr std::array<Latencies, 3> kRing = {{{6.6, 0.6, 2.7}, {14.0, 1.9, 4.0}, {8.4, 3.4, 14.0}}};
constexpr std::array<Latencies, 3> kTree = {{{6.8, 0.6, 5.0}, {14.0, 1.25, 8.5}, {8.4, 4.0, 14.0}}};

std::size_t index(Protocol protocol) { return static_cast<std::size_t>(protocol); }

HopLatencies in_seconds(const Latencies& l) {
  return {Seconds(l.base * kMicro), Seconds(l.nvlink_hop * kMicro),
          Seconds(l.network_hop * kMicro)};
}

}  // namespace

const char* to_string(Protocol protocol) {
  switch (protocol) {
    case Protocol::ll:
      return "LL";
    case Protocol::ll128:
      return "LL128";
    case Protocol::simple:
      return "Simple";
  }
  return "";
}

HopLatencies ring_latencies(Protocol protocol) { return in_seconds(kRing[index(protocol)]); }

HopLatencies tree_latencies(Protocol protocol) { return in_seconds(kTree[index(protocol)]); }

Seconds ring_latency(const topology::GroupShape& group, Protocol protocol, int passes) {
  if (group.size <= 1) return Seconds(0.0);
  const Latencies& l = kRing[index(protocol)];
  const double steps = static_cast<double>(passes) * static_cast<double>(group.size - 1);
  const double across = static_cast<double>(passes) * static_cast<double>(group.nodes - 1);
  const double inside_hop =
      group.nodes > 1 ? std::max(l.nvlink_hop, kNetworkOverhead.si() / kMicro) : l.nvlink_hop;
  double latency = l.base + across * l.network_hop + (steps - across) * inside_hop;
  if (protocol == Protocol::simple && passes == 2 && group.nodes > 1) latency *= kSimplePlateau;
  return Seconds(latency * kMicro);
}

double pass_bandwidth_share(std::int64_t ranks) {
  if (ranks < 2 || ranks >= 8) return 1.0;
  const double peers = static_cast<double>(ranks - 1);
  return (7.0 + kOwnShare) / 7.0 * peers / (peers + kOwnShare);
}

Seconds tree_latency(const topology::GroupShape& group, Protocol protocol) {
  if (group.size <= 1) return Seconds(0.0);
  const Latencies& l = kTree[index(protocol)];
  const double inside = static_cast<double>(group.per_node - 1) * l.nvlink_hop;
  const double across = std::log2(static_cast<double>(group.nodes)) * l.network_hop;
  return Seconds((l.base + 2.0 * (inside + across)) * kMicro);
}

double ring_bandwidth_factor(Protocol protocol) {
  switch (protocol) {
    case Protocol::ll:
      return 0.5;
    case Protocol::ll128:
      return 0.92;
    case Protocol::simple:
      return 1.0;
  }
  return 1.0;
}

BytesPerSecond low_latency_cap(std::string_view architecture, std::int64_t nodes) {
  struct Caps {
    std::string_view architecture;
    std::array<double, 3> gigabytes;  // one node, two, more
  };
  static constexpr std::array<Caps, 3> kCaps = {{{"hopper", {141.0, 45.0, 35.0}},
                                                 {"ampere", {87.7, 22.5, 19.0}},
                                                 {"blackwell", {282.0, 90.0, 70.0}}}};
  const Caps* found = &kCaps.front();
  for (const Caps& caps : kCaps) {
    if (architecture.starts_with(caps.architecture)) found = &caps;
  }
  const std::size_t column = nodes <= 1 ? 0 : (nodes <= 2 ? 1 : 2);
  return BytesPerSecond(found->gigabytes[column] * 1e9);
}

double tree_bandwidth_factor(Protocol protocol, std::int64_t nodes) {
  constexpr double kShare = 0.92;
  switch (protocol) {
    case Protocol::ll:
      return kShare / 3.8;
    case Protocol::ll128:
      return kShare * (nodes <= 1 ? 7.0 / 9.0 : 120.0 / 128.0);
    case Protocol::simple:
      return kShare;
  }
  return kShare;
}

Seconds nvls_latency(std::int64_t nodes) {
  if (nodes <= 1) return kNvlsLatency;
  return kNvlsLatency + 2.0 * std::log2(static_cast<double>(nodes)) * kNvlsNetworkHop;
}

Seconds nvls_ramp(Bytes bytes) { return (bytes / (bytes + kNvlsHalfRamp)) * kNvlsRamp; }

double nvls_tree_share(std::int64_t nodes) { return nodes <= 2 ? 1.0 : 2.0; }

Seconds hop_latency(bool crosses_network) {
  const Latencies& l = kRing[index(Protocol::simple)];
  return Seconds((l.base + (crosses_network ? l.network_hop : l.nvlink_hop)) * kMicro);
}

}  // namespace hysim::collectives
