// What changed between two saved predictions, and why: settings, constants, inputs, program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hysim/prediction.h"
#include "hysim/report.h"
#include "hysim/units.h"

namespace hysim {

/// One thing that differs; texts are JSON values, "" where one side has none.
struct Difference {
  std::string what;  // dotted path of a setting, id of a constant, path of an input
  std::string a;
  std::string b;
};

/// A breakdown leaf or a part of memory on both sides; zero where one side has none.
struct LeafDifference {
  std::string path;
  Seconds a;
  Seconds b;
};
struct PartDifference {
  std::string name;
  Bytes a;
  Bytes b;
};

/// One prediction against another.
struct PredictionDiff {
  std::string a;  // "scenario (variant)"
  std::string b;
  Ranged<Seconds> step_a;
  Ranged<Seconds> step_b;
  Ranged<double> tokens_rate_a;  // tokens/s/GPU: comparable when steps hold different work
  Ranged<double> tokens_rate_b;
  Ranged<double> mfu_a;
  Ranged<double> mfu_b;
  double tokens_a = 0.0;  // of a step
  double tokens_b = 0.0;
  Ranged<Bytes> peak_a;
  Ranged<Bytes> peak_b;
  std::string fits_a;  // "yes", "tight", "no"
  std::string fits_b;
  std::vector<LeafDifference> leaves;  // critical ones that differ, the largest difference first
  std::vector<PartDifference> memory;  // parts of the fullest GPU that differ, the same order
  std::vector<Difference> settings;    // of the resolved scenarios
  std::vector<Difference> constants;   // of GPU, cluster and stack profiles: value and unit
  std::vector<Difference> inputs;      // documents by hash
  std::vector<Difference> program;     // "version", "commit", "seed", "draws"
  bool constants_known = true;         // both sides carry their constants

  /// Nothing of what was asked differs: the formulas or a bug made the difference.
  bool unexplained() const {
    return settings.empty() && constants.empty() && step_a.value != step_b.value;
  }
};

struct Diff {
  std::string path_a;
  std::string path_b;
  std::vector<PredictionDiff> pairs;
  std::vector<std::string> only_a;  // variants that the other file lacks
  std::vector<std::string> only_b;
};

/// Compares two documents of kind hysim.prediction/1 or hysim.comparison/1. Variants of two
/// comparisons are matched by name; a prediction is compared with the only one, or the one of the
/// same variant. Throws InputError for anything else, with its place.
Diff diff(std::string_view text_a, std::string_view path_a, std::string_view text_b,
          std::string_view path_b);

/// hysim.diff/1
std::string to_json(const Diff& diff);
std::string to_text(const Diff& diff, const TextStyle& style = {});
std::string to_markdown(const Diff& diff);

}  // namespace hysim
