#include "predict/explain_step.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "collectives/card.h"
#include "collectives/tiers.h"
#include "cost/card.h"
#include "graph/offload.h"
#include "graph/sharded.h"
#include "ops/element_bytes.h"
#include "ops/elementwise.h"
#include "predict/streams.h"
#include "units/real.h"

namespace hysim::predictor {

namespace {

using graph::Chunk;
using graph::LayerProgram;
using graph::ParameterShare;
using graph::Program;
using graph::Stream;
using graph::TaskList;

constexpr collectives::CountedFrom kReplicaBytes{
    "parameters of the rank x bytes of a gradient, or 2 B of a weight", "src/graph/build.cpp",
    "parallelism.tp parallelism.pp parallelism.ep parallelism.etp parallelism.zero "
    "parallelism.hsdp_shard training.gradient_dtype"};
constexpr collectives::CountedFrom kNormBytes{"norm of all gradients: one fp64 sum",
                                              "src/predict/evaluate.cpp", ""};

config::Origin of_batch(std::string text) {
  return {std::move(text), "src/graph/plan.h",
          "workload.global_batch_size workload.micro_batch_size parallelism.tp parallelism.cp "
          "parallelism.pp cluster"};
}
/// A number that running a recurrence over the printed times gives, or counting its tasks.
config::Origin of_run(std::string text, std::string where) {
  return {std::move(text), std::move(where),
          "parallelism.schedule parallelism.pp parallelism.vpp parallelism.pipeline_layout "
          "training.recompute"};
}
config::Origin of_copies() {
  return of_run("by running every layer and its copy", "src/graph/offload.cpp");
}
config::Origin of_tasks() {
  return of_run("launches of the kernels of the stage's layers", "src/graph/layer.cpp");
}
config::Origin of_list() { return of_run("by running the tasks", "src/predict/streams.cpp"); }

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// One task list: what each task takes, and which tasks make up the list's span.
struct ListLines {
  struct Task {
    std::int32_t leaf = 0;
    NodeId time = 0;
    bool critical = false;
  };
  std::vector<Task> tasks;
  double launches = 0.0;  // of critical tasks
  double launches_overlapped = 0.0;
  double lost = 0.0;  // seconds of critical tasks, to the SMs of a dispatch beside them
  double lost_overlapped = 0.0;
  NodeId span = 0;
  NodeId weight = 0;  // part of span: weight gradients, where a schedule runs them apart
};

/// Forward and backward of one kind of layer, and the traffic of its parameters.
struct LayerLines {
  ListLines forward;
  ListLines backward;
  Terms reduce;
  Terms gather;
};

/// What the replicas of one stage cost beyond the schedule.
struct ReplicaLines {
  NodeId reduce = 0;
  NodeId gather = 0;
  NodeId reduce_exposed = 0;
  NodeId gather_exposed = 0;
};

struct OptimizerLines {
  NodeId seconds = 0;
  double launches = 0.0;
};

class StepExplainer {
 public:
  StepExplainer(const Program& program, const Machine& machine,
                const std::vector<std::string>& leaves, const Evaluation& evaluation,
                StepCalculation& result)
      : program_(program),
        machine_(machine),
        leaves_(leaves),
        evaluation_(evaluation),
        result_(result),
        c_(result.lines) {
    result_.critical.resize(leaves.size());
    result_.overlapped.resize(leaves.size());
  }

  void run(const StepSettings& settings) {
    launch_gap_ = c_.setting("launch_gap", machine_.stack.launch_gap.si(), "stack/launch_gap", "");
    zero_ = c_.sum("nothing", {}, "");
    const NodeId batch = c_.setting("global_batch_size", real(settings.global_batch_size),
                                    "scenario/workload/global_batch_size", "sequences a step");
    // The shapes of kernels hang on micro_batch_size and dp, so no sheet offers these to be moved.
    const NodeId together =
        c_.input("sequences", real(settings.micro_batch_size * settings.dp), "1",
                 "of a micro-batch on all replicas",
                 of_batch("micro_batch_size x dp: " + std::to_string(settings.micro_batch_size) +
                          " x " + std::to_string(settings.dp)));
    micro_batches_ =
        c_.define("micro_batches", "batch / sequences", {{"batch", batch}, {"sequences", together}},
                  "1", "that a pipeline works through in a step");
    scheduled_ = c_.input("scheduled", real(program_.micro_batches), "1",
                          "micro-batches that the schedule was run for",
                          of_batch("global_batch_size / (micro_batch_size x dp): " +
                                   std::to_string(settings.global_batch_size) + " / (" +
                                   std::to_string(settings.micro_batch_size) + " x " +
                                   std::to_string(settings.dp) + ")"));
    explain_layers();
    explain_chunks();
    close_step();
    program_leaves();
    step_leaves();
    offload_leaves();
  }

