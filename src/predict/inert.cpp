#include "predict/inert.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "graph/layer.h"
#include "graph/plan.h"
#include "ops/selection.h"
#include "topology/groups.h"

namespace hysim::predictor {

namespace {

using graph::Plan;

/// What the reasons ask of a job, found once.
struct Facts {
  const Job& job;
  const Plan& plan;
  const topology::GroupSizes& sizes;
  graph::LayerContext context;
  bool sparse = false;      // learned sparse attention
  bool experts = false;     // routed experts
  bool replicated = false;  // some state is on more than one rank
  const std::string& model;
};

/// Why a setting changes nothing; "" where it counts.
using Why = std::string (*)(const Facts&);

std::string selects_nothing(const Facts& f) {
  return f.sparse ? "" : f.model + " selects no tokens";
}
std::string has_no_experts(const Facts& f) { return f.experts ? "" : f.model + " has no experts"; }
std::string has_no_replicas(const Facts& f) {
  return f.replicated ? "" : "no rank holds a copy of another's weights (dp x cp is 1)";
}
std::string no_tp(const Facts& f) { return f.sizes.tp > 1 ? "" : "it needs tp > 1"; }
std::string no_cp(const Facts& f) { return f.sizes.cp > 1 ? "" : "it needs cp > 1"; }
std::string no_zero3(const Facts& f) {
  return f.plan.parallelism.zero == 3 ? has_no_replicas(f) : "it matters to zero 3 only";
}
std::string not_full(const Facts& f) {
  return f.plan.training.recompute == graph::Recompute::full ? ""
                                                             : "it matters to recompute full only";
}

/// The first reason there is.
template <std::size_t N>
std::string first_of(const Facts& f, const std::array<Why, N>& reasons) {
  for (const Why why : reasons) {
    if (std::string text = why(f); !text.empty()) return text;
  }
  return "";
}

std::string packing(const Facts& f) {
  if (!f.sparse) return "it matters to the indexer only, and " + f.model + " has none";
  if (graph::falls_back_unfused(f.plan)) return "";
  return "unpacked rows go to the same kernels: they leave them where cp > 1, or with radix top-k "
         "beyond 1 GiB of scores";
}

std::string cp_layout(const Facts& f) {
  if (f.sizes.cp == 1) return no_cp(f);
  const graph::CpSplitting split = graph::cp_splitting(f.plan.parallelism);
  if (f.sparse || split.gather > 1 || split.ring > 1) return "";
  return "ranks that exchange heads for tokens (cp_comm a2a) see whole sequences";
}

/// Several GPUs on each of several nodes.
bool is_tiered(const topology::GroupShape& g) {
  return g.nodes > 1 && g.per_node > 1 && g.size == g.nodes * g.per_node;
}

std::string hierarchical(const Facts& f) {
  const topology::Groups groups =
      topology::groups_of_rank_zero(f.sizes, f.plan.parallelism.rank_order);
  const std::int64_t per_node = f.job.cluster.gpus_per_node;
  if (is_tiered(topology::shape_of(groups.dp_cp, per_node))) return "";
  if (f.experts && is_tiered(topology::shape_of(groups.edp, per_node))) return "";
  return "no group of replicas has several GPUs on each of several nodes";
}

std::int64_t size_of(const topology::GroupSizes& sizes, topology::Axis axis) {
  switch (axis) {
    case topology::Axis::tp:
      return sizes.tp;
    case topology::Axis::cp:
      return sizes.cp;
    case topology::Axis::ep:
      return sizes.ep;
    case topology::Axis::dp:
      return sizes.dp;
    case topology::Axis::pp:
      break;
  }
  return sizes.pp;
}

std::string rank_order(const Facts& f) {
  if (f.job.cluster.gpus() <= f.job.cluster.gpus_per_node) {
    return "every group lies in the one node";
  }
  const auto apart = [&](const std::array<topology::Axis, topology::kAxes>& order) {
    std::vector<topology::Axis> axes;
    for (const topology::Axis axis : order) {
      if (size_of(f.sizes, axis) > 1) axes.push_back(axis);
    }
    return axes;
  };
  std::array<topology::Axis, topology::kAxes> standard{};
  topology::parse_rank_order("tp-cp-ep-dp-pp", standard);
  return apart(standard) == apart(f.plan.parallelism.rank_order)
             ? "groups of more than one rank keep the order they have without it"
             : "";
}

std::string hsdp_shard(const Facts& f) {
  if (f.plan.parallelism.zero == 0) return "it matters only where zero shards something";
  if (f.plan.parallelism.hsdp_shard == f.sizes.dp * f.sizes.cp) {
    return "one copy over all of dp x cp is the default";
  }
  return "";
}

std::string schedule(const Facts& f) {
  const graph::Parallelism& p = f.plan.parallelism;
  return p.schedule == graph::Schedule::zb_h1 && p.sizes.pp == 1
             ? "\"zb-h1\" saves no time without a pipeline"
             : "";
}

std::string microbatch_group(const Facts& f) {
  const graph::Parallelism& p = f.plan.parallelism;
  if (p.schedule != graph::Schedule::interleaved)
    return "it matters to the interleaved schedule only";
  return p.microbatch_group_size == p.sizes.pp ? "groups of pp are the default" : "";
}

bool any_layer(const Plan& plan, bool (*is)(const model::LayerSpec&)) {
  return std::any_of(plan.model.layers.begin(), plan.model.layers.end(), is);
}

/// Modules that are named and that no layer has.
std::string recompute_modules(const Facts& f) {
  if (f.plan.training.recompute != graph::Recompute::selective) {
    return "it matters to selective recompute only";
  }
  const graph::RecomputeModules& named = f.plan.training.recompute_modules;
  const bool moe = any_layer(
      f.plan, [](const model::LayerSpec& layer) { return layer.ffn == model::FfnKind::moe; });
  const bool mlp = any_layer(
      f.plan, [](const model::LayerSpec& layer) { return layer.ffn == model::FfnKind::dense; });
  const bool latents = any_layer(f.plan, [](const model::LayerSpec& layer) {
    return layer.attention != model::AttentionKind::gqa;
  });
  std::string absent;
  const auto note = [&](bool given, bool there, std::string_view word) {
    if (given && !there) absent += (absent.empty() ? "" : ", ") + std::string(word);
  };
  note(named.mla_up_proj, latents, "mla_up_proj");
  note(named.moe_act, moe && !named.moe, named.moe && moe ? "moe_act (part of moe)" : "moe_act");
  note(named.mlp, mlp, "mlp");
  note(named.moe, moe, "moe");
  return absent.empty() ? "" : "no layer of " + f.model + " runs these again for it: " + absent;
}

/// Whether any layer keeps its top-k indices from forward to backward (graph/layer.cpp).
bool keeps_indices(const Plan& plan) {
  const graph::Training& t = plan.training;
  if (plan.model.indexer.top_k <= 0) return false;
  if (plan.kernels.selection_replay || t.recompute == graph::Recompute::none) return true;
  if (t.recompute == graph::Recompute::selective && !t.recompute_modules.core_attn) return true;
  if (t.recompute == graph::Recompute::full &&
      t.recompute_method == graph::RecomputeMethod::block) {
    return true;
  }
  return any_layer(
      plan, [](const model::LayerSpec& layer) { return layer.index == model::IndexRole::shared; });
}

std::string offload_indices(const Facts& f) {
  return keeps_indices(f.plan) ? "" : "no indices are kept";
}

std::string loss_chunk(const Facts& f) {
  const std::int64_t tokens = f.context.tokens();
  return f.plan.training.loss_chunk_tokens >= tokens
             ? "a rank has " + std::to_string(tokens) + " tokens, one chunk"
             : "";
}

std::string overlap_cp(const Facts& f) {
  if (!f.sparse) {
    return "it hides the gather of latents behind selection, and " + selects_nothing(f);
  }
  return no_cp(f);
}

std::string overlap_gather(const Facts& f) {
  if (f.plan.parallelism.zero == 0) return "with zero 0 no weights are gathered";
  return has_no_replicas(f);
}

std::string shared_expert(const Facts& f) {
  if (f.plan.model.moe.shared_ffn == 0) return f.model + " has no shared expert";
  return f.sizes.ep * f.sizes.etp > 1 ? "" : "it hides behind dispatch and combine, and ep is 1";
}

std::string dispatcher(const Facts& f) {
  if (!f.experts) return has_no_experts(f);
  return f.sizes.ep > 1 ? "" : "it needs ep > 1";
}

std::string no_table(const Facts& f) {
  if (!f.sparse) return selects_nothing(f);
  return f.plan.kernels.selection == ops::Selection::table
             ? ""
             : "it matters to kernels.selection \"table\" only";
}

std::string topk(const Facts& f) {
  if (!f.sparse) return selects_nothing(f);
  return f.plan.kernels.selection == ops::Selection::fused ? "the fused selection has its own top-k"
                                                           : "";
}

/// Chunks of the score table as they are by default.
std::string chunks(const Facts& f) {
  if (std::string why = no_table(f); !why.empty()) return why;
  const graph::Kernels& k = f.plan.kernels;
  const ops::SelectionShape shape = f.context.selection();
  const std::int64_t rows = ops::rows_per_chunk(shape, k.score_chunk_bytes, k.score_chunk_rows);
  if (rows != ops::rows_per_chunk(shape, graph::Kernels().score_chunk_bytes, 0)) return "";
  return "chunks have the " + std::to_string(rows) + " rows they have by default";
}

std::string chunk_bytes(const Facts& f) {
  if (std::string why = no_table(f); !why.empty()) return why;
  if (f.plan.kernels.score_chunk_rows > 0) return "kernels.score_chunk_rows is set and decides";
  return chunks(f);
}

std::string key_crop(const Facts& f) {
  if (!f.sparse) return selects_nothing(f);
  if (f.plan.kernels.selection == ops::Selection::fused) {
    return "the fused selection has no table to crop";
  }
  return f.sizes.cp > 1 ? "" : "a segment is the whole sequence: it needs cp > 1";
}

std::string selection_precision(const Facts& f) {
  if (!f.sparse) return selects_nothing(f);
  return f.plan.kernels.selection == ops::Selection::naive ? "naive scoring is done in fp32" : "";
}

std::string padded(const Facts& f, std::int64_t multiple) {
  const std::int64_t heads = f.plan.model.indexer.num_heads;
  return heads % multiple == 0
             ? std::to_string(heads) + " index heads are a multiple of " + std::to_string(multiple)
             : "";
}

std::string score_heads(const Facts& f) {
  return f.sparse ? padded(f, f.plan.kernels.score_head_multiple) : selects_nothing(f);
}

std::string loss_heads(const Facts& f) {
  if (!f.sparse) return selects_nothing(f);
  if (f.plan.training.indexer_loss == graph::IndexerLoss::off) {
    return "training.indexer.loss is off";
  }
  return padded(f, f.plan.kernels.loss_head_multiple);
}

std::string indexer_tp(const Facts& f) {
  return first_of(f, std::array<Why, 2>{selects_nothing, no_tp});
}

std::string replay(const Facts& f) {
  if (!f.sparse) return selects_nothing(f);
  const graph::Training& t = f.plan.training;
  const bool again = t.recompute == graph::Recompute::full ||
                     (t.recompute == graph::Recompute::selective && t.recompute_modules.core_attn);
  return again ? "" : "attention is not recomputed, so selection runs once anyway";
}

struct Rule {
  std::string_view key;
  std::string_view id;
  Why why;
};

// Every setting that some legal job does not read. inert_test.cpp goes through the schema's keys
// and finds one that is missing here.
constexpr Rule kRules[] = {
    {"workload.packing", "inert-packing", packing},
    {"parallelism.zero", "inert-zero", has_no_replicas},
    {"parallelism.fsdp_prefetch", "inert-fsdp", no_zero3},
    {"parallelism.reshard_after_forward", "inert-reshard-after-forward", no_zero3},
    {"parallelism.hsdp_shard", "inert-hsdp-shard", hsdp_shard},
    {"parallelism.schedule", "inert-schedule", schedule},
    {"parallelism.microbatch_group_size", "inert-microbatch-group-size", microbatch_group},
    {"parallelism.hierarchical_collectives", "inert-hierarchical-collectives", hierarchical},
    {"parallelism.cp_comm", "inert-cp-comm", no_cp},
    {"parallelism.cp_layout", "inert-cp-layout", cp_layout},
    {"parallelism.sequence_parallel", "inert-sequence-parallel", no_tp},
    {"parallelism.rank_order", "inert-rank-order", rank_order},
    {"training.recompute_method", "inert-recompute-method", not_full},
    {"training.recompute_num_layers", "inert-recompute-num-layers", not_full},
    {"training.recompute_modules", "inert-recompute-modules", recompute_modules},
    {"training.indexer.loss", "inert-indexer-loss", selects_nothing},
    {"training.mtp_stage", "inert-mtp-stage",
     [](const Facts& f) -> std::string {
       return f.plan.training.mtp_num_layers > 0 ? "" : "mtp_num_layers is 0";
     }},
    {"training.expert_imbalance", "inert-expert-imbalance", has_no_experts},
    {"training.loss_chunk_tokens", "inert-loss-chunk-tokens", loss_chunk},
    {"training.offload.indices", "inert-offload-indices", offload_indices},
    {"training.overlap.tp", "inert-overlap-tp", no_tp},
    {"training.overlap.cp", "inert-overlap-cp", overlap_cp},
    {"training.overlap.grad_reduce", "inert-overlap-grad-reduce", has_no_replicas},
    {"training.overlap.param_gather", "inert-overlap-param-gather", overlap_gather},
    {"training.overlap.shared_expert", "inert-shared-expert-overlap", shared_expert},
    {"kernels.selection", "inert-selection", selects_nothing},
    {"kernels.topk", "inert-topk", topk},
    {"kernels.score_chunk_bytes", "inert-score-chunk-bytes", chunk_bytes},
    {"kernels.score_chunk_rows", "inert-score-chunk-rows", chunks},
    {"kernels.score_clean", "inert-score-clean", no_table},
    {"kernels.key_crop", "inert-key-crop", key_crop},
    {"kernels.selection_precision", "inert-selection-precision", selection_precision},
    {"kernels.score_head_multiple", "inert-score-head-multiple", score_heads},
    {"kernels.loss_head_multiple", "inert-loss-head-multiple", loss_heads},
    {"kernels.sparse_attention", "inert-sparse-attention", selects_nothing},
    {"kernels.indexer_tp", "inert-indexer-tp", indexer_tp},
    {"kernels.dispatcher", "inert-dispatcher", dispatcher},
    {"kernels.selection_replay", "inert-selection-replay", replay},
};

bool same(const config::Node& one, const config::Node& two) {
  return config::to_text(one) == config::to_text(two);
}

/// Whether the job's value at `key` was asked for and is not the one it has anyway.
bool is_chosen(const config::Node& given, const config::Node& defaults, const config::Node* shared,
               const config::Node& now, std::string_view key) {
  const config::Node* const asked = config::find_path(given, key);
  if (asked == nullptr || asked->is_null()) return false;
  const config::Node* const inherited =
      shared == nullptr ? nullptr : config::find_path(*shared, key);
  if (inherited != nullptr && same(*inherited, *asked)) return false;
  const config::Node* const usual = config::find_path(defaults, key);
  const config::Node* const value = config::find_path(now, key);
  return usual == nullptr || value == nullptr || !same(*usual, *value);
}

}  // namespace

void warn_inert(const config::Node& given, const config::Node& defaults, const config::Node* shared,
                Job& job) {
  const Plan& plan = job.plan;
  const topology::GroupSizes& sizes = plan.parallelism.sizes;
  const bool experts = plan.model.moe.num_experts > 1;
  const Facts facts{job,
                    plan,
                    sizes,
                    graph::make_context(plan, job.cluster.gpus_per_node),
                    plan.model.indexer.top_k > 0,
                    experts,
                    sizes.dp * sizes.cp > 1 || (experts && sizes.edp() > 1),
                    plan.model.name};
  for (const Rule& rule : kRules) {
    if (!is_chosen(given, defaults, shared, job.resolved, rule.key)) continue;
    const std::string why = rule.why(facts);
    if (why.empty()) continue;
    job.warnings.push_back(
        {std::string(rule.id), std::string(rule.key) + " changes nothing: " + why, ""});
  }
  if (facts.sparse && plan.workload.seq_len <= plan.model.indexer.top_k) {
    job.warnings.push_back(
        {"inert-top-k", "seq_len is at most top-k, so every token attends to all others", ""});
  }
}

}  // namespace hysim::predictor
