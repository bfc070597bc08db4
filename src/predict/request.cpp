#include "predict/request.h"

#include <stdexcept>

#include "config/reader.h"
#include "config/sha256.h"
#include "config/words.h"
#include "hysim/errors.h"

namespace hysim::predictor {

Inputs::Inputs(const Resources& resources) : seen_(std::make_shared<Seen>()) {
  recording_ = resources;
  recording_.read = [inner = resources, seen = seen_](std::string_view path) {
    std::optional<std::string> text = inner.read(path);
    if (text) {
      const auto [entry, first] = seen->try_emplace(inner.describe(path));
      if (first) entry->second = config::sha256_hex(*text);
    }
    return text;
  };
}

void Inputs::add(const ScenarioText& scenario) {
  (*seen_)[scenario.path] = config::sha256_hex(scenario.text);
}

std::vector<InputFile> Inputs::files() const {
  std::vector<InputFile> files;
  for (const auto& [path, hash] : *seen_) files.push_back({path, hash});
  return files;
}

void refuse(const Scenario& scenario, std::string_view key, std::string message) {
  const config::Node* const at = scenario.document.find(key);
  config::Faults faults;
  faults.add(at != nullptr ? *at : scenario.document, config::child_pointer("", key),
             std::move(message));
  throw InputError(faults.diagnostics());
}

const Variant& find_variant(const Scenario& scenario, const std::string& name) {
  std::vector<std::string> names;
  for (const Variant& variant : scenario.variants) {
    if (variant.name == name) return variant;
    names.push_back(variant.name);
  }
  const std::string near = config::nearest(name, names);
  std::string known;
  for (const std::string& n : names) known += (known.empty() ? "" : ", ") + n;
  refuse(scenario, "variants",
         "no variant is named " + config::in_quotes(name) +
             (near.empty() ? "" : "; did you mean " + config::in_quotes(near) + "?") +
             " (variants: " + known + ")");
}

const Variant& variant_or_first(const Scenario& scenario, const std::string& name) {
  return name.empty() ? scenario.variants.front() : find_variant(scenario, name);
}

std::vector<Override> parse_sets(const std::vector<SetText>& sets,
                                 const std::vector<Variant>& variants) {
  std::vector<Override> overrides;
  overrides.reserve(sets.size());
  for (const SetText& text : sets) overrides.push_back(parse_override(text, variants));
  return overrides;
}

void note_effects(const Scenario& scenario, const std::vector<Variant>& variants,
                  const std::vector<Override>& overrides, std::vector<Effect>& effects) {
  for (const Variant& variant : variants) {
    std::vector<Override> applied;
    config::Node before = variant_document(scenario, variant.steps, variant.name, applied);
    for (std::size_t i = 0; i < overrides.size(); ++i) {
      applied.push_back(overrides[i]);
      config::Node after = variant_document(scenario, variant.steps, variant.name, applied);
      effects[i].applies = effects[i].applies || overrides[i].variant.empty() ||
                           overrides[i].variant == variant.name;
      effects[i].changes = effects[i].changes || !(before == after);
      before = std::move(after);
    }
  }
}

void require_effects(const std::vector<SetText>& texts, const std::vector<Effect>& effects) {
  for (std::size_t i = 0; i < effects.size(); ++i) {
    if (effects[i].changes) continue;
    throw InputError(
        {Diagnostic{"--set " + texts[i], 0, 0, "",
                    effects[i].applies ? "changes nothing: the setting has this value already"
                                       : "changes nothing: another variant is asked for"}});
  }
}

void require_effects(const Scenario& scenario, const std::vector<Variant>& variants,
                     const std::vector<SetText>& texts, const std::vector<Override>& overrides) {
  std::vector<Effect> effects(overrides.size());
  note_effects(scenario, variants, overrides, effects);
  require_effects(texts, effects);
}

void require_draws(std::int64_t draws) {
  if (draws < 0) throw std::invalid_argument("draws must not be negative");
}

}  // namespace hysim::predictor
