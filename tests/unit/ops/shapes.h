// Shapes that several tests score.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ops/segments.h"
#include "ops/selection.h"

namespace hysim::test {

/// The indexer of GLM-5 and DeepSeek-V3.2: 32 heads of 128, top 2048; all `keys` of a sequence.
inline ops::SelectionShape glm_indexer(std::vector<ops::Segment> segments, std::int64_t keys) {
  ops::SelectionShape shape;
  shape.segments = std::move(segments);
  shape.sequence_keys = keys;
  shape.heads = 32;
  shape.head_dim = 128;
  shape.top_k = 2048;
  return shape;
}

}  // namespace hysim::test