 private:
  // ---------------------------------------------------------------- layers

  NodeId task_time(const graph::Task& task) {
    if (const auto* work = std::get_if<ops::Work>(&task.work)) {
      return scaled(c_.add(cost::kernel_card(*work, machine_.gpu)), task.scale);
    }
    return scaled(collective_time(std::get<collectives::Collective>(task.work)), task.scale);
  }
  /// A time under a what-if factor.
  NodeId scaled(NodeId time, double factor) {
    if (factor == 1.0) return time;
    const auto [scale, is_new] = scales_.try_emplace(factor, 0);
    if (is_new) {
      scale->second =
          c_.input("scale_" + std::to_string(scales_.size()), factor, "1",
                   "what-if factor of the scenario's scale section",
                   {"product of the factors that name the task", "src/graph/scale.cpp", "scale"});
    }
    const auto [result, first] = scaled_.try_emplace({time, factor}, 0);
    if (first) {
      result->second =
          c_.define("scaled_" + std::to_string(scaled_.size()), "scale * time",
                    {{"scale", scale->second}, {"time", time}}, "s", "under the what-if factor");
    }
    return result->second;
  }
  NodeId collective_time(const collectives::Collective& op) {
    const collectives::Phases tiers = collectives::phases(op);
    Terms phases;
    for (std::size_t i = 0; i < tiers.count; ++i) {
      phases.emplace_back(1.0, collective_time(tiers.ops[i]));
    }
    if (!phases.empty()) return c_.sum("tiers", phases, "inside nodes and across them in turn");
    return op.group.size > 1
               ? c_.add(collectives::collective_card(op, machine_.gpu, machine_.network))
               : zero_;
  }

  ListLines explain_list(const TaskList& list, const std::string& symbol,
                         const std::string& meaning) {
    ListLines lines;
    ListCost cost;
    cost_list(list, machine_, placed_, cost);
    Terms span;
    Terms weight;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const bool critical = placed_[i].critical;
      const NodeId time = task_time(list[i]);
      lines.tasks.push_back({list[i].leaf, time, critical});
      const auto* work = std::get_if<ops::Work>(&list[i].work);
      const double launches = work != nullptr ? work->launches : 0.0;
      (critical ? lines.launches : lines.launches_overlapped) += launches;
      if (critical) span.emplace_back(1.0, time);
      (critical ? lines.lost : lines.lost_overlapped) += placed_[i].lost;
      if (list[i].weight_gradient) {
        weight.emplace_back(1.0, time);
        weight.emplace_back(launches, launch_gap_);
        if (placed_[i].lost > 0.0) {
          weight.emplace_back(1.0,
                              c_.input(symbol + "_weights_lost", placed_[i].lost, "s",
                                       "to the SMs of a dispatch beside the kernel", of_list()));
        }
      }
      note(list, i);
    }
    span.emplace_back(lines.launches, launch_gap_);
    if (lines.lost > 0.0) {
      span.emplace_back(1.0,
                        c_.input(symbol + "_lost", lines.lost, "s",
                                 "by kernels to the SMs of a dispatch beside them", of_list()));
    }
    lines.span = c_.sum(symbol, span, meaning);
    lines.weight = splits_backward()
                       ? c_.sum(symbol + "_weights", weight, meaning + ": weight gradients")
                       : zero_;
    return lines;
  }

  /// Why the task is critical, or behind what it hides.
  void note(const TaskList& list, std::size_t i) {
    const auto leaf = at(list[i].leaf);
    if (placed_[i].critical) {
      critical_notes_[leaf].insert(
          list[i].stream == Stream::compute
              ? "on the critical path: kernels of the compute stream follow one another"
              : "on the critical path: what comes next waits for it, and nothing beside it takes "
                "longer");
      return;
    }
    std::set<std::string> beside;
    for (std::size_t k = 0; k < list.size(); ++k) {
      if (placed_[k].critical && placed_[k].start < placed_[i].end() &&
          placed_[i].start < placed_[k].end()) {
        beside.insert(leaves_[at(list[k].leaf)]);
      }
    }
    std::string names;
    std::size_t shown = 0;
    for (const std::string& name : beside) {
      if (++shown > 3) break;
      names += (names.empty() ? "" : ", ") + name;
    }
    if (beside.size() > 3) names += " and others";
    overlapped_notes_[leaf].insert("hidden: runs beside " + (names.empty() ? "others" : names) +
                                   ", which end later");
  }

