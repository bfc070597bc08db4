// Selecting the top-k keys of every query: scoring, the score table, top-k over it, and HyTopK,
// which selects while it scores and writes no table.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/segments.h"
#include "ops/work.h"

namespace hysim::ops {

/// How scores become a selection.
enum class Selection {
  naive,  // Megatron's unfused path: per-head fp32 scores in HBM, then the table
  table,  // head-summed fp32 table in HBM, then top-k over it
  fused   // HyTopK
};
enum class TopkKind { torch, radix };
/// Which keys a table row holds: all keys of the sequence, or those up to the end of the row's
/// segment (packed context-parallel layouts crop the key prefix per segment).
enum class KeyCrop { none, segment };

/// Indexer shape and the queries of one rank.
struct SelectionShape {
  std::vector<Segment> segments;
  std::int64_t sequence_keys = 0;  // keys of one whole sequence
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t top_k = 0;
  Precision precision = Precision::bf16;
  KeyCrop key_crop = KeyCrop::none;
};

/// Elements of the fp32 table: rows x keys held per row.
std::int64_t table_elements(const SelectionShape& shape);
/// Longest row of the table.
std::int64_t table_row_keys(const SelectionShape& shape);

/// Rows scored at a time: `chunk_rows` if positive, else what fits `chunk_bytes` of fp32 scores,
/// at least one, at most all.
std::int64_t rows_per_chunk(const SelectionShape& shape, Bytes chunk_bytes,
                            std::int64_t chunk_rows);
/// Chunks of all rows; the last may be partial.
std::int64_t chunk_count(const SelectionShape& shape, std::int64_t rows);

/// I[t,s] = sum_h w[t,h] relu(q[t,h] . k[s]) over causal pairs: tensor FLOP 2 pairs H d, vector
/// FLOP 2 pairs H for the weights. Example: H = 32, d = 128, one pair: 8192 + 64 FLOP.
Work index_score(const SelectionShape& shape, std::int64_t chunks);
/// Writes the scores: 4 B a causal pair.
Work table_write(const SelectionShape& shape);
/// Writes -inf over the part of the rows no query may see: 4 B each.
Work table_clean(const SelectionShape& shape, std::int64_t chunks);
/// torch.topk over full rows (several radix passes over every element held).
Work torch_topk(const SelectionShape& shape, std::int64_t chunks);
/// Radix top-k with per-row lengths: causal elements only.
Work radix_topk(const SelectionShape& shape, std::int64_t chunks);
/// Megatron's unfused scoring: fp32 products and 4 H bytes a table element, written and read by
/// each of einsum, relu, weighting and the sum over heads.
Work naive_score(const SelectionShape& shape);

/// Scoring fused with a streaming exact selection. A row keeps a list of k and a buffer of b
/// candidates; b more survive between compactions, so a scan of n keys needs
/// ln(n/k) / ln(1 + b/k) compactions (Coupon-like records argument; KERNELS facts 3.2: n = 2^20,
/// k = 2048, b = 1024 gives 15). Queries are processed in blocks that fill 128 MMA columns.
Work hytopk(const SelectionShape& shape);
/// Compactions of one row that scans n keys with lists of k and buffers of b.
double expected_compactions(double n, double k, double b);
/// Keys that pass the threshold: k + b x compactions.
double expected_survivors(double n, double k, double b);

/// HBM workspace of the table path: one chunk of fp32 scores and top-k's scratch (radix: int32,
/// twice the chunk; torch: fp32 values and int64 indices of k a row).
Bytes table_workspace(const SelectionShape& shape, TopkKind topk, std::int64_t rows);
/// Workspace of the unfused path: fp32 scores of all heads, their weighted copy, and the table.
Bytes naive_workspace(const SelectionShape& shape);

}  // namespace hysim::ops
