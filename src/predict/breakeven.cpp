// How fast a part must be for the step to reach a speedup: the step never falls when a part takes
// longer, so the largest factor that still reaches it is found by halving.
#include <algorithm>
#include <cstddef>
#include <stdexcept>

#include "graph/scale.h"
#include "hysim/errors.h"
#include "hysim/whatif.h"
#include "predict/request.h"
#include "predict/whatif_parts.h"

namespace hysim {

namespace {

using predictor::Machine;
using predictor::WhatIfSide;

constexpr double kNominalTolerance = 1e-9;
constexpr double kDrawTolerance = 1e-4;

[[noreturn]] void refuse(const std::string& part, std::string message) {
  throw InputError({Diagnostic{"--kernel " + part, 0, 0, "", std::move(message)}});
}

const graph::ScaleName& part_named(const std::string& part) {
  for (const std::string& name : {part, "kernels." + part, "communication." + part}) {
    if (const graph::ScaleName* const found = graph::find_scale_name(name)) return *found;
  }
  refuse(part, graph::unknown_scale_name(part));
}

/// The largest factor with which the step takes at most `wanted`; nothing when 0 does not.
std::optional<double> largest_factor(const graph::Program& program, const graph::ScaleName& name,
                                     const Machine& machine, double wanted, double tolerance) {
  const auto reached = [&](double factor) {
    return predictor::step_of(predictor::scaled(program, name, factor), machine) <= wanted;
  };
  if (!reached(0.0)) return std::nullopt;
  double low = 0.0;
  double high = 1.0;
  while (reached(high)) {
    low = high;
    if (high >= kMostSlowdown) return kMostSlowdown;
    high = std::min(2.0 * high, kMostSlowdown);
  }
  while (high - low > tolerance * high) {
    const double middle = 0.5 * (low + high);
    if (middle <= low || middle >= high || high < tolerance * tolerance) break;
    (reached(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace

Breakeven breakeven(const Resources& resources, const ScenarioText& text,
                    const BreakevenOptions& options) {
  if (!(options.speedup > 0.0)) throw std::invalid_argument("speedup must be greater than 0");
  const graph::ScaleName& name = part_named(options.part);
  const predictor::WhatIfSides sides = predictor::whatif_sides(
      resources, text,
      {options.variant, options.baseline, options.sets, options.seed, options.draws},
      options.executor);
  const WhatIfSide& side = sides.variant;
  const predictor::Run& reference = sides.baseline ? *sides.baseline->run : *side.run;
  if (!graph::touches(side.program, name)) {
    refuse(options.part, "variant \"" + side.run->job.variant + "\" has no " +
                             std::string(name.meaning) + "; its parts are " +
                             predictor::parts_list(side.program));
  }

  Breakeven result;
  result.scenario = side.run->job.scenario;
  result.variant = side.run->job.variant;
  result.baseline = options.baseline;
  result.part = name.name;
  result.target = options.speedup;
  result.step = Seconds(side.run->nominal.step);
  result.reference = Seconds(reference.nominal.step);
  result.present = reference.nominal.step / side.run->nominal.step;
  result.limit = reference.nominal.step /
                 predictor::step_of(predictor::scaled(side.program, name, 0.0), side.nominal);
  result.part_time = Seconds(predictor::part_seconds(*side.run, name));
  const std::optional<double> nominal =
      largest_factor(side.program, name, side.nominal, reference.nominal.step / options.speedup,
                     kNominalTolerance);

  std::vector<double> factors(side.run->steps.size());
  options.executor(static_cast<std::int64_t>(factors.size()), [&](std::int64_t d) {
    const auto i = static_cast<std::size_t>(d);
    const config::Sampler sampler(options.seed, static_cast<std::uint64_t>(d));
    factors[i] = largest_factor(side.program, name, predictor::machine(side.run->job, sampler),
                                reference.steps[i] / options.speedup, kDrawTolerance)
                     .value_or(0.0);
  });
  const auto impossible = std::count(factors.begin(), factors.end(), 0.0);
  result.reachable =
      factors.empty() ? (nominal ? 1.0 : 0.0)
                      : 1.0 - static_cast<double>(impossible) / static_cast<double>(factors.size());
  if (nominal) result.factor = predictor::ranged(*nominal, std::move(factors));
  result.warnings = sides.warnings;
  result.files = sides.files;
  result.seed = options.seed;
  result.draws = options.draws;
  return result;
}

}  // namespace hysim
