// What the GPUs of one pipeline do in a training step: lists of tasks on streams for every kind of
// layer, how layers are laid on pipeline chunks, and what crosses ranks between steps. A Program
// says what has to be done and in which order; it knows no hardware number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "collectives/collective.h"
#include "graph/plan.h"
#include "ops/work.h"

namespace hysim::graph {

/// Streams of one GPU. Tasks of a stream run in list order, one at a time.
enum class Stream { compute, tp, cp, ep };
inline constexpr int kStreams = 4;

struct Task {
  std::int32_t leaf = 0;  // index into Program::leaves
  Stream stream = Stream::compute;
  std::variant<ops::Work, collectives::Collective> work;
  std::vector<std::int32_t> after;  // tasks of the same list that must end first
  bool weight_gradient = false;     // makes gradients of weights only: nothing of the layer waits
  double scale = 1.0;               // what-if factor on its time, launch gaps apart
};
using TaskList = std::vector<Task>;

/// One kind of layer under one recomputation rule.
struct LayerProgram {
  model::LayerSpec spec;
  bool recompute = false;  // backward runs the forward again
  TaskList forward;
  TaskList backward;     // recomputation first
  Bytes saved;           // kept from forward to backward of one micro-batch
  Bytes indices;         // part of saved-for-backward: top-k indices
  Bytes working_set;     // alive while the layer is worked on
  Bytes recomputed;      // part of working_set: what recomputation makes, for each layer of a block
  Bytes gathered;        // part of working_set: keys of other ranks
  Bytes gathered_again;  // part of both: gathered keys that recomputation makes
  Bytes score_workspace;  // of the selection
  Bytes offloaded;        // part of saved and indices that goes to host memory
  Bytes weight_operands;  // zb_h1: what weight gradients that run later need
};

/// Parameters one rank of a stage or layer holds.
struct ParameterShare {
  double dense = 0.0;   // TP-split tensors / TP + replicated ones
  double expert = 0.0;  // routed experts / (EP x ETP)
  ParameterShare& operator+=(const ParameterShare& other) {
    dense += other.dense;
    expert += other.expert;
    return *this;
  }
};

/// Consecutive layers of one virtual pipeline stage.
struct Chunk {
  std::int64_t stage = 0;
  std::vector<std::int32_t> layers;  // indices into Program::layers, in model order
  bool embedding = false;            // looks tokens up
  bool embedding_copy = false;       // holds the embedding matrix again, for MTP or a tied head
  bool head = false;
  std::int64_t mtp = 0;  // MTP layers placed here
  std::int64_t losses =
      0;  // logits and losses computed here: the model's and one of each MTP layer
};

/// Breakdown paths of what a step does outside its task lists.
inline constexpr std::string_view kOptimizerLeaf = "optimizer";
inline constexpr std::string_view kPipelineLeaf = "communication/pp";
inline constexpr std::string_view kReplicaLeaf = "communication/dp";

struct Program {
  std::string kind = "training_step";
  std::vector<std::string> leaves;  // breakdown paths
  std::vector<LayerProgram> layers;
  std::vector<ParameterShare> layer_parameters;  // per entry of layers
  LayerProgram mtp;                              // empty lists without MTP
  ParameterShare mtp_parameters;
  LayerProgram embedding;
  ParameterShare embedding_parameters;
  ParameterShare embedding_copy_parameters;  // of a stage that holds the matrix again
  /// Gradients of an embedding matrix that two stages hold; a group of one when only one does.
  collectives::Collective embedding_reduce;
  LayerProgram head;  // final norm, logits, loss
  ParameterShare head_parameters;
  std::vector<Chunk> chunks;  // in model order: chunk v * pp + stage
  std::int64_t pp = 1;
  std::int64_t vpp = 1;
  std::int64_t micro_batches = 1;
  Schedule schedule = Schedule::one_f_one_b;
  std::int64_t microbatch_group_size = 0;  // of the interleaved schedule; 0: pp
  collectives::Collective pipeline_send;   // one boundary, one direction, one micro-batch
  topology::GroupShape dense_group;        // dp x cp
  topology::GroupShape expert_group;       // edp
  /// Parts of these two: ranks that divide one copy of the state, and ranks that hold the same part
  /// of it (parallelism.hsdp_shard; else groups of one).
  topology::GroupShape dense_shard, dense_copies;
  topology::GroupShape expert_shard, expert_copies;
  topology::GroupShape world;
  double gradient_bytes = 4.0;  // per parameter
  int zero = 1;
  bool hierarchical = false;  // reduction and gathering over replicas, tier by tier
  std::int64_t fsdp_prefetch = 1;
  bool reshard_after_forward = true;
  bool offloads = false;  // some layer has `offloaded` bytes
  Overlap overlap;
  // What-if factors on what is not in a list.
  double optimizer_scale = 1.0;
  double send_scale = 1.0;     // between pipeline stages
  double replica_scale = 1.0;  // gradients and weights of the replicas

  std::int32_t leaf(const std::string& path);
  PipelineShape pipeline() const {
    return {schedule, pp, vpp, micro_batches, microbatch_group_size};
  }
};

/// Builds the program of a checked plan; `gpus_per_node` places groups on nodes.
Program build_training_step(const Plan& plan, std::int64_t gpus_per_node);

/// Parameters of a stage on one rank: its chunks' layers, embedding, head and MTP.
ParameterShare stage_parameters(const Program& program, std::int64_t stage);

/// The same apart, in forward order: what FSDP gathers and reduces at a time.
std::vector<ParameterShare> stage_units(const Program& program, std::int64_t stage);

}  // namespace hysim::graph
