// Reads two saved predictions and lists what differs.
#include "hysim/diff.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "config/reader.h"
#include "config/words.h"

namespace hysim {

namespace {

using config::Faults;
using config::Node;
using config::Reader;

/// One prediction of a file, as far as a comparison needs it.
struct Saved {
  std::string name;  // of the variant
  std::string title;
  Ranged<Seconds> step;
  Ranged<double> tokens_rate;
  Ranged<double> mfu;
  double tokens = 0.0;  // of a step
  Ranged<Bytes> peak;
  std::string fits;
  std::map<std::string, double> leaves;
  std::map<std::string, double> parts;
  std::map<std::string, std::string> settings;
  std::map<std::string, std::string> constants;
  std::map<std::string, std::string> inputs;
  std::map<std::string, std::string> program;
  bool has_constants = false;
};

Ranged<double> read_ranged(Reader& parent, std::string_view key) {
  parent.required(key);
  Reader reader = parent.object(key);
  constexpr double kMost = 1e300;
  const auto number = [&](std::string_view name) {
    reader.required(name);
    return reader.number(name, 0.0, -kMost, kMost);
  };
  Ranged<double> value;
  value.value = number("value");
  value.low = number("low");
  value.high = number("high");
  return value;
}
template <class Q>
Ranged<Q> quantity(const Ranged<double>& r) {
  return {Q(r.value), Q(r.low), Q(r.high)};
}

/// Every value of a document that is no object, by dotted path.
void flatten(const Node& node, const std::string& path, std::map<std::string, std::string>& flat) {
  if (!node.is_object()) {
    flat[path] = config::to_text(node);
    return;
  }
  for (const auto& [key, value] : node.as_object()) {
    flatten(value, path.empty() ? key : path + "." + key, flat);
  }
}

/// Items of an array of objects, each read by `read`.
template <class Read>
void each(Reader& parent, std::string_view key, const Read& read) {
  const Node* const list = parent.required(key);
  if (list == nullptr) return;
  if (!list->is_array()) {
    parent.fault(key, "must be an array, found " + std::string(list->kind_name()));
    return;
  }
  const std::string pointer = config::child_pointer(parent.pointer(), key);
  for (std::size_t i = 0; i < list->as_array().size(); ++i) {
    Reader reader(list->as_array()[i], config::child_pointer(pointer, std::to_string(i)),
                  parent.faults());
    read(reader);
  }
}

/// "gpu/h20-96/hbm_bandwidth" is "gpu/hbm_bandwidth": GPUs are compared field by field.
std::string constant_name(const std::string& id) {
  if (!id.starts_with("gpu/")) return id;
  const std::size_t slash = id.find('/', 4);
  return slash == std::string::npos ? id : "gpu" + id.substr(slash);
}

void read_memory(Reader& root, Saved& saved) {
  root.required("memory");
  Reader memory = root.object("memory");
  saved.peak = quantity<Bytes>(read_ranged(memory, "peak_per_gpu"));
  saved.fits = memory.required_string("fits");
  Reader parts = memory.object("parts");
  if (!parts.node().is_object()) return;
  for (const auto& [name, value] : parts.node().as_object()) {
    Reader part(value, config::child_pointer(parts.pointer(), name), root.faults());
    saved.parts[name] = part.number("value", 0.0, -1e300, 1e300);
  }
}

/// Tokens of a step.
double read_tokens(Reader& root) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  root.required("workload");
  Reader workload = root.object("workload");
  const auto seq_len = workload.required_integer("seq_len", 1, kMost);
  const auto sequences = workload.required_integer("global_batch_size", 1, kMost);
  return static_cast<double>(seq_len) * static_cast<double>(sequences);
}

void read_program(Reader& root, Saved& saved) {
  Reader tool = root.object("tool");
  for (const char* key : {"version", "commit"}) {
    if (tool.has(key)) saved.program[key] = config::to_text(*tool.raw(key));
  }
  for (const char* key : {"seed", "draws"}) {
    if (root.has(key)) saved.program[key] = config::to_text(*root.raw(key));
  }
}

Saved read_prediction(const Node& node, const std::string& pointer, Faults& faults) {
  Reader root(node, pointer, faults);
  Saved saved;
  const std::string schema = root.required_string("schema");
  if (!schema.empty() && schema != "hysim.prediction/1") {
    root.fault("schema", "must be \"hysim.prediction/1\", found " + config::in_quotes(schema));
    return saved;
  }
  const std::string scenario = root.required_string("scenario");
  saved.name = root.required_string("variant");
  saved.title = scenario + " (" + saved.name + ")";
  saved.step = quantity<Seconds>(read_ranged(root, "step_time"));
  saved.tokens_rate = read_ranged(root, "tokens_per_second_per_gpu");
  saved.mfu = read_ranged(root, "mfu");
  saved.tokens = read_tokens(root);
  read_memory(root, saved);
  each(root, "breakdown", [&](Reader& leaf) {
    if (leaf.required_string("kind") != "critical") return;
    saved.leaves[leaf.required_string("path")] = read_ranged(leaf, "time").value;
  });
  each(root, "inputs", [&](Reader& input) {
    saved.inputs[input.required_string("path")] =
        config::to_text(Node::string(input.required_string("sha256")));
  });
  saved.has_constants = root.has("constants");
  if (saved.has_constants) {
    each(root, "constants", [&](Reader& constant) {
      const std::string name = constant_name(constant.required_string("id"));
      const Node* const value = constant.required("value");
      const std::string unit = constant.required_string("unit");
      if (value == nullptr) return;
      saved.constants[name] = config::to_text(*value) + (unit == "1" ? "" : " " + unit);
    });
  }
  if (const Node* const settings = root.required("resolved_scenario")) {
    flatten(*settings, "", saved.settings);
    saved.settings.erase("name");
  }
  read_program(root, saved);
  return saved;
}

std::vector<Saved> read_file(std::string_view text, std::string_view path) {
  const Node node = config::parse(text, path);
  Faults faults;
  Reader root(node, "", faults);
  const std::string schema = root.required_string("schema");
  std::vector<Saved> saved;
  if (schema == "hysim.prediction/1") {
    saved.push_back(read_prediction(node, "", faults));
  } else if (schema == "hysim.comparison/1") {
    each(root, "variants", [&](Reader& variant) {
      const std::string name = variant.required_string("name");
      if (const Node* const prediction = variant.required("prediction")) {
        saved.push_back(read_prediction(
            *prediction, config::child_pointer(variant.pointer(), "prediction"), faults));
        saved.back().name = name;
      }
    });
    if (faults.empty() && saved.empty()) root.fault("variants", "has no variant");
  } else if (!schema.empty()) {
    root.fault("schema",
               "must be \"hysim.prediction/1\" or \"hysim.comparison/1\", as --json writes them, "
               "found " +
                   config::in_quotes(schema));
  }
  faults.throw_if_any();
  return saved;
}

std::vector<Difference> differences(const std::map<std::string, std::string>& a,
                                    const std::map<std::string, std::string>& b) {
  std::vector<Difference> list;
  for (const auto& [key, value] : a) {
    const auto other = b.find(key);
    if (other == b.end()) {
      list.push_back({key, value, ""});
    } else if (other->second != value) {
      list.push_back({key, value, other->second});
    }
  }
  for (const auto& [key, value] : b) {
    if (a.find(key) == a.end()) list.push_back({key, "", value});
  }
  std::sort(list.begin(), list.end(),
            [](const Difference& x, const Difference& y) { return x.what < y.what; });
  return list;
}

/// Values that differ, the largest difference first.
template <class Item, class Q>
std::vector<Item> numeric_differences(const std::map<std::string, double>& a,
                                      const std::map<std::string, double>& b) {
  std::map<std::string, std::pair<double, double>> both;
  for (const auto& [key, value] : a) both[key].first = value;
  for (const auto& [key, value] : b) both[key].second = value;
  std::vector<Item> list;
  for (const auto& [key, values] : both) {
    if (values.first != values.second) list.push_back({key, Q(values.first), Q(values.second)});
  }
  std::stable_sort(list.begin(), list.end(), [](const Item& x, const Item& y) {
    return std::fabs((x.b - x.a).si()) > std::fabs((y.b - y.a).si());
  });
  return list;
}

PredictionDiff compared(const Saved& a, const Saved& b) {
  PredictionDiff d;
  d.a = a.title;
  d.b = b.title;
  d.step_a = a.step;
  d.step_b = b.step;
  d.tokens_rate_a = a.tokens_rate;
  d.tokens_rate_b = b.tokens_rate;
  d.mfu_a = a.mfu;
  d.mfu_b = b.mfu;
  d.tokens_a = a.tokens;
  d.tokens_b = b.tokens;
  d.peak_a = a.peak;
  d.peak_b = b.peak;
  d.fits_a = a.fits;
  d.fits_b = b.fits;
  d.leaves = numeric_differences<LeafDifference, Seconds>(a.leaves, b.leaves);
  d.memory = numeric_differences<PartDifference, Bytes>(a.parts, b.parts);
  d.settings = differences(a.settings, b.settings);
  d.constants_known = a.has_constants && b.has_constants;
  if (d.constants_known) d.constants = differences(a.constants, b.constants);
  d.inputs = differences(a.inputs, b.inputs);
  d.program = differences(a.program, b.program);
  return d;
}

}  // namespace

Diff diff(std::string_view text_a, std::string_view path_a, std::string_view text_b,
          std::string_view path_b) {
  Diff result;
  result.path_a = std::string(path_a);
  result.path_b = std::string(path_b);
  const std::vector<Saved> a = read_file(text_a, path_a);
  const std::vector<Saved> b = read_file(text_b, path_b);
  if (a.size() == 1 && b.size() == 1) {
    result.pairs.push_back(compared(a.front(), b.front()));
    return result;
  }
  const auto named = [](const std::vector<Saved>& list, const std::string& name) {
    return std::find_if(list.begin(), list.end(), [&](const Saved& s) { return s.name == name; });
  };
  for (const Saved& one : a) {
    const auto other = named(b, one.name);
    if (other == b.end()) {
      result.only_a.push_back(one.name);
    } else {
      result.pairs.push_back(compared(one, *other));
    }
  }
  for (const Saved& one : b) {
    if (named(a, one.name) == a.end()) result.only_b.push_back(one.name);
  }
  return result;
}

}  // namespace hysim
