// The layer pattern: which layers compute top-k indices, hold experts or use a window.
#pragma once

#include <cstdint>
#include <vector>

#include "model/families.h"
#include "model/keys.h"

namespace hysim::model {

/// The `layers` layers of a config; faults go to `keys`.
std::vector<LayerSpec> read_layers(Keys& keys, const Family& family, std::int64_t layers);
/// The width of the sliding window that every layer uses, or 0. A window in only some of the
/// layers is a fault.
std::int64_t read_window(Keys& keys, const Family& family, std::int64_t layers);

}  // namespace hysim::model
