// A GPU as plain numbers: peaks, pipes, memory, and the constants of the efficiency laws.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/sourced.h"
#include "hysim/resources.h"
#include "hysim/units.h"

namespace hysim::hardware {

using config::Evidence;
using config::Known;

/// Plain numbers of one GPU for one evaluation (nominal or a draw). Field meanings, units and the
/// profile keys are in kGpuFields (gpu.cpp); laws that use them are in src/cost.
struct Gpu {
  std::string name;
  std::string architecture;  // "hopper", "ampere", ...

  // Pipes and memory.
  Known<double> sm_count;
  Known<PerSecond> clock;
  Known<FlopsPerSecond> bf16;  // dense tensor peak
  Known<FlopsPerSecond> fp8;   // dense tensor peak; equals bf16 where the GPU has no fp8
  Known<FlopsPerSecond> fp32;  // vector peak
  Known<BytesPerSecond> hbm_bandwidth;
  Known<Bytes> hbm_capacity;  // as sold
  Known<Bytes> hbm_usable;    // as the driver reports
  Known<Bytes> l2;
  Known<BytesPerSecond> nvlink;  // per direction

  // Fractions of the tensor peak at full waves.
  Known<double> gemm_bf16;
  Known<double> gemm_fp8;
  Known<double> grouped_gemm_bf16;
  Known<double> grouped_gemm_fp8;
  Known<double> attention_forward;  // dense flash attention, long sequences
  Known<double> attention_backward;
  Known<double> sparse_attention_forward;  // gather of selected rows, compute side
  Known<double> sparse_attention_backward_cudnn;
  // TileLang's backward is bound inside the SM, not by the tensor pipe: flop per SM-cycle.
  Known<double> sparse_backward_tilelang_flop_per_sm_cycle;
  Known<double> index_loss;        // fraction of the bf16 peak
  Known<double> stream_fraction;   // of HBM bandwidth, streaming kernels
  Known<double> scatter_fraction;  // of HBM bandwidth, random row gathers and atomics
  Known<double> l2_hit_gather;     // share of gathered rows served by L2
  Known<double> l2_hit_scatter;    // share of scattered rows absorbed by L2

  // Selection.
  Known<double> score_tensor_fraction;     // of the tensor peak, scoring MMA alone
  Known<double> score_epilogue_cycles;     // SM-cycles per scored pair, head-independent part
  Known<double> score_epilogue_lane_ops;   // fp32 lane operations per pair and head
  Known<double> torch_topk_cycles;         // SM-cycles per table element
  Known<double> torch_topk_bytes;          // HBM bytes per table element (floor)
  Known<double> radix_topk_cycles;         // SM-cycles per table element
  Known<double> radix_topk_bytes;          // HBM bytes per table element (floor)
  Known<double> hytopk_scan_overhead;      // fraction of scoring time added by gate and append
  Known<double> hytopk_compaction_cycles;  // SM-cycles of one compaction of one query block

  // Collectives inside one 8-GPU node: small-message latency and asymptotic bus bandwidth.
  Known<Seconds> all_reduce_latency;
  Known<BytesPerSecond> all_reduce_busbw;
  Known<Seconds> all_gather_latency;
  Known<BytesPerSecond> all_gather_busbw;
  Known<Seconds> reduce_scatter_latency;
  Known<BytesPerSecond> reduce_scatter_busbw;
  Known<Seconds> all_to_all_latency;
  Known<BytesPerSecond> all_to_all_busbw;

  PerSecond sm_cycles() const { return sm_count.value * clock.value; }
};

/// Where one field of Gpu stands in a profile.
struct GpuFieldInfo {
  std::string_view key;      // "hbm_bandwidth", "laws/gemm_bf16"
  std::string_view si_unit;  // dimension of the field
  std::string_view meaning;
};
const std::vector<GpuFieldInfo>& gpu_fields();
/// The position of `key` there; its size when no field has that key.
std::size_t gpu_field_index(std::string_view key);
/// The value at `pointer` of a document as one for field `index`: its unit and bounds are checked.
config::Sourced read_gpu_field(const config::Node& node, const std::string& pointer,
                               const std::string& id, std::size_t index, config::Faults& faults);

/// hw_profiles/gpus/<name>.json: the same fields with range, kind and source.
struct GpuProfile {
  std::string name;
  std::string full_name;                // "NVIDIA H20 96 GB"
  std::string architecture;             // "hopper"
  std::vector<config::Sourced> fields;  // one per gpu_fields(), same order
  /// GPUs that NVLink joins at full rate, nodes or not: 8 on an HGX board, 72 in an NVL72 rack.
  std::optional<config::Sourced> nvlink_domain;
};

/// Throws InputError. `path` is only for messages.
GpuProfile parse_gpu_profile(std::string_view text, std::string_view path);
/// Finds hw_profiles/gpus/<name>.json; throws InputError naming the nearest known GPU.
GpuProfile load_gpu_profile(const Resources& resources, std::string_view name);

/// Plain numbers: the nominal values or one draw.
Gpu resolve(const GpuProfile& profile, const config::Sampler& sampler);
/// The same into a Gpu that is there already, without allocation when it is of this profile.
void resolve(const GpuProfile& profile, const config::Sampler& sampler, Gpu& gpu);

}  // namespace hysim::hardware
