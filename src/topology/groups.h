// Which ranks form a parallel group and how many nodes such a group spans.
// Ranks are numbered as Megatron-LM does: the first name of the order varies fastest.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace hysim::topology {

/// How a group lies on the nodes.
struct GroupShape {
  std::int64_t size = 1;
  std::int64_t nodes = 1;     // nodes spanned
  std::int64_t per_node = 1;  // most members in one node
};

enum class Axis { tp, cp, ep, dp, pp };
inline constexpr int kAxes = 5;

/// Sizes of the groups; ep and etp split the same ranks as tp, cp and dp do.
struct GroupSizes {
  std::int64_t tp = 1, cp = 1, dp = 1, pp = 1, ep = 1, etp = 1;
  std::int64_t world() const { return tp * cp * dp * pp; }
  /// Expert data parallel size: replicas of one expert.
  std::int64_t edp() const { return tp * cp * dp / (ep * etp); }
};

/// "tp-cp-ep-dp-pp" and its permutations; false when the text is none.
bool parse_rank_order(std::string_view text, std::array<Axis, kAxes>& order);

/// Rank lists of the groups that contain rank 0.
struct Groups {
  std::vector<std::int64_t> tp, cp, dp_cp, ep, etp, edp;
  std::int64_t pp_stride = 0;  // distance between neighbours of a pipeline
};
Groups groups_of_rank_zero(const GroupSizes& sizes, const std::array<Axis, kAxes>& order);

GroupShape shape_of(const std::vector<std::int64_t>& ranks, std::int64_t gpus_per_node);

}  // namespace hysim::topology
