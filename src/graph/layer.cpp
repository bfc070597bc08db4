#include "graph/layer.h"

#include <array>
#include <utility>

#include "graph/context_parallel.h"
#include "graph/layer_builder.h"
#include "ops/linear.h"
#include "ops/selection.h"
#include "units/real.h"

namespace hysim::graph {

namespace {

using collectives::Collective;
using model::AttentionKind;
using model::FfnKind;
using model::IndexRole;
using ops::Pass;
using ops::Precision;
using ops::Selection;
using topology::GroupShape;

Collective ring(collectives::Kind kind, const GroupShape& group, double bytes,
                const collectives::CountedFrom& counted) {
  Collective op;
  op.kind = kind;
  op.group = group;
  op.bytes = Bytes(bytes);
  op.counted = &counted;
  return op;
}
/// Which parts of selection run in each pass of a layer.
struct SelectionPasses {
  LayerBuilder::Selecting first;
  LayerBuilder::Selecting again;  // in recomputation
};
SelectionPasses selection_passes(const Plan& plan, Recompute how) {
  const bool loss = plan.training.indexer_loss != IndexerLoss::off;
  SelectionPasses passes;
  if (how == Recompute::none ||
      (how == Recompute::selective && !plan.training.recompute_modules.core_attn)) {
    passes.first.loss = loss;
    return passes;
  }
  // The first pass of a recomputed region runs without gradients: it only selects.
  // Replay gives it the indices, but the dense loss still needs every score.
  passes.again.topk = !plan.kernels.selection_replay;
  passes.again.score = passes.again.topk || plan.training.indexer_loss == IndexerLoss::dense;
  passes.again.loss = loss;
  // Selective recomputation starts at the attention core; projections were kept.
  passes.again.projections = how == Recompute::full;
  return passes;
}

/// Bytes of the saved tensors that selective recomputation makes again.
Bytes bytes_again(const Plan& plan, const LayerContext& c,
                  const std::vector<ops::NamedBytes>& saved) {
  const RecomputeModules& modules = plan.training.recompute_modules;
  Bytes again;
  for (const ops::NamedBytes& item : saved) {
    const std::string& name = item.name;
    const bool experts = name.starts_with("moe_") || name == "shared_expert";
    const bool heads = name == "query" || name == "query_absorbed" || name == "key_value";
    if ((modules.core_attn && name == "log_sum_exp") || (modules.mla_up_proj && heads) ||
        (modules.mlp && name == "ffn_up_and_activation") || (modules.moe && experts) ||
        (modules.moe_act && !modules.moe && name == "moe_activation")) {
      again += item.bytes;
    }
  }
  if (modules.layernorm) {
    // Outputs of the two norms of the layer.
    const double input = c.shape.fp8_linear ? kFp8Bytes : kBf16Bytes;
    again += Bytes(2.0 * input * real(c.split_tokens()) * real(plan.model.hidden));
  }
  return again;
}

/// Sum of the items that hold keys of other ranks.
Bytes gathered(const std::vector<ops::NamedBytes>& items) {
  Bytes sum;
  for (const ops::NamedBytes& item : items) {
    if (item.name.starts_with("gathered_")) sum += item.bytes;
  }
  return sum;
}

/// Bytes a layer keeps and needs while it is worked on.
void add_layer_memory(LayerProgram& layer, const LayerContext& c, Recompute how) {
  const Plan& plan = *c.plan;
  const std::vector<ops::NamedBytes> saved =
      ops::saved_activations(plan.model, layer.spec, c.shape);
  const std::vector<ops::NamedBytes> alive =
      ops::transient_activations(plan.model, layer.spec, c.shape);
  if (how == Recompute::full) {
    // The layer's input is the checkpoint itself.
    layer.saved = ops::checkpoint_bytes(plan.model, c.shape);
    layer.recomputed = ops::sum(saved) - layer.saved;
    layer.gathered_again = gathered(saved);
  } else {
    if (how == Recompute::selective) layer.recomputed = bytes_again(plan, c, saved);
    layer.saved = ops::sum(saved) - layer.recomputed;
  }
  layer.gathered = layer.gathered_again + gathered(alive);
  layer.working_set = layer.recomputed + ops::sum(alive);
}

/// Top-k indices kept for backward and the workspace of selection.
void add_selection_memory(LayerProgram& layer, const LayerContext& c, Recompute how,
                          bool lends_indices) {
  const Plan& plan = *c.plan;
  // Without recomputation attention's backward needs the indices; replay keeps them too.
  const bool once = how == Recompute::none ||
                    (how == Recompute::selective && !plan.training.recompute_modules.core_attn);
  if (once || plan.kernels.selection_replay || lends_indices) {
    layer.indices = ops::index_bytes(c.top_k(), c.shape);
  }
  const ops::SelectionShape shape = c.selection();
  if (plan.kernels.selection == Selection::table) {
    const std::int64_t rows =
        ops::rows_per_chunk(shape, plan.kernels.score_chunk_bytes, plan.kernels.score_chunk_rows);
    layer.score_workspace = ops::table_workspace(shape, plan.kernels.topk, rows);
  } else if (plan.kernels.selection == Selection::naive) {
    layer.score_workspace = ops::naive_workspace(shape);
  }
  if (plan.training.indexer_loss == IndexerLoss::dense) {
    // Teacher and index distributions over all keys, fp32 (Megatron materialises both).
    layer.score_workspace += Bytes(2.0 * kFp32Bytes * real(c.tokens()) * real(shape.sequence_keys));
  }
}

/// `n` alike kernels as one task.
ops::Work times(ops::Work work, double n) {
  work.flops *= n;
  work.vector_flops *= n;
  work.read *= n;
  work.written *= n;
  work.tiles *= n;
  work.launches *= n;
  work.share *= n;
  return work;
}

/// Logits are computed for `rows` tokens at a time.
struct HeadShape {
  std::int64_t vocab = 0;  // of this rank
  std::int64_t rows = 0;
  double chunks = 1.0;
};
HeadShape head_shape(const LayerContext& c) {
  HeadShape shape;
  const std::int64_t chunk = c.plan->training.loss_chunk_tokens;
  shape.vocab = (c.plan->model.vocab + c.shape.tp - 1) / c.shape.tp;
  shape.rows = chunk > 0 ? std::min(chunk, c.tokens()) : c.tokens();
  shape.chunks = real(c.tokens()) / real(shape.rows);
  return shape;
}

void add_head_forward(Program& program, TaskList& list, const LayerContext& c) {
  const model::Transformer& m = c.plan->model;
  const HeadShape s = head_shape(c);
  ListBuilder b(program, list, "forward");
  b.compute("elementwise/norm", ops::norm(c.split_tokens() * m.hidden, Pass::forward));
  if (c.shape.sequence_parallel) enter_sequence_parallel(b, c);
  b.compute("vocabulary/logits",
            times(ops::gemm(s.rows, s.vocab, m.hidden, Precision::bf16), s.chunks));
  b.compute("vocabulary/loss", times(ops::cross_entropy(s.rows, s.vocab, Pass::forward), s.chunks));
}

void add_head_backward(Program& program, TaskList& list, const LayerContext& c) {
  const model::Transformer& m = c.plan->model;
  const HeadShape s = head_shape(c);
  ListBuilder b(program, list, "backward");
  b.compute("vocabulary/loss",
            times(ops::cross_entropy(s.rows, s.vocab, Pass::backward), s.chunks));
  b.compute("vocabulary/logits",
            times(ops::gemm_input_gradient(s.rows, s.vocab, m.hidden, Precision::bf16), s.chunks));
  b.compute("vocabulary/logits",
            times(ops::gemm_weight_gradient(s.rows, s.vocab, m.hidden, Precision::bf16), s.chunks));
  leave_sequence_parallel(b, c);
  b.compute("elementwise/norm", ops::norm(c.split_tokens() * m.hidden, Pass::backward));
}

/// Appends `tail`, whose dependencies count from its own start; it begins when `list` is done.
void append(TaskList& list, const TaskList& tail) {
  const auto offset = static_cast<std::int32_t>(list.size());
  // Streams run in order, so the last task of each ends after all before it.
  std::array<std::int32_t, kStreams> last;
  last.fill(-1);
  for (std::int32_t i = 0; i < offset; ++i) {
    last[static_cast<std::size_t>(list[static_cast<std::size_t>(i)].stream)] = i;
  }
  for (Task task : tail) {
    for (std::int32_t& before : task.after) before += offset;
    if (task.after.empty()) {
      for (const std::int32_t end : last) {
        if (end >= 0) task.after.push_back(end);
      }
    }
    list.push_back(std::move(task));
  }
}

}  // namespace

Collective gather(const GroupShape& group, double bytes, const collectives::CountedFrom& counted) {
  return ring(collectives::Kind::all_gather, group, bytes, counted);
}
Collective scatter(const GroupShape& group, double bytes, const collectives::CountedFrom& counted) {
  return ring(collectives::Kind::reduce_scatter, group, bytes, counted);
}
Collective all_reduce(const GroupShape& group, double bytes,
                      const collectives::CountedFrom& counted) {
  return ring(collectives::Kind::all_reduce, group, bytes, counted);
}

Collective all_to_all(const GroupShape& group, double bytes,
                      const collectives::CountedFrom& counted) {
  Collective op;
  op.kind = collectives::Kind::all_to_all;
  op.group = group;
  op.counted = &counted;
  op.nvlink_sent = Bytes(bytes * real(group.per_node - 1) / real(group.size));
  op.network_sent = Bytes(bytes * real(group.size - group.per_node) / real(group.size));
  return op;
}
Collective send_recv(const GroupShape& group, double bytes,
                     const collectives::CountedFrom& counted) {
  return ring(collectives::Kind::send_recv, group, bytes, counted);
}

void enter_sequence_parallel(ListBuilder& b, const LayerContext& c) {
  const Collective op =
      gather(c.tp, kBf16Bytes * real(c.tokens()) * real(c.plan->model.hidden), kHiddenBytes);
  if (c.plan->overlap.tp) {
    b.communicate_beside_next_matrix(Stream::tp, "communication/tp", op);
  } else {
    b.communicate(Stream::tp, "communication/tp", op);
  }
}

void leave_sequence_parallel(ListBuilder& b, const LayerContext& c) {
  const double bytes = kBf16Bytes * real(c.tokens()) * real(c.plan->model.hidden);
  const Collective op = c.shape.sequence_parallel ? scatter(c.tp, bytes, kHiddenBytes)
                                                  : all_reduce(c.tp, bytes, kHiddenBytes);
  if (c.plan->overlap.tp) {
    b.communicate_beside_last_matrix(Stream::tp, "communication/tp", op);
  } else {
    b.communicate(Stream::tp, "communication/tp", op);
  }
}

void LayerBuilder::modules_again(const Selecting& what) {
  const RecomputeModules& modules = t_.recompute_modules;
  const bool moe = spec_.ffn == FfnKind::moe;
  if (modules.mlp && !moe) {
    enter_tp();
    dense_ffn_forward(m_.dense_ffn);
    leave_tp();
  }
  if (modules.moe && moe) {
    moe_forward();
  } else if (modules.moe_act && moe) {
    expert_activation(Pass::forward);
  }
  if (modules.layernorm) {
    b_.compute("elementwise/norm", ops::norm(2 * hidden_elements(), Pass::forward));
  }
  if (modules.mla_up_proj && spec_.attention != AttentionKind::gqa) mla_up_forward();
  if (modules.core_attn) core_forward(what);
}

void LayerBuilder::linear_forward(std::string_view part, std::int64_t m, std::int64_t n,
                                  std::int64_t k, Precision precision) {
  if (precision == Precision::fp8) b_.compute("elementwise/quantize", ops::quantize(m * k));
  b_.compute(part, ops::gemm(m, n, k, precision));
}

void LayerBuilder::linear_backward(std::string_view part, std::int64_t m, std::int64_t n,
                                   std::int64_t k, Precision precision, bool input_gradient) {
  if (precision == Precision::fp8) b_.compute("elementwise/quantize", ops::quantize(m * n));
  if (input_gradient) b_.compute(part, ops::gemm_input_gradient(m, n, k, precision));
  b_.weight_gradient(part, ops::gemm_weight_gradient(m, n, k, precision));
}

std::int64_t LayerContext::top_k() const {
  return std::min(plan->model.indexer.top_k, plan->workload.seq_len);
}

ops::SelectionShape LayerContext::selection() const {
  ops::SelectionShape s;
  s.segments = segments;
  s.sequence_keys = plan->workload.seq_len;
  s.heads = round_up(plan->model.indexer.num_heads, plan->kernels.score_head_multiple);
  s.head_dim = plan->model.indexer.head_dim;
  s.top_k = top_k();
  s.precision = plan->kernels.selection_precision;
  s.key_crop = plan->kernels.key_crop;
  return s;
}

LayerContext make_context(const Plan& plan, std::int64_t gpus_per_node) {
  const Parallelism& p = plan.parallelism;
  const std::int64_t seq_len = plan.workload.seq_len;
  const std::int64_t top_k = plan.model.indexer.top_k > 0 ? plan.model.indexer.top_k : seq_len;
  const std::int64_t rank = ops::slowest_cp_rank(seq_len, p.sizes.cp, p.cp_split, top_k);
  LayerContext context;
  context.plan = &plan;
  for (std::int64_t i = 0; i < plan.workload.micro_batch_size; ++i) {
    for (const ops::Segment& s : ops::cp_segments(seq_len, p.sizes.cp, rank, p.cp_split)) {
      context.segments.push_back(s);
    }
  }
  context.shape.tokens = ops::query_count(context.segments);
  context.shape.sequence_tokens = seq_len * plan.workload.micro_batch_size;
  context.shape.tp = p.sizes.tp;
  context.shape.etp = p.sizes.etp;
  context.shape.sequence_parallel = p.sequence_parallel && p.sizes.tp > 1;
  const CpSplitting cp = cp_splitting(p);
  context.shape.cp_gathers = cp.gather > 1;
  context.shape.cp_exchange = cp.exchange;
  context.shape.cp_ring = cp.ring;
  context.shape.expert_imbalance = plan.training.expert_imbalance;
  context.shape.fp8_linear = plan.training.precision == Precision::fp8;
  context.shape.trains_indexer = plan.training.indexer_loss != IndexerLoss::off;
  const topology::Groups groups = topology::groups_of_rank_zero(p.sizes, p.rank_order);
  context.tp = topology::shape_of(groups.tp, gpus_per_node);
  context.cp = topology::shape_of(groups.cp, gpus_per_node);
  add_context_parallel(context, groups.cp, gpus_per_node);
  context.ep = topology::shape_of(groups.ep, gpus_per_node);
  context.etp = topology::shape_of(groups.etp, gpus_per_node);
  return context;
}

Collective expert_exchange(const LayerContext& c, double bytes_per_value) {
  const model::Transformer& m = c.plan->model;
  Collective op;
  op.group = c.ep;
  op.counted = &kRoutedBytes;
  const double tokens = real(c.tokens() / c.shape.tp);
  const double token_bytes = real(m.hidden) * bytes_per_value;
  const double imbalance = c.plan->training.expert_imbalance;
  if (c.plan->kernels.dispatcher == Dispatcher::alltoall) {
    // Into the fullest rank.
    return all_to_all(c.ep, tokens * real(m.moe.experts_per_token) * token_bytes * imbalance,
                      kRoutedBytes);
  }
  // One copy of a token to every node that needs it over the network, then one to every rank. All
  // NICs of the fullest rank's node share what comes in for it.
  const double node_imbalance = 1.0 + (imbalance - 1.0) / real(c.ep.per_node);
  const ops::Routing routing{m.moe.num_experts, m.moe.experts_per_token, m.moe.groups,
                             m.moe.groups_picked};
  op.kind = collectives::Kind::dispatch;
  op.network_sent =
      Bytes(tokens * ops::expected_remote(routing, c.ep.nodes) * token_bytes * node_imbalance);
  op.nvlink_sent =
      Bytes(tokens * ops::expected_remote(routing, c.ep.size) * token_bytes * imbalance);
  return op;
}

LayerProgram build_layer(Program& program, const LayerContext& context,
                         const model::LayerSpec& spec, bool recompute, bool lends_indices) {
  const Plan& plan = *context.plan;
  const bool selective = plan.training.recompute == Recompute::selective;
  const Recompute how =
      recompute ? Recompute::full : (selective ? Recompute::selective : Recompute::none);
  const SelectionPasses passes = selection_passes(plan, how);

  LayerProgram layer;
  layer.spec = spec;
  layer.recompute = recompute;
  {
    LayerBuilder forward(program, layer.forward, context, spec, "forward");
    forward.attention_forward(passes.first);
    forward.ffn_forward();
  }
  TaskList again;
  if (how != Recompute::none) {
    LayerBuilder builder(program, again, context, spec, "recompute");
    if (how == Recompute::full) {
      builder.attention_forward(passes.again);
      builder.ffn_forward();
    } else {
      builder.modules_again(passes.again);
    }
  }
  TaskList backward;
  LayerBuilder builder(program, backward, context, spec, "backward");
  builder.ffn_backward();
  builder.attention_backward();
  layer.backward = std::move(again);
  append(layer.backward, backward);

  add_layer_memory(layer, context, how);
  if (spec.index == IndexRole::computes) {
    add_selection_memory(layer, context, how, lends_indices);
  }
  return layer;
}

LayerProgram build_embedding(Program& program, const LayerContext& c) {
  const model::Transformer& m = c.plan->model;
  LayerProgram layer;
  const Collective exchange =
      c.shape.sequence_parallel
          ? scatter(c.tp, kBf16Bytes * real(c.tokens()) * real(m.hidden), kHiddenBytes)
          : all_reduce(c.tp, kBf16Bytes * real(c.tokens()) * real(m.hidden), kHiddenBytes);
  ListBuilder forward(program, layer.forward, "forward");
  forward.compute("vocabulary/embedding", ops::embedding(c.tokens(), m.hidden, Pass::forward));
  forward.communicate(Stream::tp, "communication/tp", exchange);
  ListBuilder backward(program, layer.backward, "backward");
  if (c.shape.sequence_parallel) {
    backward.communicate(
        Stream::tp, "communication/tp",
        gather(c.tp, kBf16Bytes * real(c.tokens()) * real(m.hidden), kHiddenBytes));
  }
  backward.compute("vocabulary/embedding", ops::embedding(c.tokens(), m.hidden, Pass::backward));
  return layer;
}

LayerProgram build_head(Program& program, const LayerContext& c) {
  LayerProgram layer;
  add_head_forward(program, layer.forward, c);
  add_head_backward(program, layer.backward, c);
  const HeadShape s = head_shape(c);
  layer.saved = Bytes(kFp32Bytes * real(s.rows) * real(s.vocab));        // fp32 logits
  layer.working_set = Bytes(kFp32Bytes * real(s.rows) * real(s.vocab));  // their gradient
  return layer;
}

LayerProgram build_mtp(Program& program, const LayerContext& c, bool recompute) {
  const model::Transformer& m = c.plan->model;
  const model::LayerSpec spec = model::mtp_layer(m);
  LayerProgram inner = build_layer(program, c, spec, recompute, false);
  LayerProgram layer = inner;
  layer.forward.clear();
  layer.backward.clear();
  const std::int64_t width = m.hidden / c.shape.tp;
  const auto join = [&](TaskList& list, std::string_view phase) {
    LayerBuilder b(program, list, c, spec, phase);
    b.list().compute("vocabulary/embedding",
                     ops::embedding(c.split_tokens(), m.hidden, Pass::forward));
    b.list().compute("elementwise/norm", ops::norm(2 * c.split_tokens() * m.hidden, Pass::forward));
    b.linear_forward("linear/mtp", c.tokens(), width, 2 * m.hidden, c.plan->training.precision);
  };
  join(layer.forward, "forward");
  append(layer.forward, inner.forward);
  if (recompute) join(layer.backward, "recompute");
  append(layer.backward, inner.backward);
  TaskList join_backward;
  LayerBuilder b(program, join_backward, c, spec, "backward");
  b.linear_backward("linear/mtp", c.tokens(), width, 2 * m.hidden, c.plan->training.precision);
  b.list().compute("elementwise/norm", ops::norm(2 * c.split_tokens() * m.hidden, Pass::backward));
  b.list().compute("vocabulary/embedding",
                   ops::embedding(c.split_tokens(), m.hidden, Pass::backward));
  append(layer.backward, join_backward);
  return layer;
}

}  // namespace hysim::graph
