// A cluster as tiers of links: GPUs of a node over NVLink, nodes over their NICs.
// Wrong when the fabric above the leaf is oversubscribed: only the NIC and a measured loss per
// doubling of nodes are modelled here, not single switches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/sourced.h"
#include "hysim/resources.h"
#include "hysim/units.h"

namespace hysim::topology {

using config::Known;

/// hw_profiles/clusters/<name>.json. Bandwidths are per GPU and direction.
struct Cluster {
  std::string name;
  std::string gpu;  // profile name
  std::int64_t nodes = 1;
  std::int64_t gpus_per_node = 8;
  config::Sourced nic_bandwidth;           // line rate of the NIC share of one GPU
  config::Sourced nic_efficiency;          // achieved share of the line, large messages
  config::Sourced ring_loss_per_doubling;  // share of ring bus bandwidth lost per doubling of nodes
                                           // beyond two
  config::Sourced all_to_all_efficiency;   // share of the line, NCCL all-to-all
  config::Sourced dispatch_efficiency;     // share of the line, fused MoE dispatch (DeepEP)
  config::Sourced host_bandwidth;  // copies between a GPU and host memory (PCIe), per GPU and
                                   // direction; 0: not stated
  Bytes host_memory;               // of a node, for offloading; 0: not stated

  std::int64_t gpus() const { return nodes * gpus_per_node; }
};

/// Plain numbers of one evaluation.
struct Network {
  Known<BytesPerSecond> nic;  // line rate of one GPU's NIC share
  Known<double> nic_efficiency;
  Known<double> ring_loss_per_doubling;
  Known<double> all_to_all_efficiency;
  Known<double> dispatch_efficiency;
  Known<BytesPerSecond> host;  // copies to and from host memory; 0: not stated
};
Network resolve(const Cluster& cluster, const config::Sampler& sampler);

/// Throws InputError. `path` is only for messages.
Cluster parse_cluster(std::string_view text, std::string_view path);

/// "h20-96:64x8" taken apart; nothing when the text has no such form.
struct Shorthand {
  std::string gpu;
  std::int64_t nodes = 0;
  std::int64_t gpus_per_node = 0;
};
std::optional<Shorthand> parse_shorthand(std::string_view text);

/// A bundled name, or "GPU:NODESxGPUS" ("h20-96:64x8"): that many nodes with the links of
/// hw_profiles/clusters/generic.json. Throws InputError.
Cluster load_cluster(const Resources& resources, std::string_view name);

}  // namespace hysim::topology
