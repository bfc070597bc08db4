#include <algorithm>
#include <utility>

#include "graph/layer.h"
#include "graph/program.h"
#include "graph/scale.h"
#include "graph/zero_bubble.h"
#include "units/real.h"

namespace hysim::graph {

namespace {

constexpr collectives::CountedFrom kEmbeddingBytes{
    "gradients of the rank's embedding: vocabulary x hidden / tp x bytes of a gradient",
    "src/graph/build.cpp",
    "parallelism.tp training.gradient_dtype model.vocab_size model.hidden_size"};
constexpr collectives::CountedFrom kBoundaryBytes{
    "hidden state: 2 B x tokens of the rank x hidden", "src/ops/activations.cpp",
    "workload.seq_len workload.micro_batch_size parallelism.cp parallelism.tp "
    "parallelism.sequence_parallel model.hidden_size"};

ParameterShare share_of(const std::vector<model::Tensor>& tensors,
                        const topology::GroupSizes& sizes) {
  ParameterShare share;
  for (const model::Tensor& tensor : tensors) {
    const double count = real(tensor.count);
    if (tensor.routed_expert) {
      share.expert += count / real(sizes.ep * sizes.etp);
    } else {
      share.dense += tensor.split_by_tp ? count / real(sizes.tp) : count;
    }
  }
  return share;
}

/// Kinds of layers met so far: each is built once.
class LayerKinds {
 public:
  LayerKinds(Program& program, const LayerContext& context)
      : program_(program), context_(context) {}

  std::int32_t get(const model::LayerSpec& spec, bool recompute, bool lends_indices) {
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (keys_[i] == Key{spec, recompute, lends_indices}) return static_cast<std::int32_t>(i);
    }
    keys_.push_back({spec, recompute, lends_indices});
    program_.layers.push_back(build_layer(program_, context_, spec, recompute, lends_indices));
    program_.layer_parameters.push_back(share_of(model::layer_tensors(context_.plan->model, spec),
                                                 context_.plan->parallelism.sizes));
    return static_cast<std::int32_t>(keys_.size()) - 1;
  }

