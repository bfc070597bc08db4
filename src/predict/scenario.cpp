#include "predict/scenario.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "config/named.h"
#include "config/reader.h"
#include "config/words.h"

namespace hysim::predictor {

namespace {

using config::child_pointer;
using config::Faults;
using config::in_quotes;
using config::Node;
using config::Reader;

std::vector<VariantStep> read_steps(const std::string& variant, const Node& node,
                                    const std::string& pointer, Faults& faults) {
  std::vector<VariantStep> steps;
  if (node.is_object()) {
    steps.push_back({variant, node});
    return steps;
  }
  if (!node.is_array()) {
    faults.add(node, pointer,
               "must be a merge patch object or an array of {\"step\", \"set\"}, found " +
                   std::string(node.kind_name()));
    return steps;
  }
  for (std::size_t i = 0; i < node.as_array().size(); ++i) {
    Reader reader(node.as_array()[i], child_pointer(pointer, std::to_string(i)), faults);
    VariantStep step{reader.required_string("step"), Node::object()};
    if (const Node* set = reader.required("set"); set != nullptr) {
      if (set->is_object()) {
        step.patch = *set;
      } else {
        reader.fault(
            "set", "\"set\" must be a merge patch object, found " + std::string(set->kind_name()));
      }
    }
    reader.finish();
    steps.push_back(std::move(step));
  }
  return steps;
}

void read_variants(const Node* node, Scenario& scenario, Faults& faults) {
  if (node == nullptr) {
    scenario.variants.push_back({"default", {}});
    return;
  }
  if (!node->is_object() || node->as_object().empty()) {
    faults.add(*node, "/variants",
               "must be an object of at least one variant, found " +
                   std::string(node->is_object() ? "none" : node->kind_name()));
    return;
  }
  for (const auto& [name, value] : node->as_object()) {
    const std::string pointer = child_pointer("/variants", name);
    // "--set VARIANT:path=value" could not name it.
    if (name.empty() || name.find_first_of(":=") != std::string::npos) {
      faults.add(
          value, pointer,
          "the name of a variant must be a text without ':' and '=', found " + in_quotes(name));
    }
    scenario.variants.push_back({name, read_steps(name, value, pointer, faults)});
  }
}

std::string no_variant(std::string_view word, const std::vector<Variant>& variants) {
  std::vector<std::string> names;
  for (const Variant& v : variants) names.push_back(v.name);
  const std::string near = config::nearest(word, names);
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return in_quotes(word) + " is no variant of this scenario" +
         (!near.empty() ? "; did you mean " + in_quotes(near) + "?"
          : all.empty() ? ""
                        : "; variants: " + all);
}

bool names_variant(const std::vector<Variant>& variants, std::string_view name) {
  return std::any_of(variants.begin(), variants.end(),
                     [&](const Variant& v) { return v.name == name; });
}

/// Splits "[VARIANT:]path"; the part before ':' must be a variant.
std::pair<std::string, std::string> split_variant(const std::string& text,
                                                  const std::vector<Variant>& variants) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || !names_variant(variants, text.substr(0, colon))) {
    return {"", text};
  }
  return {text.substr(0, colon), text.substr(colon + 1)};
}

void read_unpublished(const Node* node, Scenario& scenario, Faults& faults) {
  if (node == nullptr) return;
  if (!node->is_object()) {
    faults.add(*node, "/unpublished",
               "must be an object of path: [values], found " + std::string(node->kind_name()));
    return;
  }
  for (const auto& [key, value] : node->as_object()) {
    const std::string pointer = child_pointer("/unpublished", key);
    if (!value.is_array() || value.as_array().empty()) {
      faults.add(value, pointer,
                 "must be an array of the values the setting may have, found " +
                     std::string(value.is_array() ? "an empty one" : value.kind_name()));
      continue;
    }
    const auto [variant, path] = split_variant(key, scenario.variants);
    if (path.find(':') != std::string::npos) {
      faults.add(value, pointer, no_variant(path.substr(0, path.find(':')), scenario.variants));
      continue;
    }
    scenario.unpublished.push_back({variant, path, value.as_array()});
  }
}

