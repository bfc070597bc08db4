// The documents that settings name. Each is read and checked once, however many variants and
// hypotheses name it. Not for several threads at a time.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "graph/stack.h"
#include "hardware/gpu.h"
#include "hysim/resources.h"
#include "model/transformer.h"
#include "topology/cluster.h"

namespace hysim::predictor {

class Profiles {
 public:
  explicit Profiles(const Resources& resources) : resources_(resources) {}

  const Resources& resources() const { return resources_; }
  // Each throws InputError, again at every call, for a document that is missing or faulty.
  const model::Transformer& model(const std::string& name);
  const topology::Cluster& cluster(const std::string& name);
  const hardware::GpuProfile& gpu(const std::string& name);
  const graph::StackProfile& stack(const std::string& name);

 private:
  template <class T>
  using ByName = std::map<std::string, T, std::less<>>;

  const Resources& resources_;
  ByName<model::Transformer> models_;
  ByName<topology::Cluster> clusters_;
  ByName<hardware::GpuProfile> gpus_;
  ByName<graph::StackProfile> stacks_;
};

}  // namespace hysim::predictor