  LayerLines explain_layer(const LayerProgram& layer, const ParameterShare& share,
                           const std::string& name, const std::string& meaning) {
    LayerLines lines;
    lines.forward = explain_list(layer.forward, name + "_forward", meaning + ", forward");
    lines.backward =
        explain_list(layer.backward, name + "_backward",
                     meaning + (layer.recompute ? ", recomputation and backward" : ", backward"));
    explain_parameters(share, lines);
    return lines;
  }

  void explain_parameters(const ParameterShare& share, LayerLines& lines) {
    const bool sharded = program_.zero >= 1;
    const auto add = [&](Terms& terms, collectives::Kind kind, double bytes_per_parameter) {
      const auto ring = [&](collectives::Kind of, const topology::GroupShape& group,
                            double parameters) {
        if (group.size <= 1 || parameters <= 0.0) return;
        collectives::Collective op;
        op.kind = of;
        op.group = group;
        op.bytes = Bytes(parameters * bytes_per_parameter);
        op.counted = &kReplicaBytes;
        op.tiered = program_.hierarchical;
        terms.emplace_back(1.0, scaled(collective_time(op), program_.replica_scale));
      };
      // As replica_time of evaluate.cpp: in the shard, then between the copies of the state.
      const auto one = [&](const topology::GroupShape& group, const topology::GroupShape& shard,
                           const topology::GroupShape& copies, double parameters) {
        ring(kind, kind == collectives::Kind::all_reduce ? group : shard, parameters);
        if (kind == collectives::Kind::reduce_scatter) {
          ring(collectives::Kind::all_reduce, copies, parameters / real(shard.size));
        }
      };
      one(program_.dense_group, program_.dense_shard, program_.dense_copies, share.dense);
      one(program_.expert_group, program_.expert_shard, program_.expert_copies, share.expert);
    };
    add(lines.reduce, sharded ? collectives::Kind::reduce_scatter : collectives::Kind::all_reduce,
        program_.gradient_bytes);
    if (sharded) add(lines.gather, collectives::Kind::all_gather, ops::kBf16Bytes);
  }

  void explain_layers() {
    for (std::size_t i = 0; i < program_.layers.size(); ++i) {
      const std::string number = std::to_string(i + 1);
      layers_.push_back(explain_layer(program_.layers[i], program_.layer_parameters[i],
                                      "layer_" + number, "a layer of kind " + number));
    }
    embedding_ = explain_layer(program_.embedding, program_.embedding_parameters, "embedding",
                               "input embedding");
    copy_.forward.span = copy_.backward.span = copy_.backward.weight = zero_;
    explain_parameters(program_.embedding_copy_parameters, copy_);
    head_.forward.span = head_.backward.span = head_.backward.weight = zero_;
    explain_parameters(program_.head_parameters, head_);
    loss_ = explain_layer(program_.head, {}, "loss", "output norm, logits and loss");
    mtp_ = explain_layer(program_.mtp, program_.mtp_parameters, "mtp", "an MTP layer");
  }

  /// The parts of a chunk in forward order.
  std::vector<const LayerLines*> parts_of(const Chunk& chunk) const {
    std::vector<const LayerLines*> parts;
    if (chunk.embedding) parts.push_back(&embedding_);
    if (chunk.embedding_copy) parts.push_back(&copy_);
    for (const std::int32_t layer : chunk.layers) parts.push_back(&layers_[at(layer)]);
    for (std::int64_t i = 0; i < chunk.mtp; ++i) parts.push_back(&mtp_);
    if (chunk.head) parts.push_back(&head_);
    for (std::int64_t i = 0; i < chunk.losses; ++i) parts.push_back(&loss_);
    return parts;
  }

  // ---------------------------------------------------------------- pipeline

  void explain_chunks() {
    static_cast<graph::PipelineShape&>(times_) = program_.pipeline();
    for (std::size_t c = 0; c < program_.chunks.size(); ++c) {
      const Chunk& chunk = program_.chunks[c];
      Terms forward;
      Terms backward;
      Terms weight;
      for (const LayerLines* part : parts_of(chunk)) {
        forward.emplace_back(1.0, part->forward.span);
        backward.emplace_back(1.0, part->backward.span);
        if (!splits_backward()) continue;
        backward.emplace_back(-1.0, part->backward.weight);
        weight.emplace_back(1.0, part->backward.weight);
      }
      const std::string name = std::to_string(c);
      if (program_.offloads) explain_offload(chunk, name, forward, backward);
      std::string of = "stage " + std::to_string(chunk.stage);
      if (program_.vpp > 1) of = "chunk " + name + " (" + of + ")";
      forward_.push_back(c_.sum("forward_" + name, forward, "one micro-batch, " + of));
      backward_.push_back(c_.sum("backward_" + name, backward, "one micro-batch, " + of));
      times_.forward.push_back(c_.value(forward_.back()));
      times_.backward.push_back(c_.value(backward_.back()));
      if (!splits_backward()) continue;
      weight_.push_back(c_.sum("weight_" + name, weight, "weight gradients, " + of));
      times_.weight.push_back(c_.value(weight_.back()));
    }
    send_ = scaled(collective_time(program_.pipeline_send), program_.send_scale);
    without_sends_ = ends("without_sends_", times_);
    times_.send = c_.value(send_);
    stage_ends_ = times_.send > 0.0 ? ends("", times_) : without_sends_;
  }

