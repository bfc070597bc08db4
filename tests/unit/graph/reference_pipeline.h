// A pipeline schedule computed the long way: the op order of every stage written out, then
// longest-path relaxation over the graph of all ops. Shares no code with graph/schedule.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "graph/schedule.h"

namespace hysim::test {

struct PipelineOp {
  bool forward = true;
  std::size_t chunk = 0;  // of the stage's vpp chunks
  std::size_t micro_batch = 0;
};
/// Ops of every stage in the order they run.
using OpOrders = std::vector<std::vector<PipelineOp>>;

/// Stage s: min(m, p-1-s) forwards, then forward and backward in turn, then what backwards remain.
inline OpOrders one_f_one_b_order(std::size_t p, std::size_t m) {
  OpOrders orders(p);
  for (std::size_t s = 0; s < p; ++s) {
    const std::size_t warm_up = std::min(m, p - 1 - s);
    for (std::size_t j = 0; j < warm_up; ++j) orders[s].push_back({true, 0, j});
    for (std::size_t j = warm_up; j < m; ++j) {
      orders[s].push_back({true, 0, j});
      orders[s].push_back({false, 0, j - warm_up});
    }
    for (std::size_t j = m - warm_up; j < m; ++j) orders[s].push_back({false, 0, j});
  }
  return orders;
}

/// All forwards, then all backwards, both from the first micro-batch on.
inline OpOrders gpipe_order(std::size_t p, std::size_t m) {
  OpOrders orders(p);
  for (std::vector<PipelineOp>& order : orders) {
    for (std::size_t j = 0; j < m; ++j) order.push_back({true, 0, j});
    for (std::size_t j = 0; j < m; ++j) order.push_back({false, 0, j});
  }
  return orders;
}

/// Megatron-LM's interleaved order: groups of p micro-batches go through chunk 0, then 1, ...;
/// backwards through the chunks in reverse; min(2(p-s-1) + (v-1)p, m v) forwards to warm up.
inline OpOrders interleaved_order(std::size_t p, std::size_t v, std::size_t m) {
  std::vector<PipelineOp> forwards;
  std::vector<PipelineOp> backwards;
  for (std::size_t group = 0; group < m; group += p) {
    for (std::size_t round = 0; round < v; ++round) {
      for (std::size_t j = group; j < std::min(group + p, m); ++j) {
        forwards.push_back({true, round, j});
        backwards.push_back({false, v - 1 - round, j});
      }
    }
  }
  OpOrders orders(p);
  for (std::size_t s = 0; s < p; ++s) {
    const std::size_t warm_up = std::min(2 * (p - s - 1) + (v - 1) * p, m * v);
    std::size_t next = 0;
    for (; next < warm_up; ++next) orders[s].push_back(forwards[next]);
    std::size_t back = 0;
    for (; next < m * v; ++next, ++back) {
      orders[s].push_back(forwards[next]);
      orders[s].push_back(backwards[back]);
    }
    for (; back < m * v; ++back) orders[s].push_back(backwards[back]);
  }
  return orders;
}

inline OpOrders op_orders(std::size_t p, std::size_t v, std::size_t m) {
  return v == 1 ? one_f_one_b_order(p, m) : interleaved_order(p, v, m);
}

struct TimedOp {
  PipelineOp op;
  double start = 0.0;
  double end = 0.0;
};

struct ReferenceResult {
  double makespan = 0.0;
  std::vector<double> stage_end;
  std::vector<std::vector<TimedOp>> stages;
};

/// Start of every op: the latest end of its predecessors, `send` later across stages. Ops are
/// relaxed in topological order; throws when the orders deadlock.
inline ReferenceResult relax(const OpOrders& orders, const graph::PipelineTimes& times) {
  const auto p = static_cast<std::size_t>(times.pp);
  const auto v = static_cast<std::size_t>(times.vpp);
  const auto m = static_cast<std::size_t>(times.micro_batches);
  const std::size_t half = p * v * m;
  // Nodes: forward of (chunk, stage, micro-batch), then backwards likewise.
  const auto node = [&](bool forward, std::size_t chunk, std::size_t s, std::size_t j) {
    return (forward ? 0 : half) + (chunk * p + s) * m + j;
  };
  struct Edge {
    std::size_t to;
    double weight;
  };
  std::vector<std::vector<Edge>> after(2 * half);
  std::vector<int> waiting(2 * half, 0);
  const auto edge = [&](std::size_t from, std::size_t to, double weight) {
    after[from].push_back({to, weight});
    ++waiting[to];
  };
  std::vector<double> duration(2 * half);
  for (std::size_t c = 0; c < v; ++c) {
    for (std::size_t s = 0; s < p; ++s) {
      for (std::size_t j = 0; j < m; ++j) {
        duration[node(true, c, s, j)] = times.forward[c * p + s];
        duration[node(false, c, s, j)] = times.backward[c * p + s];
        if (c + 1 == v && s + 1 == p) {
          edge(node(true, c, s, j), node(false, c, s, j), 0.0);
          continue;
        }
        const std::size_t next_chunk = s + 1 < p ? c : c + 1;
        const std::size_t next_stage = s + 1 < p ? s + 1 : 0;
        edge(node(true, c, s, j), node(true, next_chunk, next_stage, j), times.send);
        edge(node(false, next_chunk, next_stage, j), node(false, c, s, j), times.send);
      }
    }
  }
  for (std::size_t s = 0; s < p; ++s) {
    for (std::size_t i = 1; i < orders[s].size(); ++i) {
      const PipelineOp& a = orders[s][i - 1];
      const PipelineOp& b = orders[s][i];
      edge(node(a.forward, a.chunk, s, a.micro_batch), node(b.forward, b.chunk, s, b.micro_batch),
           0.0);
    }
  }
  std::vector<double> start(2 * half, 0.0);
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < 2 * half; ++i) {
    if (waiting[i] == 0) ready.push_back(i);
  }
  std::size_t done = 0;
  while (!ready.empty()) {
    const std::size_t i = ready.back();
    ready.pop_back();
    ++done;
    for (const Edge& e : after[i]) {
      start[e.to] = std::max(start[e.to], start[i] + duration[i] + e.weight);
      if (--waiting[e.to] == 0) ready.push_back(e.to);
    }
  }
  if (done != 2 * half) throw std::logic_error("the op orders deadlock");

  ReferenceResult result;
  result.stage_end.assign(p, 0.0);
  result.stages.resize(p);
  for (std::size_t s = 0; s < p; ++s) {
    for (const PipelineOp& op : orders[s]) {
      const std::size_t i = node(op.forward, op.chunk, s, op.micro_batch);
      result.stages[s].push_back({op, start[i], start[i] + duration[i]});
      result.stage_end[s] = std::max(result.stage_end[s], start[i] + duration[i]);
    }
    result.makespan = std::max(result.makespan, result.stage_end[s]);
  }
  return result;
}

inline ReferenceResult reference_pipeline(const graph::PipelineTimes& times) {
  return relax(op_orders(static_cast<std::size_t>(times.pp), static_cast<std::size_t>(times.vpp),
                         static_cast<std::size_t>(times.micro_batches)),
               times);
}

/// Chunk activations alive at once at most: from the start of a forward to the end of its
/// backward.
inline std::int64_t reference_in_flight(const std::vector<PipelineOp>& order) {
  std::int64_t alive = 0;
  std::int64_t most = 0;
  for (const PipelineOp& op : order) {
    if (op.forward)
      most = std::max(most, ++alive);
    else
      --alive;
  }
  return most;
}

}  // namespace hysim::test
