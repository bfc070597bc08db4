#include "graph/offload.h"

#include <algorithm>

namespace hysim::graph {

double offloaded_forward(const std::vector<OffloadedLayer>& layers) {
  double compute = 0.0;
  double copied = 0.0;         // end of the latest copy
  double copied_before = 0.0;  // and of the one before it
  for (const OffloadedLayer& layer : layers) {
    if (layer.copy <= 0.0) {
      compute += layer.compute;
      continue;
    }
    compute = std::max(compute, copied_before) + layer.compute;
    copied_before = copied;
    copied = std::max(copied, compute) + layer.copy;
  }
  return compute;
}

double offloaded_backward(const std::vector<OffloadedLayer>& layers) {
  double compute = 0.0;
  double asked = 0.0;  // when the layer with the latest copy began
  double copied = 0.0;
  bool first = true;
  for (const OffloadedLayer& layer : layers) {
    double start = compute;
    if (layer.copy > 0.0) {
      if (!first) {
        copied = std::max(copied, asked) + layer.copy;
        start = std::max(start, copied);
      }
      first = false;
      asked = start;
    }
    compute = start + layer.compute;
  }
  return compute;
}

}  // namespace hysim::graph
