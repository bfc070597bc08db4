#include "predict/collective_rows.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "collectives/collective.h"
#include "ops/element_bytes.h"

namespace hysim::predictor {

namespace {

using collectives::Collective;
using collectives::Kind;
using graph::Chunk;
using graph::LayerProgram;
using graph::ParameterShare;
using graph::Program;

bool alike(const CollectiveRow& a, const CollectiveRow& b) {
  return a.path == b.path && a.kind == b.kind && a.ranks == b.ranks && a.nodes == b.nodes &&
         a.per_node == b.per_node && a.bytes == b.bytes && a.time == b.time;
}

/// Rows under construction: alike operations are counted together.
class Rows {
 public:
  explicit Rows(const Machine& machine) : machine_(machine) {}

  /// `scale` is the factor on its time.
  void add(std::string_view path, const Collective& op, std::int64_t count, double scale) {
    if (op.group.size <= 1 || count == 0 || collectives::bytes_sent(op) <= Bytes(0.0)) return;
    const collectives::CollectiveTime time =
        scale * collectives::time(op, machine_.gpu, machine_.network);
    CollectiveRow row;
    row.path = std::string(path);
    row.kind = collectives::to_string(op.kind);
    row.ranks = op.group.size;
    row.nodes = op.group.nodes;
    row.per_node = op.group.per_node;
    row.bytes = collectives::buffer_bytes(op);
    row.algorithm = collectives::to_string(time.algorithm);
    if (time.protocol) row.protocol = collectives::to_string(*time.protocol);
    row.time = time.total();
    row.algbw = collectives::algorithm_bandwidth(op, row.time);
    row.busbw = collectives::bus_bandwidth(op, row.time);
    const auto same = std::find_if(rows_.begin(), rows_.end(),
                                   [&](const CollectiveRow& other) { return alike(row, other); });
    if (same == rows_.end()) {
      rows_.push_back(std::move(row));
      rows_.back().count = count;
    } else {
      same->count += count;
    }
  }

  std::vector<CollectiveRow> sorted() {
    std::stable_sort(rows_.begin(), rows_.end(), [](const auto& a, const auto& b) {
      return a.time * static_cast<double>(a.count) > b.time * static_cast<double>(b.count);
    });
    return std::move(rows_);
  }

 private:
  const Machine& machine_;
  std::vector<CollectiveRow> rows_;
};

void add_layer(Rows& rows, const Program& program, const LayerProgram& layer, std::int64_t times) {
  for (const graph::TaskList* list : {&layer.forward, &layer.backward}) {
    for (const graph::Task& task : *list) {
      if (const auto* op = std::get_if<Collective>(&task.work)) {
        rows.add(program.leaves[static_cast<std::size_t>(task.leaf)], *op, times, task.scale);
      }
    }
  }
}

Collective over_replicas(Kind kind, const topology::GroupShape& group, double bytes,
                         bool tiered = false) {
  Collective op;
  op.tiered = tiered;
  op.kind = kind;
  op.group = group;
  op.bytes = Bytes(bytes);
  return op;
}

/// Reduction of gradients and gathering of weights of one part of a stage: once a step, with ZeRO-2
/// reductions and with ZeRO-3 gathers too in every micro-batch.
void add_replicas(Rows& rows, const Program& program, const ParameterShare& share) {
  const std::int64_t reductions = program.zero >= 2 ? program.micro_batches : 1;
  const std::int64_t gathers =
      program.zero >= 3 ? program.micro_batches * (program.reshard_after_forward ? 2 : 1) : 1;
  const auto add = [&](Kind kind, const topology::GroupShape& group, double bytes,
                       std::int64_t count) {
    const Collective op = over_replicas(kind, group, bytes, program.hierarchical);
    rows.add(graph::kReplicaLeaf, op, count, program.replica_scale);
  };
  const auto add_both = [&](const topology::GroupShape& group, const topology::GroupShape& shard,
                            const topology::GroupShape& copies, double parameters) {
    const double gradients = parameters * program.gradient_bytes;
    if (program.zero == 0) {
      add(Kind::all_reduce, group, gradients, 1);
      return;
    }
    add(Kind::reduce_scatter, shard, gradients, reductions);
    add(Kind::all_reduce, copies, gradients / static_cast<double>(shard.size), reductions);
    add(Kind::all_gather, shard, parameters * ops::kBf16Bytes, gathers);
  };
  add_both(program.dense_group, program.dense_shard, program.dense_copies, share.dense);
  add_both(program.expert_group, program.expert_shard, program.expert_copies, share.expert);
}

void add_chunk(Rows& rows, const Program& program, const Chunk& chunk) {
  const std::int64_t times = program.micro_batches;
  if (chunk.embedding) {
    add_layer(rows, program, program.embedding, times);
    add_replicas(rows, program, program.embedding_parameters);
  }
  if (chunk.embedding_copy) add_replicas(rows, program, program.embedding_copy_parameters);
  for (const std::int32_t layer : chunk.layers) {
    add_layer(rows, program, program.layers[static_cast<std::size_t>(layer)], times);
    add_replicas(rows, program, program.layer_parameters[static_cast<std::size_t>(layer)]);
  }
  if (chunk.mtp > 0) add_layer(rows, program, program.mtp, times * chunk.mtp);
  for (std::int64_t i = 0; i < chunk.mtp; ++i) add_replicas(rows, program, program.mtp_parameters);
  if (chunk.head) add_replicas(rows, program, program.head_parameters);
  if (chunk.losses > 0) add_layer(rows, program, program.head, times * chunk.losses);
}

}  // namespace

std::vector<CollectiveRow> collective_rows(const Program& program, const Machine& machine,
                                           std::int64_t stage) {
  Rows rows(machine);
  for (const Chunk& chunk : program.chunks) {
    if (chunk.stage == stage) add_chunk(rows, program, chunk);
  }
  // A chunk sends forward and backward; the ends of the model have no neighbour there.
  const std::int64_t ends = (stage == 0 ? 1 : 0) + (stage + 1 == program.pp ? 1 : 0);
  rows.add(graph::kPipelineLeaf, program.pipeline_send,
           program.micro_batches * (2 * program.vpp - ends), program.send_scale);
  rows.add(graph::kReplicaLeaf, program.embedding_reduce, 1, program.replica_scale);
  rows.add(graph::kReplicaLeaf, over_replicas(Kind::all_reduce, program.world, 8.0), 1,
           program.replica_scale);
  return rows.sorted();
}

}  // namespace hysim::predictor