  /// What copies to host memory lengthen a chunk by, as offload_chunk of evaluate.cpp.
  void explain_offload(const Chunk& chunk, const std::string& name, Terms& forward,
                       Terms& backward) {
    std::vector<graph::OffloadedLayer> up;
    std::vector<graph::OffloadedLayer> down;
    double forward_sum = 0.0;
    double backward_sum = 0.0;
    const auto add = [&](const LayerProgram& layer, const LayerLines& lines) {
      const double copy = (layer.offloaded / machine_.network.host.value).si();
      const double back = c_.value(lines.backward.span) -
                          (splits_backward() ? c_.value(lines.backward.weight) : 0.0);
      up.push_back({c_.value(lines.forward.span), copy});
      down.push_back({back, copy});
      forward_sum += c_.value(lines.forward.span);
      backward_sum += back;
      if (chunk.stage == evaluation_.critical_stage) offloaded_ += layer.offloaded.si();
    };
    for (const std::int32_t layer : chunk.layers) {
      add(program_.layers[at(layer)], layers_[at(layer)]);
    }
    for (std::int64_t i = 0; i < chunk.mtp; ++i) add(program_.mtp, mtp_);
    std::reverse(down.begin(), down.end());
    const std::string by = ", by running every layer and its copy";
    const NodeId to = c_.input(
        "to_host_" + name, std::max(0.0, graph::offloaded_forward(up) - forward_sum), "s",
        "a forward of chunk " + name + " waits for copies to host memory" + by, of_copies());
    const NodeId from = c_.input(
        "from_host_" + name, std::max(0.0, graph::offloaded_backward(down) - backward_sum), "s",
        "a backward of chunk " + name + " waits for copies from host memory" + by, of_copies());
    forward.emplace_back(1.0, to);
    backward.emplace_back(1.0, from);
    if (chunk.stage != evaluation_.critical_stage) return;
    to_host_.emplace_back(1.0, to);
    from_host_.emplace_back(1.0, from);
  }

  /// Copies of the critical stage: what shows and what is hidden.
  void offload_leaves() {
    if (!program_.offloads) return;
    const NodeId bytes = c_.input("offloaded", offloaded_, "B", "a micro-batch and direction",
                                  {"what layers of the stage send", "src/graph/build.cpp",
                                   "training.offload.activations training.offload.indices "
                                   "training.recompute workload.seq_len"});
    const NodeId rate = c_.setting("host_bandwidth", machine_.network.host.value.si(),
                                   "cluster/host_bandwidth", "");
    const NodeId busy = c_.define(
        "copies", "micro_batches * offloaded / host_bandwidth",
        {{"micro_batches", micro_batches_}, {"offloaded", bytes}, {"host_bandwidth", rate}}, "s",
        "of one direction over the step");
    const auto leaf = [&](const char* path, const Terms& shown) {
      const NodeId time = c_.sum("time", micro_batches_, shown, "that layers wait for copies");
      set_critical(path, time, "a layer waits for a buffer, or for its tensors");
      set_overlapped(path,
                     c_.define("time", "max(0, copies - shown)",
                               {{"copies", busy}, {"shown", time}}, "s", "beside other layers"),
                     "hidden: runs beside the computation of other layers");
    };
    leaf("offload/to_host/forward", to_host_);
    leaf("offload/from_host/backward", from_host_);
  }

  /// Whether the schedule runs weight gradients apart from the rest of a backward.
  bool splits_backward() const { return program_.schedule == graph::Schedule::zb_h1; }

  /// End of every stage's last op.
  std::vector<NodeId> ends(const std::string& prefix, const graph::PipelineTimes& times) {
    const std::vector<PathCounts> counts = path_counts(times);
    const graph::PipelineResult result = graph::run_pipeline(times);
    std::vector<NodeId> nodes;
    for (std::size_t s = 0; s < result.stage_end.size(); ++s) {
      const std::string symbol = prefix + "end_" + std::to_string(s);
      if (counts.empty()) {
        nodes.push_back(c_.input(symbol, result.stage_end[s], "s",
                                 "end of the stage's last micro-batch, by simulation",
                                 of_run("by running the schedule", "src/graph/schedule.cpp")));
        continue;
      }
      Terms terms;
      for (std::size_t c = 0; c < forward_.size(); ++c) {
        terms.emplace_back(counts[s].forward[c], forward_[c]);
        terms.emplace_back(counts[s].backward[c], backward_[c]);
        if (splits_backward()) terms.emplace_back(counts[s].weight[c], weight_[c]);
      }
      terms.emplace_back(counts[s].send, send_);
      nodes.push_back(c_.sum(symbol, terms,
                             "end of the last micro-batch on stage " + std::to_string(s) +
                                 ": the longest path of the schedule to it" +
                                 (prefix.empty() ? "" : ", were sends free")));
    }
    return nodes;
  }
  NodeId longest(const std::vector<NodeId>& nodes) const {
    NodeId longest = nodes.front();
    for (const NodeId node : nodes) {
      if (c_.value(node) > c_.value(longest)) longest = node;
    }
    return longest;
  }

