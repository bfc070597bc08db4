#include "ops/linear.h"

#include <cmath>

#include "ops/element_bytes.h"

namespace hysim::ops {

namespace {

// Rows and columns of an output tile (docs/cost-model.md, wave quantisation).
constexpr double kTile = 128.0;

double tiles(double rows, double columns) {
  return std::ceil(rows / kTile) * std::ceil(columns / kTile);
}

Work product(Kernel kernel, double rows, double columns, double depth, double batch,
             Precision precision, double output_bytes) {
  Work work;
  work.kernel = kernel;
  work.precision = precision;
  work.flops = Flops(2.0 * rows * columns * depth * batch);
  const double e = element_bytes(precision);
  work.read = Bytes(e * (rows * depth + depth * columns) * batch);
  work.written = Bytes(output_bytes * rows * columns * batch);
  work.tiles = tiles(rows, columns) * batch;
  work.depth = depth;
  return work;
}

/// fp32 accumulation reads what it adds to.
Work accumulated(Work work) {
  work.read += work.written;
  return work;
}

}  // namespace

double element_bytes(Precision precision) {
  switch (precision) {
    case Precision::bf16:
      return 2.0;
    case Precision::fp8:
      return 1.0;
    case Precision::fp32:
      return 4.0;
  }
  return 2.0;
}

Work gemm(std::int64_t m, std::int64_t n, std::int64_t k, Precision precision, std::int64_t batch) {
  return product(Kernel::gemm, static_cast<double>(m), static_cast<double>(n),
                 static_cast<double>(k), static_cast<double>(batch), precision, kBf16Bytes);
}

Work gemm_input_gradient(std::int64_t m, std::int64_t n, std::int64_t k, Precision precision,
                         std::int64_t batch) {
  return gemm(m, k, n, precision, batch);
}

Work gemm_weight_gradient(std::int64_t m, std::int64_t n, std::int64_t k, Precision precision,
                          std::int64_t batch) {
  return accumulated(product(Kernel::gemm, static_cast<double>(k), static_cast<double>(n),
                             static_cast<double>(m), static_cast<double>(batch), precision,
                             kFp32Bytes));
}

Work grouped_gemm(std::int64_t experts, std::int64_t rows, std::int64_t n, std::int64_t k,
                  Precision precision) {
  return product(Kernel::grouped_gemm, static_cast<double>(rows) / static_cast<double>(experts),
                 static_cast<double>(n), static_cast<double>(k), static_cast<double>(experts),
                 precision, kBf16Bytes);
}

Work grouped_gemm_input_gradient(std::int64_t experts, std::int64_t rows, std::int64_t n,
                                 std::int64_t k, Precision precision) {
  return grouped_gemm(experts, rows, k, n, precision);
}

Work grouped_gemm_weight_gradient(std::int64_t experts, std::int64_t rows, std::int64_t n,
                                  std::int64_t k, Precision precision) {
  return accumulated(product(Kernel::grouped_gemm, static_cast<double>(k), static_cast<double>(n),
                             static_cast<double>(rows) / static_cast<double>(experts),
                             static_cast<double>(experts), precision, kFp32Bytes));
}

}  // namespace hysim::ops
