#include "predict/evaluate.h"

#include <algorithm>
#include <cstddef>
#include <functional>

#include "collectives/collective.h"
#include "cost/kernel_time.h"
#include "graph/schedule.h"
#include "ops/elementwise.h"
#include "predict/streams.h"

namespace hysim::predictor {

namespace {

using config::Evidence;
using graph::Chunk;
using graph::LayerProgram;
using graph::ParameterShare;
using graph::Program;

constexpr double kWeightBytes = 2.0;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Forward and backward of one kind of layer.
struct LayerCost {
  ListCost forward;
  ListCost backward;
};

struct LayerCosts {
  std::vector<LayerCost> layers;
  LayerCost embedding;
  LayerCost head;
  LayerCost mtp;
};

LayerCosts cost_layers(const Program& program, const Machine& machine) {
  const auto cost = [&](const LayerProgram& layer) {
    return LayerCost{cost_list(layer.forward, machine), cost_list(layer.backward, machine)};
  };
  LayerCosts costs;
  costs.layers.reserve(program.layers.size());
  for (const LayerProgram& layer : program.layers) costs.layers.push_back(cost(layer));
  costs.embedding = cost(program.embedding);
  costs.head = cost(program.head);
  costs.mtp = cost(program.mtp);
  return costs;
}

/// Visits the parts of a chunk in forward order: `visit(cost, parameters)`.
template <class Visit>
void for_each_part(const Program& program, const LayerCosts& costs, const Chunk& chunk,
                   const Visit& visit) {
  if (chunk.embedding) visit(costs.embedding, program.embedding_parameters);
  for (const std::int32_t layer : chunk.layers) {
    visit(costs.layers[at(layer)], program.layer_parameters[at(layer)]);
  }
  for (std::int64_t i = 0; i < chunk.mtp; ++i) visit(costs.mtp, program.mtp_parameters);
  if (chunk.head) visit(costs.head, program.head_parameters);
}

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
  const auto add = [&](const topology::GroupShape& group, double parameters) {
    if (group.size <= 1 || parameters <= 0.0) return;
    collectives::Collective op;
    op.kind = kind;
    op.group = group;
    op.bytes = Bytes(parameters * bytes_per_parameter);
    const collectives::CollectiveTime time = collectives::time(op, machine.gpu, machine.network);
    total.seconds += time.total().si();
    total.latency += time.latency.si();
    total.bytes += collectives::bytes_sent(op).si();
    total.evidence = time.evidence;
  };
  add(program.dense_group, share.dense);
  add(program.expert_group, share.expert);
  return total;
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

DataParallel data_parallel(const Program& program, const Machine& machine, const LayerCosts& costs,
                           std::int64_t stage) {
  const bool sharded = program.zero >= 1;
  struct Part {
    double forward, backward;
    ReplicaTime reduce, gather;
  };
  std::vector<Part> parts;
  for (const Chunk& chunk : program.chunks) {
    if (chunk.stage != stage) continue;
    for_each_part(program, costs, chunk, [&](const LayerCost& cost, const ParameterShare& share) {
      Part part{cost.forward.span, cost.backward.span, {}, {}};
      part.reduce =
          replica_time(program, machine, share,
                       sharded ? collectives::Kind::reduce_scatter : collectives::Kind::all_reduce,
                       program.gradient_bytes);
      if (sharded) {
        part.gather =
            replica_time(program, machine, share, collectives::Kind::all_gather, kWeightBytes);
      }
      parts.push_back(part);
    });
  }
  DataParallel dp;
  double compute = 0.0;
  double wire = 0.0;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    compute += part->backward;
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
  for (const Part& part : parts) {
    gathered += part.gather.seconds;
    forward_end = std::max(forward_end, gathered) + part.forward;
    forward_sum += part.forward;
    dp.gather += part.gather.seconds;
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
                             ? share.dense / static_cast<double>(program.dense_group.size) +
                                   share.expert / static_cast<double>(program.expert_group.size)
                             : share.dense + share.expert;
  OptimizerTime total;
  for (const ops::Work& work :
       {ops::gradient_norm(updated, program.gradient_bytes), ops::adam(updated)}) {
    const cost::KernelTime time = cost::kernel_time(work, machine.gpu, machine.stack.launch_gap);
    total.seconds += time.busy().si();
    total.launch += time.launch.si();
    total.evidence = time.evidence;
  }
  return total;
}

/// Adds up leaves of the critical stage.
class Tally {
 public:
  Tally(std::size_t leaves, std::int32_t launch, bool detailed, Evidence launch_evidence)
      : launch_(launch), launch_evidence_(launch_evidence), detailed_(detailed) {
    result_.critical.assign(leaves, 0.0);
    result_.overlapped.assign(leaves, 0.0);
    if (detailed) result_.bounds.resize(leaves);
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
  void wait(std::int32_t leaf, double seconds) {
    result_.critical[at(leaf)] += seconds;
    sum_ += seconds;
    if (detailed_) {
      result_.bounds[at(leaf)][static_cast<std::size_t>(LeafBound::schedule)] += seconds;
    }
  }
  void overlapped(std::int32_t leaf, double seconds, LeafBound bound) {
    result_.overlapped[at(leaf)] += seconds;
    if (detailed_) result_.bounds[at(leaf)][static_cast<std::size_t>(bound)] += seconds;
  }

  double sum() const { return sum_; }
  Evaluation& result() { return result_; }

 private:
  Evaluation result_;
  std::int32_t launch_;
  Evidence launch_evidence_;
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
    case LeafBound::latency:
      return "latency";
    case LeafBound::schedule:
      return "schedule";
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

Evaluator::Evaluator(const Program& program) : program_(program), leaves_(program.leaves) {
  const auto add = [this](const char* path) {
    leaves_.emplace_back(path);
    return static_cast<std::int32_t>(leaves_.size()) - 1;
  };
  bubble_ = add("bubble");
  optimizer_ = add("optimizer");
  launch_ = add("launch");
  pp_ = add("communication/pp");
  dp_ = add("communication/dp");
}

Evaluation Evaluator::evaluate(const Machine& machine, bool detailed) const {
  const Program& program = program_;
  const LayerCosts costs = cost_layers(program, machine);
  const double micro_batches = static_cast<double>(program.micro_batches);

  graph::PipelineTimes times;
  times.pp = program.pp;
  times.vpp = program.vpp;
  times.micro_batches = program.micro_batches;
  std::vector<double> busy(at(program.pp), 0.0);
  for (const Chunk& chunk : program.chunks) {
    double forward = 0.0;
    double backward = 0.0;
    for_each_part(program, costs, chunk, [&](const LayerCost& cost, const ParameterShare&) {
      forward += cost.forward.span;
      backward += cost.backward.span;
    });
    times.forward.push_back(forward);
    times.backward.push_back(backward);
    busy[at(chunk.stage)] += micro_batches * (forward + backward);
  }
  const collectives::CollectiveTime send =
      collectives::time(program.pipeline_send, machine.gpu, machine.network);
  const graph::PipelineResult without_send = graph::run_pipeline(times);
  times.send = send.total().si();
  const graph::PipelineResult pipeline =
      times.send > 0.0 ? graph::run_pipeline(times) : without_send;

  std::vector<DataParallel> dp;
  std::vector<OptimizerTime> optimizer;
  double gather_exposed = 0.0;
  double reduced = 0.0;
  double optimized = 0.0;
  double filled = 0.0;  // when a stage's first input arrives
  std::int64_t critical = 0;
  double longest = -1.0;
  for (std::int64_t s = 0; s < program.pp; ++s) {
    dp.push_back(data_parallel(program, machine, costs, s));
    optimizer.push_back(optimizer_time(program, machine, s));
    gather_exposed = std::max(gather_exposed, dp.back().gather_exposed - filled);
    filled += times.forward[at(s)] + times.send;
    reduced = std::max(reduced, pipeline.stage_end[at(s)] + dp.back().reduce_exposed);
    optimized = std::max(optimized, optimizer.back().seconds + optimizer.back().launch);
    const double own = busy[at(s)] + dp.back().reduce_exposed + optimizer.back().seconds;
    if (own > longest) {
      longest = own;
      critical = s;
    }
  }
  // Clipping needs the norm over all ranks before any can update its weights.
  collectives::Collective norm;
  norm.kind = collectives::Kind::all_reduce;
  norm.group = program.world;
  norm.bytes = Bytes(8.0);
  const collectives::CollectiveTime norm_time =
      collectives::time(norm, machine.gpu, machine.network);
  const double step = gather_exposed + reduced + norm_time.total().si() + optimized;

  Tally tally(leaves_.size(), launch_, detailed, machine.stack.launch_evidence);
  for (const Chunk& chunk : program.chunks) {
    if (chunk.stage != critical) continue;
    for_each_part(program, costs, chunk, [&](const LayerCost& cost, const ParameterShare&) {
      tally.list(cost.forward, micro_batches);
      tally.list(cost.backward, micro_batches);
    });
  }
  const DataParallel& own_dp = dp[at(critical)];
  const double dp_busy = own_dp.reduce + own_dp.gather + norm_time.total().si();
  // Longer waits are for other stages' gathers.
  const double dp_exposed =
      std::min(gather_exposed + own_dp.reduce_exposed + norm_time.total().si(), dp_busy);
  const LeafBound dp_bound = own_dp.latency * 2.0 < own_dp.reduce + own_dp.gather
                                 ? LeafBound::network
                                 : LeafBound::latency;
  tally.add(dp_, dp_exposed, dp_bound, own_dp.evidence);
  tally.overlapped(dp_, std::max(0.0, dp_busy - dp_exposed), dp_bound);
  tally.add(optimizer_, optimizer[at(critical)].seconds, LeafBound::memory,
            optimizer[at(critical)].evidence);
  tally.launch(optimizer[at(critical)].launch);

  // Forward and backward each send one message over every boundary the stage sends on: the first
  // stage has none behind its first chunk, the last none after its last.
  const double ends = (critical == 0 ? 1.0 : 0.0) + (critical + 1 == program.pp ? 1.0 : 0.0);
  const double sends = micro_batches * (2.0 * static_cast<double>(program.vpp) - ends);
  const double pp_busy = sends * times.send;
  // What is left is waiting: for the stage's own sends as far as sends lengthen the schedule, else
  // (for those of other stages, too) the bubble.
  const double idle = std::max(0.0, step - tally.sum());
  const double pp_exposed =
      std::clamp(pipeline.makespan - without_send.makespan, 0.0, std::min(idle, pp_busy));
  tally.wait(pp_, pp_exposed);
  tally.wait(bubble_, idle - pp_exposed);

  Evaluation result = std::move(tally.result());
  result.step = step;
  result.critical_stage = critical;
  if (!detailed) return result;
  CommTotal& pp = result.communication[static_cast<std::size_t>(CommKind::pp)];
  pp = {sends * program.pipeline_send.bytes.si(), pp_busy, pp_exposed,
        program.pipeline_send.group.nodes > 1};
  CommTotal& dp_total = result.communication[static_cast<std::size_t>(CommKind::dp)];
  dp_total = {own_dp.bytes + collectives::bytes_sent(norm).si(), dp_busy, dp_exposed,
              program.dense_group.nodes > 1 || program.world.nodes > 1};
  return result;
}

double Evaluator::executed_flops(std::int64_t gpus_per_stage) const {
  const auto list_flops = [](const graph::TaskList& list) {
    double flops = 0.0;
    for (const graph::Task& task : list) {
      if (const auto* work = std::get_if<ops::Work>(&task.work)) {
        flops += work->total_flops().si();
      }
    }
    return flops;
  };
  const auto layer_flops = [&](const LayerProgram& layer) {
    return list_flops(layer.forward) + list_flops(layer.backward);
  };
  double flops = 0.0;
  for (const Chunk& chunk : program_.chunks) {
    if (chunk.embedding) flops += layer_flops(program_.embedding);
    for (const std::int32_t layer : chunk.layers) {
      flops += layer_flops(program_.layers[at(layer)]);
    }
    flops += static_cast<double>(chunk.mtp) * layer_flops(program_.mtp);
    if (chunk.head) flops += layer_flops(program_.head);
  }
  return flops * static_cast<double>(program_.micro_batches) * static_cast<double>(gpus_per_stage);
}

}  // namespace hysim::predictor