  // ---------------------------------------------------------------- replicas and optimizer

  ReplicaLines explain_replicas(std::int64_t stage) {
    std::vector<const LayerLines*> parts;
    for (const Chunk& chunk : program_.chunks) {
      if (chunk.stage != stage) continue;
      for (const LayerLines* part : parts_of(chunk)) parts.push_back(part);
    }
    const std::string s = std::to_string(stage);
    ReplicaLines lines;
    Terms reduce;
    Terms gather;
    for (const LayerLines* part : parts) {
      reduce.insert(reduce.end(), part->reduce.begin(), part->reduce.end());
      gather.insert(gather.end(), part->gather.begin(), part->gather.end());
    }
    if (program_.zero >= 2) return explain_sharded(parts, reduce, gather, s);
    lines.reduce = c_.sum("reduce_" + s, reduce, "gradients of stage " + s + " on the wire");
    lines.gather = c_.sum("gather_" + s, gather, "weights of stage " + s + " on the wire");
    lines.reduce_exposed = program_.overlap.grad_reduce ? reduce_exposed(parts, s) : lines.reduce;
    lines.gather_exposed = program_.overlap.param_gather ? gather_exposed(parts, s) : lines.gather;
    return lines;
  }

  /// ZeRO-2 and 3: traffic of every micro-batch, as sharded_parallel of evaluate.cpp.
  ReplicaLines explain_sharded(const std::vector<const LayerLines*>& parts, const Terms& reduce,
                               const Terms& gather, const std::string& s) {
    graph::ShardedTimes times = graph::sharding_of(program_);
    double compute = 0.0;
    graph::ShardedUnit next;
    for (const LayerLines* part : parts) {
      const double forward = c_.value(part->forward.span);
      const double backward = c_.value(part->backward.span);
      compute += forward + backward;
      next.forward += forward;
      next.backward += backward;
      next.gather += sum_of(part->gather);
      next.reduce += sum_of(part->reduce);
      if (forward + backward <= 0.0) continue;
      times.units.push_back(next);
      next = {};
    }
    const double passes = program_.reshard_after_forward ? 2.0 : 1.0;
    Terms gathers;
    for (const auto& [count, node] : gather) gathers.emplace_back(count * passes, node);
    ReplicaLines lines;
    lines.reduce = c_.sum("reduce_" + s, scheduled_, reduce, "gradients on the wire");
    lines.gather = program_.zero >= 3
                       ? c_.sum("gather_" + s, scheduled_, gathers, "weights on the wire")
                       : c_.sum("gather_" + s, gather, "weights on the wire");
    const double exposed =
        std::max(0.0, graph::run_sharded(times) - real(program_.micro_batches) * compute);
    lines.reduce_exposed = c_.input(
        "sharded_exposed", exposed, "s",
        "of both what no computation covers, by running every layer's gathers and reductions",
        of_run("by running the traffic of every micro-batch", "src/graph/sharded.cpp"));
    lines.gather_exposed = zero_;
    return lines;
  }

  double sum_of(const Terms& terms) const {
    double sum = 0.0;
    for (const auto& [count, node] : terms) sum += count * c_.value(node);
    return sum;
  }
  static void subtract(Terms& terms, NodeId node) { terms.emplace_back(-1.0, node); }

  /// Layers are reduced behind the last backward, in its order; what is left after its end.
  NodeId reduce_exposed(const std::vector<const LayerLines*>& parts, const std::string& s) {
    double compute = 0.0;
    double wire = 0.0;
    Terms late;  // reductions since the wire was last idle, minus the backward after that
    for (std::size_t i = parts.size(); i-- > 0;) {
      const LayerLines& part = *parts[i];
      // Gradients are complete where the last weight gradients are, when these run apart.
      const NodeId backward = splits_backward() ? part.backward.weight : part.backward.span;
      compute += c_.value(backward);
      if (compute > wire) {
        wire = compute;
        late.clear();
      } else {
        subtract(late, backward);
      }
      wire += sum_of(part.reduce);
      late.insert(late.end(), part.reduce.begin(), part.reduce.end());
    }
    const NodeId left =
        c_.sum("reduce_left_" + s, late,
               "gradients not yet reduced when the last backward of stage " + s + " ends");
    return c_.define("reduce_exposed_" + s, "max(0, left)", {{"left", left}}, "s",
                     "what nothing covers");
  }

