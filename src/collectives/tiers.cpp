#include "collectives/tiers.h"

namespace hysim::collectives {

Phases phases(const Collective& op) {
  const topology::GroupShape& g = op.group;
  Phases result;
  if (!op.tiered || g.nodes <= 1 || g.per_node <= 1 || g.size != g.nodes * g.per_node) {
    return result;
  }
  const auto add = [&](Kind kind, const topology::GroupShape& group, Bytes bytes) {
    Collective& phase = result.ops[result.count++];
    phase.kind = kind;
    phase.group = group;
    phase.bytes = bytes;
    phase.counted = op.counted;
  };
  const topology::GroupShape node{g.per_node, 1, g.per_node};
  const topology::GroupShape rail{g.nodes, g.nodes, 1};
  if (op.kind != Kind::all_gather) add(Kind::reduce_scatter, node, op.bytes);
  add(op.kind, rail, op.bytes / static_cast<double>(g.per_node));
  if (op.kind != Kind::reduce_scatter) add(Kind::all_gather, node, op.bytes);
  return result;
}

}  // namespace hysim::collectives
