// The settings of a training job, typed and checked: what a scenario says, without hardware.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/schedule.h"
#include "hysim/units.h"
#include "model/transformer.h"
#include "ops/attention.h"
#include "ops/model_flops.h"
#include "ops/segments.h"
#include "ops/selection.h"
#include "topology/groups.h"

namespace hysim::graph {

using ops::IndexerLoss;

enum class Recompute { none, selective, full };
/// Megatron's --recompute-method: uniform checkpoints every num_layers layers, block recomputes
/// the first num_layers layers of each chunk and keeps the rest.
enum class RecomputeMethod { uniform, block };
/// Modules that selective recomputation runs again, by Megatron's --recompute-modules names.
struct RecomputeModules {
  bool core_attn = true;     // the attention core, selection included
  bool mla_up_proj = false;  // projections from the latents to heads
  bool layernorm = false;
  bool moe_act = false;  // activation between the experts' matrices
  bool mlp = false;      // dense feed-forward
  bool moe = false;      // the whole expert layer, dispatch included
};
enum class GradientType { fp32, bf16 };
enum class IndexerTp { replicated, sharded };
/// How tokens reach experts: NCCL all-to-all of every copy, or DeepEP-style (one copy a node).
enum class Dispatcher { alltoall, deepep };

/// How attention reaches the keys of other context-parallel ranks, by Megatron's --cp-comm-type:
/// gathered; round a ring of neighbours; every rank all tokens of its share of the heads (Ulysses);
/// heads exchanged inside groups, keys round a ring across them.
enum class CpComm { all_gather, p2p, a2a, a2a_p2p };

/// How sequences reach the attention kernels: packed in one row of tokens (Megatron's THD), or as a
/// batch of rows (BSHD).
enum class Packing { thd, bshd };

struct Workload {
  std::int64_t seq_len = 0;
  std::int64_t micro_batch_size = 1;
  std::int64_t global_batch_size = 1;  // sequences
  Packing packing = Packing::thd;
};

struct Parallelism {
  topology::GroupSizes sizes;  // dp derived from the cluster
  std::int64_t vpp = 1;
  std::vector<std::int64_t> layers_per_chunk;  // pp * vpp entries, in model order
  Schedule schedule = Schedule::one_f_one_b;   // with vpp > 1 one of the interleaved ones
  std::int64_t microbatch_group_size = 0;      // of the interleaved schedule; 0: pp
  ops::CpSplit cp_split = ops::CpSplit::zigzag;
  CpComm cp_comm = CpComm::all_gather;
  std::vector<std::int64_t> hierarchical_cp_sizes;  // of a2a_p2p: ranks that exchange, of the ring
  bool sequence_parallel = true;
  /// What replicas divide among them: 1 optimizer state, 2 gradients as well, 3 weights as well.
  int zero = 1;
  bool hierarchical_collectives = false;  // replicas reduce and gather inside nodes, then across
  std::int64_t fsdp_prefetch = 1;         // zero 3: units whose weights are gathered ahead
  bool reshard_after_forward = true;      // zero 3: weights are gathered again for backward
  std::int64_t hsdp_shard = 0;  // ranks of dp x cp that share one copy of the state; 0: all
  std::array<topology::Axis, topology::kAxes> rank_order{};
};

/// What goes to host memory after a layer's forward and comes back before its backward.
struct Offload {
  double activations = 0.0;  // share of what layers keep: their inputs, or saved tensors
  bool indices = false;      // top-k indices kept for backward
  bool any() const { return activations > 0.0 || indices; }
};

struct Training {
  ops::Precision precision = ops::Precision::bf16;  // of linear layers and experts
  Recompute recompute = Recompute::full;
  RecomputeMethod recompute_method = RecomputeMethod::uniform;
  std::int64_t recompute_num_layers = 1;
  RecomputeModules recompute_modules;
  IndexerLoss indexer_loss = IndexerLoss::off;
  double expert_imbalance = 1.0;  // routed tokens of the fullest EP rank over their mean
  std::int64_t mtp_num_layers = 0;
  std::int64_t mtp_stage = -1;  // pipeline stage that holds the MTP layers; -1: the last
  GradientType gradient = GradientType::fp32;
  std::int64_t loss_chunk_tokens = 0;  // 0: logits of all tokens at once
  Offload offload;
};

struct Kernels {
  ops::Selection selection = ops::Selection::table;
  ops::TopkKind topk = ops::TopkKind::torch;
  Bytes score_chunk_bytes{1024.0 * 1024.0 * 1024.0};
  std::int64_t score_chunk_rows = 0;  // 0: by bytes
  bool score_clean = false;           // a pass writes -inf over what no query may see
  ops::KeyCrop key_crop = ops::KeyCrop::none;
  ops::Precision selection_precision = ops::Precision::bf16;
  std::int64_t score_head_multiple = 1;  // scoring pads index heads to a multiple of this
  std::int64_t loss_head_multiple = 1;   // the KL gradient kernels do
  ops::SparseBackend sparse_attention = ops::SparseBackend::cudnn;
  IndexerTp indexer_tp = IndexerTp::replicated;
  Dispatcher dispatcher = Dispatcher::alltoall;
  bool selection_replay = false;
};

/// Which communication a software stack hides behind computation.
struct Overlap {
  bool tp = false;             // TP collectives run beside the matrix product they feed or follow
  bool cp = false;             // the latent key gather of sparse attention runs beside selection
  bool grad_reduce = true;     // gradients reduced layer by layer behind the last backward
  bool param_gather = true;    // updated weights gathered behind the first forward
  bool shared_expert = false;  // its two halves run beside dispatch and combine
};

/// A what-if factor on the time of a kernel or of communication (graph/scale.h has the names).
struct Scale {
  std::string name;
  double factor = 1.0;
};

struct Plan {
  model::Transformer model;
  Workload workload;
  Parallelism parallelism;
  Training training;
  Kernels kernels;
  Overlap overlap;
  std::vector<Scale> scale;