  /// Weights are gathered ahead of the first forward, in its order; how long it waits.
  NodeId gather_exposed(const std::vector<const LayerLines*>& parts, const std::string& s) {
    double gathered = 0.0;
    double forward_end = 0.0;
    Terms ahead;    // gathers so far, minus the forward they hide behind
    Terms waiting;  // the same at the last wait
    for (const LayerLines* part : parts) {
      gathered += sum_of(part->gather);
      ahead.insert(ahead.end(), part->gather.begin(), part->gather.end());
      if (gathered > forward_end) {
        forward_end = gathered;
        waiting = ahead;
      }
      forward_end += c_.value(part->forward.span);
      subtract(ahead, part->forward.span);
    }
    const NodeId wait = c_.sum("gather_wait_" + s, waiting,
                               "how long the first forward of stage " + s + " waits for weights");
    return c_.define("gather_exposed_" + s, "max(0, wait)", {{"wait", wait}}, "s",
                     "what nothing covers");
  }

  OptimizerLines explain_optimizer(std::int64_t stage) {
    const ParameterShare share = graph::stage_parameters(program_, stage);
    const double updated = program_.zero >= 1 ? share.dense / real(program_.dense_shard.size) +
                                                    share.expert / real(program_.expert_shard.size)
                                              : share.dense + share.expert;
    OptimizerLines lines;
    Terms terms;
    for (const ops::Work& work :
         {ops::gradient_norm(updated, program_.gradient_bytes), ops::adam(updated)}) {
      terms.emplace_back(
          1.0, scaled(c_.add(cost::kernel_card(work, machine_.gpu)), program_.optimizer_scale));
      lines.launches += work.launches;
    }
    lines.seconds = c_.sum(
        "optimizer_" + std::to_string(stage), terms,
        "gradient norm and update of the parameters of stage " + std::to_string(stage) + "'s rank");
    return lines;
  }

  void close_step() {
    Terms arrival;  // of a stage's first input
    NodeId waited = zero_;
    NodeId reduced = zero_;
    NodeId optimized = zero_;
    for (std::int64_t s = 0; s < program_.pp; ++s) {
      const std::string name = std::to_string(s);
      const ReplicaLines& replicas = replicas_.emplace_back(explain_replicas(s));
      const OptimizerLines& optimizer = optimizers_.emplace_back(explain_optimizer(s));
      const NodeId arrives =
          c_.sum("arrival_" + name, arrival, "of the first input at stage " + name);
      const NodeId wait =
          c_.define("first_wait_" + name, "max(0, exposed - arrives)",
                    {{"exposed", replicas.gather_exposed}, {"arrives", arrives}}, "s",
                    "stage " + name +
                        " waits for weights longer than for its "
                        "first input");
      if (c_.value(wait) > c_.value(waited) || s == 0) waited = wait;
      arrival.emplace_back(1.0, forward_[at(s)]);
      arrival.emplace_back(1.0, send_);
      const NodeId end =
          c_.sum("reduced_" + name, {{1.0, stage_ends_[at(s)]}, {1.0, replicas.reduce_exposed}},
                 "stage " + name + " has its gradients");
      if (c_.value(end) > c_.value(reduced)) reduced = end;
      const NodeId update =
          c_.sum("update_" + name, {{1.0, optimizer.seconds}, {optimizer.launches, launch_gap_}},
                 "optimizer of stage " + name + " with its launches");
      if (c_.value(update) > c_.value(optimized)) optimized = update;
    }
    gather_exposed_ = waited;

    collectives::Collective norm;
    norm.kind = collectives::Kind::all_reduce;
    norm.group = program_.world;
    norm.bytes = Bytes(8.0);
    norm.counted = &kNormBytes;
    synchronised_ =
        c_.sum("synchronised",
               {{1.0, scaled(collective_time(program_.embedding_reduce), program_.replica_scale)},
                {1.0, scaled(collective_time(norm), program_.replica_scale)}},
               "gradient of a shared embedding, and the norm over all ranks");
    result_.step = c_.sum(
        "step", {{1.0, gather_exposed_}, {1.0, reduced}, {1.0, synchronised_}, {1.0, optimized}},
        "first wait for weights, longest stage, sums over all stages, slowest "
        "update");
  }

  // ---------------------------------------------------------------- leaves