void read_reference(const Node* node, Scenario& scenario, Faults& faults) {
  if (node == nullptr) return;
  Reader reader(*node, "/reference", faults);
  Reference reference;
  reader.required("speedup");
  reference.speedup = reader.number("speedup", 0.0, 1e-3, 1e6);
  reference.source = reader.required_string("source");
  reader.finish();
  scenario.reference = std::move(reference);
}

// "--set " and the option's text stand for the file of what it sets.
constexpr const char* kSet = "--set ";

Diagnostic override_fault(const std::string& text, std::string message) {
  return {kSet + text, 0, 0, "", std::move(message)};
}

/// The pointer to the value written at `line` and `column`; nothing when there is none.
std::optional<std::string> pointer_at(const Node& node, const std::string& pointer, int line,
                                      int column) {
  const config::Position& position = node.position();
  if (position.line == line && position.column == column) return pointer;
  if (node.is_object()) {
    for (const auto& [key, value] : node.as_object()) {
      auto found = pointer_at(value, child_pointer(pointer, key), line, column);
      if (found) return found;
    }
  } else if (node.is_array()) {
    for (std::size_t i = 0; i < node.as_array().size(); ++i) {
      auto found =
          pointer_at(node.as_array()[i], child_pointer(pointer, std::to_string(i)), line, column);
      if (found) return found;
    }
  }
  return std::nullopt;
}

/// Where the scenario has the setting at pointer `setting`, of which the value at pointer
/// `written` is the whole or a part on the way to it.
std::string place_of(const std::string& setting, const std::string& written) {
  if (written.empty()) return setting;
  for (std::size_t end = setting.size(); end > 0 && end != std::string::npos;
       end = setting.rfind('/', end - 1)) {
    if (written.ends_with(setting.substr(0, end))) return written + setting.substr(end);
  }
  return written;
}

std::vector<Diagnostic> document_faults(const Scenario& scenario, const Variant& variant,
                                        const std::vector<Override>& overrides,
                                        hardware::NamedKernels* kernels) {
  Faults faults;
  check_settings(variant_document(scenario, variant.steps, variant.name, overrides), kernels,
                 faults);
  return placed(scenario, faults.diagnostics());
}

/// Faults of the settings of every variant, as they are and with every unpublished value.
void add_settings_faults(const Scenario& scenario, const std::vector<Override>& overrides,
                         hardware::NamedKernels* kernels, Faults& faults) {
  std::vector<Variant> variants = scenario.variants;
  if (variants.empty()) variants.push_back({});  // its faults are told already
  const auto add = [&](const std::vector<Diagnostic>& found) {
    for (const Diagnostic& fault : found) faults.add(fault);
  };
  for (const Variant& variant : variants) {
    const std::vector<Diagnostic> found = document_faults(scenario, variant, overrides, kernels);
    add(found);
    for (const Unpublished& setting : scenario.unpublished) {
      if (!setting.variant.empty() && setting.variant != variant.name) continue;
      for (const Node& value : setting.values) {
        std::vector<Override> changes = overrides;
        changes.push_back({setting.variant, setting.path, value});
        try {
          add(document_faults(scenario, variant, changes, kernels));
        } catch (const InputError& error) {
          if (found.empty()) add(error.diagnostics());  // else most likely for that reason
        }
      }
    }
  }
}

}  // namespace

