// State under ZeRO-2 and 3 and what its ranks send, against independently derived layouts A
// (GLM-5.1, 64 dense replicas) and J (Qwen3-235B, 16 dense and 8 expert replicas), a toy by hand,
// and the formulas of the ZeRO paper (Rajbhandari et al. 2020, sections 5 and 7).
#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

#include "collectives/collective.h"
#include "graph/memory.h"

namespace hysim {
namespace {

TEST(ShardingOracle, BytesOfState) {
  struct Row {
    double dense, expert;
    std::int64_t dense_group, expert_group;
    double zero2_weights, zero3_weights, gradients, optimizer;
  };
  for (const Row& r :
       {Row{2137280000, 1509949440, 64, 1, 7294458880, 3086688880, 6173377760, 18520133280},
        Row{440604672, 7247757312, 16, 8, 15376723968, 1867014912, 3734029824, 11202089472},
        Row{500, 400, 4, 2, 1800, 650, 1300, 3900}}) {
    for (const int zero : {2, 3}) {
      const graph::ModelState state =
          graph::model_state({r.dense, r.expert}, 4.0, zero, r.dense_group, r.expert_group);
      EXPECT_DOUBLE_EQ(state.weights.si(), zero == 2 ? r.zero2_weights : r.zero3_weights);
      EXPECT_DOUBLE_EQ(state.gradients.si(), r.gradients);
      EXPECT_DOUBLE_EQ(state.optimizer.si(), r.optimizer);
    }
  }
}

// With 2 B gradients and K = 12: 4P + 12P/N, 2P + 14P/N, 16P/N; 7.5 B parameters on 64 ranks take
// 31.4, 16.6 and 1.9 GB (figure 1 of the paper).
TEST(ShardingOracle, TheZeroPapersFigure) {
  const double expected[] = {31.4e9, 16.6e9, 1.9e9};
  for (int zero = 1; zero <= 3; ++zero) {
    const graph::ModelState state = graph::model_state({7.5e9, 0.0}, 2.0, zero, 64, 1);
    EXPECT_NEAR((state.weights + state.gradients + state.optimizer).si(), expected[zero - 1],
                0.05e9);
  }
}

TEST(ShardingOracle, AMicroBatchSendsThreeTimesTheParameters) {
  struct Row {
    double dense, expert;
    std::int64_t dense_group, expert_group;
    double bytes;  // fp32 gradients, bf16 weights twice
  };
  for (const Row& r : {Row{2137280000, 1509949440, 64, 1, 16831080000},
                       Row{440604672, 7247757312, 16, 8, 54038836224}}) {
    const auto sent = [](collectives::Kind kind, std::int64_t group, double bytes) {
      collectives::Collective op;
      op.kind = kind;
      op.group.size = group;
      op.bytes = Bytes(bytes);
      return collectives::bytes_sent(op).si();
    };
    double bytes = 0.0;
    for (const auto& [parameters, group] :
         {std::pair{r.dense, r.dense_group}, std::pair{r.expert, r.expert_group}}) {
      bytes += 2.0 * sent(collectives::Kind::all_gather, group, 2.0 * parameters) +
               sent(collectives::Kind::reduce_scatter, group, 4.0 * parameters);
    }
    EXPECT_NEAR(bytes, r.bytes, 1.0);
  }
}

}  // namespace
}  // namespace hysim
