// Every law against its closed form worked by hand, on a GPU of round numbers.
#include "cost/kernel_time.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ops/attention.h"
#include "ops/elementwise.h"
#include "ops/indexer_loss.h"
#include "ops/linear.h"
#include "ops/selection.h"

namespace hysim::cost {
namespace {

using hardware::Evidence;
using hardware::Gpu;
using hardware::Known;
using ops::Kernel;
using ops::Precision;
using ops::Work;

/// 100 SMs at 1 GHz, 100/200 TFLOPS in bf16/fp8, 10 TFLOPS in fp32, 1 TB/s.
Gpu round_gpu() {
  Gpu gpu;
  gpu.sm_count = {100.0, Evidence::datasheet};
  gpu.clock = {PerSecond(1e9), Evidence::datasheet};
  gpu.bf16 = {FlopsPerSecond(100e12), Evidence::datasheet};
  gpu.fp8 = {FlopsPerSecond(200e12), Evidence::datasheet};
  gpu.fp32 = {FlopsPerSecond(10e12), Evidence::datasheet};
  gpu.hbm_bandwidth = {BytesPerSecond(1e12), Evidence::datasheet};
  gpu.gemm_bf16 = {0.8, Evidence::this_gpu};
  gpu.gemm_fp8 = {0.6, Evidence::other_gpu};
  gpu.grouped_gemm_bf16 = {0.7, Evidence::this_gpu};
  gpu.grouped_gemm_fp8 = {0.5, Evidence::other_gpu};
  gpu.attention_forward = {0.6, Evidence::this_gpu};
  gpu.attention_backward = {0.5, Evidence::this_gpu};
  gpu.sparse_attention_forward = {0.4, Evidence::other_gpu};
  gpu.sparse_attention_backward_cudnn = {0.3, Evidence::assumed};
  gpu.sparse_backward_tilelang_flop_per_sm_cycle = {400.0, Evidence::other_gpu};
  gpu.index_loss = {0.2, Evidence::assumed};
  gpu.stream_fraction = {0.9, Evidence::this_gpu};
  gpu.scatter_fraction = {0.5, Evidence::assumed};
  gpu.l2_hit_gather = {0.25, Evidence::assumed};
  gpu.l2_hit_scatter = {0.5, Evidence::assumed};
  gpu.score_tensor_fraction = {0.95, Evidence::other_gpu};
  gpu.score_epilogue_cycles = {0.5, Evidence::other_gpu};
  gpu.score_epilogue_lane_ops = {2.0, Evidence::other_gpu};
  gpu.torch_topk_cycles = {3.0, Evidence::other_gpu};
  gpu.torch_topk_bytes = {20.0, Evidence::assumed};
  gpu.radix_topk_cycles = {0.5, Evidence::this_gpu};
  gpu.radix_topk_bytes = {8.0, Evidence::other_gpu};
  gpu.hytopk_scan_overhead = {0.1, Evidence::other_gpu};
  gpu.hytopk_compaction_cycles = {3000.0, Evidence::assumed};
  return gpu;
}

constexpr double kStream = 1e12 * 0.9;  // bytes/s of streaming kernels
constexpr double kRows = 1e12 * 0.5;    // bytes/s of random rows
constexpr double kSmCycles = 100.0 * 1e9;

KernelTime timed(const Work& work, const Gpu& gpu = round_gpu()) {
  return kernel_time(work, gpu, Seconds(0.0));
}

Work moving(Kernel kernel, double read, double written) {
  Work work;
  work.kernel = kernel;
  work.read = Bytes(read);
  work.written = Bytes(written);
  return work;
}

TEST(Laws, Gemm) {
  Work work = moving(Kernel::gemm, 3e9, 1e9);
  work.flops = Flops(1e12);
  work.tiles = 250.0;  // three waves of 100, 250 of 300 busy
  work.depth = 4096.0;
  const KernelTime bf16 = timed(work);
  EXPECT_DOUBLE_EQ(bf16.compute.si(), 1e12 / (100e12 * 0.8 * (250.0 / 300.0)));
  EXPECT_DOUBLE_EQ(bf16.memory.si(), 4e9 / kStream);
  EXPECT_EQ(bf16.bound_by, Bound::tensor);
  EXPECT_EQ(bf16.evidence, Evidence::this_gpu);
  work.precision = Precision::fp8;
  EXPECT_DOUBLE_EQ(timed(work).compute.si(), 1e12 / (200e12 * 0.6 * (250.0 / 300.0)));
  EXPECT_EQ(timed(work).evidence, Evidence::other_gpu);
  work.precision = Precision::fp32;
  EXPECT_DOUBLE_EQ(timed(work).compute.si(), 1e12 / (10e12 * (250.0 / 300.0)));
  EXPECT_EQ(timed(work).bound_by, Bound::vector);
  work.precision = Precision::bf16;
  work.kernel = Kernel::grouped_gemm;
  EXPECT_DOUBLE_EQ(timed(work).compute.si(), 1e12 / (100e12 * 0.7 * (250.0 / 300.0)));
  work.precision = Precision::fp8;
  EXPECT_DOUBLE_EQ(timed(work).compute.si(), 1e12 / (200e12 * 0.5 * (250.0 / 300.0)));
}

TEST(Laws, DenseAttention) {
  Work work = moving(Kernel::attention_forward, 2e9, 1e9);
  work.flops = Flops(6e12);
  EXPECT_DOUBLE_EQ(timed(work).compute.si(), 0.1);
  EXPECT_DOUBLE_EQ(timed(work).memory.si(), 3e9 / kStream);
  work.kernel = Kernel::attention_backward;
  EXPECT_DOUBLE_EQ(timed(work).compute.si(), 0.12);
}

// Rows that miss L2 come at the rate of random rows; an accumulated row is read and written.
TEST(Laws, SparseAttention) {
  Work work = moving(Kernel::sparse_attention_forward, 2e9, 1e9);
  work.flops = Flops(4e12);
  work.gathered = Bytes(8e9);
  const KernelTime forward = timed(work);
  EXPECT_DOUBLE_EQ(forward.compute.si(), 4e12 / (100e12 * 0.4));
  EXPECT_DOUBLE_EQ(forward.memory.si(), 3e9 / kStream + 8e9 * 0.75 / kRows);
  EXPECT_EQ(forward.bound_by, Bound::tensor);

  work.kernel = Kernel::sparse_attention_backward_cudnn;
  work.scattered = Bytes(16e9);
  const KernelTime backward = timed(work);
  EXPECT_DOUBLE_EQ(backward.compute.si(), 4e12 / (100e12 * 0.3));
  EXPECT_DOUBLE_EQ(backward.memory.si(), 3e9 / kStream + (8e9 * 0.75 + 2.0 * 16e9 * 0.5) / kRows);

  // 400 flop per SM-cycle on 1e11 SM-cycles a second: 40 TFLOPS, whatever the tensor peak.
  work.kernel = Kernel::sparse_attention_backward_tilelang;
  const KernelTime tilelang = timed(work);
  EXPECT_DOUBLE_EQ(tilelang.compute.si(), 4e12 / 40e12);
  EXPECT_EQ(tilelang.bound_by, Bound::sm);
  EXPECT_DOUBLE_EQ(tilelang.memory.si(), backward.memory.si());
}

TEST(Laws, MemoryBoundRowsRestOnTheirFraction) {
  Work work = moving(Kernel::sparse_attention_forward, 0.0, 0.0);
  work.flops = Flops(1e9);
  work.gathered = Bytes(8e9);
  EXPECT_EQ(timed(work).bound_by, Bound::memory);
  EXPECT_EQ(timed(work).evidence, Evidence::assumed);
}

// Scoring and its epilogue follow each other: 0.5 cycles a pair and 2 lane operations a head on
// 128 lanes.
TEST(Laws, IndexScore) {
  Work work = moving(Kernel::index_score, 1e6, 0.0);
  work.units = 1e9;
  work.heads = 32.0;
  work.flops = Flops(1e9 * 8192.0);
  const double epilogue = 1e9 * (0.5 + 32.0 * 2.0 / 128.0) / kSmCycles;
  const KernelTime bf16 = timed(work);
  EXPECT_DOUBLE_EQ(bf16.compute.si(), 8192e9 / (100e12 * 0.95) + epilogue);
  EXPECT_DOUBLE_EQ(bf16.memory.si(), 1e6 / kStream);
  EXPECT_EQ(bf16.bound_by, Bound::tensor);
  work.precision = Precision::fp8;
  EXPECT_DOUBLE_EQ(timed(work).compute.si(), 8192e9 / (200e12 * 0.95) + epilogue);
  // Four heads: the epilogue outweighs the matrix product.
  work.heads = 4.0;
  work.flops = Flops(1e9 * 256.0 * 4.0);
  EXPECT_EQ(timed(work).bound_by, Bound::vector);
}

TEST(Laws, TopkIssuesOrStreams) {
  Work work = moving(Kernel::torch_topk, 0.0, 9e9);
  work.units = 1e9;
  const KernelTime torch = timed(work);
  EXPECT_DOUBLE_EQ(torch.compute.si(), 1e9 * 3.0 / kSmCycles);
  EXPECT_DOUBLE_EQ(torch.memory.si(), 9e9 / kStream + 1e9 * 20.0 / kStream);
  EXPECT_EQ(torch.bound_by, Bound::memory);
  EXPECT_EQ(torch.evidence, Evidence::assumed);
  work.kernel = Kernel::radix_topk;
  work.written = Bytes(0.0);
  const KernelTime radix = timed(work);
  EXPECT_DOUBLE_EQ(radix.compute.si(), 1e9 * 0.5 / kSmCycles);
  EXPECT_DOUBLE_EQ(radix.memory.si(), 1e9 * 8.0 / kStream);
  Gpu wide = round_gpu();
  wide.hbm_bandwidth.value = BytesPerSecond(10e12);
  EXPECT_EQ(timed(work, wide).bound_by, Bound::sm);
  EXPECT_EQ(timed(work, wide).evidence, Evidence::this_gpu);
}

// Scoring, a tenth more for the gate, and the compactions of the query blocks.
TEST(Laws, HyTopk) {
  Work work = moving(Kernel::hytopk, 1e6, 1e6);
  work.units = 1e9;
  work.heads = 32.0;
  work.flops = Flops(8192e9);
  work.compactions = 1e6;
  Work scoring = work;
  scoring.kernel = Kernel::index_score;
  EXPECT_DOUBLE_EQ(timed(work).compute.si(),
                   1.1 * timed(scoring).compute.si() + 1e6 * 3000.0 / kSmCycles);
  EXPECT_DOUBLE_EQ(timed(work).memory.si(), 2e6 / kStream);
}

TEST(Laws, IndexLoss) {
  Work work = moving(Kernel::index_loss, 1e9, 1e9);
  work.flops = Flops(1e12);
  work.gathered = Bytes(1e9);
  work.scattered = Bytes(2e9);
  EXPECT_DOUBLE_EQ(timed(work).compute.si(), 1e12 / (100e12 * 0.2));
  EXPECT_DOUBLE_EQ(timed(work).memory.si(), 2e9 / kStream + (1e9 * 0.75 + 2.0 * 2e9 * 0.5) / kRows);
}

TEST(Laws, Stream) {
  const KernelTime time = timed(moving(Kernel::stream, 5e9, 4e9));
  EXPECT_DOUBLE_EQ(time.memory.si(), 0.01);
  EXPECT_DOUBLE_EQ(time.compute.si(), 0.0);
  EXPECT_EQ(time.bound_by, Bound::memory);
  EXPECT_EQ(time.evidence, Evidence::this_gpu);
}

TEST(Laws, LaunchesAddTheirGaps) {
  Work work = moving(Kernel::stream, 9e6, 0.0);  // 10 us
  work.launches = 3.0;
  const KernelTime time = kernel_time(work, round_gpu(), Seconds(2e-6));
  EXPECT_DOUBLE_EQ(time.launch.si(), 6e-6);
  EXPECT_DOUBLE_EQ(time.total().si(), 16e-6);
  EXPECT_DOUBLE_EQ(time.busy().si(), 10e-6);
  EXPECT_EQ(time.bound_by, Bound::memory);
  EXPECT_EQ(kernel_time(work, round_gpu(), Seconds(4e-6)).bound_by, Bound::launch);
  work.launches = 0.0;
  EXPECT_DOUBLE_EQ(kernel_time(work, round_gpu(), Seconds(1.0)).launch.si(), 0.0);
}

// The ridge of this GPU in bf16 is 80 TFLOPS / 0.9 TB/s = 88.9 flop/B.
TEST(Laws, TheSlowerSideBindsAndFlipsAtTheRidge) {
  const double ridge = 100e12 * 0.8 / kStream;
  for (const double intensity : {0.1, 0.5, 0.99, 1.01, 2.0, 100.0}) {
    Work work = moving(Kernel::gemm, 1e9, 0.0);
    work.flops = Flops(1e9 * ridge * intensity);
    work.tiles = 100.0;
    const KernelTime time = timed(work);
    EXPECT_EQ(time.bound_by, intensity < 1.0 ? Bound::memory : Bound::tensor) << intensity;
    EXPECT_DOUBLE_EQ(time.busy().si(), std::max(time.compute.si(), time.memory.si()));
  }
  // Published roofline case: 900 TFLOPS, 3350 GB/s cross over at 268.66 flop/B; 100 flop/B reach
  // 335 TFLOPS, 1000 reach 900 (astra-sim#217).
  Gpu gpu = round_gpu();
  gpu.bf16.value = FlopsPerSecond(900e12);
  gpu.hbm_bandwidth.value = BytesPerSecond(3350e9);
  gpu.gemm_bf16.value = 1.0;
  gpu.stream_fraction.value = 1.0;
  const auto reached = [&](double intensity) {
    Work work = moving(Kernel::gemm, 1e9, 0.0);
    work.flops = Flops(1e9 * intensity);
    work.tiles = 100.0;
    return work.flops.si() / timed(work, gpu).busy().si();
  };
  EXPECT_NEAR(reached(100.0), 335e12, 1.0);
  EXPECT_NEAR(reached(1000.0), 900e12, 1.0);
  EXPECT_NEAR(reached(268.65), 268.65 * 3350e9, 1e3);
  EXPECT_NEAR(reached(268.67), 900e12, 1.0);
}

// --- whole waves ---

// Tiles run in whole waves over the SMs; with fewer tiles than SMs the inner product is split, at
// most into pieces of 512.
double walk_waves(double tiles, double depth, double sm_count) {
  double pieces = 1.0;
  if (tiles < sm_count) {
    while ((pieces + 1.0) * 512.0 <= depth && (pieces + 1.0) * tiles <= sm_count) pieces += 1.0;
  }
  double waves = 0.0;
  for (double left = tiles * pieces; left > 0.0; left -= sm_count) waves += 1.0;
  return tiles * pieces / (waves * sm_count);
}

TEST(Waves, WorkedExample) {
  EXPECT_DOUBLE_EQ(wave_efficiency(4096.0, 8192.0, 78.0), 4096.0 / (53.0 * 78.0));
  EXPECT_NEAR(wave_efficiency(4096.0, 8192.0, 78.0), 0.991, 0.0005);
}

TEST(Waves, EqualTheirCount) {
  for (const double sm_count : {1.0, 78.0, 132.0, 148.0}) {
    for (double tiles = 1.0; tiles < 700.0; tiles += 1.0) {
      for (const double depth : {64.0, 512.0, 1023.0, 1024.0, 7168.0, 65536.0}) {
        EXPECT_DOUBLE_EQ(wave_efficiency(tiles, depth, sm_count),
                         walk_waves(tiles, depth, sm_count))
            << tiles << " tiles of depth " << depth << " on " << sm_count;
      }
    }
  }
}

TEST(Waves, FullWavesLoseNothing) {
  EXPECT_DOUBLE_EQ(wave_efficiency(78.0, 512.0, 78.0), 1.0);
  EXPECT_DOUBLE_EQ(wave_efficiency(780.0, 512.0, 78.0), 1.0);
  EXPECT_DOUBLE_EQ(wave_efficiency(79.0, 512.0, 78.0), 79.0 / 156.0);
  EXPECT_DOUBLE_EQ(wave_efficiency(0.0, 512.0, 78.0), 1.0);
}

// --- any kernel, any rate ---

std::vector<Work> every_kernel() {
  ops::SelectionShape selection;
  selection.segments = {{0, 16384}};
  selection.sequence_keys = 16384;
  selection.heads = 32;
  selection.head_dim = 128;
  selection.top_k = 2048;
  ops::SelectionShape fp8 = selection;
  fp8.precision = Precision::fp8;
  const ops::SparseAttention sparse{16384 * 2000, 16384, 16384, 64, 512, 64};
  const ops::DenseAttention dense{16384 * 8000, 16384, 16384, 16, 4, 128, 128};
  const ops::IndexerLossShape loss{16384 * 2000, 64, 576, 32, 128};
  using ops::SparseBackend;
  return {ops::gemm(4096, 7168, 6144, Precision::bf16),
          ops::gemm(4096, 7168, 6144, Precision::fp8),
          ops::gemm(64, 256, 6144, Precision::bf16),
          ops::gemm_weight_gradient(512, 7168, 6144, Precision::bf16),
          ops::grouped_gemm(8, 4096, 4096, 6144, Precision::bf16),
          ops::grouped_gemm(64, 256, 4096, 6144, Precision::fp8),
          ops::dense_attention_forward(dense),
          ops::dense_attention_backward(dense),
          ops::sparse_attention_forward(sparse, SparseBackend::cudnn),
          ops::sparse_attention_backward(sparse, SparseBackend::cudnn),
          ops::sparse_attention_backward(sparse, SparseBackend::tilelang),
          ops::index_score(selection, 4),
          ops::index_score(fp8, 4),
          ops::table_write(selection),
          ops::table_clean(selection, 4),
          ops::naive_score(selection),
          ops::torch_topk(selection, 4),
          ops::radix_topk(selection, 4),
          ops::hytopk(selection),
          ops::indexer_teacher(loss, 1),
          ops::indexer_gradient(loss),
          ops::norm(1 << 24, ops::Pass::forward),
          ops::adam(1e9)};
}

/// A GPU with one rate changed by a factor, named.
struct Rate {
  std::string name;
  void (*change)(Gpu& gpu, double factor);
};
const std::vector<Rate>& rates() {
  static const std::vector<Rate> all = {
      {"clock", [](Gpu& g, double f) { g.clock.value *= f; }},
      {"bf16", [](Gpu& g, double f) { g.bf16.value *= f; }},
      {"fp8", [](Gpu& g, double f) { g.fp8.value *= f; }},
      {"fp32", [](Gpu& g, double f) { g.fp32.value *= f; }},
      {"hbm_bandwidth", [](Gpu& g, double f) { g.hbm_bandwidth.value *= f; }},
      {"gemm_bf16", [](Gpu& g, double f) { g.gemm_bf16.value *= f; }},
      {"gemm_fp8", [](Gpu& g, double f) { g.gemm_fp8.value *= f; }},
      {"grouped_gemm_bf16", [](Gpu& g, double f) { g.grouped_gemm_bf16.value *= f; }},
      {"grouped_gemm_fp8", [](Gpu& g, double f) { g.grouped_gemm_fp8.value *= f; }},
      {"attention_forward", [](Gpu& g, double f) { g.attention_forward.value *= f; }},
      {"attention_backward", [](Gpu& g, double f) { g.attention_backward.value *= f; }},
      {"sparse_attention_forward", [](Gpu& g, double f) { g.sparse_attention_forward.value *= f; }},
      {"sparse_attention_backward_cudnn",
       [](Gpu& g, double f) { g.sparse_attention_backward_cudnn.value *= f; }},
      {"sparse_backward_tilelang_flop_per_sm_cycle",
       [](Gpu& g, double f) { g.sparse_backward_tilelang_flop_per_sm_cycle.value *= f; }},
      {"index_loss", [](Gpu& g, double f) { g.index_loss.value *= f; }},
      {"stream_fraction", [](Gpu& g, double f) { g.stream_fraction.value *= f; }},
      {"scatter_fraction", [](Gpu& g, double f) { g.scatter_fraction.value *= f; }},
      {"score_tensor_fraction", [](Gpu& g, double f) { g.score_tensor_fraction.value *= f; }},
      {"fewer epilogue cycles", [](Gpu& g, double f) { g.score_epilogue_cycles.value /= f; }},
      {"fewer epilogue lane ops", [](Gpu& g, double f) { g.score_epilogue_lane_ops.value /= f; }},
      {"fewer torch cycles", [](Gpu& g, double f) { g.torch_topk_cycles.value /= f; }},
      {"fewer torch bytes", [](Gpu& g, double f) { g.torch_topk_bytes.value /= f; }},
      {"fewer radix cycles", [](Gpu& g, double f) { g.radix_topk_cycles.value /= f; }},
      {"fewer radix bytes", [](Gpu& g, double f) { g.radix_topk_bytes.value /= f; }},
      {"less scan overhead", [](Gpu& g, double f) { g.hytopk_scan_overhead.value /= f; }},
      {"cheaper compactions", [](Gpu& g, double f) { g.hytopk_compaction_cycles.value /= f; }},
      {"fewer gather misses",
       [](Gpu& g, double f) { g.l2_hit_gather.value = 1.0 - (1.0 - g.l2_hit_gather.value) / f; }},
      {"fewer scatter misses",
       [](Gpu& g, double f) { g.l2_hit_scatter.value = 1.0 - (1.0 - g.l2_hit_scatter.value) / f; }},
  };
  return all;
}

// A faster pipe never makes a kernel slower, and saves at most its own factor. sm_count is no such
// rate: the tensor peaks are given apart, so more SMs share the same peak in wider waves.
TEST(AnyKernel, IsMonotoneInEveryRate) {
  const Gpu base = round_gpu();
  for (const Rate& rate : rates()) {
    bool used = false;
    Gpu faster = base;
    rate.change(faster, 2.0);
    for (const Work& work : every_kernel()) {
      const double before = timed(work, base).busy().si();
      const double after = timed(work, faster).busy().si();
      EXPECT_LE(after, before) << rate.name << ", kernel " << static_cast<int>(work.kernel);
      EXPECT_GE(after, before / 2.0 * (1.0 - 1e-12)) << rate.name;
      EXPECT_LE(timed(work, faster).compute, timed(work, base).compute) << rate.name;
      EXPECT_LE(timed(work, faster).memory, timed(work, base).memory) << rate.name;
      used = used || timed(work, faster).compute < timed(work, base).compute ||
             timed(work, faster).memory < timed(work, base).memory;
    }
    EXPECT_TRUE(used) << rate.name << " changes no kernel";
  }
}

// Peaks, clock and bandwidth times c: every kernel takes 1/c of the time, bound by the same pipe.
TEST(AnyKernel, ScalesWithTheWholeGpu) {
  const Gpu base = round_gpu();
  for (const double factor : {2.0, 4.0, 0.5}) {
    Gpu scaled = base;
    for (const char* name : {"clock", "bf16", "fp8", "fp32", "hbm_bandwidth"}) {
      for (const Rate& rate : rates()) {
        if (rate.name == name) rate.change(scaled, factor);
      }
    }
    for (const Work& work : every_kernel()) {
      EXPECT_DOUBLE_EQ(timed(work, scaled).busy().si() * factor, timed(work, base).busy().si());
      EXPECT_EQ(timed(work, scaled).bound_by, timed(work, base).bound_by);
    }
  }
}

TEST(AnyKernel, TakesTimeAndNamesWhatBindsIt) {
  for (const Work& work : every_kernel()) {
    const KernelTime time = kernel_time(work, round_gpu(), Seconds(1e-6));
    EXPECT_GT(time.busy().si(), 0.0) << static_cast<int>(work.kernel);
    EXPECT_TRUE(std::isfinite(time.total().si()));
    EXPECT_FALSE(std::string(to_string(time.bound_by)).empty());
  }
}

TEST(AnyKernel, NothingToDoTakesNoTime) {
  for (Work work : every_kernel()) {
    work.flops = Flops(0.0);
    work.vector_flops = Flops(0.0);
    work.read = work.written = work.gathered = work.scattered = Bytes(0.0);
    work.units = 0.0;
    work.compactions = 0.0;
    EXPECT_EQ(timed(work).busy().si(), 0.0) << static_cast<int>(work.kernel);
  }
}

}  // namespace
}  // namespace hysim::cost
