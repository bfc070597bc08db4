// Predicts training steps: scenario text in, Prediction or Comparison out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hysim/prediction.h"
#include "hysim/resources.h"

namespace hysim {

/// Runs body(0) ... body(count - 1), in any order and on any threads, and returns when all are
/// done. Results do not depend on it.
using Executor =
    std::function<void(std::int64_t count, const std::function<void(std::int64_t)>& body)>;

/// Runs the bodies one after another.
Executor serial_executor();

/// A scenario document and the name its faults are reported under.
struct ScenarioText {
  std::string text;
  std::string path;
};

/// "[VARIANT:]path=value" as given to --set: dotted path or JSON pointer; the value is JSON,
/// otherwise a string. Applied after the variant's own patches; an error if it changes nothing.
using SetText = std::string;

/// When to look for changes that would make a job fit: each costs some dozen nominal predictions.
enum class SeekRemedies { never, when_unfit, when_tight };

struct PredictOptions {
  std::string variant;  // "" is the scenario's first
  std::vector<SetText> sets;
  std::uint64_t seed = 1;
  std::int64_t draws = 200;  // 0: nominal only
  SeekRemedies remedies = SeekRemedies::when_unfit;
  Executor executor = serial_executor();
};

struct CompareOptions {
  std::string baseline;   // "" is the first variant
  std::string candidate;  // "" is the last variant
  std::vector<SetText> sets;
  std::uint64_t seed = 1;
  std::int64_t draws = 200;
  SeekRemedies remedies = SeekRemedies::when_unfit;
  Executor executor = serial_executor();
};

/// scenarios/<name>.json of `resources`; throws InputError naming the nearest known scenario.
ScenarioText load_scenario(const Resources& resources, const std::string& name);

/// Throws InputError for a faulty scenario or document it names, std::invalid_argument for
/// negative draws (as the others do).
Prediction predict(const Resources& resources, const ScenarioText& scenario,
                   const PredictOptions& options = {});

/// Every variant of one scenario.
Comparison compare(const Resources& resources, const ScenarioText& scenario,
                   const CompareOptions& options = {});

/// The first variant of each of two scenarios; `a` is the baseline.
Comparison compare(const Resources& resources, const ScenarioText& a, const ScenarioText& b,
                   const CompareOptions& options = {});

}  // namespace hysim
