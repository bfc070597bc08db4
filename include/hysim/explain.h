// Why a prediction says what it says: every leaf with the formulas that make it, down to the lines
// of the datasheets, sample sets and settings they start from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hysim/predict.h"
#include "hysim/prediction.h"

namespace hysim {

/// Where an input of a formula was read.
struct InputSource {
  std::string document;  // "hw_profiles/gpus/h20-96.json", the scenario's path, "source code",
                         // or of a count the source file that counts it
  std::string pointer;   // JSON pointer in the document; "" for a constant of the source code
  std::string kind;      // "datasheet", "measured", "published", "derived", "assumed", "setting",
                         // "counted"
  std::string text;      // the citation
  std::string measured_on;  // GPU it was measured on when that is another; else ""
};

/// One line of a calculation: an input, or a formula over the symbols of earlier lines.
///
/// Formulas are made of numbers, symbols, + - * / ^, parentheses, max, min (two or more arguments),
/// ceil, floor and log2; `^` binds tightest and to the right. Evaluated from the inputs in order
/// they give `value`.
struct FormulaLine {
  std::string symbol;   // unique on its sheet
  std::string formula;  // "" for an input
  double value = 0.0;   // SI units
  std::string unit;     // "s", "B", "flop", "B/s", "flop/s", "1/s", "1"
  std::string meaning;
  int card = -1;  // index into Sheet::cards; -1: how tasks make up the step, or a shared input
  // Inputs only: the range of the document's value; equal to `value` when it has none.
  double low = 0.0;
  double high = 0.0;
  std::optional<InputSource> source;  // of every input
  /// Of a count, and part of the source's text: the formula over the sizes of its card's use ("2 *
  /// m
  /// * n * k") or words, and the settings these hang on ("workload.seq_len 1M, ...").
  std::string counted;
  std::string counted_from;
};

/// One use of a law.
struct FormulaCard {
  std::string title;       // "matrix product"
  std::string leaves_out;  // what the law does not know of
  std::string where;       // the source file of the law
  /// What it is used for and the sizes its counts are made of: "gradient of the input, m x k by k x
  /// n: m 4096, n 6144, ..."; may be empty.
  std::string use;
};

/// The calculation of one number, inputs before what uses them, the number last.
struct Sheet {
  std::vector<FormulaCard> cards;
  std::vector<FormulaLine> lines;
};

struct LeafExplanation {
  BreakdownLeaf leaf;              // path "step" for the step time itself
  double share = 0.0;              // of the step time; of overlapped time: as if it were critical
  std::vector<std::string> notes;  // why it is on the critical path, or what hides it
  Sheet sheet;
  /// Seconds of the leaf that no formula explains: a law without a card. Zero but for a bug.
  double unexplained = 0.0;
};

struct Explanation {
  Prediction prediction;                // nominal values and ranges
  std::vector<LeafExplanation> leaves;  // critical ones, then overlapped ones, each longest first
  LeafExplanation step;                 // of the step time
};

/// Explains every leaf of one variant's prediction. Throws as `predict` does.
Explanation explain(const Resources& resources, const ScenarioText& scenario,
                    const PredictOptions& options = {});

/// The leaves meant by `pattern`, upper or lower case: those of exactly this path ("step" is the
/// step time), else those that begin with it, else those of which each of its words between slashes
/// names a component, in order: wholly, else by its beginning, else by a part, else by letters in
/// order. Empty when nothing matches.
std::vector<LeafExplanation> matching_leaves(const Explanation& explanation,
                                             const std::string& pattern);

}  // namespace hysim
