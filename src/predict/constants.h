// The numbers of its profiles that a job rests on.
#pragma once

#include <vector>

#include "hysim/prediction.h"
#include "predict/scenario.h"

namespace hysim::predictor {

/// Of the GPU, the cluster and the stack, in the order of their profiles.
std::vector<Constant> constants_of(const Job& job);

}  // namespace hysim::predictor
