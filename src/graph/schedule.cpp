#include "graph/schedule.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace hysim::graph {

namespace {

using Index = std::size_t;

/// State repeats when every time moved by the same amount, to rounding.
constexpr double kSameShift = 1e-14;

/// Times of this many micro-batches find room at once; few schedules take as many to repeat.
constexpr Index kRoom = 4096;

/// `count` empty lists with room for `size` entries each.
void clear(std::vector<std::vector<double>>& lists, Index count, Index size) {
  if (lists.size() < count) lists.resize(count);
  for (Index i = 0; i < count; ++i) {
    lists[i].clear();
    lists[i].reserve(std::min(size, kRoom));
  }
}

/// Watches the states of a recursion, a row at a time, for one that is an earlier one shifted.
/// Critical cycles may span several rows, so it looks back as many.
class Repetition {
 public:
  /// `times`: most that a state has.
  Repetition(Index lags, Index times, std::vector<std::vector<double>>& states)
      : states_(states), lags_(lags) {
    clear(states_, lags, times);
  }

  /// Where to write the next state.
  std::vector<double>& next() {
    std::vector<double>& state = states_[rows_ % lags_];
    state.clear();
    return state;
  }
  struct Found {
    Index lag = 0;  // rows; 0: no earlier state fits
    double shift = 0.0;
  };
  /// Compares the state just written.
  Found compare() {
    const std::vector<double>& now = states_[rows_ % lags_];
    ++rows_;
    for (Index lag = 1; lag < std::min(rows_, lags_); ++lag) {
      const double shift = uniform_shift(states_[(rows_ - 1 - lag) % lags_], now);
      if (shift > 0.0) return {lag, shift};
    }
    return {};
  }

 private:
  static double uniform_shift(const std::vector<double>& before, const std::vector<double>& now) {
    if (before.size() != now.size() || now.empty()) return 0.0;
    const double shift = now.front() - before.front();
    for (Index i = 1; i < now.size(); ++i) {
      if (std::abs(now[i] - before[i] - shift) > kSameShift * now[i]) return 0.0;
    }
    return shift;
  }

  std::vector<std::vector<double>>& states_;
  Index lags_;
  Index rows_ = 0;
};

void set_result(const std::vector<double>& stage_end, PipelineResult& result) {
  result.makespan = *std::max_element(stage_end.begin(), stage_end.end());
  result.stage_end = stage_end;
}

/// Micro-batches of a group of the interleaved schedule.
std::int64_t group_of(const PipelineShape& t) {
  if (t.schedule == Schedule::breadth_first) return t.micro_batches;
  return t.group > 0 ? t.group : t.pp;
}

/// 1F1B as a recursion over micro-batches: stage s runs p-1-s warm-up forwards, then pairs
/// F(s, k + p-1-s), B(s, k). Row k of the state is what the next row depends on. Under ZB-H1 W(s,
/// k - s) follows B(s, k), and the s weight gradients left are the stage's last.
class OneForwardOneBackward {
 public:
  OneForwardOneBackward(const PipelineTimes& t, PipelineBuffers& buffers)
      : t_(t),
        p_(static_cast<Index>(t.pp)),
        m_(static_cast<Index>(t.micro_batches)),
        free_(buffers.free),
        forward_end_(buffers.forward_end),
        backward_end_(buffers.latest),
        states_(buffers.states) {
    free_.assign(p_, 0.0);
    backward_end_.assign(p_, 0.0);
    clear(forward_end_, p_, m_);
  }

