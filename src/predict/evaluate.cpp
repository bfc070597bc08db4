#include "predict/evaluate.h"

#include <algorithm>
#include <cstddef>
#include <functional>

#include "collectives/collective.h"
#include "cost/kernel_time.h"
#include "graph/offload.h"
#include "graph/schedule.h"
#include "graph/sharded.h"
#include "ops/element_bytes.h"
#include "ops/elementwise.h"
#include "predict/streams.h"

namespace hysim::predictor {

namespace {

using config::Evidence;
using graph::Chunk;
using graph::LayerProgram;
using graph::ParameterShare;
using graph::Program;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Reduction of gradients or gathering of weights over the replicas of a layer.
struct ReplicaTime {
  double seconds = 0.0;
  double bytes = 0.0;
  double latency = 0.0;
  Evidence evidence = Evidence::assumed;
};
ReplicaTime replica_time(const Program& program, const Machine& machine,
                         const ParameterShare& share, collectives::Kind kind,
                         double bytes_per_parameter) {
  ReplicaTime total;
  const auto ring = [&](collectives::Kind ring_kind, const topology::GroupShape& group,
                        double parameters) {
    if (group.size <= 1 || parameters <= 0.0) return;
    collectives::Collective op;
    op.kind = ring_kind;
    op.group = group;
    op.bytes = Bytes(parameters * bytes_per_parameter);
    op.tiered = program.hierarchical;
    const collectives::CollectiveTime time =
        program.replica_scale * collectives::time(op, machine.gpu, machine.network);
    total.seconds += time.total().si();
    total.latency += time.latency.si();
    total.bytes += collectives::bytes_sent(op).si();
    total.evidence = time.evidence;
  };
  // Of sharded state a rank gathers and reduces what it shares; the sums of its part are then
  // added over the copies of the state.
  const auto add = [&](const topology::GroupShape& group, const topology::GroupShape& shard,
                       const topology::GroupShape& copies, double parameters) {
    if (kind == collectives::Kind::all_reduce) {
      ring(kind, group, parameters);
      return;
    }
    ring(kind, shard, parameters);
    if (kind == collectives::Kind::reduce_scatter) {
      ring(collectives::Kind::all_reduce, copies, parameters / static_cast<double>(shard.size));
    }
  };
  add(program.dense_group, program.dense_shard, program.dense_copies, share.dense);
  add(program.expert_group, program.expert_shard, program.expert_copies, share.expert);
  return total;
}

/// One kind of layer: its work, and the traffic of its parameters over their replicas.
struct LayerCost {
  ListCost forward;
  ListCost backward;
  ReplicaTime reduce;
  ReplicaTime gather;
};

struct LayerCosts {
  std::vector<LayerCost> layers;
  LayerCost embedding;
  LayerCost embedding_copy;  // parameters that do no work of their own
  LayerCost head;            // parameters; each loss is work of its own
  LayerCost loss;
  LayerCost mtp;
};

void cost_work(const LayerProgram& layer, const Machine& machine, std::vector<Placed>& scratch,
               LayerCost& cost) {
  cost_list(layer.forward, machine, scratch, cost.forward);
  cost_list(layer.backward, machine, scratch, cost.backward);
}

void cost_parameters(const Program& program, const Machine& machine, const ParameterShare& share,
                     LayerCost& cost) {
  const bool sharded = program.zero >= 1;
  cost.reduce =
      replica_time(program, machine, share,
                   sharded ? collectives::Kind::reduce_scatter : collectives::Kind::all_reduce,
                   program.gradient_bytes);
  cost.gather = sharded ? replica_time(program, machine, share, collectives::Kind::all_gather,
                                       ops::kBf16Bytes)
                        : ReplicaTime{};
}

/// Costs every kind of layer once, however many layers are of it.
void cost_layers(const Program& program, const Machine& machine, std::vector<Placed>& scratch,
                 LayerCosts& costs) {
  costs.layers.resize(program.layers.size());
  for (std::size_t i = 0; i < program.layers.size(); ++i) {
    cost_work(program.layers[i], machine, scratch, costs.layers[i]);
    cost_parameters(program, machine, program.layer_parameters[i], costs.layers[i]);
  }
  cost_work(program.embedding, machine, scratch, costs.embedding);
  cost_parameters(program, machine, program.embedding_parameters, costs.embedding);
  cost_parameters(program, machine, program.embedding_copy_parameters, costs.embedding_copy);
  cost_work(program.mtp, machine, scratch, costs.mtp);
  cost_parameters(program, machine, program.mtp_parameters, costs.mtp);
  cost_parameters(program, machine, program.head_parameters, costs.head);
  cost_work(program.head, machine, scratch, costs.loss);
}

/// Visits the parts of a chunk in forward order.
template <class Visit>
void for_each_part(const LayerCosts& costs, const Chunk& chunk, const Visit& visit) {
  if (chunk.embedding) visit(costs.embedding);
  if (chunk.embedding_copy) visit(costs.embedding_copy);
  for (const std::int32_t layer : chunk.layers) visit(costs.layers[at(layer)]);
  for (std::int64_t i = 0; i < chunk.mtp; ++i) visit(costs.mtp);
  if (chunk.head) visit(costs.head);
  for (std::int64_t i = 0; i < chunk.losses; ++i) visit(costs.loss);
}

/// Data-parallel traffic of one stage: what hides behind the last backward or the first forward.
struct DataParallel {
  double reduce = 0.0;  // seconds on the wire
  double reduce_exposed = 0.0;
  double gather = 0.0;
  double gather_exposed = 0.0;  // if the stage started its first forward at once
  double bytes = 0.0;
  double latency = 0.0;
  Evidence evidence = Evidence::assumed;
};

/// The list without its entries, its memory kept.
template <class T>
std::vector<T> emptied(std::vector<T> list) {
  list.clear();
  return list;
}

/// Memory that the data-parallel traffic of a stage is worked out in.
struct StageScratch {
  std::vector<const LayerCost*> parts;  // of the stage, in forward order
  graph::ShardedTimes sharded;
  std::vector<double> gathered;
};

/// ZeRO-2 and 3 on their one stage: traffic of every micro-batch, and what of it shows.
DataParallel sharded_parallel(const Program& program, StageScratch& scratch) {
  graph::ShardedTimes& times = scratch.sharded;
  std::vector<graph::ShardedUnit> units = emptied(std::move(times.units));
  times = graph::sharding_of(program);
  times.units = std::move(units);
  DataParallel dp;
  double compute = 0.0;
  graph::ShardedUnit next;
  const auto micro_batches = static_cast<double>(program.micro_batches);
  const double gathers =
      program.zero >= 3 ? micro_batches * (program.reshard_after_forward ? 2.0 : 1.0) : 1.0;
  for (const LayerCost* const part : scratch.parts) {
    dp.bytes += micro_batches * part->reduce.bytes + gathers * part->gather.bytes;
    dp.latency += micro_batches * part->reduce.latency + gathers * part->gather.latency;
    if (part->reduce.seconds > 0.0) dp.evidence = part->reduce.evidence;
    const double work = part->forward.span + part->backward.span;
    compute += work;
    next.forward += part->forward.span;
    next.backward += part->backward.span;
    next.gather += part->gather.seconds;
    next.reduce += part->reduce.seconds;
    // Parameters without work of their own belong to what follows: the head's to the loss.
    if (work <= 0.0) continue;
    times.units.push_back(next);
    next = {};
  }
  dp.reduce = graph::sharded_reduce_seconds(times);
  dp.gather = graph::sharded_gather_seconds(times);
  dp.reduce_exposed =
      std::max(0.0, graph::run_sharded(times, scratch.gathered) - micro_batches * compute);
  return dp;
}

DataParallel data_parallel(const Program& program, const LayerCosts& costs, std::int64_t stage,
                           StageScratch& scratch) {
  std::vector<const LayerCost*>& parts = scratch.parts;
  parts.clear();
  for (const Chunk& chunk : program.chunks) {
    if (chunk.stage != stage) continue;
    for_each_part(costs, chunk, [&](const LayerCost& cost) { parts.push_back(&cost); });
  }
  if (program.zero >= 2) return sharded_parallel(program, scratch);
  // Gradients are complete where the last weight gradients are, when these run apart.
  const bool split = program.schedule == graph::Schedule::zb_h1;
  DataParallel dp;
  double compute = 0.0;
  double wire = 0.0;
  for (std::size_t i = parts.size(); i-- > 0;) {
    const LayerCost* const part = parts[i];
    compute += split ? part->backward.weight : part->backward.span;
    wire = std::max(wire, program.overlap.grad_reduce ? compute : wire) + part->reduce.seconds;
    dp.reduce += part->reduce.seconds;
    dp.bytes += part->reduce.bytes + part->gather.bytes;
    dp.latency += part->reduce.latency + part->gather.latency;
    if (part->reduce.seconds > 0.0) dp.evidence = part->reduce.evidence;
  }
  dp.reduce_exposed = program.overlap.grad_reduce ? std::max(0.0, wire - compute) : dp.reduce;
  double gathered = 0.0;
  double forward_end = 0.0;
  double forward_sum = 0.0;
  for (const LayerCost* const part : parts) {
    gathered += part->gather.seconds;
    forward_end = std::max(forward_end, gathered) + part->forward.span;
    forward_sum += part->forward.span;
    dp.gather += part->gather.seconds;
  }
  dp.gather_exposed =
      program.overlap.param_gather ? std::max(0.0, forward_end - forward_sum) : dp.gather;
  return dp;
}

struct OptimizerTime {
  double seconds = 0.0;
  double launch = 0.0;
  Evidence evidence = Evidence::assumed;
};
OptimizerTime optimizer_time(const Program& program, const Machine& machine, std::int64_t stage) {
  const ParameterShare share = graph::stage_parameters(program, stage);
  const double updated = program.zero >= 1
                             ? share.dense / static_cast<double>(program.dense_shard.size) +
                                   share.expert / static_cast<double>(program.expert_shard.size)
                             : share.dense + share.expert;
  OptimizerTime total;
  for (const ops::Work& work :
       {ops::gradient_norm(updated, program.gradient_bytes), ops::adam(updated)}) {
    const cost::KernelTime time =
        cost::kernel_time(work, machine.gpu, machine.stack.launch_gap, program.optimizer_scale);
    total.seconds += time.busy().si();
    total.launch += time.launch.si();
    total.evidence = time.evidence;
  }
  return total;
}

/// Copies of a stage between its GPU and host memory, for one micro-batch.
struct OffloadTime {
  double busy = 0.0;  // seconds of each direction
  double forward_exposed = 0.0;
  double backward_exposed = 0.0;
};

/// A chunk's layers with their copies, in the order they run.
struct ChunkCopies {
  std::vector<graph::OffloadedLayer> forward;
  std::vector<graph::OffloadedLayer> backward;
};

/// Adds the copies of a chunk: what they lengthen its forward and its backward by.
struct Lengthened {
  double forward = 0.0;
  double backward = 0.0;
};
Lengthened offload_chunk(const Program& program, const Machine& machine, const LayerCosts& costs,
                         const Chunk& chunk, ChunkCopies& copies, OffloadTime& stage) {
  copies.forward.clear();
  copies.backward.clear();
  double forward_sum = 0.0;
  double backward_sum = 0.0;
  const bool split = program.schedule == graph::Schedule::zb_h1;
  const auto add = [&](const LayerProgram& layer, const LayerCost& cost) {
    const double copy = (layer.offloaded / machine.network.host.value).si();
    const double back = cost.backward.span - (split ? cost.backward.weight : 0.0);
    copies.forward.push_back({cost.forward.span, copy});
    copies.backward.push_back({back, copy});
    forward_sum += cost.forward.span;
    backward_sum += back;
    stage.busy += copy;
  };
  for (const std::int32_t layer : chunk.layers) {
    add(program.layers[at(layer)], costs.layers[at(layer)]);
  }
  for (std::int64_t i = 0; i < chunk.mtp; ++i) add(program.mtp, costs.mtp);
  std::reverse(copies.backward.begin(), copies.backward.end());
  const Lengthened more{std::max(0.0, graph::offloaded_forward(copies.forward) - forward_sum),
                        std::max(0.0, graph::offloaded_backward(copies.backward) - backward_sum)};
  stage.forward_exposed += more.forward;
  stage.backward_exposed += more.backward;
  return more;
}

/// The schedule with and without the time of its sends.
struct Pipeline {
  graph::PipelineTimes times;        // seconds of each chunk
  std::vector<double> busy;          // seconds of each stage over the step
  std::vector<OffloadTime> offload;  // of each stage, where something is offloaded
  ChunkCopies copies;
  collectives::CollectiveTime send;
  graph::PipelineResult with_sends;
  graph::PipelineResult without_sends;
  graph::PipelineBuffers buffers;
};
void run_pipelines(const Program& program, const Machine& machine, const LayerCosts& costs,
                   Pipeline& pipeline) {
  pipeline.busy.assign(at(program.pp), 0.0);
  pipeline.offload.assign(program.offloads ? at(program.pp) : 0, {});
  graph::PipelineTimes& times = pipeline.times;
  times.pp = program.pp;
  times.vpp = program.vpp;
  times.micro_batches = program.micro_batches;
  times.schedule = program.schedule;
  times.group = program.microbatch_group_size;
  times.forward.clear();
  times.backward.clear();
  times.weight.clear();
  for (const Chunk& chunk : program.chunks) {
    double forward = 0.0;
    double backward = 0.0;
    double weight = 0.0;
    for_each_part(costs, chunk, [&](const LayerCost& cost) {
      forward += cost.forward.span;
      backward += cost.backward.span;
      weight += cost.backward.weight;
    });
    if (program.offloads) {
      const Lengthened more = offload_chunk(program, machine, costs, chunk, pipeline.copies,
                                            pipeline.offload[at(chunk.stage)]);
      forward += more.forward;
      backward += more.backward;
    }
    const bool split = program.schedule == graph::Schedule::zb_h1;
    times.forward.push_back(forward);
    times.backward.push_back(split ? backward - weight : backward);
    if (split) times.weight.push_back(weight);
    pipeline.busy[at(chunk.stage)] +=
        static_cast<double>(program.micro_batches) * (forward + backward);
  }
  pipeline.send =
      program.send_scale * collectives::time(program.pipeline_send, machine.gpu, machine.network);
  times.send = 0.0;
  graph::run_pipeline(times, pipeline.buffers, pipeline.without_sends);
  times.send = pipeline.send.total().si();
  if (times.send > 0.0) {
    graph::run_pipeline(times, pipeline.buffers, pipeline.with_sends);
  } else {
    pipeline.with_sends = pipeline.without_sends;
  }
}

/// What follows the last backward, and the step as a whole.
struct Step {
  std::vector<DataParallel> dp;
  std::vector<OptimizerTime> optimizer;
  double gather_exposed = 0.0;      // weights not yet gathered when a stage's first input arrives
  double synchronised = 0.0;        // shared embedding and gradient norm, for which all stages wait
  double synchronised_bytes = 0.0;  // sent by a rank
  double seconds = 0.0;
  std::int64_t critical = 0;  // stage with most work
};
void close_step(const Program& program, const Machine& machine, const LayerCosts& costs,
                const Pipeline& pipeline, StageScratch& scratch, Step& step) {
  step = Step{emptied(std::move(step.dp)), emptied(std::move(step.optimizer))};
  double reduced = 0.0;
  double optimized = 0.0;
  double arrival = 0.0;  // of a stage's first input
  double longest = -1.0;
  for (std::int64_t s = 0; s < program.pp; ++s) {
    const DataParallel& dp = step.dp.emplace_back(data_parallel(program, costs, s, scratch));
    const OptimizerTime& optimizer =
        step.optimizer.emplace_back(optimizer_time(program, machine, s));
    step.gather_exposed = std::max(step.gather_exposed, dp.gather_exposed - arrival);
    arrival += pipeline.times.forward[at(s)] + pipeline.send.total().si();
    reduced = std::max(reduced, pipeline.with_sends.stage_end[at(s)] + dp.reduce_exposed);
    optimized = std::max(optimized, optimizer.seconds + optimizer.launch);
    const double own = pipeline.busy[at(s)] + dp.reduce_exposed + optimizer.seconds;
    if (own > longest) {
      longest = own;
      step.critical = s;
    }
  }
  // Clipping needs the norm over all ranks before any can update its weights.
  collectives::Collective norm;
  norm.kind = collectives::Kind::all_reduce;
  norm.group = program.world;
  norm.bytes = Bytes(8.0);
  for (const collectives::Collective& op : {program.embedding_reduce, norm}) {
    step.synchronised +=
        program.replica_scale * collectives::time(op, machine.gpu, machine.network).total().si();
    step.synchronised_bytes += collectives::bytes_sent(op).si();
  }
  step.seconds = step.gather_exposed + reduced + step.synchronised + optimized;
}

/// Messages a stage sends in a step: forward and backward one over every boundary it has. The first
/// stage has none before its first chunk, the last none after its last.
double sends_of_stage(const Program& program, std::int64_t stage) {
  const double ends = (stage == 0 ? 1.0 : 0.0) + (stage + 1 == program.pp ? 1.0 : 0.0);
  return static_cast<double>(program.micro_batches) *
         (2.0 * static_cast<double>(program.vpp) - ends);
}

/// Adds up leaves of the critical stage.
class Tally {
 public:
  Tally(std::size_t leaves, std::int32_t launch, std::int32_t contention, bool detailed,
        const graph::Stack& stack, Evaluation& result)
      : result_(result),
        launch_(launch),
        contention_(contention),
        launch_evidence_(stack.launch_evidence),
        contention_evidence_(stack.dispatch_sms.evidence),
        detailed_(detailed) {
    result_.critical.assign(leaves, 0.0);
    result_.overlapped.assign(leaves, 0.0);
    result_.bounds.assign(detailed ? leaves : 0, {});
    result_.evidence = {};
    result_.communication = {};
  }

