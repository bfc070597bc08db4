// Gathers the leaves of a breakdown into the rows people look for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hysim/prediction.h"

namespace hysim::report {

/// "selection/score_table/forward" -> "Score table traffic". A path without a row of its own is
/// its own name.
std::string group_of(std::string_view path);

/// One row of the table for one variant.
struct GroupTime {
  std::string name;
  Seconds time;
  std::string bound_by;  // what binds most of the time: "memory", or "tensor, memory"
};

/// Rows of the given kind, in the order of the table; unknown parts stand after the known ones,
/// in the order of the breakdown. Exact: their times add up to the leaves'. Communication on the
/// critical path is named "Exposed ...".
std::vector<GroupTime> grouped(const std::vector<BreakdownLeaf>& leaves, TimeKind kind);

/// The rows of several variants side by side; a variant without a row has zero there.
struct GroupTable {
  std::vector<std::string> names;
  std::vector<std::vector<Seconds>> times;         // [row][variant]
  std::vector<std::vector<std::string>> bound_by;  // [row][variant]
};
GroupTable side_by_side(const std::vector<Prediction>& variants, TimeKind kind);

/// Moves every row that is less than `share` of its variant's step in all variants into one last
/// row "Other", and drops rows that are zero everywhere. A difference between the rows' sum and
/// the step (there should be none) becomes a row "Not itemized".
GroupTable folded(const GroupTable& table, const std::vector<Prediction>& variants, double share);

}  // namespace hysim::report
