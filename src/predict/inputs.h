// Every sourced number a job may read, and jobs in which one of them is another.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "config/sourced.h"
#include "predict/scenario.h"

namespace hysim::predictor {

/// Those of the GPU, the cluster and the software stack, in this order.
std::vector<config::Sourced*> sourced_inputs(Job& job);
std::vector<const config::Sourced*> sourced_inputs(const Job& job);

/// `job` with the value of the input `id` multiplied; a share of at most 1 stays one.
Job with_input_times(Job job, std::string_view id, double factor);

/// `job` in which no draw moves any input but `id`.
Job with_only_input_drawn(Job job, std::string_view id);

}  // namespace hysim::predictor
