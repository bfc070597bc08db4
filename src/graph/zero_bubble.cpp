#include "graph/zero_bubble.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace hysim::graph {

namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

void add_once(std::vector<std::int32_t>& list, std::int32_t task) {
  if (std::find(list.begin(), list.end(), task) == list.end()) list.push_back(task);
}

}  // namespace

void defer_weight_gradients(TaskList& backward) {
  TaskList kept;
  TaskList weights;
  // What a task of the old list stands for in the new one: itself, or what a moved one waited for.
  std::vector<std::vector<std::int32_t>> stands_for(backward.size());
  std::array<std::int32_t, kStreams> latest;  // of each stream, in the new list
  latest.fill(-1);
  for (std::size_t i = 0; i < backward.size(); ++i) {
    Task& task = backward[i];
    std::vector<std::int32_t> after;
    for (const std::int32_t before : task.after) {
      for (const std::int32_t stand_in : stands_for[at(before)]) add_once(after, stand_in);
    }
    task.after = std::move(after);
    std::int32_t& on_stream = latest[static_cast<std::size_t>(task.stream)];
    if (task.weight_gradient) {
      stands_for[i] = task.after;
      if (on_stream >= 0) add_once(stands_for[i], on_stream);
      task.after.clear();
      weights.push_back(std::move(task));
    } else {
      on_stream = static_cast<std::int32_t>(kept.size());
      stands_for[i] = {on_stream};
      kept.push_back(std::move(task));
    }
  }
  if (!weights.empty()) {
    for (const std::int32_t last : latest) {
      if (last >= 0) weights.front().after.push_back(last);
    }
  }
  std::move(weights.begin(), weights.end(), std::back_inserter(kept));
  backward = std::move(kept);
}

Bytes weight_gradient_operands(const TaskList& backward) {
  Bytes operands;
  for (const Task& task : backward) {
    const auto* const work = std::get_if<ops::Work>(&task.work);
    // A weight gradient reads what it accumulates into as well.
    if (task.weight_gradient && work != nullptr) operands += work->read - work->written;
  }
  return operands;
}

}  // namespace hysim::graph
