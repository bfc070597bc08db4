// Pipeline schedules: when every forward and backward of every micro-batch runs, given how long
// they take on each stage. Op orders are Megatron-LM's; an op starts when its stage is free and
// its input has arrived. Sends do not block the sender.
#pragma once

#include <cstdint>
#include <vector>

namespace hysim::graph {

/// Times in seconds of whole chunks; entry v * pp + stage is the v-th chunk of `stage`.
struct PipelineTimes {
  std::int64_t pp = 1;
  std::int64_t vpp = 1;
  std::int64_t micro_batches = 1;
  std::vector<double> forward;
  std::vector<double> backward;
  double send = 0.0;  // latency of every edge between stages, the wrap-around edge included
};

struct PipelineResult {
  double makespan = 0.0;
  std::vector<double> stage_end;  // end of the stage's last op
};

/// 1F1B for vpp = 1, interleaved 1F1B otherwise (micro_batches a multiple of pp). The steady state
/// is collapsed once it repeats, so the cost does not grow with the number of micro-batches; while
/// a slower stage still uses up the lead of others, every micro-batch is run.
/// Uniform stages without latency give m(f+b) + (p-1)(f+b)/v.
PipelineResult run_pipeline(const PipelineTimes& times);

/// Chunk activations alive at once on `stage` at most: min(m, p - s) for 1F1B, else
/// min(m v, 2(p - s - 1) + (v - 1)p + 1).
std::int64_t peak_in_flight(std::int64_t pp, std::int64_t vpp, std::int64_t micro_batches,
                            std::int64_t stage);

}  // namespace hysim::graph
