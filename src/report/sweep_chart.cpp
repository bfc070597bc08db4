// A sweep as a line chart: the first axis below, one line for each combination of the others.
#include "report/sweep_chart.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>

#include "config/node.h"
#include "hysim/errors.h"
#include "report/chart.h"
#include "report/format.h"
#include "units/text.h"

namespace hysim::report {

namespace {

/// What a value means as a number: JSON, or tokens as 128K.
std::optional<double> number_of(const std::string& text) {
  if (const auto tokens = units::parse_token_count(text)) return static_cast<double>(*tokens);
  try {
    const config::Node node = config::parse(text, "");
    if (node.is_number()) return node.as_number();
  } catch (const InputError&) {
    return std::nullopt;
  }
  return std::nullopt;
}

std::vector<double> numbers_of(const std::vector<std::string>& texts) {
  std::vector<double> numbers;
  for (const std::string& text : texts) {
    const std::optional<double> number = number_of(text);
    if (!number) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

template <class D>
Ranged<double> si(const Ranged<Quantity<D>>& value) {
  return {value.value.si(), value.low.si(), value.high.si()};
}

/// Nothing where the row has no such value.
using Pick = std::function<std::optional<Ranged<double>>(const SweepRow&)>;

struct MetricInfo {
  SweepMetric metric;
  const char* word;
  const char* title;
  Pick pick;
};
const std::vector<MetricInfo>& metrics() {
  static const std::vector<MetricInfo> all = {
      {SweepMetric::step_time, "step_time", "step time",
       [](const SweepRow& row) { return si(row.step_time); }},
      {SweepMetric::tokens, "tokens", "tokens/s/GPU",
       [](const SweepRow& row) { return row.tokens_per_second_per_gpu; }},
      {SweepMetric::mfu, "mfu", "MFU", [](const SweepRow& row) { return row.mfu; }},
      {SweepMetric::peak_memory, "peak_memory", "peak memory a GPU",
       [](const SweepRow& row) { return si(row.peak_memory); }},
      {SweepMetric::speedup, "speedup", "speedup", [](const SweepRow& row) { return row.speedup; }},
  };
  return all;
}

const MetricInfo& info_of(SweepMetric metric) {
  return *std::find_if(metrics().begin(), metrics().end(),
                       [&](const MetricInfo& info) { return info.metric == metric; });
}

/// One unit for the whole chart, that of its largest value.
Scale chart_scale(SweepMetric metric, double most) {
  switch (metric) {
    case SweepMetric::step_time:
      return scale_of(Seconds(most));
    case SweepMetric::peak_memory:
      return scale_of(Bytes(most));
    case SweepMetric::mfu:
      return kPercent;
    case SweepMetric::tokens:
    case SweepMetric::speedup:
      break;
  }
  return kPlain;
}

/// "topk=torch, cp=8": the last words of the paths.
std::string series_name(const Sweep& sweep, const SweepRow& row) {
  std::string name;
  for (std::size_t i = 1; i < sweep.axes.size(); ++i) {
    const std::string& path = sweep.axes[i].path;
    const std::string last = path.substr(path.find_last_of("./") + 1);
    name += (name.empty() ? "" : ", ") + last + "=" + row.values[i];
  }
  return name;
}

}  // namespace

std::vector<std::string> sweep_metric_words() {
  std::vector<std::string> words;
  for (const MetricInfo& info : metrics()) words.emplace_back(info.word);
  return words;
}

std::optional<SweepMetric> sweep_metric(const std::string& word) {
  for (const MetricInfo& info : metrics()) {
    if (word == info.word) return info.metric;
  }
  return std::nullopt;
}

Chart sweep_chart(const Sweep& sweep, SweepMetric metric) {
  const MetricInfo& info = info_of(metric);
  double most = 0.0;
  bool hollow = false;
  for (const SweepRow& row : sweep.rows) {
    if (!row.reason.empty()) continue;
    if (const auto value = info.pick(row)) most = std::max({most, value->value, value->high});
    hollow = hollow || row.fits == Fit::no;
  }
  const Scale scale = chart_scale(metric, most);
  const std::string over = metric == SweepMetric::speedup ? " over " + sweep.baseline : "";

  Chart chart;
  chart.title = sweep.scenario + (sweep.variant.empty() ? "" : ", " + sweep.variant) + ": " +
                info.title + over;
  chart.note = sweep.draws > 0 ? "bands: 10th to 90th percentile" : "";
  if (hollow) chart.note += std::string(chart.note.empty() ? "" : "; ") + "hollow: does not fit";
  const SweepAxis& axis = sweep.axes.front();
  chart.x_title = axis.path;
  chart.x_labels = axis.values;
  chart.x_values = numbers_of(axis.values);
  chart.y_title =
      std::string(info.title) + (*scale.unit == '\0' ? "" : std::string(", ") + scale.unit);

  std::map<std::string, std::size_t> known;
  for (const SweepRow& row : sweep.rows) {
    const std::string name = series_name(sweep, row);
    const auto [at, added] = known.emplace(name, chart.series.size());
    if (added) chart.series.push_back({name, {}});
    if (!row.reason.empty()) continue;
    const auto value = info.pick(row);
    if (!value) continue;
    const auto place = std::find(axis.values.begin(), axis.values.end(), row.values.front());
    chart.series[at->second].points.push_back(
        {static_cast<std::size_t>(place - axis.values.begin()), value->value / scale.si,
         value->low / scale.si, value->high / scale.si, row.fits == Fit::no});
  }
  std::erase_if(chart.series, [](const ChartSeries& series) { return series.points.empty(); });
  return chart;
}

}  // namespace hysim::report
