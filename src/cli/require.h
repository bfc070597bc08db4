// Requirements of --require: "fits", "speedup>=1.5", "step_time<=20 s", "mfu>30%",
// "peak_memory<=90 GB".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hysim/prediction.h"

namespace hysim::cli {

struct Requirement {
  enum class Quantity { fits, speedup, step_time, mfu, peak_memory };
  enum class Relation { at_least, at_most, more, less };

  Quantity quantity = Quantity::fits;
  Relation relation = Relation::at_least;
  double bound = 0.0;  // SI
  std::string text;    // as given
};

/// Throws UsageError.
Requirement parse_requirement(std::string_view text);

/// One line for each requirement that the nominal values do not meet. Throws UsageError when
/// `speedup` is required of a single prediction.
std::vector<std::string> unmet(const std::vector<Requirement>& requirements,
                               const Prediction& prediction, const Speedup* speedup = nullptr);

}  // namespace hysim::cli
