// The laws of kernel_time.h as text: inputs, formulas and what they leave out. Every law has its
// card here, and a test of the predictor evaluates each card against its law.
#pragma once

#include "config/formula.h"
#include "hardware/gpu.h"
#include "ops/work.h"

namespace hysim::cost {

/// How KernelTime::busy() of `work` comes about; launches are counted apart.
config::Card kernel_card(const ops::Work& work, const hardware::Gpu& gpu);

}  // namespace hysim::cost
