// Runs evaluations on all cores and says so when it takes long.
#pragma once

#include <cstdint>
#include <memory>

#include "hysim/predict.h"

namespace hysim::cli {

/// Counts pieces of work; after half a second it shows the count on stderr, if that is a terminal.
class Progress {
 public:
  explicit Progress(bool enabled);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `count` more pieces are known of. Thread-safe, as tick().
  void expect(std::int64_t count);
  /// One piece is done.
  void tick();
  /// Clears the line.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// `progress` must outlive the executor.
Executor parallel_executor(Progress& progress);

}  // namespace hysim::cli
