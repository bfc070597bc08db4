// Starter documents that `hysim new` writes.
#pragma once

#include <cstdint>
#include <string>

#include "hysim/layout.h"
#include "hysim/resources.h"
#include "hysim/units.h"

namespace hysim::report {

struct ClusterStarter {
  std::string name;  // "" is made of the GPU and the number of GPUs
  std::string gpu;
  std::int64_t nodes = 1;
  std::int64_t gpus_per_node = 8;
  std::int64_t nics = 0;  // of a node; 0: one a GPU
  std::string nic;        // line rate of one NIC and direction, "400 Gbit/s"; "" is the generic one
};

/// A complete hysim.cluster/1 with the efficiencies of hw_profiles/clusters/generic.json and their
/// sources, and a note that says what to replace. Throws InputError for an unknown GPU or a rate
/// that is none.
std::string cluster_starter(const Resources& resources, const ClusterStarter& starter);

/// The scenario chosen for a job under `name` ("" keeps its own), with a note; for a model that
/// selects tokens with the two variants people compare.
std::string scenario_starter(const ChosenLayout& chosen, const std::string& name,
                             bool selects_tokens);

}  // namespace hysim::report