  void run(PipelineResult& result) {
    for (Index s = 0; s < p_; ++s) {
      const Index warm_up = std::min(m_, p_ - 1 - s);
      for (Index j = 0; j < warm_up; ++j) forward(s, j);
    }
    Repetition repetition(p_ + 1, 2 * p_, states_);
    bool collapsed = false;
    for (Index k = 0; k < m_; ++k) {
      for (Index s = 0; s < p_; ++s) {
        if (k + p_ - 1 - s < m_) forward(s, k + p_ - 1 - s);
      }
      for (Index s = p_; s-- > 0;) backward(s, k);
      // All stages are in steady state while k + p < m, and with split backwards from k = p - 1
      // on: a later row repeats this one shifted.
      if (collapsed || k + 2 * p_ >= m_ || (!t_.weight.empty() && k + 1 < p_)) continue;
      state(k, repetition.next());
      if (const Repetition::Found found = repetition.compare(); found.lag > 0) {
        const Index periods = (m_ - 1 - k - p_) / found.lag;
        advance(static_cast<double>(periods) * found.shift);
        m_ -= periods * found.lag;
        collapsed = true;
      }
    }
    if (!t_.weight.empty()) {
      for (Index s = 0; s < p_; ++s)
        free_[s] += static_cast<double>(std::min(m_, s)) * t_.weight[s];
    }
    set_result(free_, result);
  }

 private:
  void forward(Index s, Index micro_batch) {
    const double arrived = s == 0 ? 0.0 : output(s - 1, micro_batch) + t_.send;
    free_[s] = std::max(free_[s], arrived) + t_.forward[s];
    forward_end_[s].push_back(free_[s]);
  }
  void backward(Index s, Index micro_batch) {
    // The last stage's own forward precedes its backward on the same stage.
    const double arrived = s + 1 == p_ ? 0.0 : backward_end_[s + 1] + t_.send;
    free_[s] = std::max(free_[s], arrived) + t_.backward[s];
    backward_end_[s] = free_[s];
    if (!t_.weight.empty() && micro_batch >= s) free_[s] += t_.weight[s];
  }
  double output(Index s, Index micro_batch) const { return forward_end_[s][micro_batch]; }

  /// Times the rows after row k depend on: when stages are free, and outputs not yet consumed
  /// (stage s is one micro-batch ahead of stage s + 1).
  void state(Index k, std::vector<double>& times) const {
    times = free_;
    for (Index s = 0; s + 1 < p_; ++s) times.push_back(output(s, k + p_ - 1 - s));
  }
  /// Jumps over rows in which every time grows by `shift`: what is pending moves with it.
  void advance(double shift) {
    for (double& time : free_) time += shift;
    for (double& time : backward_end_) time += shift;
    for (Index s = 0; s < p_; ++s) forward_end_[s].back() += shift;
  }

  const PipelineTimes& t_;
  Index p_;
  Index m_;
  std::vector<double>& free_;
  std::vector<std::vector<double>>& forward_end_;  // [stage][micro-batch]
  std::vector<double>& backward_end_;              // of the latest micro-batch
  std::vector<std::vector<double>>& states_;
};

/// Interleaved 1F1B by running every stage's op list as far as its inputs allow, in rows of one
/// group of micro-batches: row 0 ends where every stage has warmed up, each further one after
/// group x v more forwards and backwards. Ops of a row need only outputs of the same or earlier
/// rows. The last group may be smaller.
class Interleaved {
 public:
  Interleaved(const PipelineTimes& t, PipelineBuffers& buffers)
      : t_(t),
        p_(static_cast<Index>(t.pp)),
        v_(static_cast<Index>(t.vpp)),
        m_(static_cast<Index>(t.micro_batches)),
        group_(static_cast<Index>(group_of(t))),
        free_(buffers.free),
        next_(buffers.next),
        forward_end_(buffers.forward_end),
        backward_end_(buffers.backward_end),
        states_(buffers.states) {
    free_.assign(p_, 0.0);
    next_.assign(p_, 0);
    clear(forward_end_, p_ * v_, m_);
    clear(backward_end_, p_ * v_, m_);
  }

