#include "graph/memory.h"

#include <algorithm>

#include "graph/schedule.h"
#include "units/real.h"

namespace hysim::graph {

namespace {

constexpr double kWeightBytes = 2.0;
constexpr double kAdamBytes = 12.0;

/// What the layers of one stage keep for one micro-batch, and the largest they need at a time.
struct LayerBytes {
  Bytes checkpoints;
  Bytes activations;
  Bytes indices;
  Bytes working_set;
  Bytes gathered;
  Bytes workspace;  // these three of the layer with the largest working_set + workspace
};

void add_layer(LayerBytes& sum, const LayerProgram& layer) {
  (layer.recompute ? sum.checkpoints : sum.activations) += layer.saved;
  sum.indices += layer.indices;
  if (sum.working_set + sum.workspace < layer.working_set + layer.score_workspace) {
    sum.working_set = layer.working_set;
    sum.gathered = layer.gathered;
    sum.workspace = layer.score_workspace;
  }
}

LayerBytes stage_layers(const Program& program, std::int64_t stage) {
  LayerBytes sum;
  for (const Chunk& chunk : program.chunks) {
    if (chunk.stage != stage) continue;
    for (const std::int32_t layer : chunk.layers) {
      add_layer(sum, program.layers[static_cast<std::size_t>(layer)]);
    }
    for (std::int64_t i = 0; i < chunk.mtp; ++i) add_layer(sum, program.mtp);
  }
  return sum;
}

}  // namespace

ModelState model_state(const ParameterShare& share, double gradient_bytes, int zero,
                       std::int64_t dense_group, std::int64_t expert_group) {
  const double parameters = share.dense + share.expert;
  const double adam =
      zero >= 1 ? share.dense / real(dense_group) + share.expert / real(expert_group) : parameters;
  return {Bytes(kWeightBytes * parameters), Bytes(gradient_bytes * parameters),
          Bytes(kAdamBytes * adam)};
}

StageBytes stage_memory(const Program& program, const Training& training, std::int64_t stage) {
  const ModelState state =
      model_state(stage_parameters(program, stage), program.gradient_bytes, program.zero,
                  program.dense_group.size, program.expert_group.size);
  const LayerBytes layers = stage_layers(program, stage);
  // Chunks are equal shares of the stage; a chunk's activations live from its forward to backward.
  const double in_flight =
      real(peak_in_flight(program.pp, program.vpp, program.micro_batches, stage)) /
      real(program.vpp);
  const double checkpoint_interval =
      training.recompute == Recompute::full && training.recompute_method == RecomputeMethod::uniform
          ? real(std::max<std::int64_t>(1, training.recompute_num_layers))
          : 1.0;

  // Between two checkpoints the inputs of the layers are recomputed as well.
  Bytes layer_moment = layers.working_set * checkpoint_interval + layers.workspace;
  Bytes logits;
  Bytes logit_gradients;
  std::int64_t losses = 0;
  for (const Chunk& chunk : program.chunks) {
    if (chunk.stage == stage) losses += (chunk.head ? 1 : 0) + chunk.mtp;
  }
  if (losses > 0) {
    logits = program.head.saved * real(losses);
    logit_gradients = program.head.working_set;
  }
  const bool loss_moment = layer_moment < logits + logit_gradients;

  StageBytes result;
  const auto add = [&](const char* name, Bytes bytes) {
    if (bytes.si() <= 0.0) return;
    result.items.push_back({name, bytes});
    result.allocated += bytes;
  };
  add("weights", state.weights);
  add("gradients", state.gradients);
  add("optimizer", state.optimizer);
  add("checkpoints", layers.checkpoints * (in_flight / checkpoint_interval));
  add("activations", layers.activations * in_flight);
  add("saved_indices", layers.indices * in_flight);
  if (loss_moment) {
    add("logits", logits);
    add("logit_gradients", logit_gradients);
  } else {
    add("working_set", layers.working_set * checkpoint_interval - layers.gathered);
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
  count += s.edp() > 1 ? 1 : 0;
  return count;
}

}  // namespace hysim::graph
