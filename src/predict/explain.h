// The explanation of a run: its leaves with the calculation behind them, and where each input was
// read.
#pragma once

#include <string>

#include "hysim/explain.h"
#include "predict/run.h"

namespace hysim::predictor {

/// `prediction` is that of `run`; `scenario_path` is the scenario's name for messages.
Explanation explain_run(const Run& run, Prediction prediction, const Resources& resources,
                        const std::string& scenario_path);

}  // namespace hysim::predictor