Scenario parse_scenario(const ScenarioText& text) {
  const Node root = config::parse(text.text, text.path);
  Faults faults;
  Scenario scenario;
  if (!root.is_object()) {
    faults.add(root, "", "must be an object, found " + std::string(root.kind_name()));
    faults.throw_if_any();
  }
  read_variants(root.find("variants"), scenario, faults);
  read_unpublished(root.find("unpublished"), scenario, faults);
  read_reference(root.find("reference"), scenario, faults);
  if (const Node* list = root.find("assumptions"); list != nullptr) {
    if (!list->is_array()) {
      faults.add(*list, "/assumptions",
                 "must be an array of texts, found " + std::string(list->kind_name()));
    }
    for (std::size_t i = 0; list->is_array() && i < list->as_array().size(); ++i) {
      const Node& entry = list->as_array()[i];
      if (entry.is_string()) {
        scenario.assumptions.push_back(entry.as_string());
      } else {
        faults.add(entry, "/assumptions/" + std::to_string(i),
                   "must be a text, found " + std::string(entry.kind_name()));
      }
    }
  }
  scenario.base = root;
  scenario.document = root;
  for (const std::string_view key : kFrameKeys) scenario.base.erase(key);
  const Node* const name = root.find("name");
  if (name != nullptr && name->is_string()) scenario.name = name->as_string();
  if (!faults.empty()) {
    add_settings_faults(scenario, {}, nullptr, faults);
    faults.throw_if_any();
  }
  return scenario;
}

void check_settings(const Scenario& scenario, const std::vector<Override>& overrides,
                    const Resources* resources) {
  std::optional<hardware::NamedKernels> kernels;
  if (resources != nullptr) kernels.emplace(*resources);
  Faults faults;
  add_settings_faults(scenario, overrides, kernels ? &*kernels : nullptr, faults);
  faults.throw_if_any();
}

std::vector<Diagnostic> placed(const Scenario& scenario, std::vector<Diagnostic> diagnostics) {
  const config::Position& top = scenario.document.position();
  for (Diagnostic& fault : diagnostics) {
    if (fault.file.starts_with(kSet)) {
      fault.line = fault.column = 0;  // inside the option's value: the option says enough
    } else if (top.file && fault.file == *top.file && fault.line > 0) {
      const auto written = pointer_at(scenario.document, "", fault.line, fault.column);
      if (written) fault.pointer = place_of(fault.pointer, *written);
    }
  }
  return diagnostics;
}

Override parse_override(const std::string& text, const std::vector<Variant>& variants) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw InputError({override_fault(text,
                                     "must be [VARIANT:]path=value, for example "
                                     "kernels.topk=radix")});
  }
  Override result;
  std::tie(result.variant, result.path) = split_variant(text.substr(0, equals), variants);
  if (result.path.find(':') != std::string::npos) {
    const std::string word = result.path.substr(0, result.path.find(':'));
    throw InputError({override_fault(text, no_variant(word, variants))});
  }
  // The names of the "scale" section hold dots.
  if (constexpr std::string_view kScale = "scale."; result.path.starts_with(kScale)) {
    result.path = child_pointer("/scale", result.path.substr(kScale.size()));
  }
  const std::string value = text.substr(equals + 1);
  const std::string place = kSet + text;
  // A value that is no JSON is a word: kernels.topk=radix.
  try {
    result.value = config::parse(value, place);
  } catch (const InputError&) {
    result.value = Node::string(value, {std::make_shared<const std::string>(place), 0, 0});
  }
  return result;
}

Node variant_document(const Scenario& scenario, const std::vector<VariantStep>& steps,
                      const std::string& variant, const std::vector<Override>& overrides) {
  Node document = scenario.base;
  for (const VariantStep& step : steps) config::merge_patch(document, step.patch);
  for (const Override& change : overrides) {
    if (!change.variant.empty() && change.variant != variant) continue;
    try {
      config::set_path(document, change.path, change.value);
    } catch (const std::invalid_argument& error) {
      Faults faults;
      faults.add(change.value, "", error.what());
      throw InputError(placed(scenario, faults.diagnostics()));
    }
  }
  return document;
}

}  // namespace hysim::predictor

namespace hysim {

ScenarioText load_scenario(const Resources& resources, const std::string& name) {
  config::NamedDocument document = config::load_named(resources, "scenarios", "scenario", name,
                                                      "`hysim list scenarios` shows all");
  return {std::move(document.text), std::move(document.path)};
}

}  // namespace hysim
