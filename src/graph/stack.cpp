#include "graph/stack.h"

#include <algorithm>

#include "config/named.h"
#include "config/words.h"

namespace hysim::graph {

namespace {

constexpr std::string_view kFolder = "hw_profiles/stacks";

struct Field {
  std::string_view key;
  std::string_view si_unit;
  config::Sourced StackProfile::*member;
  double most;  // of the high end
  std::string_view most_text;
  bool required = true;
};
constexpr Field kFields[] = {
    {"launch_gap", "s", &StackProfile::launch_gap, 1.0, "1 s"},
    {"context_bytes", "B", &StackProfile::context_bytes, 1e12, "1 TB"},
    {"nccl_bytes", "B", &StackProfile::nccl_bytes, 1e12, "1 TB"},
    {"fragmentation", "1", &StackProfile::fragmentation, 10.0, "10"},
    {"dispatch_sms", "1", &StackProfile::dispatch_sms, 1024.0, "1024", false},
};

/// {"in": [...]} or {"not": value or [...]}
std::vector<config::Node> read_values(config::Reader& reader, std::string_view key) {
  const config::Node* const values = reader.raw(key);
  if (values == nullptr) return {};
  if (!values->is_array()) return {*values};
  if (values->as_array().empty()) reader.fault(key, "must name at least one value");
  return values->as_array();
}

/// What limits may ask of a job beside its settings (predict/limit_facts.cpp), and what it is.
struct Fact {
  std::string_view path;
  config::Node example;
};
const std::vector<Fact>& facts_known() {
  using config::Node;
  static const std::vector<Fact> facts = {{"model.name", Node::string("")},
                                          {"model.attention", Node::string("")},
                                          {"model.heads_per_rank", Node::integer(1)},
                                          {"model.index_top_k", Node::integer(1)},
                                          {"model.shares_indices", Node::boolean(true)},
                                          {"gpu.name", Node::string("")},
                                          {"gpu.architecture", Node::string("")},
                                          {"workload.unpacked_score_bytes", Node::integer(1)}};
  return facts;
}

bool alike(const config::Node& a, const config::Node& b) {
  return (a.is_string() && b.is_string()) || (a.is_number() && b.is_number()) ||
         (a.is_boolean() && b.is_boolean());
}

/// A condition that no job can meet is a mistake: an unknown fact, or a value of another kind.
void check_condition(const StackLimit::Condition& condition, const std::string& pointer,
                     const config::Node& node, config::Faults& faults) {
  const std::vector<Fact>& known = facts_known();
  const auto fact = std::find_if(known.begin(), known.end(),
                                 [&](const Fact& f) { return f.path == condition.path; });
  if (fact == known.end()) {
    if (!condition.path.starts_with("model.") && !condition.path.starts_with("gpu.")) return;
    std::vector<std::string> paths;
    for (const Fact& f : known) paths.emplace_back(f.path);
    const std::string near = config::nearest(condition.path, paths);
    faults.add(node, pointer,
               "unknown: of models and GPUs a limit may ask " +
                   (near.empty() ? "model.attention, for example" : near));
    return;
  }
  const std::string must = "must be " + std::string(fact->example.is_string()    ? "a string"
                                                    : fact->example.is_boolean() ? "true or false"
                                                                                 : "a number");
  for (const auto* values : {&condition.any_of, &condition.none_of}) {
    for (const config::Node& value : *values) {
      if (alike(value, fact->example)) continue;
      faults.add(value, pointer, must + ", found " + std::string(value.kind_name()));
    }
  }
  if ((condition.at_least || condition.at_most) && !fact->example.is_number()) {
    faults.add(node, pointer, must + ": \"at_least\" and \"at_most\" are of numbers");
  }
}

StackLimit::Condition read_condition(const std::string& path, const config::Node& node,
                                     const std::string& pointer, config::Faults& faults) {
  StackLimit::Condition condition;
  condition.path = path;
  if (!node.is_object()) {
    condition.any_of = {node};
    return condition;
  }
  config::Reader reader(node, pointer, faults);
  condition.any_of = read_values(reader, "in");
  condition.none_of = read_values(reader, "not");
  const auto bound = [&](std::string_view key) -> std::optional<double> {
    if (reader.raw(key) == nullptr) return std::nullopt;
    return reader.number(key, 0.0, 0.0, 1e18);
  };
  condition.at_least = bound("at_least");
  condition.at_most = bound("at_most");
  if (node.as_object().empty()) {
    reader.fault("",
                 "must be a value to equal, or some of \"in\", \"not\", \"at_least\" and "
                 "\"at_most\"");
  }
  reader.finish();
  return condition;
}

StackLimit read_limit(const config::Node& node, const std::string& pointer,
                      config::Faults& faults) {
  StackLimit limit;
  config::Reader reader(node, pointer, faults);
  limit.id = reader.required_string("id");
  limit.message = reader.required_string("message");
  limit.source = reader.required_string("source");
  if (const config::Node* when = reader.required("when"); when != nullptr) {
    if (when->is_object()) {
      for (const auto& [path, value] : when->as_object()) {
        const std::string place = config::child_pointer(pointer + "/when", path);
        limit.when.push_back(read_condition(path, value, place, faults));
        check_condition(limit.when.back(), place, value, faults);
      }
    } else {
      reader.fault("when", "must be an object of scenario paths");
    }
  }
  reader.finish();
  return limit;
}

bool contains(const std::vector<config::Node>& values, const config::Node& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

bool met(const StackLimit::Condition& condition, const config::Node& facts) {
  const config::Node* const value = config::find_path(facts, condition.path);
  if (value == nullptr) return false;
  if (!condition.any_of.empty() && !contains(condition.any_of, *value)) return false;
  if (contains(condition.none_of, *value)) return false;
  if (!condition.at_least && !condition.at_most) return true;
  if (!value->is_number()) return false;
  const double number = value->as_number();
  return number >= condition.at_least.value_or(number) &&
         number <= condition.at_most.value_or(number);
}

bool met(const StackLimit& limit, const config::Node& facts) {
  return !limit.when.empty() &&
         std::all_of(limit.when.begin(), limit.when.end(),
                     [&](const StackLimit::Condition& c) { return met(c, facts); });
}

}  // namespace

Stack resolve(const StackProfile& profile, const config::Sampler& sampler, std::string_view gpu) {
  Stack stack;
  stack.launch_gap = Seconds(sampler(profile.launch_gap));
  stack.launch_evidence = config::evidence_of(profile.launch_gap, gpu);
  stack.context = Bytes(sampler(profile.context_bytes));
  stack.nccl_per_communicator = Bytes(sampler(profile.nccl_bytes));
  stack.fragmentation = sampler(profile.fragmentation);
  stack.dispatch_sms = {sampler(profile.dispatch_sms),
                        config::evidence_of(profile.dispatch_sms, gpu)};
  return stack;
}

StackProfile parse_stack(std::string_view text, std::string_view path) {
  const config::Node root = config::parse(text, path);
  config::Faults faults;
  config::Reader reader(root, "", faults);
  const std::string schema = reader.required_string("schema");
  if (!schema.empty() && schema != "hysim.stack/1") {
    reader.fault("schema", "must be \"hysim.stack/1\", found \"" + schema + "\"");
  }
  StackProfile stack;
  stack.name = reader.required_string("name");
  reader.ignore("note");
  {
    config::Reader overlap = reader.object("overlap");
    stack.overlap.tp = overlap.boolean("tp", stack.overlap.tp);
    stack.overlap.cp = overlap.boolean("cp", stack.overlap.cp);
    stack.overlap.grad_reduce = overlap.boolean("grad_reduce", stack.overlap.grad_reduce);
    stack.overlap.param_gather = overlap.boolean("param_gather", stack.overlap.param_gather);
    stack.overlap.shared_expert = overlap.boolean("shared_expert", stack.overlap.shared_expert);
    overlap.finish();
  }
  for (const Field& field : kFields) {
    const config::Node* const value =
        field.required ? reader.required(field.key) : reader.raw(field.key);
    if (value == nullptr) continue;
    const std::size_t before = faults.count();
    stack.*field.member =
        config::read_sourced(*value, "/" + std::string(field.key),
                             "stack/" + std::string(field.key), field.si_unit, faults);
    if (faults.count() > before) continue;
    if ((stack.*field.member).low < 0.0) reader.fault(field.key, "must not be negative");
    if ((stack.*field.member).high > field.most) {
      reader.fault(field.key, "must be at most " + std::string(field.most_text));
    }
  }
  if (const config::Node* limits = reader.raw("limits"); limits != nullptr) {
    if (limits->is_array()) {
      for (std::size_t i = 0; i < limits->as_array().size(); ++i) {
        stack.limits.push_back(
            read_limit(limits->as_array()[i], "/limits/" + std::to_string(i), faults));
      }
    } else {
      reader.fault("limits", "must be an array");
    }
  }
  reader.finish();
  faults.throw_if_any();
  return stack;
}

StackProfile load_stack(const Resources& resources, std::string_view name) {
  const config::NamedDocument document = config::load_named(resources, kFolder, "stack", name, "");
  return parse_stack(document.text, document.path);
}

std::vector<StackLimit> limits_met(const StackProfile& stack, const config::Node& facts) {
  std::vector<StackLimit> limits;
  for (const StackLimit& limit : stack.limits) {
    if (met(limit, facts)) limits.push_back(limit);
  }
  return limits;
}

}  // namespace hysim::graph
