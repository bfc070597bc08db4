#include "cli/options.h"

#include "cli/app.h"
#include "cli/errors.h"
#include "cli/files.h"
#include "config/words.h"
#include "hysim/budget.h"

namespace hysim::cli {

namespace {

/// An option that may be given several times, each time with one value.
CLI::Option* repeatable(CLI::Option* option) {
  return option->type_size(1)->expected(1)->take_all()->allow_extra_args(false);
}

/// "VARIANT:kernels.topk=0.5" is the setting "VARIANT:scale.kernels.topk=0.5".
std::string scale_as_set(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::size_t name = colon == std::string::npos ? 0 : colon + 1;
  return text.substr(0, name) + "scale." + text.substr(name);
}

std::string fault_of_scale(const std::string& text) {
  if (fault_of_set(text).empty()) return "";
  return config::in_quotes(text) + " must be [VARIANT:]NAME=FACTOR, for example kernels.topk=0.5";
}

}  // namespace

std::string fault_of_set(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos && equals > 0) return "";
  return config::in_quotes(text) + " must be [VARIANT:]PATH=VALUE, for example kernels.topk=radix";
}

CLI::Option* add_set_option(CLI::App& command, std::vector<std::string>& sets) {
  return repeatable(command.add_option("--set", sets, "change a setting, e.g. parallelism.cp=32"))
      ->type_name("[VARIANT:]PATH=VALUE")
      ->check(CLI::Validator(fault_of_set, ""));
}

void add_output_options(CLI::App& command, OutputOptions& options, bool csv) {
  const auto add = [&](const char* name, std::string& target, const char* what) {
    command.add_option(name, target, what)->type_name("FILE|-")->group("Output");
  };
  add("--json", options.json, "JSON to a file, or alone to stdout");
  if (csv) add("--csv", options.csv, "rows as CSV");
  add("--md", options.markdown, "Markdown");
  command.add_option("--color", options.color, "auto, always or never")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "always", "never"}).description(""))
      ->group("Output");
  command.add_flag("-q,--quiet", options.quiet, "no warnings on stderr")->group("Output");
}

void add_profile_option(CLI::App& command, std::vector<std::string>& profiles) {
  repeatable(command.add_option("--profile", profiles, "add a GPU, cluster, stack or model"))
      ->type_name("FILE");
}

void add_prediction_options(CLI::App& command, PredictionOptions& options, bool requirements) {
  constexpr std::int64_t kMaxDraws = 100000;
  constexpr std::uint64_t kMaxSeed = std::uint64_t{1} << 53U;  // exact in any JSON reader
  add_set_option(command, options.sets);
  const auto scale = [&options](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) options.sets.push_back(scale_as_set(text));
  };
  repeatable(command.add_option_function<std::vector<std::string>>(
                 "--scale", scale, "time x FACTOR, e.g. kernels.topk=0.5"))
      ->type_name("[VARIANT:]NAME=FACTOR")
      ->check(CLI::Validator(fault_of_scale, ""));
  command.add_option("--seed", options.seed, "seed of the draws (1)")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{0}, kMaxSeed).description(""));
  command.add_option("--draws", options.draws, "draws for the ranges (200); 0: none")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{0}, kMaxDraws).description(""));
  if (!requirements) return;
  command.add_option("--tokens", options.tokens, "days, energy, cost of so many: 50B is 50e9")
      ->type_name("N")
      ->group("Run");
  command.add_option("--price", options.price, "USD a GPU-hour, or profile: the GPU profile's")
      ->type_name("USD")
      ->group("Run");
  repeatable(command.add_option("--require", options.require, "exit with 1 unless this holds"))
      ->type_name("CONDITION");
}

void check_budget(const PredictionOptions& options) {
  if (options.tokens.empty() && !options.price.empty()) {
    throw UsageError("--price needs --tokens: the cost of how many?");
  }
  if (!options.tokens.empty() && !parse_token_budget(options.tokens)) {
    throw UsageError("--tokens " + config::in_quotes(options.tokens) +
                     " must be a number with K, M, B or T (decimal), for example 50B");
  }
  if (!options.price.empty() && !is_price(options.price)) {
    throw UsageError("--price " + config::in_quotes(options.price) +
                     " must be USD per GPU-hour such as 2.5, or \"profile\" for the GPU profile's");
  }
}

void add_budget(const Resources& resources, const PredictionOptions& options,
                Prediction& prediction) {
  if (options.tokens.empty()) return;
  prediction.budget =
      budget_of(resources, prediction, *parse_token_budget(options.tokens), {options.price});
}

std::vector<Requirement> parse_requirements(const std::vector<std::string>& texts) {
  std::vector<Requirement> requirements;
  requirements.reserve(texts.size());
  for (const std::string& text : texts) requirements.push_back(parse_requirement(text));
  return requirements;
}

int exit_code_of(const std::vector<std::string>& unmet_lines) {
  for (const std::string& line : unmet_lines) write_stderr_line("hysim: " + line);
  return unmet_lines.empty() ? kAnswered : kNotMet;
}

}  // namespace hysim::cli
