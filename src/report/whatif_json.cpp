// hysim.sensitivity/1, hysim.breakeven/1 and hysim.sweep/1.
#include "hysim/report.h"
#include "report/json_parts.h"

namespace hysim {

namespace {

using namespace report::json;

Node optional_number(const std::optional<double>& value) {
  return value ? Node::number(*value) : Node::null();
}

Node optional_ratio(const std::optional<Ranged<double>>& value) {
  return value ? ranged(*value, kOne) : Node::null();
}

Node head(std::string_view schema, const std::string& scenario, const std::string& variant,
          const std::string& baseline) {
  return Node::object({{"schema", text(schema)},
                       {"tool", tool()},
                       {"scenario", text(scenario)},
                       {"variant", variant.empty() ? Node::null() : text(variant)},
                       {"baseline", baseline.empty() ? Node::null() : text(baseline)}});
}

/// What every answer ends with.
template <class Result>
std::string finished(Node node, const Result& result) {
  node.set("seed", seed(result.seed));
  node.set("draws", Node::integer(result.draws));
  node.set("warnings", warnings(result.warnings));
  node.set("inputs", files(result.files));
  return config::to_text(node, 2) + "\n";
}

Node node_of(const PartSensitivity& part) {
  return Node::object({{"name", text(part.name)},
                       {"family", Node::boolean(part.family)},
                       {"time", nominal(part.time.si(), kSecond)},
                       {"saved", nominal(part.saved.si(), kSecond)},
                       {"step_at_no_cost", nominal(part.limit.si(), kSecond)},
                       {"speedup", optional_number(part.speedup)}});
}

Node node_of(const InputSensitivity& input) {
  return Node::object({{"id", text(input.id)},
                       {"input", ranged(input.value, input.low, input.high, input.unit)},
                       {"kind", text(input.kind)},
                       {"better", Node::number(input.better)},
                       {"saved", nominal(input.saved.si(), kSecond)},
                       {"step_time", ranged(input.step, kSecond)},
                       {"share_of_variance", Node::number(input.spread)},
                       {"speedup", optional_number(input.speedup)}});
}

Node node_of(const SweepRow& row, const std::vector<SweepAxis>& axes) {
  Node settings = Node::object();
  for (std::size_t i = 0; i < axes.size(); ++i) settings.set(axes[i].path, embedded(row.values[i]));
  Node node = Node::object(
      {{"settings", std::move(settings)}, {"legal", Node::boolean(row.reason.empty())}});
  if (!row.reason.empty()) {
    node.set("reason", text(row.reason));
    return node;
  }
  node.set("step_time", ranged(row.step_time, kSecond));
  node.set("tokens_per_second_per_gpu", ranged(row.tokens_per_second_per_gpu, "1/s"));
  node.set("mfu", ranged(row.mfu, kOne));
  node.set("peak_memory", ranged(row.peak_memory, kByte));
  node.set("fits", text(to_string(row.fits)));
  node.set("speedup", optional_ratio(row.speedup));
  return node;
}

}  // namespace

std::string to_json(const Sensitivity& s) {
  Node node = head("hysim.sensitivity/1", s.scenario, s.variant, s.baseline);
  node.set("change", Node::number(kWhatIfChange));
  node.set("step_time", ranged(s.step_time, kSecond));
  node.set("speedup", optional_ratio(s.speedup));
  node.set("parts", array_of(s.parts, [](const PartSensitivity& part) { return node_of(part); }));
  node.set("input_values",
           array_of(s.inputs, [](const InputSensitivity& input) { return node_of(input); }));
  node.set("unmoved_inputs", Node::integer(s.unmoved_inputs));
  return finished(std::move(node), s);
}

std::string to_json(const Breakeven& b) {
  Node node = head("hysim.breakeven/1", b.scenario, b.variant, b.baseline);
  node.set("part", text(b.part));
  node.set("target_speedup", Node::number(b.target));
  node.set("present_speedup", Node::number(b.present));
  node.set("speedup_at_no_cost", Node::number(b.limit));
  node.set("factor", optional_ratio(b.factor));
  node.set("reachable", Node::number(b.reachable));
  node.set("part_time", nominal(b.part_time.si(), kSecond));
  node.set("step_time", nominal(b.step.si(), kSecond));
  node.set("reference_step_time", nominal(b.reference.si(), kSecond));
  return finished(std::move(node), b);
}

std::string to_json(const Sweep& s) {
  Node node = head("hysim.sweep/1", s.scenario, s.variant, s.baseline);
  node.set("axes", array_of(s.axes, [](const SweepAxis& axis) {
             return Node::object({{"path", text(axis.path)}, {"values", texts(axis.values)}});
           }));
  node.set("rows", array_of(s.rows, [&](const SweepRow& row) { return node_of(row, s.axes); }));
  return finished(std::move(node), s);
}

}  // namespace hysim
