// Bytes a layer keeps for its backward pass, tensor by tensor, and what lives only while one layer
// is worked on. Assumes flash-style attention (no score matrix) and no dropout.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hysim/units.h"
#include "model/transformer.h"

namespace hysim::ops {

/// One rank's share of a layer.
struct LayerShape {
  std::int64_t tokens = 0;           // of this CP rank, all micro-batch sequences
  std::int64_t sequence_tokens = 0;  // whole sequences (keys after the CP gather)
  std::int64_t tp = 1;
  std::int64_t etp = 1;
  bool sequence_parallel = false;  // norms and residuals split over TP
  bool trains_indexer = false;     // index gradients are computed in the forward pass and kept
  bool cp_gathers = false;         // keys of other CP ranks are gathered
  std::int64_t cp_ring = 1;        // ranks whose keys come round in a ring
  std::int64_t cp_exchange = 1;    // ranks that exchange heads for tokens
  double expert_imbalance = 1.0;   // routed tokens of this EP rank over their mean
  bool fp8_linear = false;         // inputs of linear layers are saved in fp8 (Transformer Engine)
};

struct NamedBytes {
  std::string name;
  Bytes bytes;
};

/// Name of the item that full recomputation keeps as its checkpoint.
inline constexpr const char* kLayerInput = "layer_input";

/// Tensors saved for backward when nothing is recomputed. Keys gathered for sparse attention are
/// among them: its backward reads them again.
std::vector<NamedBytes> saved_activations(const model::Transformer& model,
                                          const model::LayerSpec& layer, const LayerShape& shape);
/// Tensors alive only inside the layer: gathered index keys and dense keys and values, the two ring
/// buffers of keys, values and their gradients, what an exchange of heads receives, the fp32 dKV
/// accumulator, expert outputs.
std::vector<NamedBytes> transient_activations(const model::Transformer& model,
                                              const model::LayerSpec& layer,
                                              const LayerShape& shape);

/// Input of one layer: what full recomputation keeps.
Bytes checkpoint_bytes(const model::Transformer& model, const LayerShape& shape);
/// int32 indices of one layer: tokens x k x 4 B, on every TP rank alike.
Bytes index_bytes(std::int64_t top_k, const LayerShape& shape);

Bytes sum(const std::vector<NamedBytes>& items);

}  // namespace hysim::ops
