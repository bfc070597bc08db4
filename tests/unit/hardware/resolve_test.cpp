// From a profile to plain numbers: figures against published ones, draws, and evidence.
#include <string>

#include <gtest/gtest.h>

#include "hardware/gpu.h"
#include "unit/hardware/profiles.h"

namespace hysim::hardware {
namespace {

Gpu nominal(std::string_view name) {
  return resolve(load_gpu_profile(bundled_profiles(), name), {});
}

TEST(Resolve, NominalIsTheValue) {
  const GpuProfile profile = load_gpu_profile(bundled_profiles(), "h20-96");
  const Gpu gpu = resolve(profile, {});
  EXPECT_EQ(gpu.name, "h20-96");
  EXPECT_DOUBLE_EQ(gpu.bf16.value.si(), 148e12);
  EXPECT_DOUBLE_EQ(gpu.hbm_usable.value.si(), 102625181696.0);
  EXPECT_DOUBLE_EQ(gpu.l2.value.si(), 60.0 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(gpu.all_reduce_latency.value.si(), 12.5e-6);
  EXPECT_DOUBLE_EQ(gpu.all_to_all_busbw.value.si(), 324e9);
  EXPECT_DOUBLE_EQ(gpu.sm_cycles().si(), 78 * 1.98e9);
}

// Every number of a Gpu comes from the field of its own name: all values of a profile are made
// different, then compared one by one.
TEST(Resolve, EachFieldReachesItsMember) {
  GpuProfile profile = load_gpu_profile(bundled_profiles(), "h20-96");
  double next = 0.001;
  for (config::Sourced& field : profile.fields)
    field.value = field.low = field.high = next += 0.001;
  const Gpu gpu = resolve(profile, {});
  const auto at = [&](std::string_view key) {
    for (std::size_t i = 0; i < profile.fields.size(); ++i) {
      if (gpu_fields()[i].key == key) return profile.fields[i].value;
    }
    ADD_FAILURE() << key;
    return 0.0;
  };
  EXPECT_EQ(gpu.sm_count.value, at("sm_count"));
  EXPECT_EQ(gpu.clock.value.si(), at("clock"));
  EXPECT_EQ(gpu.bf16.value.si(), at("bf16"));
  EXPECT_EQ(gpu.fp8.value.si(), at("fp8"));
  EXPECT_EQ(gpu.fp32.value.si(), at("fp32"));
  EXPECT_EQ(gpu.hbm_bandwidth.value.si(), at("hbm_bandwidth"));
  EXPECT_EQ(gpu.hbm_capacity.value.si(), at("hbm_capacity"));
  EXPECT_EQ(gpu.hbm_usable.value.si(), at("hbm_usable"));
  EXPECT_EQ(gpu.l2.value.si(), at("l2"));
  EXPECT_EQ(gpu.nvlink.value.si(), at("nvlink"));
  EXPECT_EQ(gpu.gemm_bf16.value, at("laws/gemm_bf16"));
  EXPECT_EQ(gpu.gemm_fp8.value, at("laws/gemm_fp8"));
  EXPECT_EQ(gpu.grouped_gemm_bf16.value, at("laws/grouped_gemm_bf16"));
  EXPECT_EQ(gpu.grouped_gemm_fp8.value, at("laws/grouped_gemm_fp8"));
  EXPECT_EQ(gpu.attention_forward.value, at("laws/attention_forward"));
  EXPECT_EQ(gpu.attention_backward.value, at("laws/attention_backward"));
  EXPECT_EQ(gpu.sparse_attention_forward.value, at("laws/sparse_attention_forward"));
  EXPECT_EQ(gpu.sparse_attention_backward_cudnn.value, at("laws/sparse_attention_backward_cudnn"));
  EXPECT_EQ(gpu.sparse_backward_tilelang_flop_per_sm_cycle.value,
            at("laws/sparse_backward_tilelang_flop_per_sm_cycle"));
  EXPECT_EQ(gpu.index_loss.value, at("laws/index_loss"));
  EXPECT_EQ(gpu.stream_fraction.value, at("laws/stream_fraction"));
  EXPECT_EQ(gpu.scatter_fraction.value, at("laws/scatter_fraction"));
  EXPECT_EQ(gpu.l2_hit_gather.value, at("laws/l2_hit_gather"));
  EXPECT_EQ(gpu.l2_hit_scatter.value, at("laws/l2_hit_scatter"));
  EXPECT_EQ(gpu.score_tensor_fraction.value, at("laws/score_tensor_fraction"));
  EXPECT_EQ(gpu.score_epilogue_cycles.value, at("laws/score_epilogue_cycles"));
  EXPECT_EQ(gpu.score_epilogue_lane_ops.value, at("laws/score_epilogue_lane_ops"));
  EXPECT_EQ(gpu.torch_topk_cycles.value, at("laws/torch_topk_cycles"));
  EXPECT_EQ(gpu.torch_topk_bytes.value, at("laws/torch_topk_bytes"));
  EXPECT_EQ(gpu.radix_topk_cycles.value, at("laws/radix_topk_cycles"));
  EXPECT_EQ(gpu.radix_topk_bytes.value, at("laws/radix_topk_bytes"));
  EXPECT_EQ(gpu.hytopk_scan_overhead.value, at("laws/hytopk_scan_overhead"));
  EXPECT_EQ(gpu.hytopk_compaction_cycles.value, at("laws/hytopk_compaction_cycles"));
  EXPECT_EQ(gpu.all_reduce_latency.value.si(), at("collectives/all_reduce/latency"));
  EXPECT_EQ(gpu.all_reduce_busbw.value.si(), at("collectives/all_reduce/busbw"));
  EXPECT_EQ(gpu.all_gather_latency.value.si(), at("collectives/all_gather/latency"));
  EXPECT_EQ(gpu.all_gather_busbw.value.si(), at("collectives/all_gather/busbw"));
  EXPECT_EQ(gpu.reduce_scatter_latency.value.si(), at("collectives/reduce_scatter/latency"));
  EXPECT_EQ(gpu.reduce_scatter_busbw.value.si(), at("collectives/reduce_scatter/busbw"));
  EXPECT_EQ(gpu.all_to_all_latency.value.si(), at("collectives/all_to_all/latency"));
  EXPECT_EQ(gpu.all_to_all_busbw.value.si(), at("collectives/all_to_all/busbw"));
}

// Dense peaks (TFLOPS), SMs, memory (GB/s, GB) and NVLink (GB/s a direction) as vendors publish
// them; H20 from the leaked table.
TEST(Resolve, PublishedSpecifications) {
  struct Row {
    const char* name;
    double sm_count, bf16, fp8, hbm_bandwidth, hbm_capacity, nvlink;
  };
  const Row rows[] = {
      {"h20-96", 78, 148, 296, 4000, 96, 450},
      {"h20-3e-141", 78, 148, 296, 4800, 141, 450},
      {"h100-sxm-80", 132, 989.4, 1978.9, 3350, 80, 450},
      {"h800-sxm-80", 132, 989.4, 1978.9, 3350, 80, 200},
      {"h200-sxm-141", 132, 989.4, 1978.9, 4800, 141, 450},
      {"h100-pcie-80", 114, 756, 1513, 2039, 80, 300},
      {"a100-sxm-80", 108, 312, 312, 2039, 80, 300},  // no fp8: the bf16 peak
      {"a800-sxm-80", 108, 312, 312, 2039, 80, 200},
      {"b200-180", 148, 2250, 4500, 7700, 180, 900},
      {"gb200-186", 148, 2500, 5000, 8000, 186, 900},
      {"b300-288", 148, 2250, 4500, 7750, 288, 900},
      {"rtx-5090-32", 170, 209.5, 419, 1792, 32, 55},  // PCIe
      {"mi300x-192", 304, 1307.4, 2614.9, 5300, 192, 448},
      {"ascend-910b-64", 24, 354, 354, 1600, 64, 196},
      {"ascend-910c-128", 48, 780, 780, 3200, 128, 392},
  };
  EXPECT_EQ(std::size(rows), gpu_names().size());
  for (const Row& row : rows) {
    const Gpu gpu = nominal(row.name);
    EXPECT_DOUBLE_EQ(gpu.sm_count.value, row.sm_count) << row.name;
    EXPECT_DOUBLE_EQ(gpu.bf16.value.si(), row.bf16 * 1e12) << row.name;
    EXPECT_DOUBLE_EQ(gpu.fp8.value.si(), row.fp8 * 1e12) << row.name;
    EXPECT_DOUBLE_EQ(gpu.hbm_bandwidth.value.si(), row.hbm_bandwidth * 1e9) << row.name;
    EXPECT_DOUBLE_EQ(gpu.hbm_capacity.value.si(), row.hbm_capacity * 1e9) << row.name;
    EXPECT_DOUBLE_EQ(gpu.nvlink.value.si(), row.nvlink * 1e9) << row.name;
  }
}

// 8-GPU NCCL fits of the aiconfigurator sweep (@095f58a5): small-message us, bus GB/s.
TEST(Resolve, PublishedCollectives) {
  struct Row {
    const char* name;
    double ar_us, ar, ag_us, ag, rs_us, rs, a2a_us, a2a;
  };
  const Row rows[] = {
      {"h100-sxm-80", 15.96, 460, 10.62, 349, 10.49, 346, 8.13, 324},
      {"h200-sxm-141", 16.67, 478, 12.29, 347, 11.55, 346, 8.72, 318},
      {"a100-sxm-80", 21.77, 230, 14.98, 216, 15.1, 223, 13.27, 211},
      {"b200-180", 25.98, 753, 18.02, 635, 16.44, 631, 11.43, 590},
      {"b300-288", 25.54, 747, 16.3, 638, 16.43, 629, 11.22, 607},
  };
  for (const Row& row : rows) {
    const Gpu gpu = nominal(row.name);
    EXPECT_DOUBLE_EQ(gpu.all_reduce_latency.value.si(), row.ar_us * 1e-6) << row.name;
    EXPECT_DOUBLE_EQ(gpu.all_reduce_busbw.value.si(), row.ar * 1e9) << row.name;
    EXPECT_DOUBLE_EQ(gpu.all_gather_latency.value.si(), row.ag_us * 1e-6) << row.name;
    EXPECT_DOUBLE_EQ(gpu.all_gather_busbw.value.si(), row.ag * 1e9) << row.name;
    EXPECT_DOUBLE_EQ(gpu.reduce_scatter_latency.value.si(), row.rs_us * 1e-6) << row.name;
    EXPECT_DOUBLE_EQ(gpu.reduce_scatter_busbw.value.si(), row.rs * 1e9) << row.name;
    EXPECT_DOUBLE_EQ(gpu.all_to_all_latency.value.si(), row.a2a_us * 1e-6) << row.name;
    EXPECT_DOUBLE_EQ(gpu.all_to_all_busbw.value.si(), row.a2a * 1e9) << row.name;
  }
}

/// TFLOPS of scoring into a table with `heads` index heads of 128 by the law of
/// hw_profiles/README.md; the measured kernels write 4 B a pair besides.
double score_tflops(const Gpu& gpu, double peak, double heads) {
  const double flop = 2 * heads * 128;
  const double cycles =
      gpu.score_epilogue_cycles.value + heads * gpu.score_epilogue_lane_ops.value / 128;
  const double write = 4.0 / (gpu.stream_fraction.value * gpu.hbm_bandwidth.value.si());
  const double seconds =
      flop / (gpu.score_tensor_fraction.value * peak) + cycles / gpu.sm_cycles().si() + write;
  return flop / seconds / 1e12;
}

// The constants give back the measurements they were solved from, and one they were not.
TEST(SelectionConstants, GiveBackPublishedKernels) {
  const Gpu h100 = nominal("h100-sxm-80");
  const Gpu b200 = nominal("b200-180");
  EXPECT_NEAR(score_tflops(h100, h100.fp8.value.si(), 32), 890, 1);  // aiconfigurator
  EXPECT_NEAR(score_tflops(b200, b200.fp8.value.si(), 32), 1730, 2);
  const double h64 = score_tflops(h100, h100.fp8.value.si(), 64);  // sglang#11989: 960-1145
  EXPECT_GT(h64, 960);
  EXPECT_LT(h64, 1145);

  // torch.topk over 8192 x 1M: 146.55 - 47.33 ms (LiteTopK, B200).
  const double elements = 8192.0 * 1048576.0;
  EXPECT_NEAR(b200.torch_topk_cycles.value * elements / b200.sm_cycles().si(), 99.22e-3, 0.1e-3);

  // SGLang's radix top-k, causal-tail scores, elements per second (aiconfigurator): the larger of
  // cycles and bytes gives H100, H200 and B200 without an SM count or clock that tells them apart.
  const auto radix = [](const Gpu& gpu) {
    const double cycles = gpu.radix_topk_cycles.value / gpu.sm_cycles().si();
    const double bytes =
        gpu.radix_topk_bytes.value / (gpu.hbm_bandwidth.value.si() * gpu.stream_fraction.value);
    return 1.0 / std::max(cycles, bytes);
  };
  EXPECT_NEAR(radix(h100), 3.4e11, 0.1e11);
  EXPECT_NEAR(radix(nominal("h200-sxm-141")), 4.8e11, 0.1e11);
  EXPECT_NEAR(radix(b200), 6.6e11, 0.1e11);

  // TileLang's sparse backward: about 100 TFLOPS on H800, 115 on H200.
  const auto tilelang = [](const Gpu& gpu) {
    return gpu.sparse_backward_tilelang_flop_per_sm_cycle.value * gpu.sm_cycles().si() / 1e12;
  };
  EXPECT_NEAR(tilelang(nominal("h800-sxm-80")), 100, 0.1);
  EXPECT_NEAR(tilelang(nominal("h200-sxm-141")), 115, 3);
}

TEST(Resolve, DrawsStayInTheRangeAndDependOnSeedAndSampleOnly) {
  const GpuProfile profile = load_gpu_profile(bundled_profiles(), "h800-sxm-80");
  const auto field = [&](std::string_view key) {
    for (std::size_t i = 0; i < profile.fields.size(); ++i) {
      if (gpu_fields()[i].key == key) return profile.fields[i];
    }
    return config::Sourced{};
  };
  const config::Sourced clock = field("clock");
  const config::Sourced topk = field("laws/torch_topk_cycles");
  int below = 0;
  for (std::uint64_t sample = 0; sample < 200; ++sample) {
    const Gpu gpu = resolve(profile, config::Sampler(7, sample));
    EXPECT_GE(gpu.clock.value.si(), clock.low);
    EXPECT_LE(gpu.clock.value.si(), clock.high);
    EXPECT_GE(gpu.torch_topk_cycles.value, topk.low);
    EXPECT_LE(gpu.torch_topk_cycles.value, topk.high);
    EXPECT_DOUBLE_EQ(gpu.bf16.value.si(), 989.4e12);  // one figure, no range
    below += gpu.torch_topk_cycles.value < topk.value ? 1 : 0;
    EXPECT_EQ(gpu.clock.value.si(), resolve(profile, config::Sampler(7, sample)).clock.value.si());
  }
  EXPECT_GT(below, 70);  // the value is the median
  EXPECT_LT(below, 130);
}

TEST(Resolve, FractionsAreClamped) {
  GpuProfile profile = load_gpu_profile(bundled_profiles(), "h20-96");
  for (config::Sourced& field : profile.fields) field.value = field.low = field.high = 3.0;
  EXPECT_EQ(resolve(profile, {}).gemm_bf16.value, 1.0);
  EXPECT_EQ(resolve(profile, {}).l2_hit_gather.value, 1.0);
  EXPECT_EQ(resolve(profile, {}).hytopk_scan_overhead.value, 3.0);
  for (config::Sourced& field : profile.fields) field.value = field.low = field.high = -1.0;
  EXPECT_GT(resolve(profile, {}).gemm_bf16.value, 0.0);
  EXPECT_EQ(resolve(profile, {}).l2_hit_gather.value, 0.0);
  EXPECT_EQ(resolve(profile, {}).hytopk_scan_overhead.value, 0.0);
  EXPECT_GT(resolve(profile, {}).clock.value.si(), 0.0);
}

TEST(Resolve, EvidenceIsFromTheGpuPredicted) {
  const Gpu h20 = nominal("h20-96");
  EXPECT_EQ(h20.gemm_fp8.evidence, Evidence::this_gpu);            // measured
  EXPECT_EQ(h20.grouped_gemm_bf16.evidence, Evidence::this_gpu);   // derived from its own figures
  EXPECT_EQ(h20.all_gather_busbw.evidence, Evidence::other_gpu);   // measured on H100
  EXPECT_EQ(h20.torch_topk_cycles.evidence, Evidence::other_gpu);  // derived from B200
  EXPECT_EQ(h20.bf16.evidence, Evidence::datasheet);
  EXPECT_EQ(h20.torch_topk_bytes.evidence, Evidence::datasheet);  // derived, from no measurement
  EXPECT_EQ(h20.scatter_fraction.evidence, Evidence::assumed);

  const Gpu h20_3e = nominal("h20-3e-141");
  EXPECT_EQ(h20_3e.gemm_fp8.evidence, Evidence::other_gpu);
  EXPECT_EQ(nominal("b200-180").torch_topk_cycles.evidence, Evidence::this_gpu);
}

}  // namespace
}  // namespace hysim::hardware
