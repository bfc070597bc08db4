// hysim sweep: every combination of some settings' values.
#include <memory>

#include "cli/errors.h"
#include "cli/files.h"
#include "cli/question.h"
#include "config/words.h"
#include "hysim/whatif.h"
#include "report/sweep_chart.h"

namespace hysim::cli {

namespace {

struct Arguments {
  Question question;
  std::vector<std::string> vary;
  std::string metric;
  std::string svg;
};

/// What the chart shows: what was asked for, else the speedup if there is one.
report::SweepMetric metric_of(const Arguments& arguments) {
  if (arguments.metric.empty()) {
    return arguments.question.baseline.empty() ? report::SweepMetric::step_time
                                               : report::SweepMetric::speedup;
  }
  const report::SweepMetric metric = *report::sweep_metric(arguments.metric);
  if (metric == report::SweepMetric::speedup && arguments.question.baseline.empty()) {
    throw UsageError("--metric speedup needs --baseline VARIANT");
  }
  return metric;
}

std::string fault_of_axis(const std::string& text) {
  if (fault_of_set(text).empty()) return "";
  return config::in_quotes(text) +
         " must be PATH=VALUE,VALUE,..., for example workload.seq_len=128K,256K";
}

/// The settings that values may name files in, as --set has them.
std::vector<SetText> all_settings(const Arguments& arguments, const std::vector<SweepAxis>& axes) {
  std::vector<SetText> sets = arguments.question.prediction.sets;
  for (const SweepAxis& axis : axes) {
    for (const std::string& value : axis.values) sets.push_back(axis.path + "=" + value);
  }
  return sets;
}

int run(const Arguments& arguments) {
  const Question& question = arguments.question;
  const report::SweepMetric metric = metric_of(arguments);
  SweepOptions options;
  for (const std::string& text : arguments.vary) options.axes.push_back(parse_sweep_axis(text));
  Progress progress(!question.output.quiet);
  const Asked about = asked(question, all_settings(arguments, options.axes), progress);
  set_options(question, progress, options);
  options.baseline = question.baseline;
  Sweep result = sweep(about.source.resources, about.source.scenario, options);
  progress.finish();
  if (!arguments.svg.empty()) {
    write_file(arguments.svg, report::render_svg(report::sweep_chart(result, metric)));
  }
  return show<Sweep>(question, about, std::move(result), report::sweep_document, report::to_csv);
}

}  // namespace

void add_sweep(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* const command = app.add_subcommand("sweep", "Every combination of some settings");
  add_scenario(*command, arguments->question);
  command->add_option("--vary", arguments->vary, "an axis; also variant=A,B and scale.NAME=...")
      ->type_size(1)
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)
      ->type_name("PATH=VALUE,VALUE,...")
      ->check(CLI::Validator(fault_of_axis, ""))
      ->required();
  add_question_options(*command, arguments->question, "speedup over it, same settings", true);
  command->add_option("--svg", arguments->svg, "a line chart over the first axis")
      ->type_name("FILE")
      ->group("Output");
  command->add_option("--metric", arguments->metric, "step_time, tokens, mfu, peak_memory, speedup")
      ->type_name("NAME")
      ->check(CLI::IsMember(report::sweep_metric_words()).description(""))
      ->group("Output");
  command->footer(
      "Examples:\n"
      "  hysim sweep glm-5.1-1m-h20-512 --vary workload.seq_len=128K,256K,512K,1M \\\n"
      "    --vary kernels.topk=torch,radix --csv sweep.csv --svg sweep.svg\n"
      "  hysim sweep glm-5.1-1m-h20-512 --vary scale.kernels.hytopk=0.25,0.5,1,2 \\\n"
      "    --variant hyscale --baseline megatron-cudnn --svg speedup.svg");
  command->callback([arguments, &action] {
    require_scenario(arguments->question.scenario, arguments->question.job);
    action = [arguments] { return run(*arguments); };
  });
}

}  // namespace hysim::cli
