// A schedule's end is a sum of op times along one path, the longest. The counts are its partial
// derivatives. Equal stages have many longest paths: times are told apart a little, and the counts
// are those of a path that is longest as the times are.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "config/sourced.h"
#include "predict/explain_step.h"

namespace hysim::predictor {

namespace {

using graph::PipelineResult;
using graph::PipelineTimes;

constexpr double kExact = 1e-11;  // of a stage's end: what counts x times may miss

/// How far times are told apart, and the step of the difference quotient; of the mean time.
struct Attempt {
  double apart;
  double step;
};
constexpr Attempt kAttempts[] = {
    {0.0, 1e-6}, {1e-5, 1e-8}, {1e-6, 1e-9}, {1e-4, 1e-7}, {1e-7, 1e-9}};

/// Every time of the schedule: forwards, backwards, weight gradients, and the send if there is one.
template <class Visit>
void for_each_time(PipelineTimes& times, const Visit& visit) {
  for (double& time : times.forward) visit(time);
  for (double& time : times.backward) visit(time);
  for (double& time : times.weight) visit(time);
  if (times.send > 0.0) visit(times.send);
}

double mean(PipelineTimes times) {
  double sum = 0.0;
  double count = 0.0;
  for_each_time(times, [&](double time) {
    sum += time;
    count += 1.0;
  });
  return sum / count;
}

/// counts[stage][time] by difference quotients; false when they are no whole numbers.
bool differentiate(PipelineTimes times, double step, std::vector<std::vector<double>>& counts) {
  constexpr double kWhole = 0.05;
  const PipelineResult base = graph::run_pipeline(times);
  counts.assign(base.stage_end.size(), {});
  bool whole = true;
  for_each_time(times, [&](double& time) {
    const double before = time;
    time += step;
    const PipelineResult moved = graph::run_pipeline(times);
    const double moved_by = time - before;
    time = before;
    for (std::size_t s = 0; s < counts.size(); ++s) {
      const double count = (moved.stage_end[s] - base.stage_end[s]) / moved_by;
      counts[s].push_back(std::round(count));
      whole = whole && std::abs(count - std::round(count)) < kWhole;
    }
  });
  return whole;
}

bool adds_up(PipelineTimes times, const std::vector<std::vector<double>>& counts) {
  const PipelineResult result = graph::run_pipeline(times);
  for (std::size_t s = 0; s < counts.size(); ++s) {
    double sum = 0.0;
    std::size_t i = 0;
    for_each_time(times, [&](double time) { sum += counts[s][i++] * time; });
    if (std::abs(sum - result.stage_end[s]) > kExact * result.stage_end[s]) return false;
  }
  return true;
}

}  // namespace

std::vector<PathCounts> path_counts(const PipelineTimes& times) {
  const double scale = mean(times);
  for (const Attempt& attempt : kAttempts) {
    PipelineTimes apart = times;
    std::uint64_t i = 0;
    for_each_time(apart, [&](double& time) {
      time += attempt.apart * scale * config::uniform(1, "path", i++);
    });
    std::vector<std::vector<double>> counts;
    if (!differentiate(apart, attempt.step * scale, counts) || !adds_up(times, counts)) continue;
    std::vector<PathCounts> result;
    for (const std::vector<double>& stage : counts) {
      auto next = stage.begin();
      const auto take = [&](const std::vector<double>& of) {
        const auto begin = std::exchange(next, next + static_cast<std::ptrdiff_t>(of.size()));
        return std::vector<double>(begin, next);
      };
      PathCounts path;
      path.forward = take(times.forward);
      path.backward = take(times.backward);
      path.weight = take(times.weight);
      path.send = times.send > 0.0 ? stage.back() : 0.0;
      result.push_back(std::move(path));
    }
    return result;
  }
  return {};
}

}  // namespace hysim::predictor
