// Ring attention on the streams: the span of its tasks against the recurrence it stands for.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/collective.h"
#include "cost/kernel_time.h"
#include "predict/streams.h"
#include "property/machines.h"
#include "unit/graph/plans.h"

namespace hysim::predictor {
namespace {

using graph::TaskList;

/// The ring's own tasks of a list.
TaskList ring_tasks(const test::BuiltLayer& layer, const TaskList& list) {
  TaskList ring;
  std::vector<std::int32_t> place(list.size(), -1);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string& leaf = layer.program.leaves[static_cast<std::size_t>(list[i].leaf)];
    if (!leaf.starts_with("attention/") && !leaf.starts_with("elementwise/ring_merge") &&
        !leaf.starts_with("communication/cp")) {
      continue;
    }
    place[i] = static_cast<std::int32_t>(ring.size());
    graph::Task task = list[i];
    task.after.clear();
    for (const std::int32_t before : list[i].after) {
      if (place[static_cast<std::size_t>(before)] >= 0) {
        task.after.push_back(place[static_cast<std::size_t>(before)]);
      }
    }
    ring.push_back(task);
  }
  return ring;
}

struct Parts {
  std::vector<double> attend, merge, pass;  // seconds by step
};
Parts priced(const TaskList& ring, const Machine& machine) {
  Parts parts;
  for (const graph::Task& task : ring) {
    if (const auto* op = std::get_if<collectives::Collective>(&task.work)) {
      parts.pass.push_back(collectives::time(*op, machine.gpu, machine.network).total().si());
      continue;
    }
    const auto& work = std::get<ops::Work>(task.work);
    const double seconds =
        cost::kernel_time(work, machine.gpu, machine.stack.launch_gap).total().si();
    (work.kernel == ops::Kernel::stream ? parts.merge : parts.attend).push_back(seconds);
  }
  return parts;
}

/// Step i begins when its keys are there and step i-1 is done; its keys leave for the neighbour as
/// soon as they are there and a buffer is free, that is when step i-1 is done.
double forward_by_hand(const Parts& p) {
  double done = 0.0;
  double arrived = 0.0;
  for (std::size_t i = 0; i < p.attend.size(); ++i) {
    const double begin = std::max(done, arrived);
    const double sent = i < p.pass.size() ? begin + p.pass[i] : begin;
    done = begin + p.attend[i] + (i > 0 ? p.merge[i - 1] : 0.0);
    arrived = sent;
  }
  return done;
}

/// Backward: gradients arrive with the same message and are added after the step.
double backward_by_hand(const Parts& p) {
  double done = 0.0;
  double arrived = 0.0;
  for (std::size_t i = 0; i < p.attend.size(); ++i) {
    const double begin = std::max(done, arrived);
    arrived = begin + p.pass[i];
    done = begin + p.attend[i];
    if (i > 0) done = std::max(done, arrived) + p.merge[i - 1];
  }
  return done;
}

TEST(RingOnStreams, SpansFollowTheRecurrence) {
  for (const double slower : {1.0, 10.0, 300.0}) {
    for (const std::int64_t cp : {2, 8, 16}) {
      topology::GroupSizes sizes;
      sizes.cp = cp;
      graph::Plan plan = test::on_groups(test::bundled("llama3-8b"), sizes, 1, 65536);
      plan.parallelism.cp_comm = graph::CpComm::p2p;
      Machine machine = test::real_machine("h800-sxm-80", "h800-32");
      machine.network.nic.value = machine.network.nic.value * (1.0 / slower);
      machine.gpu.all_to_all_busbw.value = machine.gpu.all_to_all_busbw.value * (1.0 / slower);
      const test::BuiltLayer b = test::built(plan, plan.model.layers.front());
      const TaskList forward = ring_tasks(b, b.layer.forward);
      const TaskList backward = ring_tasks(b, b.layer.backward);
      const double span = cost_list(forward, machine).span;
      EXPECT_NEAR(span / forward_by_hand(priced(forward, machine)), 1.0, 1e-12) << cp;
      EXPECT_NEAR(cost_list(backward, machine).span / backward_by_hand(priced(backward, machine)),
                  1.0, 1e-12)
          << cp;
      const Parts parts = priced(forward, machine);
      double wire = 0.0;
      double compute = 0.0;
      for (const double pass : parts.pass) wire += pass;
      for (const double attend : parts.attend) compute += attend;
      for (const double merge : parts.merge) compute += merge;
      EXPECT_GE(span, std::max(wire, compute) * (1.0 - 1e-12));
      EXPECT_LE(span, wire + compute);
    }
  }
}

}  // namespace
}  // namespace hysim::predictor
