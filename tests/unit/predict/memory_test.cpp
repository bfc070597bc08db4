// Memory of the fullest GPU: what it is made of, by hand where it can be, and when it fits.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "config/node.h"
#include "unit/predict/scenarios.h"

namespace hysim::predictor {
namespace {

using test::predict_nominal;

double part(const std::vector<MemoryPart>& parts, const std::string& name) {
  double bytes = 0.0;
  for (const MemoryPart& p : parts) {
    if (p.name == name) bytes += p.bytes.si();
  }
  return bytes;
}

double sum(const std::vector<MemoryPart>& parts) {
  double bytes = 0.0;
  for (const MemoryPart& p : parts) bytes += p.bytes.si();
  return bytes;
}

// ---------------------------------------------------------------- what a stage is made of

TEST(Memory, PartsSumToTheDevice) {
  for (const test::BundledVariant& bundled : test::bundled_variants()) {
    const Memory memory = predict_nominal(bundled.scenario, {}, bundled.variant).memory;
    ASSERT_FALSE(memory.by_stage.empty());
    Bytes fullest;
    for (std::size_t s = 0; s < memory.by_stage.size(); ++s) {
      const StageMemory& stage = memory.by_stage[s];
      EXPECT_EQ(stage.stage, static_cast<std::int64_t>(s));
      EXPECT_NEAR(sum(stage.parts), stage.device.si(), 1e-9 * stage.device.si()) << bundled.name;
      EXPECT_LE(stage.allocated, stage.reserved);
      EXPECT_LE(stage.reserved, stage.device);
      for (const MemoryPart& p : stage.parts) {
        EXPECT_FALSE(p.name.empty());
        EXPECT_GT(p.bytes.si(), 0.0) << p.name;
      }
      const double beyond = part(stage.parts, "fragmentation") + part(stage.parts, "nccl_buffers") +
                            part(stage.parts, "cuda_context");
      EXPECT_NEAR(stage.device.si() - beyond, stage.allocated.si(), 1e-9 * stage.device.si());
      fullest = max(fullest, stage.device);
    }
    EXPECT_EQ(memory.peak_per_gpu.value, fullest);
    const StageMemory& peak = memory.by_stage.at(static_cast<std::size_t>(memory.fullest_stage));
    EXPECT_EQ(peak.device, fullest);
    ASSERT_EQ(memory.parts.size(), peak.parts.size());
    for (std::size_t i = 0; i < peak.parts.size(); ++i) {
      EXPECT_EQ(memory.parts[i].name, peak.parts[i].name);
      EXPECT_EQ(memory.parts[i].bytes, peak.parts[i].bytes);
    }
  }
}

TEST(Memory, ModelStateOfLlamaByHand) {
  // Llama-2-7B has 6,738,415,616 parameters: 2 B of bf16 weights, 4 B of fp32 gradients, 12 B of
  // Adam's state, which ZeRO-1 divides by the eight replicas.
  const double n = 6738415616.0;
  const std::vector<MemoryPart> parts = predict_nominal(test::dense()).memory.parts;
  EXPECT_NEAR(part(parts, "weights"), 2.0 * n, 1.0);
  EXPECT_NEAR(part(parts, "gradients"), 4.0 * n, 1.0);
  EXPECT_NEAR(part(parts, "optimizer"), 12.0 * n / 8.0, 1.0);
  const std::vector<MemoryPart> other =
      predict_nominal(test::dense(), {"parallelism.zero=0", "training.gradient_dtype=bf16"})
          .memory.parts;
  EXPECT_NEAR(part(other, "gradients"), 2.0 * n, 1.0);
  EXPECT_NEAR(part(other, "optimizer"), 12.0 * n, 1.0);
}

TEST(Memory, CheckpointsByHand) {
  // The input of a layer: 4096 tokens x 4096 channels x 2 B = 32 MiB.
  const double input = 4096.0 * 4096.0 * 2.0;
  const auto checkpoints = [](const std::vector<std::string>& sets, std::size_t stage = 0) {
    return part(predict_nominal(test::dense(), sets).memory.by_stage.at(stage).parts,
                "checkpoints");
  };
  EXPECT_DOUBLE_EQ(checkpoints({}), 32.0 * input);
  EXPECT_DOUBLE_EQ(checkpoints({"workload.micro_batch_size=2"}), 64.0 * input);
  EXPECT_DOUBLE_EQ(checkpoints({"training.recompute_num_layers=4"}), 8.0 * input);
  EXPECT_DOUBLE_EQ(
      checkpoints({"training.recompute_method=block", "training.recompute_num_layers=8"}),
      8.0 * input);
  // Eight layers a stage; 1F1B keeps p - s micro-batches in flight.
  EXPECT_DOUBLE_EQ(checkpoints({"parallelism.pp=4"}, 0), 8.0 * 4.0 * input);
  EXPECT_DOUBLE_EQ(checkpoints({"parallelism.pp=4"}, 1), 8.0 * 3.0 * input);
  EXPECT_DOUBLE_EQ(checkpoints({"parallelism.pp=4"}, 3), 8.0 * input);
  // No more than there are: two micro-batches.
  EXPECT_DOUBLE_EQ(checkpoints({"parallelism.pp=4", "workload.global_batch_size=4"}, 0),
                   8.0 * 2.0 * input);
}

TEST(Memory, SavedIndicesOfTheHeadlineByHand) {
  // 16,384 tokens a rank x 2,048 indices x 4 B = 128 MiB a layer and micro-batch. Stage 0: nine
  // layers, eight in flight; the last: nine and the MTP layer, one in flight.
  const Prediction p = predict_nominal(test::bundled_scenario("glm-5.1-1m-h20-512"), {}, "hyscale");
  const double layer = 16384.0 * 2048.0 * 4.0;
  EXPECT_DOUBLE_EQ(part(p.memory.by_stage.at(0).parts, "saved_indices"), layer * 9.0 * 8.0);
  EXPECT_DOUBLE_EQ(part(p.memory.by_stage.at(1).parts, "saved_indices"), layer * 10.0 * 7.0);
  EXPECT_DOUBLE_EQ(part(p.memory.by_stage.at(7).parts, "saved_indices"), layer * 10.0);
}

TEST(Memory, BeyondTheTensorsByHand) {
  // Of the stack: 5 % fragmentation, a context of 3.5 GB, 392 MiB a communicator. A rank is in
  // five: world, cp, pp, ep, and dp x cp. (tp and the expert replicas are groups of one.)
  for (const StageMemory& stage : predict_nominal(test::two_variants()).memory.by_stage) {
    EXPECT_NEAR(part(stage.parts, "fragmentation"), 0.05 * stage.allocated.si(), 1.0);
    EXPECT_DOUBLE_EQ(part(stage.parts, "cuda_context"), 3.5e9);
    EXPECT_DOUBLE_EQ(part(stage.parts, "nccl_buffers"), 5.0 * 392.0 * 1024.0 * 1024.0);
  }
}

// ---------------------------------------------------------------- when it fits

/// H20s of `usable` bytes.
Resources with_memory(double usable) {
  const char* const path = "hw_profiles/gpus/h20-96.json";
  config::Node gpu = config::parse(test::bundled_text(path), path);
  for (const char* key : {"value", "low", "high"}) {
    gpu.find("hbm_usable")->set(key, config::Node::number(usable));
  }
  return overlay(memory_resources({{path, config::to_text(gpu)}}), test::bundle());
}

Memory memory_with(double usable) {
  PredictOptions options;
  options.draws = 0;
  return predict(with_memory(usable), test::two_variants(), options).memory;
}

TEST(Memory, FitsAtEachSideOfTheThresholds) {
  const double peak = predict_nominal(test::two_variants()).memory.peak_per_gpu.value.si();
  EXPECT_EQ(memory_with(0.5 * peak).fits, Fit::no);
  EXPECT_EQ(memory_with(peak - 1.0).fits, Fit::no);
  EXPECT_EQ(memory_with(peak).fits, Fit::tight);
  EXPECT_EQ(memory_with(peak + 1.0).fits, Fit::tight);
  EXPECT_EQ(memory_with(peak / 0.95 - 1.0).fits, Fit::tight);  // less than 5 % left
  EXPECT_EQ(memory_with(peak / 0.95 + 1.0).fits, Fit::yes);
  EXPECT_EQ(memory_with(2.0 * peak).fits, Fit::yes);
  EXPECT_DOUBLE_EQ(memory_with(2.0 * peak).capacity.si(), 2.0 * peak);
}

TEST(Memory, IsTightWhenTheHighEndDoesNotFit) {
  // A stack whose fragmentation may reach 40 % of what is allocated.
  const char* const path = "hw_profiles/stacks/megatron-core-2026.json";
  config::Node stack = config::parse(test::bundled_text(path), path);
  stack.find("fragmentation")->set("high", config::Node::number(0.4));
  const Resources loose = memory_resources({{path, config::to_text(stack)}});
  const auto memory = [&](double usable, std::int64_t draws) {
    PredictOptions options;
    options.draws = draws;
    return predict(overlay(loose, with_memory(usable)), test::two_variants(), options).memory;
  };
  const Memory drawn = memory(1e12, 50);
  const double high = drawn.peak_per_gpu.high.si();
  ASSERT_GT(high, drawn.peak_per_gpu.value.si() / 0.95 + 10.0);
  EXPECT_EQ(memory(high - 1.0, 50).fits, Fit::tight);
  EXPECT_EQ(memory(high - 1.0, 0).fits, Fit::yes);
  EXPECT_EQ(memory(high + 1.0, 50).fits, Fit::yes);
}

TEST(Memory, CapacityChangesNoTime) {
  EXPECT_EQ(predict_nominal(test::two_variants(), {}, "", with_memory(1e9)).step_time.value,
            predict_nominal(test::two_variants()).step_time.value);
}

// ---------------------------------------------------------------- relations

TEST(Memory, FollowsTheSettings) {
  const auto peak = [](const std::vector<std::string>& sets) {
    return predict_nominal(test::two_variants(), sets).memory.peak_per_gpu.value.si();
  };
  const double base = peak({});
  EXPECT_GT(peak({"training.recompute=none"}), base);
  EXPECT_GT(peak({"parallelism.zero=0"}), base);
  EXPECT_LT(peak({"training.gradient_dtype=bf16"}), base);
  EXPECT_GT(peak({"workload.seq_len=256K"}), base);
  EXPECT_GE(peak({"kernels.selection_replay=true"}), base);
}

}  // namespace
}  // namespace hysim::predictor
