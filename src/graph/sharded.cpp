#include "graph/sharded.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

namespace hysim::graph {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// What a micro-batch leaves to the next: when the compute stream and the wire are free, and when
// the reduction before the last ended.
enum : std::size_t { kCompute, kWire, kReduced, kReducedBefore, kStates };
using State = std::array<double, kStates>;

/// A step of max-plus algebra: to[i] = max over j of from[j] + map[i][j]. Waiting for the latest of
/// several ends and adding durations is linear in it, so many micro-batches are a power.
using Map = std::array<State, kStates>;

State image_of(const Map& map, const State& from) {
  State to;
  to.fill(kNever);
  for (std::size_t i = 0; i < kStates; ++i) {
    for (std::size_t j = 0; j < kStates; ++j) to[i] = std::max(to[i], from[j] + map[i][j]);
  }
  return to;
}

Map product(const Map& after, const Map& before) {
  Map map;
  for (std::size_t i = 0; i < kStates; ++i) {
    map[i].fill(kNever);
    for (std::size_t k = 0; k < kStates; ++k) {
      for (std::size_t j = 0; j < kStates; ++j) {
        map[i][j] = std::max(map[i][j], after[i][k] + before[k][j]);
      }
    }
  }
  return map;
}

/// One micro-batch: forwards in model order, backwards in reverse.
class MicroBatch {
 public:
  /// `ends` is scratch.
  MicroBatch(const ShardedTimes& times, bool first, const State& state, std::vector<double>& ends)
      : t_(times),
        steps_(2 * times.units.size()),
        prefetch_(times.shards_weights ? std::min(static_cast<std::size_t>(times.prefetch), steps_)
                                       : (times.prefetch > 0 ? steps_ : 0)),
        gathers_forward_(times.shards_weights || first),
        s_(state),
        ends_(ends) {
    ends_.assign(prefetch_ + 1, kNever);
  }

  State run() {
    for (std::size_t i = 0; i < steps_; ++i) {
      ask_until(i + 1, s_[kCompute]);
      double start = std::max(s_[kCompute], gathered(i));
      const bool reduces = backward(i) && unit(i).reduce > 0.0;
      if (reduces) start = std::max(start, s_[kReducedBefore]);
      ask_until(i + 1 + prefetch_, start);
      s_[kCompute] = start + (backward(i) ? unit(i).backward : unit(i).forward);
      if (reduces) reduce(unit(i).reduce);
    }
    return s_;
  }

 private:
  bool backward(std::size_t step) const { return step >= t_.units.size(); }
  const ShardedUnit& unit(std::size_t step) const {
    return t_.units[backward(step) ? steps_ - 1 - step : step];
  }
  double gather_of(std::size_t step) const {
    const bool gathers = backward(step) ? t_.shards_weights && t_.reshard : gathers_forward_;
    return gathers ? unit(step).gather : 0.0;
  }
  /// Puts the gathers of steps before `step` that are not yet asked for on the wire.
  void ask_until(std::size_t step, double when) {
    for (; asked_ < std::min(step, steps_); ++asked_) {
      double& end = ends_[asked_ % ends_.size()];
      end = kNever;
      if (gather_of(asked_) > 0.0) end = s_[kWire] = std::max(s_[kWire], when) + gather_of(asked_);
    }
  }
  double gathered(std::size_t step) const { return ends_[step % ends_.size()]; }

  void reduce(double seconds) {
    s_[kWire] = std::max(s_[kWire], s_[kCompute]) + seconds;
    s_[kReducedBefore] = s_[kReduced];
    s_[kReduced] = s_[kWire];
    if (!t_.overlap_reduce) s_[kCompute] = s_[kWire];
  }

  const ShardedTimes& t_;
  std::size_t steps_;
  std::size_t prefetch_;
  bool gathers_forward_;
  State s_;
  std::size_t asked_ = 0;
  std::vector<double>& ends_;  // of gathers asked for, in turn
};

Map map_of(const ShardedTimes& times, bool first, std::vector<double>& ends) {
  Map map;
  for (std::size_t j = 0; j < kStates; ++j) {
    State unit;
    unit.fill(kNever);
    unit[j] = 0.0;
    const State column = MicroBatch(times, first, unit, ends).run();
    for (std::size_t i = 0; i < kStates; ++i) map[i][j] = column[i];
  }
  return map;
}

double passes(const ShardedTimes& times) {
  if (!times.shards_weights) return 1.0;
  return (times.reshard ? 2.0 : 1.0) * static_cast<double>(times.micro_batches);
}

}  // namespace

ShardedTimes sharding_of(const Program& program) {
  ShardedTimes times;
  times.micro_batches = program.micro_batches;
  times.shards_weights = program.zero >= 3;
  times.reshard = program.reshard_after_forward;
  times.prefetch = times.shards_weights ? program.fsdp_prefetch : 1;
  if (!program.overlap.param_gather) times.prefetch = 0;
  times.overlap_reduce = program.overlap.grad_reduce;
  return times;
}

double run_sharded(const ShardedTimes& times) {
  std::vector<double> scratch;
  return run_sharded(times, scratch);
}

double run_sharded(const ShardedTimes& times, std::vector<double>& scratch) {
  State state{};
  state = MicroBatch(times, true, state, scratch).run();
  // The rest by repeated squaring.
  auto left = static_cast<std::uint64_t>(times.micro_batches - 1);
  if (left > 0) {
    Map map = map_of(times, false, scratch);
    while (true) {
      if ((left & 1U) != 0) state = image_of(map, state);
      left >>= 1U;
      if (left == 0) break;
      map = product(map, map);
    }
  }
  return std::max(state[kCompute], state[kWire]);
}

double sharded_gather_seconds(const ShardedTimes& times) {
  double once = 0.0;
  for (const ShardedUnit& unit : times.units) once += unit.gather;
  return once * passes(times);
}

double sharded_reduce_seconds(const ShardedTimes& times) {
  double once = 0.0;
  for (const ShardedUnit& unit : times.units) once += unit.reduce;
  return once * static_cast<double>(times.micro_batches);
}

}  // namespace hysim::graph