  void run(PipelineResult& result) {
    Repetition repetition(p_ * v_ + 1, 4 * p_ + group_, states_);
    bool collapsed = false;
    for (Index row = 0; run_row(row); ++row) {
      // No stage has run out of forwards of whole groups.
      const Index needed = row * group_ + (warm_up(0) + v_ - 1) / v_;
      const Index whole = m_ - m_ % group_;
      if (collapsed || needed > whole) continue;
      state(row, repetition.next());
      if (const Repetition::Found found = repetition.compare(); found.lag > 0) {
        const Index periods = (whole - needed) / (found.lag * group_);
        advance(static_cast<double>(periods) * found.shift);
        m_ -= periods * found.lag * group_;
        collapsed = true;
      }
    }
    set_result(free_, result);
  }

 private:
  Index warm_up(Index s) const { return 2 * (p_ - s - 1) + (v_ - 1) * group_; }
  /// Micro-batches before the group of op `virtual_id`, and those of the group.
  Index group_begin(Index virtual_id) const { return virtual_id / (group_ * v_) * group_; }
  Index group_size(Index virtual_id) const {
    return std::min(group_, m_ - group_begin(virtual_id));
  }
  Index chunk_of(Index virtual_id) const {
    return virtual_id % (group_ * v_) / group_size(virtual_id);
  }
  Index micro_batch_of(Index virtual_id) const {
    return group_begin(virtual_id) + virtual_id % (group_ * v_) % group_size(virtual_id);
  }

  /// False when no op was left to run.
  bool run_row(Index row) {
    bool any = false;
    bool progress = true;
    while (progress) {
      progress = false;
      for (Index s = 0; s < p_; ++s) {
        const Index end = std::min(warm_up(s) + 2 * group_ * v_ * row, 2 * m_ * v_);
        while (next_[s] < end && step(s, next_[s])) {
          ++next_[s];
          progress = any = true;
        }
      }
    }
    return any;
  }

  /// Runs op number `op` of stage s; false when its input has not arrived.
  bool step(Index s, Index op) {
    const Index warm = std::min(warm_up(s), m_ * v_);
    bool is_forward = op < warm;
    Index virtual_id = op;
    if (!is_forward) {
      const Index i = op - warm;
      const Index pairs = m_ * v_ - warm;
      is_forward = i < 2 * pairs && i % 2 == 0;
      virtual_id = is_forward ? warm + i / 2 : (i < 2 * pairs ? i / 2 : i - pairs);
    }
    const Index micro_batch = micro_batch_of(virtual_id);
    const Index round = chunk_of(virtual_id);
    const Index chunk = is_forward ? round : v_ - 1 - round;
    double arrived = 0.0;
    if (is_forward ? !forward_input(chunk, s, micro_batch, arrived)
                   : !backward_input(chunk, s, micro_batch, arrived)) {
      return false;
    }
    const std::vector<double>& duration = is_forward ? t_.forward : t_.backward;
    free_[s] = std::max(free_[s], arrived) + duration[chunk * p_ + s];
    (is_forward ? forward_end_ : backward_end_)[chunk * p_ + s].push_back(free_[s]);
    return true;
  }

  bool forward_input(Index chunk, Index s, Index micro_batch, double& arrived) const {
    if (chunk == 0 && s == 0) return true;
    const Index from = s > 0 ? chunk * p_ + s - 1 : (chunk - 1) * p_ + p_ - 1;
    return read(forward_end_[from], micro_batch, t_.send, arrived);
  }
  bool backward_input(Index chunk, Index s, Index micro_batch, double& arrived) const {
    if (chunk + 1 == v_ && s + 1 == p_) {
      return read(forward_end_[chunk * p_ + s], micro_batch, 0.0, arrived);
    }
    const Index from = s + 1 < p_ ? chunk * p_ + s + 1 : (chunk + 1) * p_;
    return read(backward_end_[from], micro_batch, t_.send, arrived);
  }
  static bool read(const std::vector<double>& ends, Index micro_batch, double send,
                   double& arrived) {
    if (micro_batch >= ends.size()) return false;
    arrived = ends[micro_batch] + send;
    return true;
  }

