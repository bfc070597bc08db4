// The times of collective.h as text: inputs, formulas and what they leave out, for the algorithm
// and protocol that are chosen.
#pragma once

#include "collectives/collective.h"
#include "config/formula.h"

namespace hysim::collectives {

/// How CollectiveTime::total() of `op` comes about; its title names algorithm and protocol.
/// `op.group` has more than one member.
config::Card collective_card(const Collective& op, const hardware::Gpu& gpu,
                             const topology::Network& network);

}  // namespace hysim::collectives
