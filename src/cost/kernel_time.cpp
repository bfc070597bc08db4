#include "cost/kernel_time.h"

#include <algorithm>
#include <cmath>

namespace hysim::cost {

namespace {

using hardware::Evidence;
using hardware::Gpu;
using hardware::Known;
using ops::Kernel;
using ops::Precision;
using ops::Work;

// fp32 lanes of an SM (A100 to B200).
constexpr double kLanes = 128.0;
// Shortest piece a split inner product is worth.
constexpr double kSplitDepth = 512.0;

/// One side of a roofline with what it rests on.
struct Side {
  Seconds time;
  Bound bound;
  Evidence evidence;
};

Side tensor_side(Flops flops, const Known<FlopsPerSecond>& peak, const Known<double>& fraction,
                 double wave = 1.0) {
  return {flops / (peak.value * (fraction.value * wave)), Bound::tensor, fraction.evidence};
}

Side stream_side(const Work& work, const Gpu& gpu) {
  return {(work.read + work.written) / (gpu.hbm_bandwidth.value * gpu.stream_fraction.value),
          Bound::memory, gpu.stream_fraction.evidence};
}

/// Streamed traffic and random rows that miss L2; an accumulated row is read and written.
Side row_side(const Work& work, const Gpu& gpu) {
  Side side = stream_side(work, gpu);
  const Bytes rows = work.gathered * (1.0 - gpu.l2_hit_gather.value) +
                     2.0 * work.scattered * (1.0 - gpu.l2_hit_scatter.value);
  side.time += rows / (gpu.hbm_bandwidth.value * gpu.scatter_fraction.value);
  side.evidence = gpu.scatter_fraction.evidence;
  return side;
}

KernelTime roofline(const Side& compute, const Side& memory) {
  const Side& slower = compute.time < memory.time ? memory : compute;
  return {compute.time, memory.time, Seconds(0.0), slower.bound, slower.evidence};
}

Side gemm_side(const Work& work, const Gpu& gpu, const Known<double>& bf16,
               const Known<double>& fp8) {
  const double wave = wave_efficiency(work.tiles, work.depth, gpu.sm_count.value);
  switch (work.precision) {
    case Precision::bf16:
      return tensor_side(work.flops, gpu.bf16, bf16, wave);
    case Precision::fp8:
      return tensor_side(work.flops, gpu.fp8, fp8, wave);
    case Precision::fp32:
      return {work.flops / (gpu.fp32.value * wave), Bound::vector, gpu.fp32.evidence};
  }
  return {};
}

/// The scoring MMA and, after it, the epilogue of each pair: relu and weight for every head on
/// the fp32 lanes, then a head-independent reduction. A warpgroup does not overlap the two.
Side score_side(const Work& work, const Gpu& gpu) {
  const Known<FlopsPerSecond>& peak = work.precision == Precision::fp8 ? gpu.fp8 : gpu.bf16;
  const Side mma = tensor_side(work.flops, peak, gpu.score_tensor_fraction);
  const double cycles =
      gpu.score_epilogue_cycles.value + work.heads * gpu.score_epilogue_lane_ops.value / kLanes;
  const Seconds epilogue = work.units * cycles / gpu.sm_cycles();
  const bool vector = mma.time < epilogue;
  return {mma.time + epilogue, vector ? Bound::vector : Bound::tensor,
          vector ? gpu.score_epilogue_cycles.evidence : gpu.score_tensor_fraction.evidence};
}

KernelTime topk_time(const Work& work, const Gpu& gpu, const Known<double>& cycles,
                     const Known<double>& bytes) {
  const Side issue{work.units * cycles.value / gpu.sm_cycles(), Bound::sm, cycles.evidence};
  Side memory = stream_side(work, gpu);
  memory.time +=
      Bytes(work.units * bytes.value) / (gpu.hbm_bandwidth.value * gpu.stream_fraction.value);
  memory.evidence = bytes.evidence;
  return roofline(issue, memory);
}

KernelTime busy_time(const Work& work, const Gpu& gpu) {
  switch (work.kernel) {
    case Kernel::gemm:
      return roofline(gemm_side(work, gpu, gpu.gemm_bf16, gpu.gemm_fp8), stream_side(work, gpu));
    case Kernel::grouped_gemm:
      return roofline(gemm_side(work, gpu, gpu.grouped_gemm_bf16, gpu.grouped_gemm_fp8),
                      stream_side(work, gpu));
    case Kernel::attention_forward:
      return roofline(tensor_side(work.flops, gpu.bf16, gpu.attention_forward),
                      stream_side(work, gpu));
    case Kernel::attention_backward:
      return roofline(tensor_side(work.flops, gpu.bf16, gpu.attention_backward),
                      stream_side(work, gpu));
    case Kernel::sparse_attention_forward:
      return roofline(tensor_side(work.flops, gpu.bf16, gpu.sparse_attention_forward),
                      row_side(work, gpu));
    case Kernel::sparse_attention_backward_cudnn:
      return roofline(tensor_side(work.flops, gpu.bf16, gpu.sparse_attention_backward_cudnn),
                      row_side(work, gpu));
    case Kernel::sparse_attention_backward_tilelang: {
      const Known<double>& rate = gpu.sparse_backward_tilelang_flop_per_sm_cycle;
      const Side issue{work.flops / Flops(rate.value) / gpu.sm_cycles(), Bound::sm, rate.evidence};
      return roofline(issue, row_side(work, gpu));
    }
    case Kernel::index_score:
      return roofline(score_side(work, gpu), stream_side(work, gpu));
    case Kernel::index_loss:
      return roofline(tensor_side(work.flops, gpu.bf16, gpu.index_loss), row_side(work, gpu));
    case Kernel::torch_topk:
      return topk_time(work, gpu, gpu.torch_topk_cycles, gpu.torch_topk_bytes);
    case Kernel::radix_topk:
      return topk_time(work, gpu, gpu.radix_topk_cycles, gpu.radix_topk_bytes);
    case Kernel::hytopk: {
      Side score = score_side(work, gpu);
      score.time = score.time * (1.0 + gpu.hytopk_scan_overhead.value) +
                   work.compactions * gpu.hytopk_compaction_cycles.value / gpu.sm_cycles();
      return roofline(score, stream_side(work, gpu));
    }
    case Kernel::stream: {
      const Side memory = stream_side(work, gpu);
      return {Seconds(0.0), memory.time, Seconds(0.0), Bound::memory, memory.evidence};
    }
  }
  return {};
}

}  // namespace

const char* to_string(Bound bound) {
  switch (bound) {
    case Bound::tensor:
      return "tensor";
    case Bound::vector:
      return "vector";
    case Bound::memory:
      return "memory";
    case Bound::sm:
      return "sm";
    case Bound::launch:
      return "launch";
  }
  return "";
}

double wave_efficiency(double tiles, double depth, double sm_count) {
  if (tiles <= 0.0) return 1.0;
  double pieces = 1.0;
  if (tiles < sm_count) {
    pieces = std::max(1.0, std::min(std::floor(depth / kSplitDepth), std::floor(sm_count / tiles)));
  }
  const double blocks = tiles * pieces;
  return blocks / (std::ceil(blocks / sm_count) * sm_count);
}

KernelTime kernel_time(const Work& work, const Gpu& gpu, Seconds launch_gap, double scale) {
  KernelTime time = busy_time(work, gpu);
  time.compute *= scale;
  time.memory *= scale;
  time.launch = work.launches * launch_gap;
  if (time.busy() < time.launch) time.bound_by = Bound::launch;
  return time;
}

}  // namespace hysim::cost
