// The smallest changes of settings with which a job that does not fit its GPUs would.
#pragma once

#include <vector>

#include "hysim/predict.h"
#include "hysim/prediction.h"
#include "predict/run.h"
#include "predict/scenario.h"

namespace hysim::predictor {

/// Changes of one setting (with the sizes that must give way) after which the job of `run` has
/// less memory and fits, cheapest first; each is predicted nominally. Of settings with several
/// steps, such as the rows of a chunk, the smallest step that fits. When no single change is
/// enough, the pairs that are; when none is, the one change or pair that comes closest. None needs
/// more host memory than the cluster states.
std::vector<Remedy> remedies(const Resources& resources, const Scenario& scenario,
                             const Variant& variant, const std::vector<Override>& overrides,
                             const Run& run, const Executor& executor);

}  // namespace hysim::predictor
