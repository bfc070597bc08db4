#include "predict/profiles.h"

namespace hysim::predictor {

namespace {

template <class T, class Load>
const T& once(std::map<std::string, T, std::less<>>& loaded, const std::string& name,
              const Load& load) {
  const auto found = loaded.find(name);
  return found != loaded.end() ? found->second : loaded.emplace(name, load()).first->second;
}

}  // namespace

const model::Transformer& Profiles::model(const std::string& name) {
  return once(models_, name, [&] { return model::load_transformer(resources_, name); });
}

const topology::Cluster& Profiles::cluster(const std::string& name) {
  return once(clusters_, name, [&] { return topology::load_cluster(resources_, name); });
}

const hardware::GpuProfile& Profiles::gpu(const std::string& name) {
  return once(gpus_, name, [&] { return hardware::load_gpu_profile(resources_, name); });
}

const graph::StackProfile& Profiles::stack(const std::string& name) {
  return once(stacks_, name, [&] { return graph::load_stack(resources_, name); });
}

}  // namespace hysim::predictor
