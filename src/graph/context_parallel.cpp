#include "graph/context_parallel.h"

#include <string>
#include <utility>

#include "graph/layer_builder.h"
#include "units/real.h"

namespace hysim::graph {

namespace {

using model::AttentionKind;

constexpr const char* kCpCommSetting = "parallelism.cp_comm";
constexpr const char* kSizesSetting = "parallelism.hierarchical_cp_sizes";

bool has_attention(const model::Transformer& m, AttentionKind kind) {
  for (const model::LayerSpec& layer : m.layers) {
    if (layer.attention == kind) return true;
  }
  return false;
}

std::vector<PlanFault> check_sizes(const Parallelism& p) {
  const std::vector<std::int64_t>& sizes = p.hierarchical_cp_sizes;
  if (p.cp_comm != CpComm::a2a_p2p) {
    if (sizes.empty()) return {};
    return {{kSizesSetting, "is read with cp_comm \"a2a+p2p\" only"}};
  }
  if (sizes.size() == 2 && sizes[0] * sizes[1] == p.sizes.cp) return {};
  return {{sizes.empty() ? kCpCommSetting : kSizesSetting,
           "\"a2a+p2p\" needs hierarchical_cp_sizes of two group sizes, [a2a, p2p], whose product "
           "is cp = " +
               std::to_string(p.sizes.cp)}};
}

/// Heads of a TP rank that `exchange` ranks share out.
std::vector<PlanFault> check_exchanged_heads(const Plan& plan, std::int64_t exchange) {
  std::vector<PlanFault> faults;
  const model::Attention& a = plan.model.attention;
  const std::int64_t tp = plan.parallelism.sizes.tp;
  const auto divides = [&](const char* what, std::int64_t heads) {
    if (heads % (tp * exchange) == 0) return;
    faults.push_back({kCpCommSetting, std::string("exchanging heads among ") +
                                          std::to_string(exchange) + " ranks needs " + what + " (" +
                                          std::to_string(heads) + ") divisible by tp x " +
                                          std::to_string(exchange) + " (" +
                                          std::to_string(tp * exchange) +
                                          "); \"all_gather\" and \"p2p\" have no such rule"});
  };
  divides("num_attention_heads", a.num_heads);
  if (has_attention(plan.model, AttentionKind::gqa)) {
    divides("num_key_value_heads", a.num_kv_heads);
  }
  return faults;
}

}  // namespace

CpSplitting cp_splitting(const Parallelism& p) {
  switch (p.cp_comm) {
    case CpComm::all_gather:
      return {p.sizes.cp, 1, 1};
    case CpComm::p2p:
      return {1, 1, p.sizes.cp};
    case CpComm::a2a:
      return {1, p.sizes.cp, 1};
    case CpComm::a2a_p2p:
      break;
  }
  const std::vector<std::int64_t>& sizes = p.hierarchical_cp_sizes;
  return sizes.size() == 2 ? CpSplitting{1, sizes[0], sizes[1]} : CpSplitting{1, 1, p.sizes.cp};
}

std::vector<PlanFault> check_context_parallel(const Plan& plan) {
  const Parallelism& p = plan.parallelism;
  std::vector<PlanFault> faults = check_sizes(p);
  if (p.sizes.cp == 1 || p.cp_comm == CpComm::all_gather || !faults.empty()) return faults;
  if (has_attention(plan.model, AttentionKind::dsa)) {
    faults.push_back({kCpCommSetting,
                      "learned sparse attention selects among the keys of all ranks, and the "
                      "modelled stacks gather them: use \"all_gather\""});
    return faults;
  }
  const CpSplitting split = cp_splitting(p);
  if (split.ring > 1 && plan.model.attention.sliding_window > 0) {
    faults.push_back({kCpCommSetting,
                      "a ring cannot serve sliding-window attention (Transformer Engine refuses "
                      "it): use \"all_gather\" or \"a2a\""});
  }
  if (split.exchange > 1) {
    for (PlanFault& fault : check_exchanged_heads(plan, split.exchange)) {
      faults.push_back(std::move(fault));
    }
  }
  return faults;
}

void add_context_parallel(LayerContext& context, const std::vector<std::int64_t>& ranks,
                          std::int64_t gpus_per_node) {
  const Plan& plan = *context.plan;
  const Parallelism& p = plan.parallelism;
  const CpSplitting split = cp_splitting(p);
  if (split.gather > 1) context.cp_gather = context.cp;
  const auto members = [&](std::int64_t count, std::int64_t stride) {
    std::vector<std::int64_t> group;
    for (std::int64_t i = 0; i < count; ++i) {
      group.push_back(ranks[static_cast<std::size_t>(i * stride)]);
    }
    return topology::shape_of(group, gpus_per_node);
  };
  context.cp_exchange = members(split.exchange, 1);
  context.cp_ring = members(split.ring, split.exchange);

  const std::int64_t seq_len = plan.workload.seq_len;
  context.ring_rank = ops::slowest_cp_rank(seq_len, split.ring, p.cp_split, seq_len);
  context.core_segments = context.segments;
  if (split.exchange == 1) return;
  context.core_segments.clear();
  for (std::int64_t i = 0; i < plan.workload.micro_batch_size; ++i) {
    for (const ops::Segment& s :
         ops::cp_segments(seq_len, split.ring, context.ring_rank, p.cp_split)) {
      context.core_segments.push_back(s);
    }
  }
}

std::int64_t LayerBuilder::dense_pairs() const {
  const std::int64_t window = m_.attention.sliding_window;
  return window > 0 ? ops::selected_pairs(c_.core_segments, window)
                    : ops::causal_pairs(c_.core_segments);
}

/// The core this rank works on: after an exchange a share of the heads and more tokens.
ops::DenseAttention LayerBuilder::dense() const {
  const bool gqa = spec_.attention == AttentionKind::gqa;
  const std::int64_t exchange = c_.cp_exchange.size;
  ops::DenseAttention core;
  core.pairs = dense_pairs();
  core.queries = ops::query_count(c_.core_segments);
  core.keys = c_.shape.sequence_tokens;
  core.heads = heads() / exchange;
  core.kv_heads = gqa ? kv_heads() / exchange : core.heads;
  core.qk_dim = gqa ? m_.attention.head_dim : qk_dim();
  core.v_dim = gqa ? m_.attention.head_dim : m_.attention.v_head_dim;
  return core;
}

/// Its part with the keys that have come `step` places round the ring.
ops::DenseAttention LayerBuilder::ring_step(std::int64_t step) const {
  const Plan& plan = *c_.plan;
  const std::int64_t ring = c_.cp_ring.size;
  const ops::CpSplit split = plan.parallelism.cp_split;
  const std::int64_t seq_len = plan.workload.seq_len;
  ops::DenseAttention core = dense();
  core.pairs = plan.workload.micro_batch_size *
               ops::ring_step_pairs(seq_len, ring, c_.ring_rank, step, split);
  core.keys /= ring;
  return core;
}

/// Keys and values of all tokens that this rank's core attends to.
double LayerBuilder::key_value_bytes() const {
  const ops::DenseAttention core = dense();
  return kBf16Bytes * keys() * real(core.kv_heads) * real(core.qk_dim + core.v_dim);
}

/// A tensor of `bytes` a rank changes from tokens to heads or back; it is laid out by destination
/// before the exchange and in order of the sequence after it.
void LayerBuilder::exchange_heads(double bytes) {
  if (c_.cp_exchange.size <= 1) return;
  const auto elements = static_cast<std::int64_t>(bytes / kBf16Bytes);
  b_.compute("elementwise/reorder", ops::copy(elements));
  b_.communicate(Stream::cp, kCpComm, all_to_all(c_.cp_exchange, bytes, kHeadBytes));
  b_.compute("elementwise/reorder", ops::copy(elements));
}

void LayerBuilder::dense_core_forward() {
  const ops::DenseAttention core = dense();
  const double width = kBf16Bytes * real(core.queries);
  exchange_heads(width * real(core.heads) * real(core.qk_dim));     // queries
  exchange_heads(width * real(core.kv_heads) * real(core.qk_dim));  // keys
  exchange_heads(width * real(core.kv_heads) * real(core.v_dim));   // values
  if (c_.cp_ring.size > 1) {
    ring_forward();
  } else {
    gather_keys(key_value_bytes(), kKeyValueBytes);
    b_.compute(kDenseForward, ops::dense_attention_forward(core));
  }
  exchange_heads(width * real(core.heads) * real(core.v_dim));  // outputs
}

void LayerBuilder::dense_core_backward() {
  const ops::DenseAttention core = dense();
  const double width = kBf16Bytes * real(core.queries);
  exchange_heads(width * real(core.heads) * real(core.v_dim));
  if (c_.cp_ring.size > 1) {
    ring_backward();
  } else {
    gather_keys(key_value_bytes(), kKeyValueBytes);
    b_.compute(kDenseBackward, ops::dense_attention_backward(core));
    scatter_key_gradients(key_value_bytes(), kKeyValueBytes);
  }
  exchange_heads(width * real(core.heads) * real(core.qk_dim));
  exchange_heads(width * real(core.kv_heads) * real(core.qk_dim));
  exchange_heads(width * real(core.kv_heads) * real(core.v_dim));
}

/// Step i attends to the keys of the rank i places before, while they are passed on; outputs of the
/// steps are merged by their log-sum-exp. There are two buffers, so the keys of step i + 1 arrive
/// only once step i - 1 is done.
void LayerBuilder::ring_forward() {
  const std::int64_t ring = c_.cp_ring.size;
  const collectives::Collective pass =
      send_recv(c_.cp_ring, key_value_bytes() / real(ring), kKeyValueBytes);
  for (std::int64_t step = 0; step < ring; ++step) {
    const std::int32_t next = step + 1 < ring ? b_.start(Stream::cp, kCpComm, pass) : -1;
    const ops::DenseAttention core = ring_step(step);
    b_.compute(kDenseForward, ops::dense_attention_forward(core));
    if (step > 0) {
      b_.compute("elementwise/ring_merge",
                 ops::residual_add(core.queries * core.heads * core.v_dim));
    }
    b_.wait(next);
  }
}

/// The ring runs the other way from where the forward pass ended: keys and values go round in the
/// first ring - 1 steps, their gradients follow a step behind in the last ring - 1, and each block
/// ends on the rank that owns it (Transformer Engine; ring-flash-attention starts at its own block
/// and needs one pass of gradients more).
void LayerBuilder::ring_backward() {
  const std::int64_t ring = c_.cp_ring.size;
  const double block = key_value_bytes() / real(ring);
  for (std::int64_t step = 0; step < ring; ++step) {
    const double parts = (step + 1 < ring ? 1.0 : 0.0) + (step > 0 ? 1.0 : 0.0);
    const std::int32_t next =
        b_.start(Stream::cp, kCpComm, send_recv(c_.cp_ring, parts * block, kKeyValueBytes));
    const ops::DenseAttention core = ring_step(ring - 1 - step);
    b_.compute(kDenseBackward, ops::dense_attention_backward(core));
    b_.wait(next);
    if (step > 0) {
      b_.compute("elementwise/ring_merge",
                 ops::residual_add(core.queries * core.heads * core.qk_dim +
                                   core.keys * core.kv_heads * (core.qk_dim + core.v_dim)));
    }
  }
}

}  // namespace hysim::graph
