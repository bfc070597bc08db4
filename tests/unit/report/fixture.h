// A comparison as the predictor could make it, with numbers made up to look at and to test views.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hysim/prediction.h"

namespace hysim::report::test {

inline Ranged<Seconds> seconds(double value, double spread = 0.15) {
  return {Seconds(value), Seconds(value * (1.0 - spread)), Seconds(value * (1.0 + spread))};
}

inline BreakdownLeaf leaf(std::string path, double time, std::string bound_by,
                          TimeKind kind = TimeKind::critical) {
  return {std::move(path), seconds(time), kind, std::move(bound_by)};
}

/// The step time is the sum of the critical leaves.
inline Prediction prediction_of(std::string variant, std::vector<BreakdownLeaf> leaves) {
  Prediction p;
  p.kind = "training_step";
  p.scenario = "glm-5.1-1m-h20-512";
  p.variant = std::move(variant);
  p.model = "glm-5.1";
  p.cluster = "h20-512";
  p.gpu = "h20-96";
  p.gpus = 512;
  p.seq_len = 1 << 20;
  p.micro_batch_size = 1;
  p.global_batch_size = 16;
  p.micro_batches = 16;
  p.layout.cp = 64;
  p.layout.pp = 8;
  p.layout.ep = 64;
  p.layout.layers_per_stage = {9, 10, 10, 10, 10, 10, 10, 9};

  double step = 0.0;
  for (const auto& l : leaves) {
    if (l.kind == TimeKind::critical) step += l.time.value.si();
  }
  p.breakdown = std::move(leaves);
  p.step_time = {Seconds(step), Seconds(step * 0.86), Seconds(step * 1.18)};
  const double tokens = 16.0 * 1048576.0 / 512.0 / step;
  p.tokens_per_second_per_gpu = {tokens, tokens / 1.18, tokens / 0.86};
  const double fraction = 4.1 / step;
  p.mfu = {{fraction, fraction / 1.18, fraction / 0.86},
           Flops(fraction * step * 512.0 * 148e12),
           FlopsPerSecond(148e12),
           "projections, experts, head and visible pairs of attention and scoring, forward x 3"};
  p.hfu = p.mfu;
  p.hfu.fraction = {fraction * 1.31, fraction * 1.31 / 1.18, fraction * 1.31 / 0.86};
  p.hfu.convention = "every flop the kernels execute, recomputation included";

  p.model_flops = {{"absorbed", Flops(333.6e9), "as executed"},
                   {"up_projected", Flops(298.1e9), "in the heads' own dimensions"},
                   {"dense", Flops(1268.0e9), "every causal pair"}};
  // Ends of 9 layers, alike stages of 10 between them.
  for (std::int64_t s = 0; s < 8; ++s) {
    const double layers = s == 0 || s == 7 ? 9.0 : 10.0;
    p.stages.push_back(
        {s, Seconds(0.01 * layers), Seconds(0.03 * layers), Seconds(0.64 * layers), layers / 78.0});
  }

  const auto stage_of = [](std::int64_t stage, double saved) {
    StageMemory memory;
    memory.stage = stage;
    memory.parts = {{"weights", Bytes(14.2e9)},     {"gradients", Bytes(14.2e9)},
                    {"optimizer", Bytes(21.3e9)},   {"checkpoints", Bytes(saved)},
                    {"score_table", Bytes(1.07e9)}, {"workspace", Bytes(3.6e9)}};
    for (const auto& part : memory.parts) memory.allocated += part.bytes;
    memory.reserved = memory.allocated * 1.04;
    memory.device = memory.reserved + Bytes(2.1e9);
    return memory;
  };
  for (std::int64_t s = 0; s < 8; ++s) {
    p.memory.by_stage.push_back(stage_of(s, 26e9 - 3.2e9 * static_cast<double>(s)));
  }
  const Bytes peak = p.memory.by_stage[0].device;
  p.memory.peak_per_gpu = {peak, peak * 0.97, peak * 1.06};
  p.memory.capacity = Bytes(102.6e9);
  p.memory.fits = Fit::yes;
  p.memory.fullest_stage = 0;
  p.memory.parts = p.memory.by_stage[0].parts;
  p.critical_stage = 1;
  p.communication = {
      {"cp", "network", Bytes(4.03e9), Seconds(1.9), Seconds(0.62)},
      {"ep", "network", Bytes(71.2e9), Seconds(3.4), Seconds(1.13)},
      {"pp", "network", Bytes(3.22e9), Seconds(0.09), Seconds(0.011)},
      {"dp", "network", Bytes(12.8e9), Seconds(0.38), Seconds(0.21)},
  };
  p.evidence = {0.58, 0.197, 0.1, 0.123};
  p.assumptions = {"packed sequences are one document of 1M tokens",
                   "the optimizer keeps fp32 master weights and bf16 moments"};
  p.resolved_scenario = R"({"schema":"hysim.scenario/1","workload":{"seq_len":1048576}})";
  p.inputs = {{"bundled:models/glm-5.1.json", std::string(64, 'a')},
              {"bundled:hw_profiles/gpus/h20-96.json", std::string(64, 'b')}};
  p.seed = 1;
  p.draws = 200;
  return p;
}

inline std::vector<BreakdownLeaf> common_leaves() {
  return {
      leaf("attention/sparse_forward/forward", 0.93, "memory"),
      leaf("attention/sparse_forward/recompute", 0.93, "memory"),
      leaf("attention/sparse_backward/backward", 3.71, "sm"),
      leaf("indexer_loss/forward", 0.41, "tensor"),
      leaf("indexer_loss/backward", 0.32, "tensor"),
      leaf("linear/attention/forward", 0.66, "tensor"),
      leaf("linear/attention/recompute", 0.66, "tensor"),
      leaf("linear/attention/backward", 1.33, "tensor"),
      leaf("linear/ffn/forward", 0.031, "tensor"),
      leaf("linear/indexer/forward", 0.022, "tensor"),
      leaf("linear/router/forward", 0.004, "launch"),
      leaf("experts/forward", 0.79, "tensor"),
      leaf("experts/recompute", 0.79, "tensor"),
      leaf("experts/backward", 1.61, "tensor"),
      leaf("elementwise/forward", 0.28, "memory"),
      leaf("vocabulary/forward", 0.0007, "tensor"),
      leaf("communication/cp", 0.62, "network"),
      leaf("communication/ep", 1.13, "network"),
      leaf("communication/pp", 0.011, "latency"),
      leaf("communication/dp", 0.21, "network"),
      leaf("communication/ep", 2.27, "network", TimeKind::overlapped),
      leaf("communication/cp", 1.28, "network", TimeKind::overlapped),
      leaf("optimizer", 0.048, "memory"),
      leaf("launch", 0.0041, "launch"),
  };
}

/// With selection through a score table, forward and again in recomputation.
inline std::vector<BreakdownLeaf> table_leaves() {
  auto leaves = common_leaves();
  leaves.push_back(leaf("selection/scoring/forward", 1.92, "tensor"));
  leaves.push_back(leaf("selection/scoring/recompute", 1.92, "tensor"));
  leaves.push_back(leaf("selection/score_table/forward", 0.84, "memory"));
  leaves.push_back(leaf("selection/score_table/recompute", 0.84, "memory"));
  leaves.push_back(leaf("selection/topk/forward", 1.83, "memory"));
  leaves.push_back(leaf("selection/topk/recompute", 1.83, "memory"));
  return leaves;
}

inline Warning positions_warning() {
  return {"positions", "seq_len 1M is beyond the 203K positions of the model's config.json", ""};
}

inline Prediction tilelang() {
  auto leaves = table_leaves();
  leaves.push_back(leaf("bubble", 8.28, "schedule"));
  Prediction p = prediction_of("megatron-tilelang", std::move(leaves));
  p.memory.peak_per_gpu = {Bytes(132e9), Bytes(128e9), Bytes(139e9)};
  p.memory.fits = Fit::no;
  p.warnings = {positions_warning()};
  p.assumptions.push_back("the TileLang backward keeps its published rate at cp 64");
  return p;
}

inline Prediction cudnn() {
  auto leaves = table_leaves();
  leaves[2].time = seconds(1.12);
  leaves.push_back(leaf("bubble", 6.91, "schedule"));
  Prediction p = prediction_of("megatron-cudnn", std::move(leaves));
  p.memory.peak_per_gpu = {Bytes(99.8e9), Bytes(97e9), Bytes(105e9)};
  p.memory.fits = Fit::tight;
  p.warnings = {positions_warning()};
  return p;
}

inline Prediction hyscale() {
  auto leaves = common_leaves();
  leaves[2].time = seconds(1.12);
  leaves.push_back(leaf("selection/hytopk/forward", 2.11, "tensor"));
  leaves.push_back(leaf("bubble", 4.35, "schedule"));
  Prediction p = prediction_of("hyscale", std::move(leaves));
  p.warnings = {positions_warning(),
                {"unmeasured", "HyTopK's compaction has no measurement on any GPU", "a thread"}};
  return p;
}

inline Comparison comparison() {
  Comparison c;
  c.variants = {tilelang(), cudnn(), hyscale()};
  const double ratio = c.variants[0].step_time.value.si() / c.variants[2].step_time.value.si();
  c.speedup = {"megatron-tilelang",
               "hyscale",
               {ratio, ratio * 0.88, ratio * 1.12},
               true,
               "megatron-tilelang does not fit"};
  for (const char* topk : {"\"torch\"", "\"radix\""}) {
    for (const char* precision : {"\"bf16\"", "\"fp8\""}) {
      const double value = 1.42 + 0.2966 * static_cast<double>(c.hypotheses.size());
      c.hypotheses.push_back({{{"kernels.topk", topk}, {"kernels.selection_precision", precision}},
                              {value, value * 0.9, value * 1.1},
                              Fit::no});
    }
  }
  c.envelope = {1.42, 2.3098};
  const auto row = [&](AblationKind kind, const char* name, double time, Fit fit) {
    const double r = c.variants[0].step_time.value.si() / time;
    c.ablation.push_back({kind, name, seconds(time), {r, r * 0.9, r * 1.1}, fit});
  };
  row(AblationKind::cumulative, "HyTopK", 26.1, Fit::no);
  row(AblationKind::cumulative, "selection replay", 21.7, Fit::no);
  row(AblationKind::cumulative, "cuDNN backward", c.variants[2].step_time.value.si(), Fit::yes);
  row(AblationKind::alone, "HyTopK", 26.1, Fit::no);
  row(AblationKind::alone, "selection replay", 28.0, Fit::no);
  row(AblationKind::alone, "cuDNN backward", 29.3, Fit::yes);
  row(AblationKind::all_but, "HyTopK", 22.6, Fit::yes);
  row(AblationKind::all_but, "selection replay", 20.8, Fit::yes);
  row(AblationKind::all_but, "cuDNN backward", 21.7, Fit::no);
  c.reference = Reference{2.07, "hyscale-abstract"};
  return c;
}

}  // namespace hysim::report::test