 private:
  struct Key {
    model::LayerSpec spec;
    bool recompute;
    bool lends_indices;
    friend bool operator==(const Key&, const Key&) = default;
  };
  Program& program_;
  const LayerContext& context_;
  std::vector<Key> keys_;
};

bool recomputes(const Training& training, std::int64_t index_in_chunk) {
  if (training.recompute != Recompute::full) return false;
  return training.recompute_method == RecomputeMethod::uniform ||
         index_in_chunk < training.recompute_num_layers;
}

void build_chunks(Program& program, const LayerContext& context) {
  const Plan& plan = *context.plan;
  LayerKinds kinds(program, context);
  std::size_t next = 0;
  const auto& layers = plan.model.layers;
  for (std::int64_t c = 0; c < plan.chunks(); ++c) {
    Chunk chunk;
    chunk.stage = c % program.pp;
    chunk.embedding = c == 0;
    chunk.head = c + 1 == plan.chunks();
    for (std::int64_t i = 0; i < plan.parallelism.layers_per_chunk[static_cast<std::size_t>(c)];
         ++i, ++next) {
      const bool lends = next + 1 < layers.size() &&
                         layers[next].index == model::IndexRole::computes &&
                         layers[next + 1].index == model::IndexRole::shared;
      chunk.layers.push_back(kinds.get(layers[next], recomputes(plan.training, i), lends));
    }
    program.chunks.push_back(std::move(chunk));
  }
  const std::int64_t mtp_stage =
      plan.training.mtp_stage < 0 ? program.pp - 1 : plan.training.mtp_stage;
  Chunk& mtp = program.chunks[static_cast<std::size_t>((program.vpp - 1) * program.pp + mtp_stage)];
  mtp.mtp = plan.training.mtp_num_layers;
  // The logits of MTP layers are computed with the model's own.
  program.chunks.back().losses = 1 + plan.training.mtp_num_layers;

  Chunk* const holder = plan.model.tied_embedding ? &program.chunks.back()
                        : mtp.mtp > 0             ? &mtp
                                                  : nullptr;
  if (holder != nullptr) holder->embedding_copy = holder->stage != 0;
}

/// Weight gradients of layers run later. Those of the logits do not: they would keep the gradient
/// of the logits of every micro-batch that waits.
void split_backwards(Program& program) {
  const auto split = [](LayerProgram& layer) {
    defer_weight_gradients(layer.backward);
    layer.weight_operands = weight_gradient_operands(layer.backward);
  };
  for (LayerProgram& layer : program.layers) split(layer);
  split(program.mtp);
}

/// The ranks of `group` cut into parts of `size`, and the first rank of every part.
struct Shards {
  topology::GroupShape shard, copies;
};
Shards cut(const std::vector<std::int64_t>& group, std::int64_t size, std::int64_t gpus_per_node) {
  const auto step = static_cast<std::size_t>(size);
  std::vector<std::int64_t> copies;
  for (std::size_t i = 0; i < group.size(); i += step) copies.push_back(group[i]);
  return {topology::shape_of({group.begin(), group.begin() + static_cast<std::ptrdiff_t>(size)},
                             gpus_per_node),
          topology::shape_of(copies, gpus_per_node)};
}

void build_shards(Program& program, const Parallelism& p, const topology::Groups& groups,
                  std::int64_t gpus_per_node) {
  const auto dense_size = static_cast<std::int64_t>(groups.dp_cp.size());
  const std::int64_t shard = p.hsdp_shard > 0 ? p.hsdp_shard : dense_size;
  const Shards dense = cut(groups.dp_cp, shard, gpus_per_node);
  program.dense_shard = dense.shard;
  program.dense_copies = dense.copies;
  const auto expert_size = static_cast<std::int64_t>(groups.edp.size());
  const Shards expert =
      cut(groups.edp, std::max<std::int64_t>(1, expert_size / (dense_size / shard)), gpus_per_node);
  program.expert_shard = expert.shard;
  program.expert_copies = expert.copies;
}

/// What each kind of layer sends to host memory. Under uniform recomputation one layer of a block
/// keeps an input: each is charged its share of it.
void offload(Program& program, const Training& training) {
  if (!training.offload.any()) return;
  const bool blocks = training.recompute_method == RecomputeMethod::uniform;
  const auto of = [&](LayerProgram& layer) {
    const double share = layer.recompute && blocks ? real(training.recompute_num_layers) : 1.0;
    layer.offloaded = layer.saved * (training.offload.activations / share);
    if (training.offload.indices) layer.offloaded += layer.indices;
    program.offloads = program.offloads || layer.offloaded.si() > 0.0;
  };
  for (LayerProgram& layer : program.layers) of(layer);
  if (training.mtp_num_layers > 0) of(program.mtp);
}

/// Gradients of the embedding matrix are summed over the two stages that hold it.
void build_embedding_reduce(Program& program, const topology::Groups& groups,
                            std::int64_t gpus_per_node) {
  for (const Chunk& chunk : program.chunks) {
    if (!chunk.embedding_copy) continue;
    program.embedding_reduce.kind = collectives::Kind::all_reduce;
    program.embedding_reduce.group =
        topology::shape_of({0, chunk.stage * groups.pp_stride}, gpus_per_node);
    program.embedding_reduce.bytes =
        Bytes(program.embedding_copy_parameters.dense * program.gradient_bytes);
    program.embedding_reduce.counted = &kEmbeddingBytes;
  }
}

}  // namespace

std::int32_t Program::leaf(const std::string& path) {
  const auto found = std::find(leaves.begin(), leaves.end(), path);
  if (found != leaves.end()) return static_cast<std::int32_t>(found - leaves.begin());
  leaves.push_back(path);
  return static_cast<std::int32_t>(leaves.size()) - 1;
}

