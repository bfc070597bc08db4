// Turns Work into time on a GPU: one law per kernel, each bound by the slowest of the pipes it
// uses. Laws and their limits are derived in docs/cost-model.md.
#pragma once

#include "hardware/gpu.h"
#include "hysim/units.h"
#include "ops/work.h"

namespace hysim::cost {

/// The resource that sets a kernel's time.
enum class Bound { tensor, vector, memory, sm, launch };
const char* to_string(Bound bound);

/// Time of all launches of one Work.
struct KernelTime {
  Seconds compute;  // tensor pipe, vector epilogue or instruction issue
  Seconds memory;   // HBM
  Seconds launch;   // gaps between kernels
  Seconds busy() const { return max(compute, memory); }
  Seconds total() const { return busy() + launch; }
  Bound bound_by = Bound::memory;
  hardware::Evidence evidence = hardware::Evidence::assumed;  // of what sets busy()
};

/// `launch_gap`: idle time of the GPU between two dependent kernels of the software stack. `scale`
/// is a what-if factor on the kernel itself, not on the gaps.
KernelTime kernel_time(const ops::Work& work, const hardware::Gpu& gpu, Seconds launch_gap,
                       double scale = 1.0);

/// Share of the SMs busy when `tiles` output tiles run in whole waves. With fewer tiles than SMs
/// the inner product of length `depth` is split, at most into pieces of 512.
/// Example: 4096 tiles on 78 SMs take 53 waves: 4096 / (53 x 78) = 0.991.
double wave_efficiency(double tiles, double depth, double sm_count);

}  // namespace hysim::cost
