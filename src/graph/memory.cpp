#include "graph/memory.h"

#include <algorithm>

#include "graph/offload.h"
#include "graph/schedule.h"
#include "ops/element_bytes.h"
#include "units/real.h"

namespace hysim::graph {

namespace {

// Master weight and two moments.
constexpr double kAdamBytes = 3.0 * ops::kFp32Bytes;

/// What the layers of one stage keep for one micro-batch, and the most they need at a time.
struct LayerBytes {
  Bytes checkpoints;
  Bytes activations;
  Bytes indices;
  Bytes weight_operands;
  Bytes most_offloaded;  // of one layer
  Bytes working_set;
  Bytes gathered;
  Bytes workspace;  // these three of the layers with the largest working_set + workspace
};

/// Layers that are recomputed together: those between two checkpoints of a chunk.
std::int64_t block_layers(const Training& training, std::int64_t layers) {
  if (training.recompute_method != RecomputeMethod::uniform) return 1;
  return std::clamp<std::int64_t>(training.recompute_num_layers, 1,
                                  std::max<std::int64_t>(layers, 1));
}

/// One layer of a chunk of `layers`; of a block only one layer keeps its input.
void add_layer(LayerBytes& sum, const LayerProgram& layer, std::int64_t block) {
  if (!layer.recompute) {
    sum.activations += layer.saved;
    block = 1;
  }
  sum.indices += layer.indices;
  sum.weight_operands += layer.weight_operands;
  sum.most_offloaded = max(sum.most_offloaded, layer.offloaded);
  const double others = real(block - 1);
  const Bytes working_set = layer.working_set + layer.recomputed * others;
  if (sum.working_set + sum.workspace < working_set + layer.score_workspace) {
    sum.working_set = working_set;
    sum.gathered = layer.gathered + layer.gathered_again * others;
    sum.workspace = layer.score_workspace;
  }
}

LayerBytes stage_layers(const Program& program, const Training& training, std::int64_t stage) {
  LayerBytes sum;
  for (const Chunk& chunk : program.chunks) {
    if (chunk.stage != stage) continue;
    const auto count = static_cast<std::int64_t>(chunk.layers.size());
    const std::int64_t block = block_layers(training, count);
    std::int64_t recomputed = 0;
    Bytes checkpoint;
    for (const std::int32_t index : chunk.layers) {
      const LayerProgram& layer = program.layers[static_cast<std::size_t>(index)];
      add_layer(sum, layer, block);
      if (!layer.recompute) continue;
      ++recomputed;
      checkpoint = layer.saved;
    }
    sum.checkpoints += checkpoint * real((recomputed + block - 1) / block);
    for (std::int64_t i = 0; i < chunk.mtp; ++i) {
      add_layer(sum, program.mtp, 1);
      if (program.mtp.recompute) sum.checkpoints += program.mtp.saved;
    }
  }
  return sum;
}

}  // namespace

ModelState model_state(const ParameterShare& share, double gradient_bytes, int zero,
                       std::int64_t dense_group, std::int64_t expert_group) {
  const double whole = share.dense + share.expert;
  const double shard = share.dense / real(dense_group) + share.expert / real(expert_group);
  return {Bytes(ops::kBf16Bytes * (zero >= 3 ? shard : whole)),
          Bytes(gradient_bytes * (zero >= 2 ? shard : whole)),
          Bytes(kAdamBytes * (zero >= 1 ? shard : whole))};
}

ShardBuffers shard_buffers(const Program& program, std::int64_t stage) {
  ShardBuffers buffers;
  if (program.zero < 2) return buffers;
  const std::vector<ParameterShare> units = stage_units(program, stage);
  // A part that one rank holds alone is neither gathered nor scattered.
  const double dense = program.dense_shard.size > 1 ? 1.0 : 0.0;
  const double expert = program.expert_shard.size > 1 ? 1.0 : 0.0;
  // The most parameters of `count` units that follow each other.
  const auto most = [&](std::size_t count) {
    double result = 0.0;
    for (std::size_t end = 1; end <= units.size(); ++end) {
      double sum = 0.0;
      for (std::size_t i = end - std::min(end, count); i < end; ++i) {
        sum += dense * units[i].dense + expert * units[i].expert;
      }
      result = std::max(result, sum);
    }
    return result;
  };
  buffers.gradients = Bytes(program.gradient_bytes * most(2));
  if (program.zero >= 3) {
    const auto ahead = static_cast<std::size_t>(program.fsdp_prefetch);
    buffers.weights =
        Bytes(ops::kBf16Bytes * most(program.reshard_after_forward ? ahead + 1 : units.size()));
  }
  return buffers;
}

StageBytes stage_memory(const Program& program, const Training& training, std::int64_t stage) {
  const ModelState state =
      model_state(stage_parameters(program, stage), program.gradient_bytes, program.zero,
                  program.dense_shard.size, program.expert_shard.size);
  const ShardBuffers buffers = shard_buffers(program, stage);
  const LayerBytes layers = stage_layers(program, training, stage);
  // Chunks are equal shares of the stage; a chunk's activations live from its forward to backward.
  double in_flight = real(peak_in_flight(program.pipeline(), stage)) / real(program.vpp);
  double waiting = real(peak_waiting_weights(program.pipeline(), stage));
  // Split backwards: the fullest moment is in the first layer of a backward, which keeps all else
  // of its micro-batch, or in the last, when the operands of its weight gradients are all there.
  const Bytes kept = layers.checkpoints + layers.activations + layers.indices;
  if (program.schedule == Schedule::zb_h1 && kept < layers.weight_operands) {
    in_flight -= 1.0;
    waiting += 1.0;
  }
  Bytes logits;
  Bytes logit_gradients;
  for (const Chunk& chunk : program.chunks) {
    if (chunk.stage != stage || chunk.losses == 0) continue;
    logits = program.head.saved * real(chunk.losses);
    logit_gradients = program.head.working_set;
  }
  const bool loss_moment = layers.working_set + layers.workspace < logits + logit_gradients;

  StageBytes result;
  const auto add = [&](const char* name, Bytes bytes) {
    if (bytes.si() <= 0.0) return;
    result.items.push_back({name, bytes});
    result.allocated += bytes;
  };
  add("weights", state.weights);
  add("gradients", state.gradients);
  add("optimizer", state.optimizer);
  add("weights_gathered", buffers.weights);
  add("gradient_buffers", buffers.gradients);
  const double stays = 1.0 - training.offload.activations;
  const double indices_stay = training.offload.indices ? 0.0 : 1.0;
  add("checkpoints", layers.checkpoints * (in_flight * stays));
  add("activations", layers.activations * (in_flight * stays));
  add("saved_indices", layers.indices * (in_flight * indices_stay));
  add("offload_buffers", layers.most_offloaded * real(kOffloadBuffers));
  result.host = (layers.checkpoints + layers.activations) * (in_flight * (1.0 - stays)) +
                layers.indices * (in_flight * (1.0 - indices_stay));
  add("weight_gradient_operands", layers.weight_operands * waiting);
  if (loss_moment) {
    add("logits", logits);
    add("logit_gradients", logit_gradients);
  } else {
    add("working_set", layers.working_set - layers.gathered);
    add("communication_buffers", layers.gathered);
    add("score_workspace", layers.workspace);
  }
  return result;
}

std::int64_t communicators(const Plan& plan) {
  const topology::GroupSizes& s = plan.parallelism.sizes;
  std::int64_t count = 1;  // world
  count += s.tp > 1 ? 1 : 0;
  count += s.cp > 1 ? 1 : 0;
  count += s.pp > 1 ? 1 : 0;
  count += s.ep > 1 ? 1 : 0;
  count += s.etp > 1 ? 1 : 0;
  count += s.dp * s.cp > 1 ? 1 : 0;
  bool experts = false;
  for (const model::LayerSpec& layer : plan.model.layers) {
    experts = experts || layer.ffn == model::FfnKind::moe;
  }
  count += experts && s.edp() > 1 ? 1 : 0;
  return count;
}

}  // namespace hysim::graph
