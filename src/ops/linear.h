// Matrix multiplications of projections, feed-forward layers and experts.
#pragma once

#include <cstdint>

#include "ops/work.h"

namespace hysim::ops {

/// C[m,n] = A[m,k] B[k,n], `batch` of them. FLOP 2 m n k; HBM bytes: A and B once in `precision`,
/// C in bf16. Example: m = n = k = 8192 is 1.0995e12 FLOP and 4096 tiles.
Work gemm(std::int64_t m, std::int64_t n, std::int64_t k, Precision precision,
          std::int64_t batch = 1);

/// Gradient of the input: dA[m,k] = dC[m,n] B^T.
Work gemm_input_gradient(std::int64_t m, std::int64_t n, std::int64_t k, Precision precision,
                         std::int64_t batch = 1);
/// Gradient of the weight, accumulated in fp32: dB[k,n] += A^T dC.
Work gemm_weight_gradient(std::int64_t m, std::int64_t n, std::int64_t k, Precision precision,
                          std::int64_t batch = 1);

/// `experts` products with `rows` rows in all, spread evenly. Weights are read once per expert.
Work grouped_gemm(std::int64_t experts, std::int64_t rows, std::int64_t n, std::int64_t k,
                  Precision precision);
Work grouped_gemm_input_gradient(std::int64_t experts, std::int64_t rows, std::int64_t n,
                                 std::int64_t k, Precision precision);
Work grouped_gemm_weight_gradient(std::int64_t experts, std::int64_t rows, std::int64_t n,
                                  std::int64_t k, Precision precision);

}  // namespace hysim::ops
