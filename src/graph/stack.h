// What a software stack adds to a job: gaps between kernels, memory the framework and NCCL hold,
// what it overlaps, and its known limits.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/node.h"
#include "config/sourced.h"
#include "graph/plan.h"
#include "hysim/resources.h"
#include "hysim/units.h"

namespace hysim::graph {

using config::Known;

/// A limit of a stack that holds when every condition does; shown as a warning with its id.
struct StackLimit {
  struct Condition {
    std::string path;  // of the facts: "kernels.selection", "workload.seq_len", "model.attention"
    std::vector<config::Node> any_of;   // the value is one of these; empty: not asked
    std::vector<config::Node> none_of;  // the value is none of these
    std::optional<double> at_least;
    std::optional<double> at_most;
  };
  std::string id;
  std::string message;
  std::string source;
  std::vector<Condition> when;
};

/// hw_profiles/stacks/<name>.json
struct StackProfile {
  std::string name;
  Overlap overlap;
  config::Sourced launch_gap;     // idle GPU time between dependent kernels
  config::Sourced context_bytes;  // CUDA context and libraries on the device
  config::Sourced nccl_bytes;     // buffers of one communicator
  config::Sourced fragmentation;  // reserved over allocated, minus one
  config::Sourced dispatch_sms;   // SMs a fused dispatch or combine runs on; not given: none
  std::vector<StackLimit> limits;
};

/// Plain numbers of one evaluation.
struct Stack {
  Seconds launch_gap;
  Bytes context;
  Bytes nccl_per_communicator;
  double fragmentation = 0.0;
  Known<double> dispatch_sms;
  config::Evidence launch_evidence = config::Evidence::assumed;
};
Stack resolve(const StackProfile& profile, const config::Sampler& sampler, std::string_view gpu);

StackProfile parse_stack(std::string_view text, std::string_view path);
/// hw_profiles/stacks/<name>.json; throws InputError naming the nearest known stack.
StackProfile load_stack(const Resources& resources, std::string_view name);

/// The limits that `facts` meet: the resolved settings of a job and what they name.
std::vector<StackLimit> limits_met(const StackProfile& stack, const config::Node& facts);

}  // namespace hysim::graph
