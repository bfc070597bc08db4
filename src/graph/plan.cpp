#include "graph/plan.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "graph/context_parallel.h"
#include "units/real.h"

namespace hysim::graph {

namespace {

constexpr std::int64_t kMaxChunks = 2048;
// Micro-batches x chunks: what a schedule that never repeats costs to run.
constexpr std::int64_t kMaxScheduled = std::int64_t{1} << 24;
// fp32 scores of an unpacked batch that the cuDNN kernels take (dsa_cudnn_kernels.py).
constexpr Bytes kMaxUnpackedScores(1024.0 * 1024.0 * 1024.0);

class Checker {
 public:
  /// `value` must be a multiple of `divisor`.
  void multiple(std::string setting, std::string_view what, std::int64_t value, std::string_view of,
                std::int64_t divisor) {
    if (divisor > 0 && value % divisor == 0) return;
    fault(std::move(setting), std::string(what) + " (" + std::to_string(value) +
                                  ") must be divisible by " + std::string(of) + " (" +
                                  std::to_string(divisor) + ")");
  }
  void fault(std::string setting, std::string message) {
    faults_.push_back({std::move(setting), std::move(message)});
  }
  std::vector<PlanFault> take() { return std::move(faults_); }

 private:
  std::vector<PlanFault> faults_;
};

bool uses_moe(const model::Transformer& m) {
  for (const model::LayerSpec& layer : m.layers) {
    if (layer.ffn == model::FfnKind::moe) return true;
  }
  return false;
}

void check_heads(const Plan& plan, Checker& checker) {
  const std::int64_t tp = plan.parallelism.sizes.tp;
  const model::Transformer& m = plan.model;
  checker.multiple("parallelism.tp", "num_attention_heads", m.attention.num_heads, "tp", tp);
  if (!m.layers.empty() && m.layers.front().attention == model::AttentionKind::gqa &&
      tp <= m.attention.num_kv_heads) {
    checker.multiple("parallelism.tp", "num_key_value_heads", m.attention.num_kv_heads, "tp", tp);
  }
  if (m.dense_ffn > 0) {
    checker.multiple("parallelism.tp", "intermediate_size", m.dense_ffn, "tp", tp);
  }
}

/// A token sends a rank no more copies than the rank has experts: at most min(k, E / EP) of its k,
/// where k / EP is the mean.
void check_imbalance(const Plan& plan, Checker& checker) {
  const model::Moe& moe = plan.model.moe;
  const double most = std::max(1.0, std::min(real(plan.parallelism.sizes.ep),
                                             real(moe.num_experts) / real(moe.experts_per_token)));
  if (plan.training.expert_imbalance <= most) return;
  std::string bound = std::to_string(most);
  bound.erase(bound.find('.') + 3);
  checker.fault("training.expert_imbalance",
                "no EP rank can get more than min(ep, experts / experts per token) = " + bound +
                    " times the mean");
}

void check_experts(const Plan& plan, Checker& checker) {
  const topology::GroupSizes& s = plan.parallelism.sizes;
  if (!uses_moe(plan.model)) {
    if (s.ep > 1 || s.etp > 1) {
      checker.fault("parallelism.ep", "the model has no experts, so ep and etp must be 1");
    }
    return;
  }
  if (s.tp > 1 && !plan.parallelism.sequence_parallel) {
    checker.fault("parallelism.sequence_parallel",
                  "experts with tp > 1 need sequence parallelism (Megatron-LM refuses it as well)");
  }
  checker.multiple("parallelism.ep", "number of experts", plan.model.moe.num_experts, "ep", s.ep);
  checker.multiple("parallelism.ep", "tp x cp x dp", s.tp * s.cp * s.dp, "ep x etp", s.ep * s.etp);
  checker.multiple("parallelism.etp", "moe_intermediate_size", plan.model.moe.expert_ffn, "etp",
                   s.etp);
  check_imbalance(plan, checker);
}

/// Megatron-LM builds one grid of ranks for attention and one for experts and refuses orders in
/// which the two would cut the pipeline differently (parallel_state.py, initialize_model_parallel:
/// "When not using pp-last rank ordering, the data parallel size of the attention and moe layers
/// must be the same", and the check of pipeline groups after it). A model without experts has the
/// second grid all the same, with expert tensor parallelism tp and ep 1.
void check_rank_order(const Plan& plan, Checker& checker) {
  const topology::GroupSizes& s = plan.parallelism.sizes;
  const bool experts = uses_moe(plan.model);
  if (s.pp == 1 || plan.parallelism.rank_order.back() == topology::Axis::pp) return;
  const std::int64_t etp = experts ? s.etp : s.tp;
  if (s.tp * s.cp * s.dp % (s.ep * etp) != 0) return;  // said already
  const std::int64_t edp = s.tp * s.cp * s.dp / (s.ep * etp);
  if (edp != s.dp) {
    checker.fault("parallelism.rank_order",
                  "pp must stand last unless experts have as many replicas as attention has (" +
                      std::to_string(edp) + " against dp = " + std::to_string(s.dp) +
                      "); Megatron-LM refuses it as well");
    return;
  }
  std::int64_t dense_below = 1;
  std::int64_t expert_below = 1;
  for (const topology::Axis axis : plan.parallelism.rank_order) {
    if (axis == topology::Axis::pp) break;
    if (axis == topology::Axis::tp) {
      dense_below *= s.tp;
      expert_below *= etp;
    } else if (axis == topology::Axis::cp) {
      dense_below *= s.cp;
    } else if (axis == topology::Axis::ep) {
      expert_below *= s.ep;
    }  // dp counts the same in both
  }
  if (dense_below == expert_below) return;
  checker.fault("parallelism.rank_order",
                "stages of attention and of experts would hold different ranks (" +
                    std::to_string(dense_below) + " and " + std::to_string(expert_below) +
                    " ranks before pp); put pp last (Megatron-LM refuses it as well)");
}

/// A chunk may not begin with a layer that reuses the indices of an earlier one.
void check_index_sharing(const Plan& plan, Checker& checker) {
  std::int64_t layer = 0;
  for (const std::int64_t count : plan.parallelism.layers_per_chunk) {
    if (count > 0 && layer < static_cast<std::int64_t>(plan.model.layers.size()) &&
        plan.model.layers[static_cast<std::size_t>(layer)].index == model::IndexRole::shared) {
      checker.fault("parallelism.pipeline_layout",
                    "layer " + std::to_string(layer) +
                        " reuses the top-k indices of an earlier layer and cannot begin a "
                        "pipeline chunk; move the boundary to a layer that computes its own");
    }
    layer += count;
  }
}

/// MTP layers read the last layer's output: no layer may come after them.
void check_mtp_stage(const Plan& plan, Checker& checker) {
  const std::int64_t pp = plan.parallelism.sizes.pp;
  const std::int64_t stage = plan.training.mtp_stage;
  if (stage >= pp) {
    checker.fault("training.mtp_stage", "must be below pp = " + std::to_string(pp));
    return;
  }
  const auto& layout = plan.parallelism.layers_per_chunk;
  if (stage < 0 || plan.training.mtp_num_layers == 0 ||
      static_cast<std::int64_t>(layout.size()) != plan.chunks()) {
    return;
  }
  for (auto c = static_cast<std::size_t>((plan.parallelism.vpp - 1) * pp + stage + 1);
       c < layout.size(); ++c) {
    if (layout[c] == 0) continue;
    checker.fault("training.mtp_stage", "MTP layers follow the last layer, but chunk " +
                                            std::to_string(c) + " after stage " +
                                            std::to_string(stage) + " still has " +
                                            std::to_string(layout[c]) +
                                            " layers; the last stage is " + std::to_string(pp - 1));
    return;
  }
}

/// Frameworks that shard gradients or weights refuse pipelines: DeepSpeed's PipelineEngine ZeRO-2
/// and 3, Megatron-LM's --use-torch-fsdp2 any.
void check_sharding(const Plan& plan, Checker& checker) {
  const Parallelism& p = plan.parallelism;
  const topology::GroupSizes& s = p.sizes;
  if (p.zero >= 2 && s.pp > 1) {
    checker.fault(
        "parallelism.zero",
        std::to_string(p.zero) +
            " needs pp = 1: every micro-batch in flight would gather and reduce anew, and "
            "DeepSpeed and Megatron-LM's FSDP2 refuse pipelines; with pp " +
            std::to_string(s.pp) + " use zero 1");
  }
  if (p.hsdp_shard == 0) return;
  checker.multiple("parallelism.hsdp_shard", "dp x cp", s.dp * s.cp, "hsdp_shard", p.hsdp_shard);
  if (!uses_moe(plan.model) || s.dp * s.cp % p.hsdp_shard != 0) return;
  checker.multiple("parallelism.hsdp_shard", "replicas of an expert (tp x cp x dp / (ep x etp))",
                   s.edp(), "the copies of the state (dp x cp / hsdp_shard)",
                   s.dp * s.cp / p.hsdp_shard);
}

/// Megatron-LM's rules for groups of the interleaved schedule: a group fills the pipeline, and so
/// does the last one.
void check_groups(const Plan& plan, Checker& checker) {
  const std::int64_t pp = plan.parallelism.sizes.pp;
  const std::int64_t micro_batches = plan.micro_batches();
  const std::int64_t given = plan.parallelism.microbatch_group_size;
  if (plan.parallelism.schedule == Schedule::breadth_first || given == 0) {
    if (plan.parallelism.schedule == Schedule::breadth_first && micro_batches >= pp) return;
    checker.multiple("parallelism.vpp", "number of micro-batches of the interleaved schedule",
                     micro_batches, "pp", pp);
    return;
  }
  if (given < pp || given > micro_batches) {
    checker.fault("parallelism.microbatch_group_size",
                  "must be from pp (" + std::to_string(pp) +
                      ") to the micro-batches of a pipeline (" + std::to_string(micro_batches) +
                      "), found " + std::to_string(given));
  } else if (const std::int64_t rest = micro_batches % given; rest > 0 && rest < pp) {
    checker.fault(
        "parallelism.microbatch_group_size",
        "leaves a last group of " + std::to_string(rest) + " of " + std::to_string(micro_batches) +
            " micro-batches; it must be empty or at least pp (" + std::to_string(pp) + ")");
  }
}

void check_schedule(const Plan& plan, Checker& checker) {
  const Parallelism& p = plan.parallelism;
  const Workload& w = plan.workload;
  const bool interleaved =
      p.schedule == Schedule::interleaved || p.schedule == Schedule::breadth_first;
  if (p.vpp > 1 && p.sizes.pp == 1) {
    checker.fault("parallelism.vpp", "needs pp > 1");
  } else if (p.vpp > 1 && (p.schedule == Schedule::gpipe || p.schedule == Schedule::zb_h1)) {
    checker.fault("parallelism.schedule",
                  "has one chunk a stage; with vpp > 1 use \"interleaved\" or \"breadth_first\"");
  } else if (p.vpp == 1 && interleaved) {
    checker.fault("parallelism.schedule",
                  "needs vpp > 1; with one chunk a stage use \"1f1b\", \"gpipe\" or \"zb-h1\"");
  } else if (p.vpp > 1 && w.global_batch_size % (p.sizes.dp * w.micro_batch_size) == 0) {
    check_groups(plan, checker);
  }
}

}  // namespace

bool falls_back_unfused(const Plan& plan) {
  const Kernels& k = plan.kernels;
  const Workload& w = plan.workload;
  if (plan.model.indexer.top_k == 0 || w.packing == Packing::thd) return false;
  if (k.selection != ops::Selection::table) return false;
  if (plan.parallelism.sizes.cp > 1) return true;
  return k.topk == ops::TopkKind::radix && unpacked_score_bytes(w) > kMaxUnpackedScores;
}

Bytes unpacked_score_bytes(const Workload& workload) {
  const auto tokens = static_cast<double>(workload.seq_len);
  return Bytes(4.0 * tokens * tokens * static_cast<double>(workload.micro_batch_size));
}

std::vector<PlanFault> check(const Plan& plan, std::int64_t gpus) {
  Checker checker;
  const Parallelism& p = plan.parallelism;
  const topology::GroupSizes& s = p.sizes;
  const std::int64_t fixed = s.tp * s.cp * s.pp;
  if (gpus % fixed != 0) {
    checker.fault("parallelism", "tp x cp x pp = " + std::to_string(fixed) +
                                     " does not divide the cluster's " + std::to_string(gpus) +
                                     " GPUs");
    return checker.take();
  }
  if (plan.chunks() > kMaxChunks) {
    checker.fault("parallelism.vpp", "pp x vpp must be at most " + std::to_string(kMaxChunks));
  }
  const Workload& w = plan.workload;
  checker.multiple("workload.global_batch_size", "global_batch_size", w.global_batch_size,
                   "dp x micro_batch_size", s.dp * w.micro_batch_size);
  if (plan.chunks() <= kMaxChunks && plan.micro_batches() > kMaxScheduled / plan.chunks()) {
    checker.fault("workload.global_batch_size", "makes " + std::to_string(plan.micro_batches()) +
                                                    " micro-batches a pipeline; at most " +
                                                    std::to_string(kMaxScheduled / plan.chunks()) +
                                                    " are scheduled");
  }
  const std::int64_t cuts = s.cp > 1 && p.cp_split == ops::CpSplit::zigzag ? 2 * s.cp : s.cp;
  checker.multiple("workload.seq_len", "seq_len", w.seq_len,
                   cuts == s.cp ? "cp" : "2 x cp (zigzag halves)", cuts);
  if (p.sequence_parallel && w.seq_len % cuts == 0) {
    checker.multiple("workload.seq_len", "tokens of one cp rank", w.seq_len / s.cp, "tp", s.tp);
  }
  check_heads(plan, checker);
  for (PlanFault& fault : check_context_parallel(plan)) {
    checker.fault(std::move(fault.setting), std::move(fault.message));
  }
  check_experts(plan, checker);
  check_rank_order(plan, checker);
  const std::int64_t layers = static_cast<std::int64_t>(plan.model.layers.size());
  const auto& layout = p.layers_per_chunk;
  if (static_cast<std::int64_t>(layout.size()) != plan.chunks()) {
    checker.fault("parallelism.pipeline_layout",
                  "must have pp x vpp = " + std::to_string(plan.chunks()) + " entries, found " +
                      std::to_string(layout.size()));
  } else if (std::accumulate(layout.begin(), layout.end(), std::int64_t{0}) != layers) {
    checker.fault(
        "parallelism.pipeline_layout",
        "must sum to the model's " + std::to_string(layers) + " layers, found " +
            std::to_string(std::accumulate(layout.begin(), layout.end(), std::int64_t{0})));
  } else {
    check_index_sharing(plan, checker);
  }
  check_schedule(plan, checker);
  check_sharding(plan, checker);
  if (plan.training.mtp_num_layers > plan.model.mtp_layers) {
    checker.fault("training.mtp_num_layers",
                  "the model has " + std::to_string(plan.model.mtp_layers) + " MTP layers, not " +
                      std::to_string(plan.training.mtp_num_layers));
  }
  check_mtp_stage(plan, checker);
  return checker.take();
}

std::vector<std::int64_t> even_layout(std::int64_t layers, std::int64_t chunks) {
  std::vector<std::int64_t> layout(static_cast<std::size_t>(chunks), layers / chunks);
  // The first chunk also has the embedding and the last the head: the extra layers go inside.
  const std::int64_t extra = layers % chunks;
  const std::int64_t begin = chunks > extra ? (chunks - extra) / 2 : 0;
  for (std::int64_t i = 0; i < extra; ++i) ++layout[static_cast<std::size_t>(begin + i)];
  return layout;
}

std::vector<std::int64_t> default_layout(const model::Transformer& model, std::int64_t chunks) {
  const auto layers = static_cast<std::int64_t>(model.layers.size());
  const std::vector<std::int64_t> even = even_layout(layers, chunks);
  const auto begins = [&](std::int64_t layer) {
    return layer == layers ||
           model.layers[static_cast<std::size_t>(layer)].index != model::IndexRole::shared;
  };
  std::vector<std::int64_t> layout;
  std::int64_t wanted = 0;
  std::int64_t previous = 0;
  for (const std::int64_t count : even) {
    wanted += count;
    // The nearest legal boundary at or after the previous one; an earlier one if two are as near.
    std::int64_t boundary = layers;
    for (std::int64_t layer = previous; layer < layers; ++layer) {
      if (layer - wanted >= std::abs(boundary - wanted)) break;  // farther from here on
      if (begins(layer) && std::abs(layer - wanted) < std::abs(boundary - wanted)) boundary = layer;
    }
    if (layout.size() + 1 == even.size()) boundary = layers;
    layout.push_back(boundary - previous);
    previous = boundary;
  }
  return layout;
}

}  // namespace hysim::graph
