// Renders predictions and comparisons: JSON documents and terminal text from the same values.
#pragma once

#include <string>

#include "hysim/prediction.h"
#include "hysim/whatif.h"

namespace hysim {

struct TextStyle {
  int width = 80;
  bool color = false;
};

/// JSON text of kind hysim.prediction/1 and hysim.comparison/1; quantities are
/// {"value", "unit", "low", "high"}.
std::string to_json(const Prediction& prediction);
std::string to_json(const Comparison& comparison);

/// hysim.sensitivity/1, hysim.breakeven/1 and hysim.sweep/1.
std::string to_json(const Sensitivity& result);
std::string to_json(const Breakeven& result);
std::string to_json(const Sweep& result);

/// The first screen: the answer first, then where the time goes.
std::string to_text(const Prediction& prediction, const TextStyle& style = {});
std::string to_text(const Comparison& comparison, const TextStyle& style = {});

}  // namespace hysim