  void program_leaves() {
    std::map<std::int32_t, Terms> critical;
    std::map<std::int32_t, Terms> overlapped;
    for (const Chunk& chunk : program_.chunks) {
      if (chunk.stage != evaluation_.critical_stage) continue;
      for (const LayerLines* part : parts_of(chunk)) {
        for (const ListLines* list : {&part->forward, &part->backward}) {
          for (const ListLines::Task& task : list->tasks) {
            (task.critical ? critical : overlapped)[task.leaf].emplace_back(1.0, task.time);
          }
          launches_ += list->launches;
          launches_overlapped_ += list->launches_overlapped;
          lost_ += list->lost;
          lost_overlapped_ += list->lost_overlapped;
        }
      }
    }
    const std::string stage = std::to_string(evaluation_.critical_stage);
    for (const auto& [leaf, terms] : critical) {
      CalculatedLeaf& of = result_.critical[at(leaf)];
      of.time =
          c_.sum("time", micro_batches_, terms, "on stage " + stage + ", which has most work");
      append(of.notes, critical_notes_[at(leaf)]);
    }
    for (const auto& [leaf, terms] : overlapped) {
      CalculatedLeaf& of = result_.overlapped[at(leaf)];
      of.time = c_.sum("time", micro_batches_, terms, "on stage " + stage + ", hidden");
      append(of.notes, overlapped_notes_[at(leaf)]);
    }
  }

  void step_leaves() {
    const std::int64_t stage = evaluation_.critical_stage;
    const ReplicaLines& replicas = replicas_[at(stage)];
    const OptimizerLines& optimizer = optimizers_[at(stage)];

    // Gaps between kernels.
    const NodeId kernels = c_.input("kernels", launches_, "1",
                                    "launched on the critical path of a micro-batch", of_tasks());
    const NodeId updates = c_.input("update_kernels", optimizer.launches, "1", "of the optimizer",
                                    of_run("gradient norm and Adam", "src/ops/elementwise.cpp"));
    const NodeId launch = c_.define("time", "launch_gap * (micro_batches * kernels + updates)",
                                    {{"launch_gap", launch_gap_},
                                     {"micro_batches", micro_batches_},
                                     {"kernels", kernels},
                                     {"updates", updates}},
                                    "s", "gaps between kernels");
    set_critical("launch", launch, "every kernel of the critical path pays one gap");
    const NodeId hidden = c_.input("kernels", launches_overlapped_, "1",
                                   "launched beside the critical path", of_tasks());
    set_overlapped(
        "launch",
        c_.define(
            "time", "launch_gap * micro_batches * kernels",
            {{"launch_gap", launch_gap_}, {"micro_batches", micro_batches_}, {"kernels", hidden}},
            "s", "gaps between kernels"),
        "hidden: gaps of kernels beside the critical path");

    // SMs that a dispatch holds.
    const auto lost = [&](double seconds) {
      const NodeId one = c_.input("lost", seconds, "s",
                                  "a micro-batch, by kernels to the SMs of a dispatch beside them; "
                                  "each runs at 1 - dispatch_sms / sm_count of its rate meanwhile",
                                  of_list());
      return c_.define("time", "micro_batches * lost",
                       {{"micro_batches", micro_batches_}, {"lost", one}}, "s", "over the step");
    };
    const std::string held = "a fused dispatch or combine runs on SMs that kernels beside it lack";
    set_critical("contention/dispatch_sms", lost(lost_), held);
    set_overlapped("contention/dispatch_sms", lost(lost_overlapped_), held);

    // Replicas.
    const NodeId busy = c_.sum(
        "on_the_wire", {{1.0, replicas.reduce}, {1.0, replicas.gather}, {1.0, synchronised_}},
        "traffic over the replicas of stage " + std::to_string(stage));
    const NodeId bare = c_.sum(
        "uncovered", {{1.0, gather_exposed_}, {1.0, replicas.reduce_exposed}, {1.0, synchronised_}},
        "what no computation covers");
    const NodeId exposed =
        c_.define("dp_exposed", "min(bare, busy)", {{"bare", bare}, {"busy", busy}}, "s",
                  "longer waits are for other stages' weights");
    set_critical("communication/dp", exposed,
                 "gradients are reduced layer by layer behind the last backward, weights gathered "
                 "before the first forward; this is what is left over");
    set_overlapped(
        "communication/dp",
        c_.define("time", "max(0, busy - exposed)", {{"busy", busy}, {"exposed", exposed}}, "s",
                  "behind the last backward and the first forward"),
        "hidden: behind the last backward and the first forward");

    // Optimizer.
    set_critical("optimizer", c_.sum("time", {{1.0, optimizer.seconds}}, "once a step"),
                 "follows the last reduction");

    // Waiting.
    Terms chunk_times;
    for (std::size_t c = 0; c < program_.chunks.size(); ++c) {
      if (program_.chunks[c].stage != stage) continue;
      chunk_times.emplace_back(1.0, forward_[c]);
      chunk_times.emplace_back(1.0, backward_[c]);
      if (splits_backward()) chunk_times.emplace_back(1.0, weight_[c]);
    }
    const NodeId computing = c_.sum("computing", scheduled_, chunk_times,
                                    "forwards and backwards of stage " + std::to_string(stage));
    const NodeId work = c_.sum("work",
                               {{1.0, computing},
                                {1.0, exposed},
                                {1.0, optimizer.seconds},
                                {optimizer.launches, launch_gap_}},
                               "of the stage with most work");
    const NodeId idle = c_.define("idle", "max(0, step - work)",
                                  {{"step", result_.step}, {"work", work}}, "s", "the stage waits");
    const NodeId sends = c_.input(
        "sends", sends_of(stage), "1", "messages of the stage, forward and backward",
        of_run("micro-batches x (2 vpp - ends of the pipeline)", "src/predict/explain_step.cpp"));
    const NodeId sending = c_.define("sending", "sends * send", {{"sends", sends}, {"send", send_}},
                                     "s", "all its messages");
    const NodeId pp = c_.define("time", "max(0, min(min(idle, sending), makespan - without))",
                                {{"idle", idle},
                                 {"sending", sending},
                                 {"makespan", longest(stage_ends_)},
                                 {"without", longest(without_sends_)}},
                                "s", "as far as the stage's own sends lengthen the schedule");
    set_critical("communication/pp", pp, "sends do not block, but what is sent arrives later");
    set_critical("bubble",
                 c_.define("bubble", "idle - sends", {{"idle", idle}, {"sends", pp}}, "s",
                           "waiting for other stages"),
                 "what is left of the step when the stage's own work is taken out");
  }

