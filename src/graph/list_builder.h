// Appends tasks to a list in program order: compute tasks follow each other on the compute stream;
// communication starts after the compute task before it, and what follows waits for it unless the
// software stack overlaps it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/program.h"

namespace hysim::graph {

class ListBuilder {
 public:
  /// `phase` ends every path: "forward", "recompute", "backward".
  ListBuilder(Program& program, TaskList& list, std::string_view phase)
      : program_(program), list_(list), phase_(phase) {}

  void compute(std::string_view part, const ops::Work& work) {
    list_.push_back({leaf(part), Stream::compute, work, std::exchange(pending_, {})});
    before_last_compute_ = std::exchange(last_compute_, last());
    if (work.kernel == ops::Kernel::gemm || work.kernel == ops::Kernel::grouped_gemm) {
      pending_ = std::exchange(until_matrix_, {});
    }
  }

  /// A matrix product that makes gradients of weights only.
  void weight_gradient(std::string_view part, const ops::Work& work) {
    compute(part, work);
    list_.back().weight_gradient = true;
  }

  /// The next compute task waits for it. Nothing is added for a group of one.
  void communicate(Stream stream, std::string_view part, const collectives::Collective& op) {
    wait(start(stream, part, op));
  }
  /// Runs beside what follows up to the next matrix product, which takes its result in pieces.
  void communicate_beside_next_matrix(Stream stream, std::string_view part,
                                      const collectives::Collective& op) {
    const std::int32_t task = start(stream, part, op);
    if (task >= 0) until_matrix_.push_back(task);
  }
  /// Runs beside the matrix product just added, which gives its result in pieces.
  void communicate_beside_last_matrix(Stream stream, std::string_view part,
                                      const collectives::Collective& op) {
    wait(add(stream, part, op, before_last_compute_));
  }

  /// Starts after the last compute task; nothing waits for it before wait(). -1 for a group of one.
  std::int32_t start(Stream stream, std::string_view part, const collectives::Collective& op) {
    return add(stream, part, op, last_compute_);
  }
  void wait(std::int32_t task) {
    if (task >= 0) pending_.push_back(task);
  }

 private:
  std::int32_t add(Stream stream, std::string_view part, const collectives::Collective& op,
                   std::int32_t after) {
    if (op.group.size <= 1) return -1;
    Task task{leaf(part), stream, op, pending_};
    if (after >= 0) task.after.push_back(after);
    list_.push_back(std::move(task));
    return last();
  }
  std::int32_t last() const { return static_cast<std::int32_t>(list_.size()) - 1; }
  std::int32_t leaf(std::string_view part) {
    return program_.leaf(std::string(part) + "/" + std::string(phase_));
  }

  Program& program_;
  TaskList& list_;
  std::string_view phase_;
  std::int32_t last_compute_ = -1;
  std::int32_t before_last_compute_ = -1;
  std::vector<std::int32_t> pending_;       // the next compute task waits for these
  std::vector<std::int32_t> until_matrix_;  // what follows the next matrix product waits for these
};

}  // namespace hysim::graph
