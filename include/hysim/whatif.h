// What-if questions about one training step: which parts and inputs matter, how fast a kernel must
// be, and what a grid of settings would take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hysim/predict.h"
#include "hysim/prediction.h"
#include "hysim/resources.h"
#include "hysim/units.h"

namespace hysim {

// ---------------------------------------------------------------- sensitivity

/// What is tried on every part and input: 10 % less time, a value 10 % better.
inline constexpr double kWhatIfChange = 0.10;

/// A part of the step: a kernel, a family of kernels or communication, as --scale names it.
struct PartSensitivity {
  std::string name;               // "kernels.topk"
  bool family = false;            // holds other parts
  Seconds time;                   // of the part in the step, on the critical stage, hidden or not
  Seconds saved;                  // of the step when the part takes 10 % less time
  Seconds limit;                  // the step when the part costs nothing
  std::optional<double> speedup;  // over the baseline when the part takes 10 % less time
};

/// One sourced number of a GPU, cluster or software stack.
struct InputSensitivity {
  std::string id;  // "gpu/h20-96/clock"
  double value = 0.0;
  double low = 0.0;
  double high = 0.0;
  std::string unit;               // SI
  std::string kind;               // "datasheet", "measured", "published", "derived", "assumed"
  double better = 0.0;            // the value 10 % better; a fraction at most 1
  Seconds saved;                  // of the step with it; 0 where neither direction helps
  Ranged<Seconds> step;           // the step when this input alone is drawn
  double spread = 0.0;            // its share of the sum of the variances of such steps
  std::optional<double> speedup;  // over the baseline with the better value on both sides
};

struct Sensitivity {
  std::string scenario;
  std::string variant;
  std::string baseline;                   // "": none was asked for
  Ranged<Seconds> step_time;              // all inputs drawn
  std::optional<Ranged<double>> speedup;  // over the baseline
  std::vector<PartSensitivity> parts;     // most saved first; those the job has
  std::vector<InputSensitivity> inputs;   // most saved first; those that move the step
  std::int64_t unmoved_inputs = 0;
  std::vector<Warning> warnings;
  std::vector<InputFile> files;
  std::uint64_t seed = 0;
  std::int64_t draws = 0;
};

struct SensitivityOptions {
  std::string variant;   // "" is the scenario's first
  std::string baseline;  // "" is none; else the effect on the speedup over it is told, too
  std::vector<SetText> sets;
  std::uint64_t seed = 1;
  std::int64_t draws = 200;
  Executor executor = serial_executor();
};

/// A part is made faster in the variant alone, an input is better on both sides. Throws as predict.
Sensitivity sensitivity(const Resources& resources, const ScenarioText& scenario,
                        const SensitivityOptions& options = {});

// ---------------------------------------------------------------- breakeven

struct BreakevenOptions {
  std::string part;      // "kernels.topk", or "topk"
  double speedup = 0.0;  // to reach, greater than 0
  std::string variant;   // "" is the scenario's first
  std::string baseline;  // "" is the variant itself as it is
  std::vector<SetText> sets;
  std::uint64_t seed = 1;
  std::int64_t draws = 200;
  Executor executor = serial_executor();
};

/// How fast a part must be for the step to reach a speedup.
struct Breakeven {
  std::string scenario;
  std::string variant;
  std::string baseline;  // "": the variant as it is
  std::string part;      // "kernels.topk"
  double target = 0.0;
  double present = 0.0;  // the speedup as things are; 1 without baseline
  double limit = 0.0;    // the speedup when the part costs nothing
  /// The largest factor on the part's time that reaches the target, to 1e-9 of itself; nothing when
  /// even 0 does not. Low and high over draws; a draw in which nothing reaches it counts as 0.
  std::optional<Ranged<double>> factor;
  double reachable = 0.0;  // share of the draws in which some factor reaches it
  Seconds part_time;       // in the step, on the critical stage, hidden or not
  Seconds step;            // of the variant as it is
  Seconds reference;       // the step the speedup is over
  std::vector<Warning> warnings;
  std::vector<InputFile> files;
  std::uint64_t seed = 0;
  std::int64_t draws = 0;
};

/// A factor above this is not looked for: the part does not matter.
inline constexpr double kMostSlowdown = 1e6;

/// Throws as predict, and for a part that the job does not have.
Breakeven breakeven(const Resources& resources, const ScenarioText& scenario,
                    const BreakevenOptions& options);

// ---------------------------------------------------------------- sweep

/// A setting and the values it takes: JSON or a word each, as for --set. The path "variant" goes
/// through variants.
struct SweepAxis {
  std::string path;
  std::vector<std::string> values;
};

/// "workload.seq_len=128K,256K"; commas inside brackets, braces and quotes do not separate.
/// Throws InputError.
SweepAxis parse_sweep_axis(const std::string& text);

/// More combinations are refused.
inline constexpr std::int64_t kMostSweepRows = 4096;

struct SweepOptions {
  std::vector<SweepAxis> axes;
  std::string variant;   // "" is the scenario's first
  std::string baseline;  // "" is none; else a variant under the same settings
  std::vector<SetText> sets;
  std::uint64_t seed = 1;
  std::int64_t draws = 200;
  Executor executor = serial_executor();  // whole combinations are handed to it
};

/// One combination.
struct SweepRow {
  std::vector<std::string> values;  // one an axis
  std::string reason;               // why it is illegal; "" when it is legal
  Ranged<Seconds> step_time;
  Ranged<double> tokens_per_second_per_gpu;
  Ranged<double> mfu;
  Ranged<Bytes> peak_memory;
  Fit fits = Fit::yes;
  std::optional<Ranged<double>> speedup;
};

struct Sweep {
  std::string scenario;
  std::string variant;  // "": the axis "variant" says which
  std::string baseline;
  std::vector<SweepAxis> axes;
  std::vector<SweepRow> rows;  // the last axis changes fastest
  std::vector<Warning> warnings;
  std::vector<InputFile> files;
  std::uint64_t seed = 0;
  std::int64_t draws = 0;
};

/// Every combination of the axes' values. Throws as predict for what no combination can answer:
/// when all are illegal, the first one's faults.
Sweep sweep(const Resources& resources, const ScenarioText& scenario, const SweepOptions& options);

}  // namespace hysim
