// SCENARIO or, instead of a file, a few options from which a scenario is made.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/options.h"
#include "hysim/layout.h"
#include "hysim/prediction.h"
#include "hysim/resources.h"

namespace hysim::cli {

/// --model, --cluster, --seq-len and the sizes of a layout, under the heading `group`.
void add_job_options(CLI::App& command, JobText& job,
                     const std::string& group = "Instead of SCENARIO (what is left out is chosen)");

/// To be called when the command is chosen: throws CLI::ParseError unless there is either a
/// scenario or a job with model, cluster and length.
void require_scenario(const std::string& scenario, const JobText& job);

/// What a command predicts, with the files it names.
struct ScenarioSource {
  ScenarioText scenario;
  Resources resources;         // those of the command and files that the scenario names
  ChosenLayout chosen;         // of a job; empty for a scenario
  std::vector<Warning> notes;  // what was chosen, one line
};

/// Adds to an answer's warnings where documents were `found` and the `notes`; gives the lines for
/// standard error, without the notes where the text on standard output has them.
std::vector<std::string> settle_warnings(const std::vector<std::string>& found,
                                         const std::vector<Warning>& notes,
                                         const OutputOptions& output,
                                         std::vector<Warning>& warnings);
std::vector<std::string> messages_of(const std::vector<Warning>& notes);

/// The scenario named by `argument`, or, when that is empty, the one made of `job` under `sets`.
/// `naming`: the settings whose values may name files.
ScenarioSource scenario_source(const Resources& named, const std::string& argument,
                               const JobText& job, const std::vector<SetText>& sets,
                               const std::vector<SetText>& naming, const Executor& executor);

}  // namespace hysim::cli
