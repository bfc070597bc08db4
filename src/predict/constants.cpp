#include "predict/constants.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace hysim::predictor {

namespace {

std::string word_of(config::SourceKind kind) {
  for (const auto& choice : config::source_kinds()) {
    if (choice.value == kind) return std::string(choice.word);
  }
  return "";
}

Constant constant(const config::Sourced& sourced, std::string_view si_unit) {
  return {sourced.id,           sourced.value,         sourced.low,   sourced.high,
          std::string(si_unit), word_of(sourced.kind), sourced.source};
}

}  // namespace

std::vector<Constant> constants_of(const Job& job) {
  std::vector<Constant> constants;
  const auto& infos = hardware::gpu_fields();
  for (std::size_t i = 0; i < job.gpu.fields.size(); ++i) {
    constants.push_back(constant(job.gpu.fields[i], infos[i].si_unit));
  }
  const topology::Cluster& c = job.cluster;
  constants.push_back(constant(c.nic_bandwidth, "B/s"));
  for (const config::Sourced* share : {&c.nic_efficiency, &c.ring_loss_per_doubling,
                                       &c.all_to_all_efficiency, &c.dispatch_efficiency}) {
    constants.push_back(constant(*share, "1"));
  }
  // What a profile may leave out has no unit.
  if (!c.host_bandwidth.unit.empty()) constants.push_back(constant(c.host_bandwidth, "B/s"));
  const graph::StackProfile& s = job.stack;
  constants.push_back(constant(s.launch_gap, "s"));
  constants.push_back(constant(s.context_bytes, "B"));
  constants.push_back(constant(s.nccl_bytes, "B"));
  constants.push_back(constant(s.fragmentation, "1"));
  if (!s.dispatch_sms.unit.empty()) constants.push_back(constant(s.dispatch_sms, "1"));
  return constants;
}

}  // namespace hysim::predictor
