// What every command asks of a scenario: which variant, with which settings, and which files an
// answer rests on.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hysim/predict.h"
#include "hysim/prediction.h"
#include "hysim/resources.h"
#include "predict/scenario.h"

namespace hysim::predictor {

/// A Resources that notes what was read, for the inputs of an answer.
class Inputs {
 public:
  explicit Inputs(const Resources& resources);
  const Resources& resources() const { return recording_; }
  void add(const ScenarioText& scenario);
  std::vector<InputFile> files() const;

 private:
  using Seen = std::map<std::string, std::string>;  // description, hash
  std::shared_ptr<Seen> seen_;
  Resources recording_;
};

/// A fault of the frame's `key`, or of the whole document when it has no such key.
[[noreturn]] void refuse(const Scenario& scenario, std::string_view key, std::string message);

/// Throws InputError naming the nearest variant and all of them.
const Variant& find_variant(const Scenario& scenario, const std::string& name);
/// The first where none is named.
const Variant& variant_or_first(const Scenario& scenario, const std::string& name);

std::vector<Override> parse_sets(const std::vector<SetText>& sets,
                                 const std::vector<Variant>& variants);

/// What one --set did to the variants asked for.
struct Effect {
  bool applies = false;  // to at least one of them
  bool changes = false;
};
void note_effects(const Scenario& scenario, const std::vector<Variant>& variants,
                  const std::vector<Override>& overrides, std::vector<Effect>& effects);
/// A --set that leaves everything as it was is a mistake, most likely of spelling: InputError.
void require_effects(const std::vector<SetText>& texts, const std::vector<Effect>& effects);
void require_effects(const Scenario& scenario, const std::vector<Variant>& variants,
                     const std::vector<SetText>& texts, const std::vector<Override>& overrides);

/// Throws std::invalid_argument when negative.
void require_draws(std::int64_t draws);

}  // namespace hysim::predictor
