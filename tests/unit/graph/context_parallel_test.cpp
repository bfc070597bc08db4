// Which attention allows which kind of context parallelism, and how its groups lie on nodes.
#include "graph/context_parallel.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "unit/graph/plans.h"

namespace hysim::graph {
namespace {

Plan legal(CpComm comm, std::int64_t cp = 4) {
  topology::GroupSizes sizes;
  sizes.cp = cp;
  Plan plan = test::on_groups(test::tiny_dense(), sizes);
  plan.parallelism.cp_comm = comm;
  if (comm == CpComm::a2a_p2p) plan.parallelism.hierarchical_cp_sizes = {2, cp / 2};
  return plan;
}

TEST(ContextParallel, EveryKindIsLegalForDenseAttention) {
  for (const CpComm comm : {CpComm::all_gather, CpComm::p2p, CpComm::a2a, CpComm::a2a_p2p}) {
    EXPECT_TRUE(check(legal(comm), 4).empty());
    Plan latent = legal(comm);
    latent.model = test::tiny_latent();
    EXPECT_TRUE(check(latent, 4).empty());
  }
}

struct Rule {
  const char* setting;
  const char* says;
  CpComm comm;
  std::function<void(Plan&)> breaks;
};

TEST(ContextParallel, SaysWhatIsIllegal) {
  const std::vector<Rule> rules = {
      {"parallelism.cp_comm", "use \"all_gather\"", CpComm::p2p,
       [](Plan& p) { p.model = test::TinySparse{}.make(); }},
      {"parallelism.cp_comm", "use \"all_gather\"", CpComm::a2a,
       [](Plan& p) { p.model = test::TinySparse{}.make(); }},
      {"parallelism.cp_comm", "sliding-window", CpComm::p2p,
       [](Plan& p) { p.model.attention.sliding_window = 64; }},
      {"parallelism.cp_comm", "num_attention_heads (6) divisible by tp x 4 (4)", CpComm::a2a,
       [](Plan& p) { p.model.attention.num_heads = 6; }},
      {"parallelism.cp_comm", "num_key_value_heads (2) divisible by tp x 4 (4)", CpComm::a2a,
       [](Plan& p) { p.model.attention.num_kv_heads = 2; }},
      {"parallelism.cp_comm", "hierarchical_cp_sizes of two", CpComm::a2a_p2p,
       [](Plan& p) { p.parallelism.hierarchical_cp_sizes.clear(); }},
      {"parallelism.hierarchical_cp_sizes", "product is cp = 4", CpComm::a2a_p2p,
       [](Plan& p) {
         p.parallelism.hierarchical_cp_sizes = {2, 4};
       }},
      {"parallelism.hierarchical_cp_sizes", "\"a2a+p2p\" only", CpComm::p2p,
       [](Plan& p) {
         p.parallelism.hierarchical_cp_sizes = {2, 2};
       }},
  };
  for (const Rule& rule : rules) {
    Plan plan = legal(rule.comm);
    rule.breaks(plan);
    const std::vector<PlanFault> faults = check(plan, 4);
    ASSERT_EQ(faults.size(), 1U) << rule.says;
    EXPECT_EQ(faults.front().setting, rule.setting);
    EXPECT_NE(faults.front().message.find(rule.says), std::string::npos) << faults.front().message;
  }
}

// A sliding window divides as other attention does where its keys are all at hand.
TEST(ContextParallel, SlidingWindowsExchangeAndGather) {
  for (const CpComm comm : {CpComm::all_gather, CpComm::a2a}) {
    Plan plan = legal(comm);
    plan.model.attention.sliding_window = 64;
    EXPECT_TRUE(check(plan, 4).empty());
  }
}

// Ranks 0-3 and 4-7 of a group of 8 exchange heads, 0 and 4 are of one ring: on nodes of 4 the
// exchange stays inside, the ring crosses with one rank a node.
TEST(ContextParallel, NeighboursExchangeAndRingsCross) {
  Plan plan = legal(CpComm::a2a_p2p, 8);
  plan.parallelism.hierarchical_cp_sizes = {4, 2};
  const LayerContext c = make_context(plan, 4);
  EXPECT_EQ(c.cp_exchange.size, 4);
  EXPECT_EQ(c.cp_exchange.nodes, 1);
  EXPECT_EQ(c.cp_ring.size, 2);
  EXPECT_EQ(c.cp_ring.nodes, 2);
  EXPECT_EQ(c.cp_ring.per_node, 1);
  EXPECT_EQ(c.cp_gather.size, 1);
  EXPECT_EQ(ops::query_count(c.core_segments), 4 * c.tokens());
}

}  // namespace
}  // namespace hysim::graph
