// What one context-parallel rank attends to: runs of queries, each seeing all keys up to itself.
#pragma once

#include <cstdint>
#include <vector>

namespace hysim::ops {

/// Queries [query_begin, query_begin + query_len) of one sequence; query i sees keys 0 ... i.
struct Segment {
  std::int64_t query_begin = 0;
  std::int64_t query_len = 0;
  /// Keys visible to the last query.
  std::int64_t kv_len() const { return query_begin + query_len; }
};

/// Sum over queries of the keys they see: (query, key) pairs scored.
std::int64_t causal_pairs(const Segment& segment);
/// Sum over queries of min(keys seen, top_k): pairs attended after selection.
std::int64_t selected_pairs(const Segment& segment, std::int64_t top_k);

std::int64_t causal_pairs(const std::vector<Segment>& segments);
std::int64_t selected_pairs(const std::vector<Segment>& segments, std::int64_t top_k);
std::int64_t query_count(const std::vector<Segment>& segments);

/// Pairs of queries of one segment with the keys at the positions of another: a query sees what is
/// not after it. Summed over all keys of a sequence they are its causal pairs.
std::int64_t causal_pairs_between(const Segment& queries, const Segment& keys);

/// How a sequence is cut for context parallelism. zigzag gives rank r the chunks r and
/// 2cp - 1 - r of 2cp, which equalises causal pairs exactly.
enum class CpSplit { zigzag, contiguous };

/// Segments of `rank`; seq_len must be divisible by 2cp (zigzag, cp > 1) or cp.
std::vector<Segment> cp_segments(std::int64_t seq_len, std::int64_t cp, std::int64_t rank,
                                 CpSplit split);

/// Pairs that `rank` works on in one step of ring attention: its own queries with the keys of the
/// rank `step` places before it.
std::int64_t ring_step_pairs(std::int64_t seq_len, std::int64_t ranks, std::int64_t rank,
                             std::int64_t step, CpSplit split);

/// The rank with most causal pairs, then most selected pairs: the one others wait for.
std::int64_t slowest_cp_rank(std::int64_t seq_len, std::int64_t cp, CpSplit split,
                             std::int64_t top_k);

}  // namespace hysim::ops
