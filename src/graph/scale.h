// What-if factors: the names by which a scenario's "scale" section speaks of kernels and of
// communication, and their application to a program. A factor multiplies the time of work, never
// the gap before a launch.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/program.h"

namespace hysim::graph {

/// A name of the "scale" section and the breakdown paths that begin with one of its prefixes.
struct ScaleName {
  std::string_view name;  // "kernels.topk"
  std::string_view meaning;
  std::vector<std::string_view> prefixes;  // "selection/topk"
  bool family = false;                     // holds several of the other names
};

/// Every name, families first.
const std::vector<ScaleName>& scale_names();
/// Null when nothing has this name.
const ScaleName* find_scale_name(std::string_view name);

/// Says that nothing has this name, which is nearest, and all names.
std::string unknown_scale_name(std::string_view name);

/// Whether a breakdown path belongs to a name.
bool covers(const ScaleName& name, std::string_view path);

/// Whether the program has work of this name.
bool touches(const Program& program, const ScaleName& name);

/// Multiplies the time of everything of this name by `factor` (0: at no cost).
void apply_scale(Program& program, const ScaleName& name, double factor);

}  // namespace hysim::graph
