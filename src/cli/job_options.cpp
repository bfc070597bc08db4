#include "cli/job_options.h"

#include <utility>

#include "cli/resources.h"
#include "config/node.h"

namespace hysim::cli {

namespace {

bool is_given(const JobText& job) {
  for (const std::string* text :
       {&job.model, &job.cluster, &job.seq_len, &job.precision, &job.recompute}) {
    if (!text->empty()) return true;
  }
  return job.tp || job.pp || job.cp || job.ep || job.etp || job.vpp || job.micro_batch_size ||
         job.global_batch_size;
}

}  // namespace

void add_job_options(CLI::App& command, JobText& job, const std::string& group) {
  const auto text = [&](const char* name, std::string& target, const char* type, const char* what) {
    return command.add_option(name, target, what)->type_name(type)->group(group);
  };
  text("--model", job.model, "NAME", "a bundled model or a config.json");
  text("--cluster", job.cluster, "NAME", "a bundled cluster, a file, or h20-96:64x8");
  text("--seq-len", job.seq_len, "TOKENS", "tokens of a sequence: 4096, 128K, 1M");
  const auto size = [&](const char* name, std::optional<std::int64_t>& target, const char* what) {
    constexpr std::int64_t kMost = std::int64_t{1} << 32;
    command.add_option(name, target, what)
        ->type_name("N")
        ->check(CLI::Range(std::int64_t{1}, kMost).description(""))
        ->group(group);
  };
  size("--tp", job.tp, "tensor parallel size");
  size("--pp", job.pp, "pipeline stages");
  size("--vpp", job.vpp, "virtual stages a stage (1)");
  size("--cp", job.cp, "context parallel size");
  size("--ep", job.ep, "expert parallel size");
  size("--etp", job.etp, "expert tensor parallel size (1)");
  size("--micro-batch-size", job.micro_batch_size, "sequences a micro-batch (1)");
  size("--global-batch-size", job.global_batch_size, "sequences a step");
  text("--precision", job.precision, "WORD", "bf16 or fp8")
      ->check(CLI::IsMember({"bf16", "fp8"}).description(""));
  text("--recompute", job.recompute, "WORD", "none, selective or full")
      ->check(CLI::IsMember({"none", "selective", "full"}).description(""));
}

void require_scenario(const std::string& scenario, const JobText& job) {
  const bool given = is_given(job);
  if (scenario.empty() && !given) throw CLI::RequiredError("SCENARIO");
  if (!scenario.empty() && given) {
    throw CLI::ValidationError("SCENARIO",
                               "takes no --model, --cluster, --seq-len or sizes; "
                               "change its settings with --set");
  }
  if (!given) return;
  for (const auto& [name, value] :
       {std::pair("--model", &job.model), std::pair("--cluster", &job.cluster),
        std::pair("--seq-len", &job.seq_len)}) {
    if (value->empty()) throw CLI::RequiredError(std::string(name) + " (without SCENARIO)");
  }
}

std::vector<std::string> settle_warnings(const std::vector<std::string>& found,
                                         const std::vector<Warning>& notes,
                                         const OutputOptions& output,
                                         std::vector<Warning>& warnings) {
  add_resource_warnings(found, warnings);
  std::vector<std::string> lines = texts_of(warnings);
  warnings.insert(warnings.end(), notes.begin(), notes.end());
  return output.text_on_stdout() ? lines : texts_of(warnings);
}

std::vector<std::string> messages_of(const std::vector<Warning>& notes) {
  std::vector<std::string> messages;
  for (const Warning& note : notes) messages.push_back(note.message);
  return messages;
}

ScenarioSource scenario_source(const Resources& named, const std::string& argument,
                               const JobText& job, const std::vector<SetText>& sets,
                               const std::vector<SetText>& naming, const Executor& executor) {
  if (!argument.empty()) {
    ScenarioText scenario = scenario_text(named, argument);
    Resources resources = with_local_files(named, {scenario}, naming);
    return {std::move(scenario), std::move(resources), {}, {}};
  }
  // The files named by the options, before there is a scenario.
  const config::Node names = config::Node::object(
      {{"model", config::Node::string(job.model)}, {"cluster", config::Node::string(job.cluster)}});
  Resources resources = with_local_files(named, {{config::to_text(names), kJobPath}}, naming);
  ChosenLayout chosen = choose_layout(resources, job, sets, executor);
  std::vector<Warning> notes = {{"chosen-layout", chosen.summary, ""}};
  ScenarioText scenario = chosen.scenario;
  return {std::move(scenario), std::move(resources), std::move(chosen), std::move(notes)};
}

}  // namespace hysim::cli
