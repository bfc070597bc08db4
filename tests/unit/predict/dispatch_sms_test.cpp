// Kernels beside a fused dispatch: what its SMs cost them, and that nothing else changes.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "predict/streams.h"
#include "property/machines.h"
#include "unit/graph/plans.h"
#include "unit/predict/scenarios.h"

namespace hysim::predictor {
namespace {

/// Works the kernel off in small steps.
double stepped(double start, double busy, double begin, double end, double taken) {
  const double step = 1e-5;
  double now = start;
  for (double done = 0.0; done < busy; now += step) {
    done += step * (now >= begin && now < end ? 1.0 - taken : 1.0);
  }
  return now - start - busy;
}

TEST(DispatchSms, LossIsTheRateWhileBothRun) {
  struct Case {
    double start, busy, begin, end;
  };
  for (const Case& c :
       {Case{0.0, 1.0, 0.0, 5.0}, Case{0.0, 1.0, 0.0, 0.4}, Case{0.5, 2.0, 0.0, 1.5},
        Case{0.0, 2.0, 1.0, 1.5}, Case{0.0, 1.0, 2.0, 3.0}, Case{3.0, 1.0, 0.0, 3.0}}) {
    for (const double taken : {0.0, 24.0 / 132.0, 24.0 / 78.0}) {
      EXPECT_NEAR(lost_to_dispatch(c.start, c.busy, c.begin, c.end, taken),
                  stepped(c.start, c.busy, c.begin, c.end, taken), 1e-4);
    }
  }
  // A kernel wholly beside it takes sms / (sms - n) times as long.
  EXPECT_NEAR(lost_to_dispatch(0.0, 1.0, 0.0, 9.0, 24.0 / 78.0), 78.0 / 54.0 - 1.0, 1e-12);
}

graph::Plan plan_of(bool beside, graph::Dispatcher dispatcher) {
  topology::GroupSizes sizes;
  sizes.dp = 64;
  sizes.ep = 64;
  graph::Plan plan = hysim::test::on_groups(hysim::test::bundled("deepseek-v3"), sizes, 1, 4096);
  plan.kernels.dispatcher = dispatcher;
  plan.overlap.shared_expert = beside;
  return plan;
}

ListCost forward_of(const graph::Plan& plan, const Machine& machine) {
  const hysim::test::BuiltLayer b = hysim::test::built(plan, plan.model.layers.back());
  return cost_list(b.layer.forward, machine);
}

double critical_and_overlapped(const ListCost& cost) {
  double sum = cost.launch + cost.launch_overlapped;
  for (const LeafTime& leaf : cost.leaves) sum += leaf.critical + leaf.overlapped;
  return sum;
}

TEST(DispatchSms, CostNothingWhereNothingRunsBeside) {
  const Machine machine = hysim::test::real_machine("h800-sxm-80", "h800-2048");
  Machine free = machine;
  free.stack.dispatch_sms.value = 0.0;
  ASSERT_EQ(machine.stack.dispatch_sms.value, 24.0);
  const graph::Plan apart = plan_of(false, graph::Dispatcher::deepep);
  EXPECT_EQ(forward_of(apart, machine).span, forward_of(apart, free).span);
  EXPECT_EQ(forward_of(apart, machine).contention, 0.0);
  // NCCL's exchange is not a fused dispatch.
  const graph::Plan nccl = plan_of(true, graph::Dispatcher::alltoall);
  EXPECT_EQ(forward_of(nccl, machine).span, forward_of(nccl, free).span);
}

TEST(DispatchSms, SlowTheSharedExpertBesideIt) {
  const Machine machine = hysim::test::real_machine("h800-sxm-80", "h800-2048");
  Machine free = machine;
  free.stack.dispatch_sms.value = 0.0;
  const graph::Plan beside = plan_of(true, graph::Dispatcher::deepep);
  const ListCost cost = forward_of(beside, machine);
  const ListCost unhindered = forward_of(beside, free);
  EXPECT_GT(cost.contention + cost.contention_overlapped, 0.0);
  EXPECT_GE(cost.span, unhindered.span);
  // No kernel or exchange changes but by what is counted as lost.
  EXPECT_NEAR(critical_and_overlapped(cost) / critical_and_overlapped(unhindered), 1.0, 1e-12);
  double critical = cost.launch + cost.contention;
  for (const LeafTime& leaf : cost.leaves) critical += leaf.critical;
  EXPECT_NEAR(critical / cost.span, 1.0, 1e-12);
}

// Running the shared expert beside the exchanges saves no more than the shorter of the two, and
// does the same work.
TEST(SharedExpertOverlap, HidesAtMostTheSharedExpert) {
  const Machine machine = hysim::test::real_machine("h800-sxm-80", "h800-2048");
  const graph::Plan apart = plan_of(false, graph::Dispatcher::alltoall);
  const graph::Plan beside = plan_of(true, graph::Dispatcher::alltoall);
  const hysim::test::BuiltLayer one = hysim::test::built(apart, apart.model.layers.back());
  const hysim::test::BuiltLayer two = hysim::test::built(beside, beside.model.layers.back());
  for (const bool forward : {true, false}) {
    const graph::TaskList& a = forward ? one.layer.forward : one.layer.backward;
    const graph::TaskList& b = forward ? two.layer.forward : two.layer.backward;
    ASSERT_EQ(a.size(), b.size());
    const ListCost serial = cost_list(a, machine);
    const ListCost overlapped = cost_list(b, machine);
    EXPECT_NEAR(critical_and_overlapped(serial) / critical_and_overlapped(overlapped), 1.0, 1e-12);
    double shared = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const std::string& leaf = one.program.leaves[static_cast<std::size_t>(a[i].leaf)];
      if (leaf.starts_with("experts/shared")) shared += serial.leaves[i].critical;
    }
    EXPECT_LT(overlapped.span, serial.span);
    EXPECT_GT(overlapped.span, serial.span - 2.0 * shared);
  }
}

TEST(SharedExpertOverlap, IsInertWithoutOne) {
  const Prediction p =
      test::predict_nominal(test::dense(), {"training.overlap.shared_expert=true"});
  ASSERT_FALSE(p.warnings.empty());
  EXPECT_EQ(p.warnings.front().id, "inert-shared-expert-overlap");
}

TEST(HierarchicalCollectives, AreNamedInTheRows) {
  const Prediction flat = test::predict_nominal(test::two_variants());
  const Prediction tiered =
      test::predict_nominal(test::two_variants(), {"parallelism.hierarchical_collectives=true"});
  const auto count = [](const Prediction& p) {
    return std::count_if(p.collectives.begin(), p.collectives.end(),
                         [](const CollectiveRow& row) { return row.algorithm == "hierarchical"; });
  };
  EXPECT_EQ(count(flat), 0);
  EXPECT_GT(count(tiered), 0);
  const auto sent = [](const Prediction& p) { return p.communication.back().bytes_per_rank.si(); };
  EXPECT_NEAR(sent(tiered) / sent(flat), 1.0, 1e-12);
}

}  // namespace
}  // namespace hysim::predictor
