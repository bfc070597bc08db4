// What the what-if questions share: one or two variants run, their programs at hand to be changed,
// and the step of a changed one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/program.h"
#include "graph/scale.h"
#include "hysim/predict.h"
#include "predict/run.h"

namespace hysim::predictor {

/// A variant as it is.
struct WhatIfSide {
  std::shared_ptr<const Run> run;
  graph::Program program;
  Machine nominal;
};

struct WhatIfRequest {
  std::string variant;   // "" is the scenario's first
  std::string baseline;  // "": none
  std::vector<SetText> sets;
  std::uint64_t seed = 1;
  std::int64_t draws = 0;
};

struct WhatIfSides {
  WhatIfSide variant;
  std::optional<WhatIfSide> baseline;
  std::vector<Warning> warnings;  // of both, the baseline's under its name
  std::vector<InputFile> files;
};

/// Throws as predict.
WhatIfSides whatif_sides(const Resources& resources, const ScenarioText& text,
                         const WhatIfRequest& request, const Executor& executor);

/// The program with the time of everything of this name multiplied.
graph::Program scaled(graph::Program program, const graph::ScaleName& name, double factor);

/// The numbers of one evaluation: nominal or a draw.
Machine machine(const Job& job, const config::Sampler& sampler);

/// Seconds of one step.
double step_of(const graph::Program& program, const Machine& machine);

/// Seconds of a part in the step, on the critical stage, critical and hidden.
double part_seconds(const Run& run, const graph::ScaleName& name);

/// "kernels.scoring, kernels.topk, ...": the parts a program has, families left out.
std::string parts_list(const graph::Program& program);

}  // namespace hysim::predictor
