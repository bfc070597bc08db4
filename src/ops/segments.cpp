#include "ops/segments.h"

#include <algorithm>
#include <utility>

namespace hysim::ops {

namespace {

/// 1 + 2 + ... + n
std::int64_t triangle(std::int64_t n) { return n * (n + 1) / 2; }

/// Sum of min(t, cap) for t = 1 ... n
std::int64_t capped_triangle(std::int64_t n, std::int64_t cap) {
  return n <= cap ? triangle(n) : triangle(cap) + (n - cap) * cap;
}

}  // namespace

std::int64_t causal_pairs(const Segment& segment) {
  return triangle(segment.kv_len()) - triangle(segment.query_begin);
}

std::int64_t selected_pairs(const Segment& segment, std::int64_t top_k) {
  return capped_triangle(segment.kv_len(), top_k) - capped_triangle(segment.query_begin, top_k);
}

std::int64_t causal_pairs_between(const Segment& queries, const Segment& keys) {
  const auto seen = [&](std::int64_t end) {
    return capped_triangle(std::max<std::int64_t>(0, end - keys.query_begin), keys.query_len);
  };
  return seen(queries.kv_len()) - seen(queries.query_begin);
}

std::int64_t causal_pairs(const std::vector<Segment>& segments) {
  std::int64_t pairs = 0;
  for (const Segment& segment : segments) pairs += causal_pairs(segment);
  return pairs;
}

std::int64_t selected_pairs(const std::vector<Segment>& segments, std::int64_t top_k) {
  std::int64_t pairs = 0;
  for (const Segment& segment : segments) pairs += selected_pairs(segment, top_k);
  return pairs;
}

std::int64_t query_count(const std::vector<Segment>& segments) {
  std::int64_t queries = 0;
  for (const Segment& segment : segments) queries += segment.query_len;
  return queries;
}

std::vector<Segment> cp_segments(std::int64_t seq_len, std::int64_t cp, std::int64_t rank,
                                 CpSplit split) {
  if (cp == 1) return {{0, seq_len}};
  if (split == CpSplit::contiguous) {
    const std::int64_t chunk = seq_len / cp;
    return {{rank * chunk, chunk}};
  }
  const std::int64_t chunk = seq_len / (2 * cp);
  return {{rank * chunk, chunk}, {(2 * cp - 1 - rank) * chunk, chunk}};
}

std::int64_t ring_step_pairs(std::int64_t seq_len, std::int64_t ranks, std::int64_t rank,
                             std::int64_t step, CpSplit split) {
  const std::int64_t owner = (rank - step + ranks) % ranks;
  std::int64_t pairs = 0;
  for (const Segment& queries : cp_segments(seq_len, ranks, rank, split)) {
    for (const Segment& keys : cp_segments(seq_len, ranks, owner, split)) {
      pairs += causal_pairs_between(queries, keys);
    }
  }
  return pairs;
}

std::int64_t slowest_cp_rank(std::int64_t seq_len, std::int64_t cp, CpSplit split,
                             std::int64_t top_k) {
  std::pair<std::int64_t, std::int64_t> most{-1, -1};
  std::int64_t slowest = 0;
  for (std::int64_t rank = 0; rank < cp; ++rank) {
    const std::vector<Segment> segments = cp_segments(seq_len, cp, rank, split);
    const std::pair<std::int64_t, std::int64_t> work{causal_pairs(segments),
                                                     selected_pairs(segments, top_k)};
    if (work > most) {
      most = work;
      slowest = rank;
    }
  }
  return slowest;
}

}  // namespace hysim::ops
