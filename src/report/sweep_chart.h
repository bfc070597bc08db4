// A sweep as a line chart.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hysim/whatif.h"
#include "report/chart.h"

namespace hysim::report {

enum class SweepMetric { step_time, tokens, mfu, peak_memory, speedup };

/// "step_time", "tokens", "mfu", "peak_memory", "speedup".
std::vector<std::string> sweep_metric_words();
std::optional<SweepMetric> sweep_metric(const std::string& word);

/// The first axis from left to right, one line for each combination of the others. `speedup` needs
/// a sweep with a baseline.
Chart sweep_chart(const Sweep& sweep, SweepMetric metric);

}  // namespace hysim::report
