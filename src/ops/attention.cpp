#include "ops/attention.h"

#include <algorithm>
#include <bit>

#include "ops/element_bytes.h"
#include "units/real.h"

namespace hysim::ops {

namespace {

constexpr double kBackwardFactor = 2.5;

constexpr CountRule kDense{
    .what = "attention of a rank's queries to the keys they see",
    .where = "src/ops/attention.cpp",
    .settings =
        "workload.seq_len workload.micro_batch_size parallelism.cp parallelism.cp_comm "
        "parallelism.cp_layout parallelism.tp model.num_attention_heads",
    .names = "pairs queries keys heads kv_heads qk_dim v_dim",
    .flops = "2 * pairs * heads * (qk_dim + v_dim)",
    .read = "2 * (queries * heads * qk_dim + keys * kv_heads * (qk_dim + v_dim))",
    .written = "2 * queries * heads * v_dim",
};
constexpr CountRule dense_backward() {
  CountRule rule = kDense;
  rule.what = "gradients of attention: scores again, dP, dQ, dK and dV";
  rule.flops = "2.5 * 2 * pairs * heads * (qk_dim + v_dim)";
  rule.read = "2 * (queries * heads * (qk_dim + 2 * v_dim) + keys * kv_heads * (qk_dim + v_dim))";
  rule.written = "2 * (queries * heads * qk_dim + keys * kv_heads * (qk_dim + v_dim))";
  return rule;
}
constexpr CountRule kDenseBackward = dense_backward();

constexpr CountRule kSparse{
    .what = "attention of a rank's queries to their selected rows",
    .where = "src/ops/attention.cpp",
    .settings =
        "workload.seq_len workload.micro_batch_size parallelism.cp parallelism.cp_layout "
        "parallelism.tp kernels.sparse_attention model.index_topk "
        "model.num_attention_heads",
    .names = "pairs queries keys heads padded latent rope",
    .flops = "2 * pairs * padded * (2 * latent + rope)",
    .read = "2 * queries * heads * (latent + rope)",
    .written = "2 * queries * heads * latent",
    .gathered = "2 * pairs * (latent + rope)",
};
constexpr CountRule sparse_backward() {
  CountRule rule = kSparse;
  rule.what = "gradients of attention to selected rows: scores again, dP, dQ, dK and dV";
  rule.flops = "2 * pairs * padded * (5 * latent + 3 * rope)";
  rule.read = "2 * queries * heads * (3 * latent + rope) + 4 * keys * (latent + rope)";
  rule.written = "2 * queries * heads * (latent + rope) + 6 * keys * (latent + rope)";
  rule.scattered = "4 * pairs * (latent + rope)";
  return rule;
}
constexpr CountRule kSparseBackward = sparse_backward();

std::array<double, 8> sizes_of(const DenseAttention& s) {
  return {real(s.pairs),    real(s.queries), real(s.keys), real(s.heads),
          real(s.kv_heads), real(s.qk_dim),  real(s.v_dim)};
}
std::array<double, 8> sizes_of(const SparseAttention& s, SparseBackend backend) {
  return {real(s.pairs),
          real(s.queries),
          real(s.keys),
          real(s.heads),
          real(padded_heads(s.heads, backend)),
          real(s.latent),
          real(s.rope)};
}

Bytes query_and_output(const SparseAttention& s) {
  return Bytes(kBf16Bytes * real(s.queries) * real(s.heads) * real(2 * s.latent + s.rope));
}

}  // namespace

Work dense_attention_forward(const DenseAttention& s) {
  Work work;
  work.kernel = Kernel::attention_forward;
  work.flops = Flops(2.0 * real(s.pairs) * real(s.heads) * real(s.qk_dim + s.v_dim));
  work.read = Bytes(kBf16Bytes * (real(s.queries) * real(s.heads) * real(s.qk_dim) +
                                  real(s.keys) * real(s.kv_heads) * real(s.qk_dim + s.v_dim)));
  work.written = Bytes(kBf16Bytes * real(s.queries) * real(s.heads) * real(s.v_dim));
  work.rule = &kDense;
  work.sizes = sizes_of(s);
  return work;
}

Work dense_attention_backward(const DenseAttention& s) {
  Work work = dense_attention_forward(s);
  work.kernel = Kernel::attention_backward;
  work.flops *= kBackwardFactor;
  work.rule = &kDenseBackward;
  // Output and its gradient are read too; dQ, dK, dV are written.
  work.read += 2.0 * work.written;
  work.written = Bytes(kBf16Bytes * (real(s.queries) * real(s.heads) * real(s.qk_dim) +
                                     real(s.keys) * real(s.kv_heads) * real(s.qk_dim + s.v_dim)));
  return work;
}

std::int64_t padded_heads(std::int64_t heads, SparseBackend backend) {
  if (backend == SparseBackend::cudnn) return (heads + 63) / 64 * 64;
  const auto power = std::bit_ceil(static_cast<std::uint64_t>(heads));
  return std::max<std::int64_t>(16, static_cast<std::int64_t>(power));
}

Work sparse_attention_forward(const SparseAttention& s, SparseBackend backend) {
  Work work;
  work.kernel = Kernel::sparse_attention_forward;
  work.flops = Flops(2.0 * real(s.pairs) * real(padded_heads(s.heads, backend)) *
                     real(2 * s.latent + s.rope));
  work.gathered = Bytes(kBf16Bytes * real(s.pairs) * real(s.latent + s.rope));
  work.read = Bytes(kBf16Bytes * real(s.queries) * real(s.heads) * real(s.latent + s.rope));
  work.written = query_and_output(s) - work.read;
  work.rule = &kSparse;
  work.sizes = sizes_of(s, backend);
  return work;
}

Work sparse_attention_backward(const SparseAttention& s, SparseBackend backend) {
  Work work;
  work.kernel = backend == SparseBackend::cudnn ? Kernel::sparse_attention_backward_cudnn
                                                : Kernel::sparse_attention_backward_tilelang;
  work.flops = Flops(2.0 * real(s.pairs) * real(padded_heads(s.heads, backend)) *
                     real(5 * s.latent + 3 * s.rope));
  work.gathered = Bytes(kBf16Bytes * real(s.pairs) * real(s.latent + s.rope));
  work.scattered = Bytes(kFp32Bytes * real(s.pairs) * real(s.latent + s.rope));
  // Queries, outputs and output gradients in; dQ out; the fp32 accumulator is cleared and cast.
  const Bytes accumulator(kFp32Bytes * real(s.keys) * real(s.latent + s.rope));
  work.read = query_and_output(s) +
              Bytes(kBf16Bytes * real(s.queries) * real(s.heads) * real(s.latent)) + accumulator;
  work.written = Bytes(kBf16Bytes * real(s.queries) * real(s.heads) * real(s.latent + s.rope)) +
                 1.5 * accumulator;
  work.launches = 2.0;
  work.rule = &kSparseBackward;
  work.sizes = sizes_of(s, backend);
  return work;
}

}  // namespace hysim::ops
