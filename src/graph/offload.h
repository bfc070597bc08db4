// Copies of what layers keep for backward to host memory and back, beside the computation of other
// layers: how long a chunk takes with them. Each direction is a stream of its own with two buffers.
// Wrong when copies slow kernels down or share their link with network cards.
#pragma once

#include <cstdint>
#include <vector>

namespace hysim::graph {

/// Seconds of one layer in one pass: its computation, and the copy of its tensors.
struct OffloadedLayer {
  double compute = 0.0;
  double copy = 0.0;
};

/// A forward: a layer's copy starts when the layer has ended and the copy before it; a layer waits
/// until the copy of the second layer before it has ended and its buffer is free. The last two
/// copies run on beside what follows. Layers are in the order they run.
/// Alike layers, n > 1: max(n f, 2 f + (n - 2) c). Example: 10 layers of 1 s, copies of 1.5 s: 14
/// s.
double offloaded_forward(const std::vector<OffloadedLayer>& layers);

/// A backward: the tensors of its first layer are there; those of a further one are asked for when
/// the layer before it begins. Layers are in the order they run.
/// Alike layers: b + (n - 1) max(b, c).
double offloaded_backward(const std::vector<OffloadedLayer>& layers);

/// Buffers that stand on the device for each layer of the largest copy: two a direction.
inline constexpr std::int64_t kOffloadBuffers = 4;

}  // namespace hysim::graph