  double sends_of(std::int64_t stage) const {
    const double ends = (stage == 0 ? 1.0 : 0.0) + (stage + 1 == program_.pp ? 1.0 : 0.0);
    return real(program_.micro_batches) * (2.0 * real(program_.vpp) - ends);
  }

  std::size_t index(const std::string& path) const {
    return static_cast<std::size_t>(std::find(leaves_.begin(), leaves_.end(), path) -
                                    leaves_.begin());
  }
  static void append(std::vector<std::string>& notes, const std::set<std::string>& more) {
    notes.insert(notes.end(), more.begin(), more.end());
  }
  static void set(CalculatedLeaf& leaf, NodeId time, std::string note) {
    leaf.time = time;
    leaf.notes.push_back(std::move(note));
  }
  void set_critical(const std::string& path, NodeId time, std::string note) {
    set(result_.critical[index(path)], time, std::move(note));
  }
  void set_overlapped(const std::string& path, NodeId time, std::string note) {
    set(result_.overlapped[index(path)], time, std::move(note));
  }

  const Program& program_;
  const Machine& machine_;
  const std::vector<std::string>& leaves_;
  const Evaluation& evaluation_;
  StepCalculation& result_;
  Calculation& c_;

  NodeId launch_gap_ = 0;
  NodeId zero_ = 0;
  NodeId micro_batches_ = 0;
  NodeId scheduled_ = 0;  // the same where a formula holds for no other number
  std::vector<Placed> placed_;
  std::map<double, NodeId> scales_;
  std::map<std::pair<NodeId, double>, NodeId> scaled_;
  std::map<std::size_t, std::set<std::string>> critical_notes_;
  std::map<std::size_t, std::set<std::string>> overlapped_notes_;
  std::vector<LayerLines> layers_;
  LayerLines embedding_, copy_, head_, loss_, mtp_;
  graph::PipelineTimes times_;
  std::vector<NodeId> forward_, backward_, weight_;  // one a chunk
  NodeId send_ = 0;
  std::vector<NodeId> stage_ends_, without_sends_;
  std::vector<ReplicaLines> replicas_;
  std::vector<OptimizerLines> optimizers_;
  NodeId gather_exposed_ = 0;
  NodeId synchronised_ = 0;
  double launches_ = 0.0;
  double launches_overlapped_ = 0.0;
  double lost_ = 0.0;
  double lost_overlapped_ = 0.0;
  double offloaded_ = 0.0;  // bytes of the critical stage, a micro-batch
  Terms to_host_, from_host_;
};

}  // namespace

StepCalculation calculate_step(const Program& program, const Machine& machine,
                               const std::vector<std::string>& leaves, const Evaluation& evaluation,
                               const StepSettings& settings) {
  StepCalculation result;
  StepExplainer(program, machine, leaves, evaluation, result).run(settings);
  return result;
}

}  // namespace hysim::predictor
