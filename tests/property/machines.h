// Machines for property tests: a real one to scale, and one on which every kernel streams one byte
// a second, so that a task takes as long as it is told to. RapidCheck is seeded, so runs repeat;
// RC_PARAMS="seed=..." overrides it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/stack.h"
#include "hardware/gpu.h"
#include "predict/evaluate.h"
#include "topology/cluster.h"
#include "unit/model/model_files.h"

namespace hysim::test {

using predictor::Machine;

/// A bundled GPU on a bundled cluster's network, nominal values.
inline Machine real_machine(std::string_view gpu = "h20-96", std::string_view cluster = "h20-512") {
  const Resources files = source_tree();
  return {hardware::resolve(hardware::load_gpu_profile(files, gpu), config::Sampler()),
          topology::resolve(topology::load_cluster(files, cluster), config::Sampler()),
          graph::resolve(graph::load_stack(files, "megatron-core-2026"), config::Sampler(), gpu)};
}

/// A number of a machine that a property changes.
struct Knob {
  const char* name;
  double (*get)(const Machine&);
  void (*scale)(Machine&, double factor);
};

#define HYSIM_GPU_KNOB(field)                                        \
  Knob {                                                             \
#field, [](const Machine& m) { return si_of(m.gpu.field.value); }, \
        [](Machine& m, double factor) { m.gpu.field.value = m.gpu.field.value * factor; } \
  }
#define HYSIM_NETWORK_KNOB(field)                                        \
  Knob {                                                                 \
#field, [](const Machine& m) { return si_of(m.network.field.value); }, \
        [](Machine& m, double factor) { m.network.field.value = m.network.field.value * factor; } \
  }

template <class D>
double si_of(Quantity<D> quantity) {
  return quantity.si();
}
inline double si_of(double number) { return number; }

/// More of these makes nothing slower.
inline const std::vector<Knob>& rates() {
  static const std::vector<Knob> knobs = {
      HYSIM_GPU_KNOB(clock),
      HYSIM_GPU_KNOB(bf16),
      HYSIM_GPU_KNOB(fp8),
      HYSIM_GPU_KNOB(fp32),
      HYSIM_GPU_KNOB(hbm_bandwidth),
      HYSIM_GPU_KNOB(nvlink),
      HYSIM_GPU_KNOB(gemm_bf16),
      HYSIM_GPU_KNOB(gemm_fp8),
      HYSIM_GPU_KNOB(grouped_gemm_bf16),
      HYSIM_GPU_KNOB(grouped_gemm_fp8),
      HYSIM_GPU_KNOB(attention_forward),
      HYSIM_GPU_KNOB(attention_backward),
      HYSIM_GPU_KNOB(sparse_attention_forward),
      HYSIM_GPU_KNOB(sparse_attention_backward_cudnn),
      HYSIM_GPU_KNOB(sparse_backward_tilelang_flop_per_sm_cycle),
      HYSIM_GPU_KNOB(index_loss),
      HYSIM_GPU_KNOB(stream_fraction),
      HYSIM_GPU_KNOB(scatter_fraction),
      HYSIM_GPU_KNOB(score_tensor_fraction),
      HYSIM_GPU_KNOB(all_reduce_busbw),
      HYSIM_GPU_KNOB(all_gather_busbw),
      HYSIM_GPU_KNOB(reduce_scatter_busbw),
      HYSIM_GPU_KNOB(all_to_all_busbw),
      HYSIM_NETWORK_KNOB(nic),
      HYSIM_NETWORK_KNOB(nic_efficiency),
      HYSIM_NETWORK_KNOB(all_to_all_efficiency),
      HYSIM_NETWORK_KNOB(dispatch_efficiency),
      HYSIM_NETWORK_KNOB(host),
  };
  return knobs;
}

/// Less of these makes nothing slower.
inline const std::vector<Knob>& burdens() {
  static const std::vector<Knob> knobs = {
      HYSIM_GPU_KNOB(score_epilogue_cycles),
      HYSIM_GPU_KNOB(score_epilogue_lane_ops),
      HYSIM_GPU_KNOB(torch_topk_cycles),
      HYSIM_GPU_KNOB(torch_topk_bytes),
      HYSIM_GPU_KNOB(radix_topk_cycles),
      HYSIM_GPU_KNOB(radix_topk_bytes),
      HYSIM_GPU_KNOB(hytopk_scan_overhead),
      HYSIM_GPU_KNOB(hytopk_compaction_cycles),
      HYSIM_GPU_KNOB(all_reduce_latency),
      HYSIM_GPU_KNOB(all_gather_latency),
      HYSIM_GPU_KNOB(reduce_scatter_latency),
      HYSIM_GPU_KNOB(all_to_all_latency),
      HYSIM_NETWORK_KNOB(ring_loss_per_doubling),
      Knob{"launch_gap", [](const Machine& m) { return m.stack.launch_gap.si(); },
           [](Machine& m, double factor) { m.stack.launch_gap *= factor; }},
  };
  return knobs;
}

#undef HYSIM_GPU_KNOB
#undef HYSIM_NETWORK_KNOB

/// Streams one byte a second from HBM and to NVLink peers; no latencies, no launch gaps.
inline Machine unit_machine() {
  Machine m;
  m.gpu.hbm_bandwidth.value = BytesPerSecond(1.0);
  m.gpu.stream_fraction.value = 1.0;
  m.gpu.all_to_all_busbw.value = BytesPerSecond(1.0);
  m.gpu.all_to_all_latency.value = Seconds(0.0);
  m.network.nic.value = BytesPerSecond(1.0);
  m.network.all_to_all_efficiency.value = 1.0;
  m.stack.launch_gap = Seconds(0.0);
  return m;
}

/// On the unit machine: a kernel and an exchange of so many seconds.
inline ops::Work kernel_of(double seconds, double launches = 0.0) {
  ops::Work work;
  work.read = Bytes(seconds);
  work.launches = launches;
  return work;
}
inline collectives::Collective exchange_of(double seconds) {
  collectives::Collective op;
  op.kind = collectives::Kind::all_to_all;
  op.group = {2, 1, 2};
  op.nvlink_sent = Bytes(seconds);
  return op;
}

/// Step time of a plan on eight-GPU nodes.
inline double step_of(const graph::Plan& plan, const Machine& machine) {
  const graph::Program program = graph::build_training_step(plan, 8);
  return predictor::Evaluator(program).evaluate(machine, false).step;
}

/// An evaluation with the names of its leaves.
struct Step {
  std::vector<std::string> leaves;
  predictor::Evaluation evaluation;

  Step(const graph::Plan& plan, const Machine& machine) {
    const graph::Program program = graph::build_training_step(plan, 8);
    const predictor::Evaluator evaluator(program);
    leaves = evaluator.leaves();
    evaluation = evaluator.evaluate(machine, true);
  }
  double seconds() const { return evaluation.step; }
  /// Critical seconds of the leaves that begin with `prefix`.
  double critical(std::string_view prefix) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (leaves[i].rfind(prefix, 0) == 0) sum += evaluation.critical[i];
    }
    return sum;
  }
};

}  // namespace hysim::test
