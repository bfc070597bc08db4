// Scenario documents: variants as merge patches over a base, --set on top, and the typed settings
// with the documents they name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/node.h"
#include "config/reader.h"
#include "graph/plan.h"
#include "graph/stack.h"
#include "hardware/gpu.h"
#include "hardware/named_kernels.h"
#include "hysim/predict.h"
#include "hysim/prediction.h"
#include "hysim/resources.h"
#include "predict/profiles.h"
#include "topology/cluster.h"

namespace hysim::predictor {

/// One named step of a variant: a merge patch (RFC 7396).
struct VariantStep {
  std::string name;
  config::Node patch;
};
struct Variant {
  std::string name;
  std::vector<VariantStep> steps;
};

/// One unpublished setting and the values it may have.
struct Unpublished {
  std::string variant;  // "" applies to every variant
  std::string path;
  std::vector<config::Node> values;
};

/// A scenario taken apart but not yet resolved.
struct Scenario {
  std::string name;
  config::Node base;  // the settings all variants inherit
  std::vector<Variant> variants;
  std::vector<Unpublished> unpublished;
  std::optional<Reference> reference;
  std::vector<std::string> assumptions;
  config::Node document;  // as written: where settings stand
};

/// Keys of the document that are not settings of a job.
inline constexpr std::string_view kFrameKeys[] = {"variants", "unpublished", "reference",
                                                  "assumptions", "note"};

/// Throws InputError with every fault of the document when its frame has one; else faults of
/// settings are left to `check_settings`.
Scenario parse_scenario(const ScenarioText& text);

/// One setting to be changed: "--set" or a hypothesis.
struct Override {
  std::string variant;  // "" applies to every variant
  std::string path;
  config::Node value;
};
/// "[VARIANT:]path=value"; throws InputError. `names` are the scenario's variants.
Override parse_override(const std::string& text, const std::vector<Variant>& variants);

/// The settings document of a variant: base, its steps, then the overrides that apply to it.
config::Node variant_document(const Scenario& scenario, const std::vector<VariantStep>& steps,
                              const std::string& variant, const std::vector<Override>& overrides);

/// Throws InputError with every fault that all variants and unpublished values have before what
/// they name is loaded: keys, types, ranges.
/// Names of kernels are checked against the documents of `resources`, if there are any.
void check_settings(const Scenario& scenario, const std::vector<Override>& overrides,
                    const Resources* resources = nullptr);
/// Adds such faults of one settings document.
void check_settings(const config::Node& settings, hardware::NamedKernels* known,
                    config::Faults& faults);

/// Faults of a settings document, with pointers to where the scenario has what is at fault.
std::vector<Diagnostic> placed(const Scenario& scenario, std::vector<Diagnostic> diagnostics);

struct Job;
/// What the limits of a stack are told by: the resolved settings, and what they name taken apart:
/// "model" becomes {"name", "attention", "heads_per_rank", "index_top_k", "shares_indices"}, "gpu"
/// {"name", "architecture"}, and "workload" has "unpacked_score_bytes" as well.
config::Node limit_facts(const Job& job);

/// Everything a prediction needs, typed and checked.
struct Job {
  std::string scenario;
  std::string variant;
  graph::Plan plan;
  topology::Cluster cluster;
  hardware::GpuProfile gpu;
  graph::StackProfile stack;
  config::Node resolved;  // every setting, defaults filled in
  std::vector<std::string> assumptions;
  std::vector<Warning> warnings;
};

/// Reads the settings, loads what they name and, unless it is not to be `judged`, checks the plan.
/// Throws InputError. A plan that is not judged may be illegal: searches change it first.
Job resolve(const Resources& resources, const Scenario& scenario, const std::string& variant,
            const config::Node& settings, bool judged = true);
/// The same with the documents that `profiles` has read before.
Job resolve(Profiles& profiles, const Scenario& scenario, const std::string& variant,
            const config::Node& settings, bool judged = true);

}  // namespace hysim::predictor
