#include "predict/inputs.h"

#include <algorithm>

#include "units/text.h"

namespace hysim::predictor {

namespace {

template <class JobType, class Pointer>
std::vector<Pointer> all_inputs(JobType& job) {
  std::vector<Pointer> inputs;
  inputs.reserve(job.gpu.fields.size() + 11);
  for (auto& field : job.gpu.fields) inputs.push_back(&field);
  for (auto* input : {&job.cluster.nic_bandwidth, &job.cluster.nic_efficiency,
                      &job.cluster.ring_loss_per_doubling, &job.cluster.all_to_all_efficiency,
                      &job.cluster.dispatch_efficiency, &job.cluster.host_bandwidth,
                      &job.stack.launch_gap, &job.stack.context_bytes, &job.stack.nccl_bytes,
                      &job.stack.fragmentation, &job.stack.dispatch_sms}) {
    inputs.push_back(input);
  }
  return inputs;
}

/// Without dimension and never above one: a fraction of a peak, a hit rate.
bool is_share(const config::Sourced& input) {
  const auto unit = units::parse_unit(input.unit);
  return unit && unit->byte == 0 && unit->flop == 0 && unit->second == 0 && input.high <= 1.0;
}

}  // namespace

std::vector<config::Sourced*> sourced_inputs(Job& job) {
  return all_inputs<Job, config::Sourced*>(job);
}
std::vector<const config::Sourced*> sourced_inputs(const Job& job) {
  return all_inputs<const Job, const config::Sourced*>(job);
}

Job with_input_times(Job job, std::string_view id, double factor) {
  for (config::Sourced* const input : sourced_inputs(job)) {
    if (input->id != id) continue;
    const double changed = input->value * factor;
    input->value = is_share(*input) ? std::min(1.0, changed) : changed;
  }
  return job;
}

Job with_only_input_drawn(Job job, std::string_view id) {
  for (config::Sourced* const input : sourced_inputs(job)) {
    if (input->id != id) input->low = input->high = input->value;
  }
  return job;
}

}  // namespace hysim::predictor
