// Options that several commands share, and how a command registers itself.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/output.h"
#include "cli/require.h"
#include "hysim/predict.h"

namespace hysim::cli {

/// What runs once the arguments are understood; answers with the exit code.
using Action = std::function<int()>;

struct PredictionOptions {
  std::vector<std::string> sets;
  std::uint64_t seed = 1;
  std::int64_t draws = 200;
  std::vector<std::string> require;
  std::string tokens;  // of a run: "50B"
  std::string price;   // USD per GPU-hour, or "profile"
};

/// "[VARIANT:]PATH=VALUE": what is wrong with the form of `text`; "" when nothing is. What it sets
/// is input, not usage.
std::string fault_of_set(const std::string& text);
/// --set, whose form is checked.
CLI::Option* add_set_option(CLI::App& command, std::vector<std::string>& sets);

void add_output_options(CLI::App& command, OutputOptions& options, bool csv);
void add_profile_option(CLI::App& command, std::vector<std::string>& profiles);
/// `requirements`: with --require and what a run takes, --tokens and --price.
void add_prediction_options(CLI::App& command, PredictionOptions& options,
                            bool requirements = true);

/// Throws UsageError when --tokens is no number of tokens, --price no price, or --price stands
/// without --tokens.
void check_budget(const PredictionOptions& options);
/// What --tokens asks about the prediction.
void add_budget(const Resources& resources, const PredictionOptions& options,
                Prediction& prediction);

std::vector<Requirement> parse_requirements(const std::vector<std::string>& texts);

/// Prints what is not met to stderr and answers with the exit code.
int exit_code_of(const std::vector<std::string>& unmet_lines);

// One a command: registers its arguments and sets `action` when the command is chosen.
void add_predict(CLI::App& app, Action& action);
void add_compare(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action);
void add_diff(CLI::App& app, Action& action);
void add_new(CLI::App& app, Action& action);
void add_list(CLI::App& app, Action& action);
void add_show(CLI::App& app, Action& action);
void add_import(CLI::App& app, Action& action);
void add_export(CLI::App& app, Action& action);
void add_schema(CLI::App& app, Action& action);
void add_completion(CLI::App& app, Action& action);
void add_sensitivity(CLI::App& app, Action& action);
void add_breakeven(CLI::App& app, Action& action);
void add_sweep(CLI::App& app, Action& action);

}  // namespace hysim::cli