  /// Times that later rows depend on: when stages are free, and the forward outputs that the next
  /// stage (after the last: the first, a group later) has not consumed. No gradient waits: rows end
  /// with whole groups of backwards.
  void state(Index row, std::vector<double>& times) const {
    times = free_;
    const Index done = group_ * v_ * row;
    for (Index s = 0; s < p_; ++s) {
      const bool wraps = s + 1 == p_;
      const Index consumed = wraps ? warm_up(0) - std::min(warm_up(0), group_) : warm_up(s + 1);
      for (Index id = done + consumed; id < done + warm_up(s); ++id) {
        times.push_back(forward_end_[chunk_of(id) * p_ + s][micro_batch_of(id)]);
      }
    }
  }
  /// Jumps over rows in which every time grows by `shift`: what is pending moves with it.
  void advance(double shift) {
    for (double& time : free_) time += shift;
    for (Index chunk = 0; chunk < p_ * v_; ++chunk) {
      std::vector<double>& ends = forward_end_[chunk];
      for (Index i = ends.size() - std::min(ends.size(), group_); i < ends.size(); ++i) {
        ends[i] += shift;
      }
    }
  }

  const PipelineTimes& t_;
  Index p_;
  Index v_;
  Index m_;
  Index group_;
  std::vector<double>& free_;
  std::vector<Index>& next_;                       // op of each stage
  std::vector<std::vector<double>>& forward_end_;  // [chunk x p + stage][micro-batch]
  std::vector<std::vector<double>>& backward_end_;
  std::vector<std::vector<double>>& states_;
};

/// GPipe: stages in a row, each as fast as the slowest so far. Micro-batch j leaves stage s at the
/// sum of the forwards up to s and j times the longest of them; backwards likewise, from the end
/// of the last forward on.
void run_gpipe(const PipelineTimes& t, PipelineBuffers& buffers, PipelineResult& result) {
  const auto p = static_cast<Index>(t.pp);
  const double others = static_cast<double>(t.micro_batches - 1);
  double end = -t.send;
  double slowest = 0.0;
  for (Index s = 0; s < p; ++s) {
    end += t.send + t.forward[s];
    slowest = std::max(slowest, t.forward[s]);
  }
  end += others * slowest - t.send;
  std::vector<double>& stage_end = buffers.free;
  stage_end.assign(p, 0.0);
  slowest = 0.0;
  for (Index s = p; s-- > 0;) {
    end += t.send + t.backward[s];
    slowest = std::max(slowest, t.backward[s]);
    stage_end[s] = end + others * slowest;
  }
  set_result(stage_end, result);
}

}  // namespace

PipelineResult run_pipeline(const PipelineTimes& times) {
  PipelineBuffers buffers;
  PipelineResult result;
  run_pipeline(times, buffers, result);
  return result;
}

void run_pipeline(const PipelineTimes& times, PipelineBuffers& buffers, PipelineResult& result) {
  if (times.schedule == Schedule::gpipe) {
    run_gpipe(times, buffers, result);
  } else if (times.vpp == 1) {
    OneForwardOneBackward(times, buffers).run(result);
  } else {
    Interleaved(times, buffers).run(result);
  }
}

std::int64_t peak_in_flight(const PipelineShape& shape, std::int64_t stage) {
  const std::int64_t m = shape.micro_batches;
  if (shape.schedule == Schedule::gpipe) return m;
  if (shape.vpp == 1) return std::min(m, shape.pp - stage);
  return std::min(m * shape.vpp,
                  2 * (shape.pp - stage - 1) + (shape.vpp - 1) * group_of(shape) + 1);
}

std::int64_t peak_in_flight(std::int64_t pp, std::int64_t vpp, std::int64_t micro_batches,
                            std::int64_t stage) {
  return peak_in_flight({Schedule::one_f_one_b, pp, vpp, micro_batches, 0}, stage);
}

std::int64_t peak_waiting_weights(const PipelineShape& shape, std::int64_t stage) {
  return shape.schedule == Schedule::zb_h1 ? std::min(shape.micro_batches - 1, stage) : 0;
}

}  // namespace hysim::graph
