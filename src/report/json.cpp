// hysim.prediction/1 and hysim.comparison/1: every field of the structs under fixed names, in SI.
// A quantity is {"value", "unit", "low", "high"}; without a range the three agree.
#include <cstdint>
#include <optional>

#include "hysim/report.h"
#include "report/json_parts.h"
#include "report/views.h"

namespace hysim {

namespace {

using namespace report::json;

Node parts_of(const std::vector<MemoryPart>& parts) {
  Node result = Node::object();
  for (const MemoryPart& part : parts) result.set(part.name, quantity(part.bytes.si(), kByte));
  return result;
}

Node remedy_of(const Remedy& remedy) {
  return Node::object({{"change", text(remedy.name)},
                       {"set", texts(remedy.sets)},
                       {"peak_per_gpu", quantity(remedy.peak_per_gpu.si(), kByte)},
                       {"host_per_node", quantity(remedy.host_per_node.si(), kByte)},
                       {"step_time", quantity(remedy.step_time.si(), kSecond)},
                       {"cost", Node::number(remedy.cost)},
                       {"fits", text(to_string(remedy.fits))}});
}

Node memory_of(const Memory& memory) {
  const bool stated = memory.host_capacity > Bytes{};
  const Node host = stated ? quantity(memory.host_capacity.si(), kByte) : Node::null();
  return Node::object({{"peak_per_gpu", ranged(memory.peak_per_gpu, kByte)},
                       {"capacity", quantity(memory.capacity.si(), kByte)},
                       {"host_per_node", quantity(memory.host_per_node.si(), kByte)},
                       {"host_capacity", host},
                       {"fits", text(to_string(memory.fits))},
                       {"fullest_stage", Node::integer(memory.fullest_stage)},
                       {"parts", parts_of(memory.parts)},
                       {"remedies", array_of(memory.remedies, remedy_of)},
                       {"by_stage", array_of(memory.by_stage, [](const StageMemory& stage) {
                          return Node::object({{"stage", Node::integer(stage.stage)},
                                               {"allocated", quantity(stage.allocated.si(), kByte)},
                                               {"reserved", quantity(stage.reserved.si(), kByte)},
                                               {"device", quantity(stage.device.si(), kByte)},
                                               {"parts", parts_of(stage.parts)}});
                        })}});
}

Node utilisation_of(const Utilisation& utilisation) {
  Node result = ranged(utilisation.fraction, kOne);
  result.set("flops_per_step", quantity(utilisation.flops_per_step.si(), "flop"));
  result.set("peak", quantity(utilisation.peak.si(), "flop/s"));
  result.set("convention", text(utilisation.convention));
  return result;
}

Node layout_of(const Layout& layout) {
  return Node::object(
      {{"tp", Node::integer(layout.tp)},
       {"cp", Node::integer(layout.cp)},
       {"pp", Node::integer(layout.pp)},
       {"vpp", Node::integer(layout.vpp)},
       {"dp", Node::integer(layout.dp)},
       {"ep", Node::integer(layout.ep)},
       {"etp", Node::integer(layout.etp)},
       {"layers_per_stage", array_of(layout.layers_per_stage,
                                     [](std::int64_t layers) { return Node::integer(layers); })}});
}

Node workload_of(const Prediction& p) {
  return Node::object({{"seq_len", Node::integer(p.seq_len)},
                       {"micro_batch_size", Node::integer(p.micro_batch_size)},
                       {"global_batch_size", Node::integer(p.global_batch_size)},
                       {"micro_batches", Node::integer(p.micro_batches)}});
}

Node node_of(const CollectiveRow& row) {
  return Node::object({{"path", text(row.path)},
                       {"kind", text(row.kind)},
                       {"ranks", Node::integer(row.ranks)},
                       {"nodes", Node::integer(row.nodes)},
                       {"per_node", Node::integer(row.per_node)},
                       {"bytes", quantity(row.bytes.si(), kByte)},
                       {"algorithm", text(row.algorithm)},
                       {"protocol", row.protocol.empty() ? Node::null() : text(row.protocol)},
                       {"time", quantity(row.time.si(), kSecond)},
                       {"algbw", quantity(row.algbw.si(), "B/s")},
                       {"busbw", quantity(row.busbw.si(), "B/s")},
                       {"count", Node::integer(row.count)}});
}

/// Days, GPU-hours, energy and cost; null where no number of tokens was asked about.
Node budget_of(const std::optional<Budget>& budget) {
  if (!budget) return Node::null();
  const auto optional = [](const std::optional<Ranged<double>>& value, std::string_view unit) {
    return value ? ranged(*value, unit) : Node::null();
  };
  return Node::object({{"tokens", Node::number(budget->tokens)},
                       {"steps", Node::integer(budget->steps)},
                       {"days", ranged(budget->days, "day")},
                       {"gpu_hours", ranged(budget->gpu_hours, "GPU-hour")},
                       {"energy", optional(budget->energy_kwh, "kWh")},
                       {"cost", optional(budget->cost_usd, "USD")},
                       {"assumptions", texts(budget->assumptions)}});
}

Node node_of(const Prediction& p) {
  return Node::object({
      {"schema", text("hysim.prediction/1")},
      {"kind", text(p.kind)},
      {"tool", tool()},
      {"scenario", text(p.scenario)},
      {"variant", text(p.variant)},
      {"model", text(p.model)},
      {"cluster", text(p.cluster)},
      {"gpu", text(p.gpu)},
      {"gpus", Node::integer(p.gpus)},
      {"workload", workload_of(p)},
      {"layout", layout_of(p.layout)},
      {"seed", seed(p.seed)},
      {"draws", Node::integer(p.draws)},
      {"step_time", ranged(p.step_time, kSecond)},
      {"tokens_per_second_per_gpu", ranged(p.tokens_per_second_per_gpu, "1/s")},
      {"mfu", utilisation_of(p.mfu)},
      {"hfu", utilisation_of(p.hfu)},
      {"model_flops", array_of(p.model_flops,
                               [](const FlopCount& count) {
                                 return Node::object(
                                     {{"name", text(count.name)},
                                      {"per_token", quantity(count.per_token.si(), "flop")},
                                      {"convention", text(count.convention)}});
                               })},
      {"memory", memory_of(p.memory)},
      {"stages", array_of(p.stages,
                          [](const StageCost& stage) {
                            return Node::object(
                                {{"stage", Node::integer(stage.stage)},
                                 {"forward", quantity(stage.forward.si(), kSecond)},
                                 {"backward", quantity(stage.backward.si(), kSecond)},
                                 {"busy", quantity(stage.busy.si(), kSecond)},
                                 {"flop_share", Node::number(stage.flop_share)}});
                          })},
      {"critical_stage", Node::integer(p.critical_stage)},
      {"breakdown", array_of(p.breakdown,
                             [](const BreakdownLeaf& leaf) {
                               return Node::object({{"path", text(leaf.path)},
                                                    {"time", ranged(leaf.time, kSecond)},
                                                    {"kind", text(to_string(leaf.kind))},
                                                    {"bound_by", text(leaf.bound_by)}});
                             })},
      {"communication",
       array_of(p.communication,
                [](const CommunicationRow& row) {
                  return Node::object({{"kind", text(row.kind)},
                                       {"tier", text(row.tier)},
                                       {"bytes_per_rank", quantity(row.bytes_per_rank.si(), kByte)},
                                       {"time", quantity(row.time.si(), kSecond)},
                                       {"exposed", quantity(row.exposed.si(), kSecond)}});
                })},
      {"collectives",
       array_of(p.collectives, [](const CollectiveRow& row) { return node_of(row); })},
      {"evidence", Node::object({{"this_gpu", Node::number(p.evidence.this_gpu)},
                                 {"other_gpu", Node::number(p.evidence.other_gpu)},
                                 {"datasheet", Node::number(p.evidence.datasheet)},
                                 {"assumed", Node::number(p.evidence.assumed)}})},
      {"budget", budget_of(p.budget)},
      {"assumptions", texts(p.assumptions)},
      {"warnings", warnings(p.warnings)},
      {"inputs", files(p.inputs)},
      {"constants", array_of(p.constants,
                             [](const Constant& c) {
                               Node node = ranged(c.value, c.low, c.high, c.unit);
                               node.set("id", text(c.id));
                               node.set("kind", text(c.kind));
                               node.set("source", text(c.source));
                               return node;
                             })},
      {"resolved_scenario", embedded(p.resolved_scenario)},
  });
}

Node node_of(const Hypothesis& hypothesis) {
  Node settings = Node::object();
  for (const auto& [path, value] : hypothesis.settings) settings.set(path, embedded(value));
  return Node::object({{"settings", std::move(settings)},
                       {"value", Node::number(hypothesis.ratio.value)},
                       {"low", Node::number(hypothesis.ratio.low)},
                       {"high", Node::number(hypothesis.ratio.high)},
                       {"fits", text(to_string(hypothesis.fits))}});
}

Node node_of(const AblationRow& row) {
  return Node::object({{"kind", text(to_string(row.kind))},
                       {"name", text(row.name)},
                       {"step_time", ranged(row.step_time, kSecond)},
                       {"speedup", ranged(row.ratio, kOne)},
                       {"fits", text(to_string(row.fits))}});
}

Node node_of(const Comparison& c) {
  Node envelope;
  if (c.envelope) {
    envelope = Node::object(
        {{"low", Node::number(c.envelope->first)}, {"high", Node::number(c.envelope->second)}});
  }
  Node reference;
  if (c.reference) {
    reference = Node::object(
        {{"speedup", Node::number(c.reference->speedup)}, {"source", text(c.reference->source)}});
  }
  Node speedup = Node::object(
      {{"baseline", text(c.speedup.baseline)}, {"candidate", text(c.speedup.candidate)}});
  const Node ratio = ranged(c.speedup.ratio, kOne);
  for (const auto& [key, value] : ratio.as_object()) speedup.set(key, value);
  speedup.set("hypothetical", Node::boolean(c.speedup.hypothetical));
  speedup.set("note", text(c.speedup.note));
  return Node::object({
      {"schema", text("hysim.comparison/1")},
      {"tool", tool()},
      {"speedup", std::move(speedup)},
      {"envelope", std::move(envelope)},
      {"reference", std::move(reference)},
      {"hypotheses", array_of(c.hypotheses, [](const Hypothesis& h) { return node_of(h); })},
      {"ablation", array_of(c.ablation, [](const AblationRow& row) { return node_of(row); })},
      {"warnings", warnings(report::all_warnings(c))},
      {"variants",
       array_of(c.variants,
                [](const Prediction& p) {
                  return Node::object({{"name", text(p.variant)}, {"prediction", node_of(p)}});
                })},
  });
}

}  // namespace

std::string to_json(const Prediction& prediction) {
  return config::to_text(node_of(prediction), 2) + "\n";
}

std::string to_json(const Comparison& comparison) {
  return config::to_text(node_of(comparison), 2) + "\n";
}

}  // namespace hysim
