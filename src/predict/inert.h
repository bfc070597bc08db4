// Settings that are given and change nothing in this job.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/node.h"
#include "predict/scenario.h"

namespace hysim::predictor {

/// Adds a warning for every setting that `given` states with a value other than its default and
/// that nothing in this job reads: its key, why, and by that what would make it count. `defaults`
/// has every setting's default for the documents this job names. What several variants inherit from
/// `shared` is for those that read it: it is no choice of this one. Null where there is one job.
void warn_inert(const config::Node& given, const config::Node& defaults, const config::Node* shared,
                Job& job);

}  // namespace hysim::predictor