  void list(const ListCost& cost, double times) {
    for (const LeafTime& leaf : cost.leaves) {
      result_.overlapped[at(leaf.leaf)] += times * leaf.overlapped;
      add(leaf.leaf, times * leaf.critical, leaf.bound, leaf.evidence);
      if (detailed_ && leaf.overlapped > 0.0) {
        result_.bounds[at(leaf.leaf)][static_cast<std::size_t>(leaf.bound)] +=
            times * leaf.overlapped;
      }
    }
    launch(times * cost.launch);
    add(contention_, times * cost.contention, LeafBound::sm, contention_evidence_);
    overlapped(contention_, times * cost.contention_overlapped, LeafBound::sm);
    result_.overlapped[at(launch_)] += times * cost.launch_overlapped;
    if (!detailed_) return;
    for (std::size_t k = 0; k < kCommKinds; ++k) {
      CommTotal& total = result_.communication[k];
      const CommTotal& part = cost.communication[k];
      total.bytes += times * part.bytes;
      total.busy += times * part.busy;
      total.exposed += times * part.exposed;
      total.network = total.network || part.network;
    }
  }
  void add(std::int32_t leaf, double seconds, LeafBound bound, Evidence evidence) {
    result_.critical[at(leaf)] += seconds;
    sum_ += seconds;
    if (!detailed_) return;
    result_.bounds[at(leaf)][static_cast<std::size_t>(bound)] += seconds;
    result_.evidence[static_cast<std::size_t>(evidence)] += seconds;
  }
  void launch(double seconds) { add(launch_, seconds, LeafBound::launch, launch_evidence_); }
  /// Waiting: it rests on whatever the work waited for rests on.
  void wait(std::int32_t leaf, double seconds, LeafBound bound) {
    result_.critical[at(leaf)] += seconds;
    sum_ += seconds;
    if (detailed_) result_.bounds[at(leaf)][static_cast<std::size_t>(bound)] += seconds;
  }
  void overlapped(std::int32_t leaf, double seconds, LeafBound bound) {
    result_.overlapped[at(leaf)] += seconds;
    if (detailed_) result_.bounds[at(leaf)][static_cast<std::size_t>(bound)] += seconds;
  }

