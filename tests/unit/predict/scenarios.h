// Scenarios and helpers the tests of the predictor share.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hysim/errors.h"
#include "hysim/predict.h"
#include "hysim/prediction.h"

namespace hysim::predictor::test {

/// The bundled documents.
const Resources& bundle();
std::string bundled_text(std::string_view path);
/// Names of the bundled scenarios.
std::vector<std::string> scenario_names();
ScenarioText bundled_scenario(const std::string& name);

/// Each variant of each bundled scenario.
struct BundledVariant {
  ScenarioText scenario;
  std::string name;  // of the scenario
  std::string variant;
};
const std::vector<BundledVariant>& bundled_variants();

/// GLM-5.1 at 128K tokens on 512 H20: "table", and "fused" in two steps, HyTopK and replay.
ScenarioText two_variants();
/// Llama-2-7B at 4K tokens with plain data parallelism on one node of eight H100.
ScenarioText dense();
/// `text` with the only `from` replaced.
std::string replaced(std::string text, std::string_view from, std::string_view to);
ScenarioText replaced(ScenarioText scenario, std::string_view from, std::string_view to);
/// Every `from` replaced.
std::string replaced_all(std::string text, std::string_view from, std::string_view to);

Prediction predict_nominal(const ScenarioText& scenario, const std::vector<SetText>& sets = {},
                           const std::string& variant = {}, const Resources& resources = bundle());
Comparison compare_nominal(const ScenarioText& scenario, const std::vector<SetText>& sets = {},
                           const Resources& resources = bundle());

/// What `run` is refused for; a test failure when it is not.
std::vector<Diagnostic> faults_of(const std::function<void()>& run);

/// Ids of its warnings, in order.
std::vector<std::string> ids_of(const Prediction& prediction);

/// Every field, numbers to the last bit.
std::string fingerprint(const Prediction& prediction);
std::string fingerprint(const Comparison& comparison);

/// Whether every quantity with a range keeps low <= value <= high; a text that names those that do
/// not, "" when there is none.
std::string disordered(const Prediction& prediction);

}  // namespace hysim::predictor::test
