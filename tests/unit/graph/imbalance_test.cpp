// The fullest expert-parallel rank: its rows, what it receives, what it keeps.
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "unit/graph/plans.h"

namespace hysim::graph {
namespace {

Plan plan_of(double imbalance, std::int64_t ep = 4) {
  topology::GroupSizes sizes;
  sizes.dp = ep;
  sizes.ep = ep;
  Plan plan = test::on_groups(test::TinySparse{}.make(), sizes);
  plan.training.expert_imbalance = imbalance;
  return plan;
}
test::BuiltLayer moe_layer(const Plan& plan) { return test::built(plan, plan.model.layers.back()); }

double received(const TaskList& list) {
  double bytes = 0.0;
  for (const Task& task : list) {
    const auto* op = std::get_if<collectives::Collective>(&task.work);
    if (op != nullptr && task.stream == Stream::ep) bytes += collectives::bytes_sent(*op).si();
  }
  return bytes;
}

TEST(ExpertImbalance, ScalesRowsBytesAndActivations) {
  const test::BuiltLayer even = moe_layer(plan_of(1.0));
  const test::BuiltLayer full = moe_layer(plan_of(2.5));
  for (const char* part : {"experts/gemm"}) {
    EXPECT_NEAR(full.forward_flops({part}) / even.forward_flops({part}), 2.5, 1e-12);
    EXPECT_NEAR(full.backward_flops({part}) / even.backward_flops({part}), 2.5, 1e-12);
  }
  EXPECT_EQ(full.forward_flops({"linear", "experts/shared", "attention"}),
            even.forward_flops({"linear", "experts/shared", "attention"}));
  EXPECT_NEAR(received(full.layer.forward) / received(even.layer.forward), 2.5, 1e-12);
  // 512 copies of 64 bf16 in, two of 32 between the matrices and their product: 1.5 times more.
  const double copies = 256.0 * 2.0;
  EXPECT_NEAR((full.layer.saved - even.layer.saved).si(), 1.5 * 2.0 * copies * (64 + 64 + 32),
              1e-6);
}

// All NICs of the node share what DeepEP brings in for one of its ranks.
TEST(ExpertImbalance, NicsOfANodeShareADispatch) {
  const auto dispatched = [](double imbalance) {
    Plan plan = plan_of(imbalance, 8);
    plan.kernels.dispatcher = Dispatcher::deepep;
    const LayerContext context = make_context(plan, 4);  // two nodes
    return expert_exchange(context, 2.0);
  };
  EXPECT_NEAR(dispatched(3.0).nvlink_sent / dispatched(1.0).nvlink_sent, 3.0, 1e-12);
  EXPECT_NEAR(dispatched(3.0).network_sent / dispatched(1.0).network_sent, 1.5, 1e-12);
}

// 8 experts, 2 a token: a rank gets at most min(4, 8 / 2) times the mean; with EP 2 twice.
TEST(ExpertImbalance, NoRankGetsMoreThanAllTokens) {
  EXPECT_TRUE(check(plan_of(4.0), 4).empty());
  EXPECT_TRUE(check(plan_of(2.0, 2), 2).empty());
  for (const Plan& plan : {plan_of(4.01), plan_of(2.01, 2), plan_of(1.5, 1)}) {
    const std::vector<PlanFault> faults = check(plan, plan.parallelism.sizes.dp);
    ASSERT_EQ(faults.size(), 1U);
    EXPECT_EQ(faults.front().setting, "training.expert_imbalance");
    EXPECT_NE(faults.front().message.find("times the mean"), std::string::npos);
  }
}

}  // namespace
}  // namespace hysim::graph
