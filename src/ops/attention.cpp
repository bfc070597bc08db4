#include "ops/attention.h"

#include <algorithm>
#include <bit>

#include "ops/element_bytes.h"
#include "units/real.h"

namespace hysim::ops {

namespace {

constexpr double kBackwardFactor = 2.5;

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
  return work;
}

Work dense_attention_backward(const DenseAttention& s) {
  Work work = dense_attention_forward(s);
  work.kernel = Kernel::attention_backward;
  work.flops *= kBackwardFactor;
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
  return work;
}

}  // namespace hysim::ops
