// Legal layouts near one that breaks a rule: what a person would try next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/plan.h"

namespace hysim::graph {

/// The sizes a neighbour may change, in the order in which ties are broken.
enum class LayoutSize { cp, pp, tp, ep, etp, vpp, micro_batch_size };
inline constexpr int kLayoutSizes = 7;
std::string_view to_string(LayoutSize size);
/// Its dotted path in a scenario: "parallelism.cp".
std::string setting_of(LayoutSize size);
std::int64_t& size_of(Plan& plan, LayoutSize size);
std::int64_t size_of(const Plan& plan, LayoutSize size);

struct SizeChange {
  LayoutSize size = LayoutSize::cp;
  std::int64_t to = 1;
  friend bool operator==(const SizeChange&, const SizeChange&) = default;
};

struct NearLayout {
  std::vector<SizeChange> changes;  // in the order of LayoutSize
  double distance = 0.0;            // sum over the changes of |log2(new / old)|
  std::int64_t dp = 1;
  bool relaid = false;  // layers are spread over the chunks anew; to_text() says how
  std::vector<std::int64_t> layers_per_chunk;
};

/// At most so many sizes are changed at once.
inline constexpr int kMostChanges = 3;

/// Values that a search gives to one size on `gpus` GPUs: divisors of what the size must divide
/// (vpp: 1 to 16; micro_batch_size: up to 64), ascending.
std::vector<std::int64_t> layout_values(const Plan& plan, std::int64_t gpus, LayoutSize size);

/// Gives `plan` other sizes: dp, sequence parallelism where it follows tp, and the spread of the
/// layers where the number of chunks changes (or `relay`) follow. False when tp x cp x pp does not
/// divide `gpus`; the plan is then left between two states.
bool lay_out(Plan& plan, std::int64_t gpus, const std::vector<SizeChange>& changes, bool relay);

/// The `most` legal layouts nearest to `plan`: fewest sizes changed first, then the smallest
/// distance, then the order of LayoutSize and smaller values. A layout that is legal without one
/// of its changes is left out, and so is one with more chunks than layers. Sizes take
/// layout_values(), of each at most the 24 nearest to the plan's. `dp`: when above 0, only layouts
/// with so many replicas. Empty when no layout of at most kMostChanges changes is legal.
std::vector<NearLayout> near_layouts(const Plan& plan, std::int64_t gpus, std::size_t most,
                                     std::int64_t dp = 0);

/// "cp 32, ep 32 (dp 2)"; a new spread of the layers as --set takes it:
/// "pp 4, parallelism.pipeline_layout=[20,19,19,20] (dp 2)"
std::string to_text(const NearLayout& layout);

}  // namespace hysim::graph
