#include "topology/groups.h"

#include <algorithm>
#include <map>
#include <string>

namespace hysim::topology {

bool parse_rank_order(std::string_view text, std::array<Axis, kAxes>& order) {
  static constexpr std::array<std::string_view, kAxes> kNames = {"tp", "cp", "ep", "dp", "pp"};
  std::array<bool, kAxes> seen{};
  std::size_t place = 0;
  while (true) {
    const std::size_t dash = text.find('-');
    const std::string_view word = text.substr(0, dash);
    const auto* const found = std::find(kNames.begin(), kNames.end(), word);
    if (found == kNames.end() || place == kAxes) return false;
    const auto axis = static_cast<std::size_t>(found - kNames.begin());
    if (seen[axis]) return false;
    seen[axis] = true;
    order[place++] = static_cast<Axis>(axis);
    if (dash == std::string_view::npos) return place == kAxes;
    text.remove_prefix(dash + 1);
  }
}

namespace {

struct Stride {
  std::int64_t size = 1;
  std::int64_t step = 1;
};
using Strides = std::map<Axis, Stride>;

std::vector<std::int64_t> product(const Stride& inner, const Stride& outer) {
  std::vector<std::int64_t> ranks;
  ranks.reserve(static_cast<std::size_t>(inner.size * outer.size));
  for (std::int64_t o = 0; o < outer.size; ++o) {
    for (std::int64_t i = 0; i < inner.size; ++i) ranks.push_back(o * outer.step + i * inner.step);
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

std::int64_t dense_size(const GroupSizes& sizes, Axis axis) {
  switch (axis) {
    case Axis::tp:
      return sizes.tp;
    case Axis::cp:
      return sizes.cp;
    case Axis::ep:
      return 1;
    case Axis::dp:
      return sizes.dp;
    case Axis::pp:
      return sizes.pp;
  }
  return 1;
}
/// Expert weights see etp in tp's place, ep, and edp in dp's.
std::int64_t expert_size(const GroupSizes& sizes, Axis axis) {
  switch (axis) {
    case Axis::tp:
      return sizes.etp;
    case Axis::cp:
      return 1;
    case Axis::ep:
      return sizes.ep;
    case Axis::dp:
      return sizes.edp();
    case Axis::pp:
      return sizes.pp;
  }
  return 1;
}

}  // namespace

Groups groups_of_rank_zero(const GroupSizes& sizes, const std::array<Axis, kAxes>& order) {
  // Both kinds of weights number the ranks of one stage; the stages lie between them where the
  // order says, so no group of experts ever crosses a stage.
  Strides dense;
  Strides expert;
  std::int64_t dense_step = 1;
  std::int64_t expert_step = 1;
  std::int64_t below = 1;  // ranks of a stage that are numbered before the next stage begins
  for (const Axis axis : order) {
    if (axis == Axis::pp) {
      below = dense_step;
      continue;
    }
    dense[axis] = {dense_size(sizes, axis), dense_step};
    expert[axis] = {expert_size(sizes, axis), expert_step};
    dense_step *= dense[axis].size;
    expert_step *= expert[axis].size;
  }
  const auto in_world = [&](std::vector<std::int64_t> ranks) {
    for (std::int64_t& rank : ranks) rank = rank % below + rank / below * below * sizes.pp;
    return ranks;
  };
  const Stride one{1, 0};
  Groups groups;
  groups.tp = in_world(product(dense[Axis::tp], one));
  groups.cp = in_world(product(dense[Axis::cp], one));
  groups.dp_cp = in_world(product(dense[Axis::cp], dense[Axis::dp]));
  groups.ep = in_world(product(expert[Axis::ep], one));
  groups.etp = in_world(product(expert[Axis::tp], one));
  groups.edp = in_world(product(expert[Axis::dp], one));
  groups.pp_stride = below;
  return groups;
}

GroupShape shape_of(const std::vector<std::int64_t>& ranks, std::int64_t gpus_per_node) {
  std::map<std::int64_t, std::int64_t> members;
  for (const std::int64_t rank : ranks) ++members[rank / gpus_per_node];
  GroupShape shape{static_cast<std::int64_t>(ranks.size()),
                   static_cast<std::int64_t>(members.size()), 0};
  for (const auto& [node, count] : members) shape.per_node = std::max(shape.per_node, count);
  return shape;
}

}  // namespace hysim::topology
