#include "fuzz/checks.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "config/node.h"
#include "hysim/errors.h"
#include "hysim/report.h"

namespace hysim::fuzz {

namespace {

void demand(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "demanded: %s\n", what.c_str());
  std::abort();
}

void demand_not_negative(double value, const std::string& what) {
  demand(std::isfinite(value) && value >= 0.0, what + " is " + std::to_string(value));
}

void demand_equal(double sum, double whole, const std::string& what) {
  constexpr double kRelative = 1e-6;
  demand(std::fabs(sum - whole) <= kRelative * std::max(std::fabs(whole), 1e-12),
         what + ": " + std::to_string(sum) + " of " + std::to_string(whole));
}

void check_memory(const Memory& memory) {
  demand_not_negative(memory.capacity.si(), "capacity");
  demand(!memory.by_stage.empty(), "a stage's memory");
  for (const StageMemory& stage : memory.by_stage) {
    double sum = 0.0;
    for (const MemoryPart& part : stage.parts) {
      demand_not_negative(part.bytes.si(), "memory " + part.name);
      sum += part.bytes.si();
    }
    demand_equal(sum, stage.device.si(), "memory parts");
    demand(stage.device <= memory.peak_per_gpu.value * (1.0 + 1e-9), "the peak is the fullest");
  }
}

void check(const Prediction& p) {
  const double step = p.step_time.value.si();
  demand(std::isfinite(step) && step > 0.0, "step time is " + std::to_string(step));
  demand_not_negative(p.tokens_per_second_per_gpu.value, "tokens per second");
  demand_not_negative(p.mfu.fraction.value, "mfu");
  demand_not_negative(p.hfu.fraction.value, "hfu");
  double critical = 0.0;
  for (const BreakdownLeaf& leaf : p.breakdown) {
    demand_not_negative(leaf.time.value.si(), "leaf " + leaf.path);
    if (leaf.kind == TimeKind::critical) critical += leaf.time.value.si();
  }
  demand_equal(critical, step, "critical leaves");
  for (const CommunicationRow& row : p.communication) {
    demand_not_negative(row.time.si(), "communication " + row.kind);
    demand_not_negative(row.exposed.si(), "exposed " + row.kind);
    demand_not_negative(row.bytes_per_rank.si(), "bytes " + row.kind);
  }
  demand_equal(
      p.evidence.this_gpu + p.evidence.other_gpu + p.evidence.datasheet + p.evidence.assumed, 1.0,
      "evidence");
  check_memory(p.memory);
  // The JSON of it can be read again, which it cannot with a number that is none.
  config::parse(to_json(p), "prediction");
  demand(!to_text(p).empty(), "a text");
}

}  // namespace

const Resources& bundle() {
  static const Resources kBundle = embedded_resources();
  return kBundle;
}

bool accepted(const std::function<void()>& read) {
  try {
    read();
    return true;
  } catch (const InputError& error) {
    demand(!error.diagnostics().empty(), "a fault of what is refused");
    for (const Diagnostic& fault : error.diagnostics()) {
      demand(!fault.message.empty(), "a message");
      demand(fault.line >= 0 && fault.column >= 0, "a place");
    }
    return false;
  }
}

void predict_and_check(const Resources& resources, const ScenarioText& scenario) {
  PredictOptions options;
  options.draws = 0;
  options.remedies = SeekRemedies::never;  // dozens of predictions more for an input
  check(predict(resources, scenario, options));
}

ScenarioText small_job(const std::string& model, const std::string& cluster,
                       const std::string& stack, const std::string& family,
                       const std::string& kernel) {
  using config::Node;
  Node document =
      Node::object({{"schema", Node::string("hysim.scenario/1")},
                    {"name", Node::string("fuzz")},
                    {"model", Node::string(model)},
                    {"cluster", Node::string(cluster)},
                    {"workload", Node::object({{"seq_len", Node::integer(8192)},
                                               {"global_batch_size", Node::integer(1 << 20)}})},
                    {"training", Node::object({{"stack", Node::string(stack)}})}});
  if (!family.empty()) {
    document.set("kernels", Node::object({{family, Node::string(kernel)}}));
  }
  return {config::to_text(document), "fuzz.json"};
}

}  // namespace hysim::fuzz
