#include "cli/executor.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include <tbb/parallel_for.h>
#include <unistd.h>

namespace hysim::cli {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kQuiet = std::chrono::milliseconds(500);
constexpr auto kPause = std::chrono::milliseconds(100);

void write_to_terminal(const std::string& text) {
  const auto written = ::write(STDERR_FILENO, text.data(), text.size());
  static_cast<void>(written);  // nothing depends on it
}

}  // namespace

struct Progress::State {
  bool enabled = false;
  Clock::time_point start = Clock::now();
  std::atomic<std::int64_t> expected = 0;
  std::atomic<std::int64_t> count = 0;
  std::mutex mutex;  // of what follows
  Clock::time_point shown;
  std::size_t width = 0;  // of the line on the terminal
};

Progress::Progress(bool enabled) : state_(std::make_unique<State>()) {
  state_->enabled = enabled && ::isatty(STDERR_FILENO) == 1;
}

Progress::~Progress() { finish(); }

void Progress::expect(std::int64_t count) { state_->expected += count; }

void Progress::tick() {
  State& state = *state_;
  const std::int64_t count = ++state.count;
  if (!state.enabled) return;
  const auto now = Clock::now();
  if (now - state.start < kQuiet) return;
  const std::unique_lock<std::mutex> lock(state.mutex, std::try_to_lock);
  if (!lock.owns_lock() || now - state.shown < kPause) return;
  const std::string text =
      "hysim: " + std::to_string(count) + " of " + std::to_string(state.expected) + " parts";
  write_to_terminal("\r" + text);
  state.width = text.size();
  state.shown = now;
}

void Progress::finish() {
  const std::unique_lock<std::mutex> lock(state_->mutex);
  if (state_->width == 0) return;
  write_to_terminal("\r" + std::string(state_->width, ' ') + "\r");
  state_->width = 0;
}

Executor parallel_executor(Progress& progress) {
  return [&progress](std::int64_t count, const std::function<void(std::int64_t)>& body) {
    progress.expect(count);
    tbb::parallel_for(std::int64_t{0}, count, [&](std::int64_t i) {
      body(i);
      progress.tick();
    });
  };
}

}  // namespace hysim::cli
