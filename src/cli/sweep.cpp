// hysim sweep: every combination of some settings' values.
#include <memory>

#include "cli/app.h"
#include "cli/errors.h"
#include "cli/executor.h"
#include "cli/files.h"
#include "cli/options.h"
#include "cli/resources.h"
#include "hysim/whatif.h"
#include "report/sweep_chart.h"
#include "report/views.h"

namespace hysim::cli {

namespace {

struct Arguments {
  std::string scenario;
  std::vector<std::string> vary;
  std::string variant;
  std::string baseline;
  std::string metric;
  std::string svg;
  PredictionOptions prediction;
  std::vector<std::string> profiles;
  OutputOptions output;
};

/// What the chart shows: what was asked for, else the speedup if there is one.
report::SweepMetric metric_of(const Arguments& arguments) {
  if (arguments.metric.empty()) {
    return arguments.baseline.empty() ? report::SweepMetric::step_time
                                      : report::SweepMetric::speedup;
  }
  const report::SweepMetric metric = *report::sweep_metric(arguments.metric);
  if (metric == report::SweepMetric::speedup && arguments.baseline.empty()) {
    throw UsageError("--metric speedup needs --baseline VARIANT");
  }
  return metric;
}

/// The settings that values may name files in, as --set has them.
std::vector<SetText> all_settings(const Arguments& arguments, const std::vector<SweepAxis>& axes) {
  std::vector<SetText> sets = arguments.prediction.sets;
  for (const SweepAxis& axis : axes) {
    for (const std::string& value : axis.values) sets.push_back(axis.path + "=" + value);
  }
  return sets;
}

int run(const Arguments& arguments) {
  check(arguments.output);
  const report::SweepMetric metric = metric_of(arguments);
  SweepOptions options;
  for (const std::string& text : arguments.vary) options.axes.push_back(parse_sweep_axis(text));
  std::vector<std::string> warnings;
  const Resources named = command_resources(arguments.profiles, warnings);
  const ScenarioText scenario = scenario_text(named, arguments.scenario);
  const Resources resources =
      with_local_files(named, {scenario}, all_settings(arguments, options.axes));

  Progress progress(!arguments.output.quiet);
  options.variant = arguments.variant;
  options.baseline = arguments.baseline;
  options.sets = arguments.prediction.sets;
  options.seed = arguments.prediction.seed;
  options.draws = arguments.prediction.draws;
  options.executor = parallel_executor(progress);
  Sweep result = sweep(resources, scenario, options);
  progress.finish();
  result.warnings.insert(result.warnings.begin(), warnings.begin(), warnings.end());

  Views views;
  views.text = [&](const TextStyle& style) {
    return report::render_text(report::sweep_document(result), style);
  };
  views.json = [&] { return to_json(result); };
  views.csv = [&] { return report::to_csv(result); };
  views.markdown = [&] {
    report::Document document = report::sweep_document(result);
    report::add_warnings(document, result.warnings);
    return report::render_markdown(document);
  };
  if (!arguments.svg.empty()) {
    write_file(arguments.svg, report::render_svg(report::sweep_chart(result, metric)));
  }
  emit(views, arguments.output, result.warnings);
  return kAnswered;
}

}  // namespace

void add_sweep(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* const command = app.add_subcommand("sweep", "Every combination of some settings");
  command->add_option("SCENARIO", arguments->scenario, "a bundled scenario or a file")
      ->type_name("")
      ->required();
  command->add_option("--vary", arguments->vary, "an axis; also variant=A,B and scale.NAME=...")
      ->type_size(1)
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)
      ->type_name("PATH=VALUE,VALUE,...")
      ->required();
  command->add_option("--variant", arguments->variant, "which variant (the first)")
      ->type_name("NAME");
  command->add_option("--baseline", arguments->baseline, "speedup over it, same settings")
      ->type_name("VARIANT");
  add_prediction_options(*command, arguments->prediction, false);
  add_profile_option(*command, arguments->profiles);
  add_output_options(*command, arguments->output, true);
  command->add_option("--svg", arguments->svg, "a line chart over the first axis")
      ->type_name("FILE")
      ->group("Output");
  command
      ->add_option("--metric", arguments->metric,
                   "step_time, tokens, mfu, peak_memory, speedup")
      ->type_name("NAME")
      ->check(CLI::IsMember(report::sweep_metric_words()).description(""))
      ->group("Output");
  command->footer(
      "Examples:\n"
      "  hysim sweep glm-5.1-1m-h20-512 --vary workload.seq_len=128K,256K,512K,1M \\\n"
      "    --vary kernels.topk=torch,radix --csv sweep.csv --svg sweep.svg\n"
      "  hysim sweep glm-5.1-1m-h20-512 --vary scale.kernels.hytopk=0.25,0.5,1,2 \\\n"
      "    --variant hyscale --baseline megatron-cudnn --svg speedup.svg");
  command->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace hysim::cli