  std::int64_t micro_batches() const {
    return workload.global_batch_size / (parallelism.sizes.dp * workload.micro_batch_size);
  }
  std::int64_t chunks() const { return parallelism.sizes.pp * parallelism.vpp; }
};

/// The three ways in which a cp group splits one attention core; their product is cp.
struct CpSplitting {
  std::int64_t gather = 1;    // ranks whose keys are gathered
  std::int64_t exchange = 1;  // ranks that exchange heads for tokens
  std::int64_t ring = 1;      // ranks whose keys come round
};
CpSplitting cp_splitting(const Parallelism& parallelism);

/// Whether the table kernels refuse this plan's input, so that Megatron scores with its unfused
/// indexer: unpacked rows split over context-parallel ranks (Megatron-LM PR 5099), or, with the
/// cuDNN kernels, unpacked scores of more than 1 GiB (dsa_cudnn_kernels.py at d98e8a64).
bool falls_back_unfused(const Plan& plan);
/// fp32 scores of every pair of a micro-batch: 4 x micro_batch_size x seq_len^2.
Bytes unpacked_score_bytes(const Workload& workload);

/// A rule the plan breaks: the setting and why.
struct PlanFault {
  std::string setting;  // dotted path of the scenario: "parallelism.cp"
  std::string message;
};
/// Everything illegal about a plan on `gpus` GPUs; empty when it can run.
std::vector<PlanFault> check(const Plan& plan, std::int64_t gpus);

/// Layers spread over chunks as evenly as can be, longer chunks in the middle as Megatron users
/// do: first and last give way first. Sums to the number of layers.
std::vector<std::int64_t> even_layout(std::int64_t layers, std::int64_t chunks);
/// The same with every boundary moved to the nearest layer that may begin a chunk: one that does
/// not reuse the indices of an earlier layer.
std::vector<std::int64_t> default_layout(const model::Transformer& model, std::int64_t chunks);

}  // namespace hysim::graph
