#include "collectives/alpha_beta.h"

#include <bit>

namespace hysim::collectives {

namespace {

double ceil_log2(std::int64_t n) {
  return n <= 1 ? 0.0 : static_cast<double>(std::bit_width(static_cast<std::uint64_t>(n - 1)));
}

/// (n-1)/n of the bytes in n-1 steps.
AlphaBeta ring_pass(std::int64_t n, Bytes bytes) {
  const double ranks = static_cast<double>(n);
  return {ranks - 1.0, bytes * ((ranks - 1.0) / ranks)};
}

}  // namespace

AlphaBeta ring_all_gather(std::int64_t n, Bytes bytes) { return ring_pass(n, bytes); }
AlphaBeta ring_reduce_scatter(std::int64_t n, Bytes bytes) { return ring_pass(n, bytes); }
AlphaBeta pairwise_all_to_all(std::int64_t n, Bytes bytes) { return ring_pass(n, bytes); }

AlphaBeta ring_all_reduce(std::int64_t n, Bytes bytes) {
  const AlphaBeta pass = ring_pass(n, bytes);
  return {2.0 * pass.steps, 2.0 * pass.sent};
}

AlphaBeta halving_doubling_all_reduce(std::int64_t n, Bytes bytes) {
  const double ranks = static_cast<double>(n);
  return {2.0 * ceil_log2(n), bytes * (2.0 * (ranks - 1.0) / ranks)};
}

AlphaBeta tree_all_reduce(std::int64_t n, Bytes bytes, std::int64_t chunks) {
  if (n <= 1) return {};
  const double pieces = static_cast<double>(chunks);
  const double steps = 2.0 * (ceil_log2(n) + pieces - 1.0);
  return {steps, bytes * (steps / pieces)};
}

AlphaBeta point_to_point(Bytes bytes) { return {1.0, bytes}; }

Seconds hierarchical_all_reduce(std::int64_t per_node, std::int64_t nodes, Bytes bytes,
                                Seconds alpha_inside, BytesPerSecond beta_inside,
                                Seconds alpha_across, BytesPerSecond beta_across) {
  const Seconds inside = ring_reduce_scatter(per_node, bytes).time(alpha_inside, beta_inside) +
                         ring_all_gather(per_node, bytes).time(alpha_inside, beta_inside);
  const Bytes shard = bytes / static_cast<double>(per_node);
  return inside + ring_all_reduce(nodes, shard).time(alpha_across, beta_across);
}

}  // namespace hysim::collectives