  double sum() const { return sum_; }

 private:
  Evaluation& result_;
  std::int32_t launch_;
  std::int32_t contention_;
  Evidence launch_evidence_;
  Evidence contention_evidence_;
  bool detailed_;
  double sum_ = 0.0;
};

}  // namespace

const char* to_string(LeafBound bound) {
  switch (bound) {
    case LeafBound::tensor:
      return "tensor";
    case LeafBound::vector:
      return "vector";
    case LeafBound::memory:
      return "memory";
    case LeafBound::sm:
      return "sm";
    case LeafBound::launch:
      return "launch";
    case LeafBound::network:
      return "network";
    case LeafBound::nvlink:
      return "nvlink";
    case LeafBound::latency:
      return "latency";
    case LeafBound::schedule:
      return "schedule";
    case LeafBound::host:
      return "host";
  }
  return "";
}

const char* to_string(CommKind kind) {
  switch (kind) {
    case CommKind::tp:
      return "tp";
    case CommKind::cp:
      return "cp";
    case CommKind::ep:
      return "ep";
    case CommKind::pp:
      return "pp";
    case CommKind::dp:
      return "dp";
  }
  return "";
}

namespace {

double list_flops(const graph::TaskList& list) {
  double flops = 0.0;
  for (const graph::Task& task : list) {
    if (const auto* work = std::get_if<ops::Work>(&task.work)) flops += work->total_flops().si();
  }
  return flops;
}

double layer_flops(const LayerProgram& layer) {
  return list_flops(layer.forward) + list_flops(layer.backward);
}

/// Adds what one rank executes of a chunk for one micro-batch.
void add_flops(const Program& program, const Chunk& chunk, double& flops) {
  if (chunk.embedding) flops += layer_flops(program.embedding);
  for (const std::int32_t layer : chunk.layers) flops += layer_flops(program.layers[at(layer)]);
  flops += static_cast<double>(chunk.mtp) * layer_flops(program.mtp);
  flops += static_cast<double>(chunk.losses) * layer_flops(program.head);
}

void set_stages(const Program& program, const LayerCosts& costs, std::vector<StageTime>& stages) {
  stages.assign(at(program.pp), {});
  for (const Chunk& chunk : program.chunks) {
    StageTime& stage = stages[at(chunk.stage)];
    for_each_part(costs, chunk, [&](const LayerCost& cost) {
      stage.forward += cost.forward.span;
      stage.backward += cost.backward.span;
    });
  }
}

}  // namespace

Evaluator::Evaluator(const Program& program) : program_(program), leaves_(program.leaves) {
  const auto add = [this](std::string_view path) {
    leaves_.emplace_back(path);
    return static_cast<std::int32_t>(leaves_.size()) - 1;
  };
  bubble_ = add("bubble");
  optimizer_ = add(graph::kOptimizerLeaf);
  launch_ = add("launch");
  contention_ = add("contention/dispatch_sms");
  pp_ = add(graph::kPipelineLeaf);
  dp_ = add(graph::kReplicaLeaf);
  if (program.offloads) {
    to_host_ = add("offload/to_host/forward");
    from_host_ = add("offload/from_host/backward");
  }
}

struct Workspace::Buffers {
  std::vector<Placed> placed;
  LayerCosts costs;
  StageScratch stage;
  Pipeline pipeline;
  Step step;
};
Workspace::Workspace() : buffers_(std::make_unique<Buffers>()) {}
Workspace::~Workspace() = default;
Workspace::Workspace(Workspace&&) noexcept = default;
Workspace& Workspace::operator=(Workspace&&) noexcept = default;

Evaluation Evaluator::evaluate(const Machine& machine, bool detailed) const {
  Workspace workspace;
  Evaluation result;
  evaluate(machine, detailed, workspace, result);
  return result;
}

void Evaluator::evaluate(const Machine& machine, bool detailed, Workspace& workspace,
                         Evaluation& result) const {
  Workspace::Buffers& buffers = *workspace.buffers_;
  const LayerCosts& costs = buffers.costs;
  const Pipeline& pipeline = buffers.pipeline;
  const Step& step = buffers.step;
  cost_layers(program_, machine, buffers.placed, buffers.costs);
  run_pipelines(program_, machine, costs, buffers.pipeline);
  close_step(program_, machine, costs, pipeline, buffers.stage, buffers.step);
  const std::int64_t critical = step.critical;

  Tally tally(leaves_.size(), launch_, contention_, detailed, machine.stack, result);
  const double micro_batches = static_cast<double>(program_.micro_batches);
  for (const Chunk& chunk : program_.chunks) {
    if (chunk.stage != critical) continue;
    for_each_part(costs, chunk, [&](const LayerCost& cost) {
      tally.list(cost.forward, micro_batches);
      tally.list(cost.backward, micro_batches);
    });
  }
  if (program_.offloads) {
    const OffloadTime& copies = pipeline.offload[at(critical)];
    const Evidence evidence = machine.network.host.evidence;
    const auto add = [&](std::int32_t leaf, double exposed) {
      tally.add(leaf, micro_batches * exposed, LeafBound::host, evidence);
      tally.overlapped(leaf, micro_batches * std::max(0.0, copies.busy - exposed), LeafBound::host);
    };
    add(to_host_, copies.forward_exposed);
    add(from_host_, copies.backward_exposed);
  }
  const DataParallel& dp = step.dp[at(critical)];
  const double dp_busy = dp.reduce + dp.gather + step.synchronised;
  // Longer waits are for other stages' gathers.
  const double dp_exposed =
      std::min(step.gather_exposed + dp.reduce_exposed + step.synchronised, dp_busy);
  const LeafBound dp_bound =
      dp.latency * 2.0 < dp_busy
          ? transfer_bound(std::max(program_.dense_group.nodes, program_.expert_group.nodes))
          : LeafBound::latency;
  tally.add(dp_, dp_exposed, dp_bound, dp.evidence);
  tally.overlapped(dp_, std::max(0.0, dp_busy - dp_exposed), dp_bound);
  const OptimizerTime& optimizer = step.optimizer[at(critical)];
  tally.add(optimizer_, optimizer.seconds, LeafBound::memory, optimizer.evidence);
  tally.launch(optimizer.launch);

  // What is left is waiting: for the stage's own sends as far as sends lengthen the schedule, else
  // (for those of other stages, too) the bubble.
  const double sends = sends_of_stage(program_, critical);
  const double pp_busy = sends * pipeline.send.total().si();
  const double idle = std::max(0.0, step.seconds - tally.sum());
  const double pp_exposed = std::clamp(
      pipeline.with_sends.makespan - pipeline.without_sends.makespan, 0.0, std::min(idle, pp_busy));
  tally.wait(pp_, pp_exposed,
             pipeline.send.latency < pipeline.send.transfer
                 ? transfer_bound(program_.pipeline_send.group.nodes)
                 : LeafBound::latency);
  tally.wait(bubble_, idle - pp_exposed, LeafBound::schedule);

  result.step = step.seconds;
  result.critical_stage = critical;
  result.stages.clear();
  if (detailed) {
    set_stages(program_, costs, result.stages);
    result.communication[static_cast<std::size_t>(CommKind::pp)] = {
        sends * program_.pipeline_send.bytes.si(), pp_busy, pp_exposed,
        program_.pipeline_send.group.nodes > 1};
    result.communication[static_cast<std::size_t>(CommKind::dp)] = {
        dp.bytes + step.synchronised_bytes, dp_busy, dp_exposed,
        program_.dense_group.nodes > 1 || program_.world.nodes > 1};
  }
}

double Evaluator::executed_flops(std::int64_t gpus_per_stage) const {
  double flops = 0.0;
  for (const Chunk& chunk : program_.chunks) add_flops(program_, chunk, flops);
  return flops * static_cast<double>(program_.micro_batches) * static_cast<double>(gpus_per_stage);
}

std::vector<double> Evaluator::stage_flops() const {
  std::vector<double> stages(at(program_.pp), 0.0);
  for (const Chunk& chunk : program_.chunks) {
    add_flops(program_, chunk, stages[at(chunk.stage)]);
  }
  return stages;
}

}  // namespace hysim::predictor
