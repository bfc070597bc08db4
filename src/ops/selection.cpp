#include "ops/selection.h"

#include <algorithm>
#include <cmath>

#include "ops/element_bytes.h"
#include "units/real.h"

namespace hysim::ops {

namespace {

// HyTopK's append buffer per row; the list of k beside it (KERNELS facts 3.3).
constexpr double kAppendBuffer = 1024.0;
// MMA columns filled by queries x heads of one block.
constexpr std::int64_t kBlockColumns = 128;
// Unfused scoring passes over the per-head scores: einsum writes; relu and weighting read and
// write; the sum over heads reads.
constexpr double kNaiveReads = 3.0;
constexpr double kNaiveWrites = 3.0;

constexpr const char* kWhere = "src/ops/selection.cpp";
constexpr const char* kSettings =
    "workload.seq_len workload.micro_batch_size parallelism.cp parallelism.cp_layout "
    "parallelism.tp kernels.indexer_tp kernels.key_crop kernels.score_chunk_rows "
    "kernels.score_chunk_bytes kernels.score_head_multiple model.index_topk model.index_n_heads";

constexpr CountRule kScore{
    .what = "scores of a rank's queries with the keys they see",
    .where = kWhere,
    .settings = kSettings,
    .names = "pairs queries heads head_dim e keys_read",
    .flops = "2 * pairs * heads * head_dim",
    .read = "e * head_dim * (keys_read + queries * heads)",
    .units = "pairs",
    .heads = "heads",
};
constexpr CountRule hytopk_rule() {
  CountRule rule = kScore;
  rule.what = "scores of a rank's queries with the keys they see, and the best top_k of each";
  rule.names = "pairs queries heads head_dim e keys_read top_k compactions_of_rows";
  rule.written = "4 * queries * top_k";
  rule.compactions = "compactions_of_rows / max(1, floor(128 / heads))";
  return rule;
}
constexpr CountRule kHytopk = hytopk_rule();
constexpr CountRule kTopk{
    .what = "pass over the score table, a row a query",
    .where = kWhere,
    .settings = kSettings,
    .names = "queries keys_a_row top_k",
    .written = "4 * queries * top_k",
    .units = "queries * keys_a_row",
};
constexpr CountRule kTableWrite{
    .what = "scores of a rank's queries with the keys they see, written in fp32",
    .where = kWhere,
    .settings = kSettings,
    .names = "pairs",
    .written = "4 * pairs",
};
constexpr CountRule kTableClean{
    .what = "-inf written where a query may not see",
    .where = kWhere,
    .settings = kSettings,
    .names = "queries keys_a_row pairs",
    .written = "4 * (queries * keys_a_row - pairs)",
};
constexpr CountRule kNaive{
    .what = "scores of every head with every key of the row, in fp32 and unfused",
    .where = kWhere,
    .settings = kSettings,
    .names = "queries keys_a_row heads head_dim",
    .flops = "2 * queries * keys_a_row * heads * head_dim",
    .read = "3 * 4 * queries * keys_a_row * heads",
    .written = "3 * 4 * queries * keys_a_row * heads + 4 * queries * keys_a_row",
    .tiles = "queries * keys_a_row / (128 * 128) * heads",
    .depth = "head_dim",
};

std::int64_t row_keys(const SelectionShape& shape, const Segment& segment) {
  return shape.key_crop == KeyCrop::none ? shape.sequence_keys : segment.kv_len();
}

/// Integral of ln(x) from a to b.
double integral_log(double a, double b) {
  const auto antiderivative = [](double x) { return x > 0.0 ? x * std::log(x) - x : 0.0; };
  return antiderivative(b) - antiderivative(a);
}

Work table_pass(Kernel kernel, double elements, const SelectionShape& shape, std::int64_t chunks) {
  Work work;
  work.kernel = kernel;
  work.units = elements;
  work.written = Bytes(kFp32Bytes * real(query_count(shape.segments)) * real(shape.top_k));
  work.launches = real(chunks);
  const double queries = real(query_count(shape.segments));
  work.rule = &kTopk;
  work.sizes = {queries, elements / queries, real(shape.top_k)};
  return work;
}

}  // namespace

std::int64_t table_elements(const SelectionShape& shape) {
  std::int64_t elements = 0;
  for (const Segment& segment : shape.segments) {
    elements += segment.query_len * row_keys(shape, segment);
  }
  return elements;
}

std::int64_t table_row_keys(const SelectionShape& shape) {
  std::int64_t keys = 0;
  for (const Segment& segment : shape.segments) keys = std::max(keys, row_keys(shape, segment));
  return keys;
}

std::int64_t rows_per_chunk(const SelectionShape& shape, Bytes chunk_bytes,
                            std::int64_t chunk_rows) {
  const std::int64_t all = query_count(shape.segments);
  std::int64_t rows = chunk_rows;
  if (rows <= 0) {
    rows = static_cast<std::int64_t>(chunk_bytes.si() / (kFp32Bytes * real(table_row_keys(shape))));
  }
  return std::clamp<std::int64_t>(rows, 1, all);
}

std::int64_t chunk_count(const SelectionShape& shape, std::int64_t rows) {
  return (query_count(shape.segments) + rows - 1) / rows;
}

Work index_score(const SelectionShape& shape, std::int64_t chunks) {
  const double pairs = real(causal_pairs(shape.segments));
  Work work;
  work.kernel = Kernel::index_score;
  work.precision = shape.precision;
  work.flops = Flops(2.0 * pairs * real(shape.heads) * real(shape.head_dim));
  work.vector_flops = Flops(2.0 * pairs * real(shape.heads));
  work.units = pairs;
  work.heads = real(shape.heads);
  // Each chunk streams the keys its rows see; re-reads within a chunk are served by L2.
  const double queries = real(query_count(shape.segments));
  double keys_per_chunk = 0.0;
  for (const Segment& segment : shape.segments) {
    keys_per_chunk += real(segment.kv_len()) * real(segment.query_len) / queries;
  }
  work.read = Bytes(element_bytes(shape.precision) * real(shape.head_dim) *
                    (keys_per_chunk * real(chunks) + queries * real(shape.heads)));
  work.launches = real(chunks);
  work.rule = &kScore;
  work.sizes = {pairs,
                queries,
                real(shape.heads),
                real(shape.head_dim),
                element_bytes(shape.precision),
                keys_per_chunk * real(chunks)};
  return work;
}

Work table_write(const SelectionShape& shape) {
  Work work;
  work.written = Bytes(kFp32Bytes * real(causal_pairs(shape.segments)));
  work.launches = 0.0;  // part of the scoring kernel
  work.rule = &kTableWrite;
  work.sizes = {real(causal_pairs(shape.segments))};
  return work;
}

Work table_clean(const SelectionShape& shape, std::int64_t chunks) {
  Work work;
  work.written =
      Bytes(kFp32Bytes * (real(table_elements(shape)) - real(causal_pairs(shape.segments))));
  work.launches = real(chunks);
  const double queries = real(query_count(shape.segments));
  work.rule = &kTableClean;
  work.sizes = {queries, real(table_elements(shape)) / queries, real(causal_pairs(shape.segments))};
  return work;
}

Work torch_topk(const SelectionShape& shape, std::int64_t chunks) {
  return table_pass(Kernel::torch_topk, real(table_elements(shape)), shape, chunks);
}

Work radix_topk(const SelectionShape& shape, std::int64_t chunks) {
  return table_pass(Kernel::radix_topk, real(causal_pairs(shape.segments)), shape, chunks);
}

Work naive_score(const SelectionShape& shape) {
  const double elements = real(table_elements(shape));  // the einsum knows no causal limit
  Work work;
  work.kernel = Kernel::gemm;
  work.precision = Precision::fp32;
  work.flops = Flops(2.0 * elements * real(shape.heads) * real(shape.head_dim));
  work.vector_flops = Flops(2.0 * elements * real(shape.heads));
  const Bytes scores(kFp32Bytes * elements * real(shape.heads));
  work.read = kNaiveReads * scores;
  work.written = kNaiveWrites * scores + Bytes(kFp32Bytes * elements);
  work.tiles = elements / (128.0 * 128.0) * real(shape.heads);
  work.depth = real(shape.head_dim);
  work.launches = 4.0;
  const double queries = real(query_count(shape.segments));
  work.rule = &kNaive;
  work.sizes = {queries, elements / queries, real(shape.heads), real(shape.head_dim)};
  return work;
}

double expected_compactions(double n, double k, double b) {
  return n <= k ? 0.0 : std::log(n / k) / std::log1p(b / k);
}

double expected_survivors(double n, double k, double b) {
  return n <= k ? n : k + b * expected_compactions(n, k, b);
}

Work hytopk(const SelectionShape& shape) {
  Work work = index_score(shape, 1);
  work.kernel = Kernel::hytopk;
  work.written = Bytes(kFp32Bytes * real(query_count(shape.segments)) * real(shape.top_k));
  const double k = real(shape.top_k);
  double rows_compactions = 0.0;
  for (const Segment& segment : shape.segments) {
    // Sum over rows of ln(n/k) for n from `low` to `high`, as an integral.
    const double low = std::max(real(segment.query_begin), k);
    const double high = real(segment.kv_len());
    if (high <= low) continue;
    const double logs = integral_log(low, high) - (high - low) * std::log(k);
    rows_compactions += logs / std::log1p(kAppendBuffer / k);
  }
  // The queries of a block compact at the same time on different warpgroups.
  const std::int64_t block = std::max<std::int64_t>(1, kBlockColumns / shape.heads);
  work.compactions = rows_compactions / real(block);
  work.rule = &kHytopk;
  work.sizes[6] = k;
  work.sizes[7] = rows_compactions;
  return work;
}

Bytes table_workspace(const SelectionShape& shape, TopkKind topk, std::int64_t rows) {
  const double chunk = kFp32Bytes * real(rows) * real(table_row_keys(shape));
  if (topk == TopkKind::radix) return Bytes(3.0 * chunk);
  return Bytes(chunk + real(rows) * real(shape.top_k) * (kFp32Bytes + kInt64Bytes));
}

Bytes naive_workspace(const SelectionShape& shape) {
  const double table = kFp32Bytes * real(table_elements(shape));
  return Bytes(table * (2.0 * real(shape.heads) + 1.0));
}

}  // namespace hysim::ops
