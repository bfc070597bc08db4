// An evaluation after the first allocates nothing, nor does drawing the machine for it: searches
// and draws cost arithmetic alone.
#include <cstdint>
#include <new>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "perf/allocations.h"
#include "perf/prepared.h"

namespace hysim {
namespace {

using predictor::Evaluation;
using predictor::Workspace;

TEST(Allocation, CounterSeesAnAllocation) {
  const std::int64_t before = test::allocations();
  void* volatile memory = ::operator new(8);
  ::operator delete(memory);
  EXPECT_EQ(test::allocations(), before + 1);
}

struct Case {
  std::string name;
  std::string scenario;
  std::vector<SetText> sets;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

/// Scenarios under 1F1B and interleaved schedules, dense and sparse, on one and many nodes; sharded
/// weights; copies to host memory.
class Reevaluation : public testing::TestWithParam<Case> {
 protected:
  static predictor::Job job() {
    return test::bundled_job(GetParam().scenario, "", GetParam().sets);
  }
};

TEST_P(Reevaluation, AllocatesNothing) {
  const test::Prepared prepared(job());
  predictor::Machine machine = prepared.nominal;
  Workspace workspace;
  Evaluation result;
  for (const bool detailed : {true, false}) {
    prepared.evaluator.evaluate(machine, detailed, workspace, result);
    const std::int64_t before = test::allocations();
    for (std::uint64_t draw = 0; draw < 20; ++draw) {
      predictor::set_machine(prepared.job, config::Sampler(7, draw), machine);
      prepared.evaluator.evaluate(machine, detailed, workspace, result);
    }
    EXPECT_EQ(test::allocations(), before) << (detailed ? "detailed" : "draws");
  }
}

TEST_P(Reevaluation, GivesWhatAFreshEvaluationGives) {
  const test::Prepared prepared(job());
  const test::Prepared other(test::bundled_job("llama3.1-405b-8k-h100-512", ""));
  Workspace workspace;
  Evaluation result;
  for (const bool detailed : {true, false}) {
    other.evaluator.evaluate(other.nominal, true, workspace, result);
    prepared.evaluator.evaluate(prepared.nominal, detailed, workspace, result);
    const Evaluation fresh = prepared.evaluator.evaluate(prepared.nominal, detailed);
    EXPECT_EQ(result.step, fresh.step);
    EXPECT_EQ(result.critical_stage, fresh.critical_stage);
    EXPECT_EQ(result.critical, fresh.critical);
    EXPECT_EQ(result.overlapped, fresh.overlapped);
    EXPECT_EQ(result.bounds, fresh.bounds);
    EXPECT_EQ(result.evidence, fresh.evidence);
    for (std::size_t k = 0; k < result.communication.size(); ++k) {
      EXPECT_EQ(result.communication[k].busy, fresh.communication[k].busy);
      EXPECT_EQ(result.communication[k].bytes, fresh.communication[k].bytes);
    }
  }
}

std::vector<SetText> one_stage(std::vector<SetText> sets) {
  for (const char* const set :
       {"parallelism.pp=1", "parallelism.vpp=1", "parallelism.pipeline_layout=[126]"}) {
    sets.emplace_back(set);
  }
  return sets;
}

INSTANTIATE_TEST_SUITE_P(
    Bundled, Reevaluation,
    testing::Values(
        Case{"glm_1m", "glm-5.1-1m-h20-512", {}}, Case{"glm_2k", "glm-5.2-2k-h100-352", {}},
        Case{"deepseek", "deepseek-v3-4k-h800-2048", {}},
        Case{"llama", "llama3.1-405b-8k-h100-512", {}},
        Case{"zero_2", "llama3.1-405b-8k-h100-512", one_stage({"parallelism.zero=2"})},
        Case{"zero_3", "llama3.1-405b-8k-h100-512", one_stage({"parallelism.zero=3"})},
        Case{"offload", "llama3.1-405b-8k-h100-512", {"training.offload.activations=true"}}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace hysim
