#include "predict/streams.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "collectives/collective.h"
#include "cost/kernel_time.h"

namespace hysim::predictor {

namespace {

using graph::Stream;
using graph::Task;

LeafBound leaf_bound(cost::Bound bound) {
  switch (bound) {
    case cost::Bound::tensor:
      return LeafBound::tensor;
    case cost::Bound::vector:
      return LeafBound::vector;
    case cost::Bound::memory:
      return LeafBound::memory;
    case cost::Bound::sm:
      return LeafBound::sm;
    case cost::Bound::launch:
      return LeafBound::launch;
  }
  return LeafBound::tensor;
}

CommKind comm_kind(Stream stream) {
  switch (stream) {
    case Stream::cp:
      return CommKind::cp;
    case Stream::ep:
      return CommKind::ep;
    case Stream::tp:
    case Stream::compute:
      break;
  }
  return CommKind::tp;
}

Placed price(const Task& task, const Machine& machine) {
  Placed placed;
  if (const auto* work = std::get_if<ops::Work>(&task.work)) {
    const cost::KernelTime time =
        cost::kernel_time(*work, machine.gpu, machine.stack.launch_gap, task.scale);
    placed.busy = time.busy().si();
    placed.launch = time.launch.si();
    placed.bound = leaf_bound(time.bound_by);
    placed.evidence = time.evidence;
    return placed;
  }
  const auto& op = std::get<collectives::Collective>(task.work);
  const collectives::CollectiveTime time =
      task.scale * collectives::time(op, machine.gpu, machine.network);
  placed.busy = time.total().si();
  placed.bound = time.latency < time.transfer ? transfer_bound(op.group.nodes) : LeafBound::latency;
  placed.evidence = time.evidence;
  return placed;
}

/// Kernels that every SM taken from them slows; others wait for memory or the host.
bool needs_sms(LeafBound bound) {
  return bound == LeafBound::tensor || bound == LeafBound::vector || bound == LeafBound::sm;
}

/// What a fused dispatch takes of the GPU; a GPU it would fill keeps a tenth for others.
double share_of_sms(const Machine& machine) {
  const double sms = machine.gpu.sm_count.value;
  return sms > 0.0 ? std::min(0.9, machine.stack.dispatch_sms.value / sms) : 0.0;
}

}  // namespace

double lost_to_dispatch(double start, double busy, double begin, double end, double taken) {
  const double left = busy - std::max(0.0, begin - start);  // still to do when both run
  const double both = end - std::max(start, begin);
  if (left <= 0.0 || both <= 0.0) return 0.0;
  const double rate = 1.0 - taken;
  return left <= both * rate ? left / rate - left : both * taken;
}

ListCost cost_list(const graph::TaskList& list, const Machine& machine) {
  std::vector<Placed> placed;
  ListCost cost;
  cost_list(list, machine, placed, cost);
  return cost;
}

void cost_list(const graph::TaskList& list, const Machine& machine, std::vector<Placed>& placed,
               ListCost& cost) {
  placed.resize(list.size());
  std::array<std::int32_t, graph::kStreams> latest;
  latest.fill(-1);
  Placed dispatch;  // the last fused one
  const double taken = share_of_sms(machine);
  for (std::size_t i = 0; i < list.size(); ++i) {
    Placed& task = placed[i] = price(list[i], machine);
    const auto start_after = [&](std::int32_t before) {
      if (before < 0) return;
      const double end = placed[static_cast<std::size_t>(before)].end();
      if (task.cause < 0 || end > task.start) {
        task.start = end;
        task.cause = before;
      }
    };
    std::int32_t& on_stream = latest[static_cast<std::size_t>(list[i].stream)];
    start_after(on_stream);
    for (const std::int32_t before : list[i].after) start_after(before);
    on_stream = static_cast<std::int32_t>(i);
    if (list[i].stream != Stream::compute) {
      const auto* op = std::get_if<collectives::Collective>(&list[i].work);
      if (op != nullptr && op->kind == collectives::Kind::dispatch) dispatch = task;
    } else if (needs_sms(task.bound)) {
      task.lost = lost_to_dispatch(task.start, task.busy, dispatch.start, dispatch.end(), taken);
    }
  }

  std::vector<LeafTime> leaves = std::move(cost.leaves);
  cost = {};
  std::int32_t last = -1;
  for (std::size_t i = 0; i < placed.size(); ++i) {
    if (last < 0 || placed[i].end() > cost.span) {
      last = static_cast<std::int32_t>(i);
      cost.span = placed[i].end();
    }
  }
  for (std::int32_t i = last; i >= 0; i = placed[static_cast<std::size_t>(i)].cause) {
    placed[static_cast<std::size_t>(i)].critical = true;
  }
  leaves.clear();
  leaves.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Placed& task = placed[i];
    LeafTime time{list[i].leaf, 0.0, 0.0, task.bound, task.evidence};
    (task.critical ? time.critical : time.overlapped) = task.busy;
    (task.critical ? cost.launch : cost.launch_overlapped) += task.launch;
    (task.critical ? cost.contention : cost.contention_overlapped) += task.lost;
    if (list[i].weight_gradient) cost.weight += task.busy + task.launch + task.lost;
    leaves.push_back(time);
    if (const auto* op = std::get_if<collectives::Collective>(&list[i].work)) {
      CommTotal& total = cost.communication[static_cast<std::size_t>(comm_kind(list[i].stream))];
      total.bytes += collectives::bytes_sent(*op).si();
      total.busy += task.busy;
      total.exposed += task.critical ? task.busy : 0.0;
      total.network = total.network || op->group.nodes > 1;
    }
  }
  cost.leaves = std::move(leaves);
}

}  // namespace hysim::predictor
