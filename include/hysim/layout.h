// A job in a few words made a scenario: what is not said is chosen, and told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hysim/predict.h"
#include "hysim/resources.h"

namespace hysim {

/// What somebody knows of a job without having written a scenario. Names as in scenarios.
struct JobText {
  std::string model;    // bundled name or path of a config.json
  std::string cluster;  // bundled name, path, or GPU:NODESxGPUS
  std::string seq_len;  // tokens: "131072", "128K", "1M"
  std::optional<std::int64_t> tp, pp, cp, ep, etp, vpp;
  std::optional<std::int64_t> micro_batch_size, global_batch_size;  // sequences
  std::string precision;                                            // "" is "bf16"
  std::string recompute;                                            // "" is the least that fits
};

struct ChosenLayout {
  ScenarioText scenario;           // complete; its assumptions say what was chosen
  std::string summary;             // "chose: dp 1, tp 1, ...", one line
  std::vector<std::string> chose;  // a choice and its reason each
  std::int64_t tried = 0;          // layouts predicted
  std::int64_t fitting = 0;        // of them
};

/// The path under which faults of a JobText are reported: "the options".
extern const char* const kJobPath;

/// Completes a job. Sizes that are not given are chosen among all legal combinations of tp (1, 2,
/// 4, 8, inside a node), cp and ep (powers of two), pp (powers of two up to 64); etp and vpp are 1.
/// Of those that fit the fastest is taken, nominally predicted; a tight fit only when no other
/// fits, and when none fits the one of least peak memory. `recompute` is the least of none,
/// selective and full with which a layout fits. Ties go to the smaller tp, pp, cp, ep.
/// A global batch that is not given has about 2^24 tokens: the largest 2^k times the odd part of
/// the number of GPUs that is not above (at least that odd part), or the next multiple of the most
/// replicas when no layout is legal with that.
/// `sets` are those that will be given to predict(): what they set is not chosen.
/// Throws InputError when no combination is legal, or for a name that nothing has.
ChosenLayout choose_layout(const Resources& resources, const JobText& job,
                           const std::vector<SetText>& sets = {},
                           const Executor& executor = serial_executor());

}  // namespace hysim
