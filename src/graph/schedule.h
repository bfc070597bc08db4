// Pipeline schedules: when every forward and backward of every micro-batch runs, given how long
// they take on each stage. An op starts when its stage is free and its input has arrived. Sends do
// not block the sender.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hysim::graph {

/// The order in which a stage runs its ops.
/// one_f_one_b: Megatron-LM's 1F1B, one chunk a stage.
/// interleaved: Megatron-LM's with vpp chunks; groups of micro-batches go through one chunk after
///   the other (--microbatch-group-size-per-virtual-pipeline-stage, by default pp).
/// breadth_first: interleaved with all micro-batches in one group (Lamy-Poirier 2022).
/// gpipe: all forwards, then all backwards (Huang 2019).
/// zb_h1: 1F1B with backward split: the input gradient B in backward's place, the weight gradient
///   W later, on stage s by s micro-batches (ZB-H1, Qi et al. 2024, arXiv 2401.10241).
enum class Schedule { one_f_one_b, interleaved, breadth_first, gpipe, zb_h1 };

/// What decides the order of ops.
struct PipelineShape {
  Schedule schedule = Schedule::one_f_one_b;  // with vpp > 1 read as interleaved
  std::int64_t pp = 1;
  std::int64_t vpp = 1;
  std::int64_t micro_batches = 1;
  std::int64_t group = 0;  // micro-batches of a group of the interleaved schedule; 0: pp
};

/// Times in seconds of whole chunks; entry v * pp + stage is the v-th chunk of `stage`.
struct PipelineTimes : PipelineShape {
  std::vector<double> forward;
  std::vector<double> backward;
  std::vector<double> weight;  // zb_h1: of the weight gradients, which backward then leaves out
  double send = 0.0;  // latency of every edge between stages, the wrap-around edge included
};

struct PipelineResult {
  double makespan = 0.0;
  std::vector<double> stage_end;  // end of the stage's last op
};

/// Runs a legal schedule (check() of plan.h). The steady state is collapsed once it repeats, so the
/// cost does not grow with the number of micro-batches; while a slower stage still uses up the lead
/// of others, every micro-batch is run. Uniform stages without latency give
/// m(f+b) + (p-1)(f+b)/v, under zb_h1 m(f+b+w) + (p-1)(f+b-w) where w <= f.
PipelineResult run_pipeline(const PipelineTimes& times);

/// Memory of a run. Runs that share it allocate nothing once it has grown to what they need.
struct PipelineBuffers {
  std::vector<double> free;                       // when each stage is
  std::vector<double> latest;                     // a time of each stage
  std::vector<std::size_t> next;                  // op of each stage
  std::vector<std::vector<double>> forward_end;   // [chunk x pp + stage][micro-batch]
  std::vector<std::vector<double>> backward_end;  // the same
  std::vector<std::vector<double>> states;        // of the last rows
};
void run_pipeline(const PipelineTimes& times, PipelineBuffers& buffers, PipelineResult& result);

/// Chunk activations alive at once on `stage` at most, from the start of a forward to the end of
/// its backward: min(m, p - s) for 1F1B and zb_h1, m for gpipe, else
/// min(m v, 2(p - s - 1) + (v - 1)g + 1) with groups of g.
std::int64_t peak_in_flight(const PipelineShape& shape, std::int64_t stage);
/// The same of 1F1B, or interleaved with groups of pp.
std::int64_t peak_in_flight(std::int64_t pp, std::int64_t vpp, std::int64_t micro_batches,
                            std::int64_t stage);

/// Micro-batches whose weight gradients wait while `stage` runs the backward of another, at most:
/// min(m - 1, s) under zb_h1, so that with those in flight no stage holds more than p.
std::int64_t peak_waiting_weights(const PipelineShape& shape, std::int64_t stage);

}  // namespace hysim::graph