Program build_training_step(const Plan& plan, std::int64_t gpus_per_node) {
  const LayerContext context = make_context(plan, gpus_per_node);
  const topology::GroupSizes& sizes = plan.parallelism.sizes;
  Program program;
  program.pp = sizes.pp;
  program.vpp = plan.parallelism.vpp;
  program.micro_batches = plan.micro_batches();
  program.schedule = plan.parallelism.schedule;
  program.microbatch_group_size = plan.parallelism.microbatch_group_size;
  program.zero = plan.parallelism.zero;
  program.hierarchical = plan.parallelism.hierarchical_collectives;
  program.fsdp_prefetch = plan.parallelism.fsdp_prefetch;
  program.reshard_after_forward = plan.parallelism.reshard_after_forward;
  program.overlap = plan.overlap;
  program.gradient_bytes = plan.training.gradient == GradientType::fp32 ? 4.0 : 2.0;

  build_chunks(program, context);
  program.embedding = build_embedding(program, context);
  program.embedding_parameters = share_of(model::embedding_tensors(plan.model), sizes);
  // Learned positions are not copied.
  program.embedding_copy_parameters.dense =
      real(plan.model.vocab) * real(plan.model.hidden) / real(sizes.tp);
  program.head = build_head(program, context);
  program.head_parameters = share_of(model::head_tensors(plan.model), sizes);
  if (plan.training.mtp_num_layers > 0) {
    program.mtp = build_mtp(program, context, plan.training.recompute == Recompute::full);
    program.mtp_parameters =
        share_of(model::layer_tensors(plan.model, model::mtp_layer(plan.model)), sizes);
    program.mtp_parameters += share_of(model::mtp_extra_tensors(plan.model), sizes);
  }

  if (program.schedule == Schedule::zb_h1) split_backwards(program);
  offload(program, plan.training);

  const topology::Groups groups = topology::groups_of_rank_zero(sizes, plan.parallelism.rank_order);
  build_embedding_reduce(program, groups, gpus_per_node);
  program.dense_group = topology::shape_of(groups.dp_cp, gpus_per_node);
  program.expert_group = topology::shape_of(groups.edp, gpus_per_node);
  build_shards(program, plan.parallelism, groups, gpus_per_node);
  const std::int64_t world = sizes.world();
  program.world = {world, (world + gpus_per_node - 1) / gpus_per_node,
                   std::min(world, gpus_per_node)};
  if (sizes.pp > 1) {
    program.pipeline_send.kind = collectives::Kind::send_recv;
    program.pipeline_send.group = topology::shape_of({0, groups.pp_stride}, gpus_per_node);
    program.pipeline_send.bytes = ops::checkpoint_bytes(plan.model, context.shape);
    program.pipeline_send.counted = &kBoundaryBytes;
  }
  for (const Scale& scale : plan.scale) {
    if (const ScaleName* name = find_scale_name(scale.name)) {
      apply_scale(program, *name, scale.factor);
    }
  }
  return program;
}

namespace {

/// Visits the parameters of a stage's units in forward order.
template <class Visit>
void for_each_unit(const Program& program, std::int64_t stage, const Visit& visit) {
  for (const Chunk& chunk : program.chunks) {
    if (chunk.stage != stage) continue;
    if (chunk.embedding) visit(program.embedding_parameters);
    if (chunk.embedding_copy) visit(program.embedding_copy_parameters);
    for (const std::int32_t layer : chunk.layers) {
      visit(program.layer_parameters[static_cast<std::size_t>(layer)]);
    }
    for (std::int64_t i = 0; i < chunk.mtp; ++i) visit(program.mtp_parameters);
    if (chunk.head) visit(program.head_parameters);
  }
}

}  // namespace

ParameterShare stage_parameters(const Program& program, std::int64_t stage) {
  ParameterShare share;
  for_each_unit(program, stage, [&](const ParameterShare& unit) { share += unit; });
  return share;
}

std::vector<ParameterShare> stage_units(const Program& program, std::int64_t stage) {
  std::vector<ParameterShare> units;
  for_each_unit(program, stage, [&](const ParameterShare& unit) { units.push_back(unit); });
  return units;
}

}  // namespace hysim::graph
