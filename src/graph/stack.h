// What a software stack adds to a job: gaps between kernels, memory the framework and NCCL hold,
// what it overlaps, and its known limits.
#pragma once

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
    std::string path;     // of the resolved scenario: "kernels.selection", "workload.seq_len"
    config::Node equals;  // null: not compared
    bool has_equals = false;
    double at_least = 0.0;
    bool has_at_least = false;
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

/// Texts "[id] message (source)" of the limits that `scenario` meets.
std::vector<std::string> limits_met(const StackProfile& stack, const config::Node& scenario);

}  // namespace hysim::graph
