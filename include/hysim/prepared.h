// One variant of a scenario made ready once, and its step time asked for thousands of times:
// nominal, in draws, with parts faster or slower. predict() reads its documents anew each time;
// this does not.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hysim/predict.h"
#include "hysim/resources.h"
#include "hysim/units.h"

namespace hysim {

/// Answers in tens of microseconds, without an allocation after the first. One thread at a time;
/// copies are not made: prepare one for each thread.
/// Example: how much a top-k of half the time would save.
///     PreparedPrediction step(bundled, load_scenario(bundled, "glm-5.1-1m-h20-512"));
///     const Seconds today = step.step_time();
///     step.scale("kernels.topk", 0.5);
///     const Seconds saved = today - step.step_time();
class PreparedPrediction {
 public:
  /// `variant`: "" is the scenario's first. Throws as predict does.
  PreparedPrediction(const Resources& resources, const ScenarioText& scenario,
                     const std::string& variant = {}, const std::vector<SetText>& sets = {});
  ~PreparedPrediction();
  PreparedPrediction(PreparedPrediction&&) noexcept;
  PreparedPrediction& operator=(PreparedPrediction&&) noexcept;

  /// predict's nominal step time, to the last bit.
  Seconds step_time();
  /// Draw number `draw`, from 0, of those that predict makes its range of with `seed`.
  Seconds step_time(std::uint64_t seed, std::uint64_t draw);

  /// Multiplies the time of every part of this name ("kernels.topk", "communication.ep"; the names
  /// of a scenario's "scale") from here on, what was scaled before included. `factor` 0 is at no
  /// cost. Throws std::invalid_argument for a name that there is not, one that this step has
  /// nothing of, and a factor that is negative or no number.
  void scale(const std::string& name, double factor);
  /// Takes every scale() back.
  void reset();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace hysim
