#include "ops/linear.h"

#include <cmath>

#include "ops/element_bytes.h"

namespace hysim::ops {

namespace {

// Rows and columns of an output tile (docs/cost-model.md, wave quantisation).
constexpr double kTile = 128.0;

constexpr const char* kTokens =
    "workload.seq_len workload.micro_batch_size parallelism.cp parallelism.tp model.hidden_size "
    "model.num_attention_heads";
constexpr const char* kRouted =
    "workload.seq_len workload.micro_batch_size parallelism.cp parallelism.tp parallelism.ep "
    "parallelism.etp model.num_experts_per_tok model.n_routed_experts training.expert_imbalance "
    "model.hidden_size model.moe_intermediate_size";

/// Rules of `product`, whose sizes are m, n, k, how many, and bytes of an element.
constexpr CountRule kProduct{
    .what = "product of m x k by k x n",
    .where = "src/ops/linear.cpp",
    .settings = kTokens,
    .names = "m n k batch e",
    .flops = "2 * m * n * k * batch",
    .read = "e * (m * k + k * n) * batch",
    .written = "2 * m * n * batch",
    .tiles = "ceil(m / 128) * ceil(n / 128) * batch",
    .depth = "k",
};
constexpr CountRule kGroupedProduct{
    .what = "product of m x k by k x n in every expert of the rank",
    .where = "src/ops/linear.cpp",
    .settings = kRouted,
    .names = "m n k experts e",
    .flops = "2 * m * n * k * experts",
    .read = "e * (m * k + k * n) * experts",
    .written = "2 * m * n * experts",
    .tiles = "ceil(m / 128) * ceil(n / 128) * experts",
    .depth = "k",
};
constexpr CountRule renamed(CountRule rule, const char* what) {
  rule.what = what;
  return rule;
}
constexpr CountRule weights(CountRule rule, const char* what, const char* read,
                            const char* written) {
  rule.what = what;
  rule.read = read;
  rule.written = written;
  return rule;
}
constexpr CountRule kInputGradient = renamed(kProduct, "gradient of the input, m x k by k x n");
constexpr CountRule kWeightGradient =
    weights(kProduct, "gradient of the weights, m x n, added up in fp32",
            "e * (m * k + k * n) * batch + 4 * m * n * batch", "4 * m * n * batch");
constexpr CountRule kGroupedInputGradient =
    renamed(kGroupedProduct, "gradient of the input, m x k by k x n in every expert of the rank");
constexpr CountRule kGroupedWeightGradient =
    weights(kGroupedProduct, "gradient of the weights, m x n an expert, added up in fp32",
            "e * (m * k + k * n) * experts + 4 * m * n * experts", "4 * m * n * experts");

double tiles(double rows, double columns) {
  return std::ceil(rows / kTile) * std::ceil(columns / kTile);
}

Work product(Kernel kernel, double rows, double columns, double depth, double batch,
             Precision precision, double output_bytes, const CountRule& rule) {
  Work work;
  work.kernel = kernel;
  work.precision = precision;
  work.flops = Flops(2.0 * rows * columns * depth * batch);
  const double e = element_bytes(precision);
  work.read = Bytes(e * (rows * depth + depth * columns) * batch);
  work.written = Bytes(output_bytes * rows * columns * batch);
  work.tiles = tiles(rows, columns) * batch;
  work.depth = depth;
  work.rule = &rule;
  work.sizes = {rows, columns, depth, batch, e};
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
                 static_cast<double>(k), static_cast<double>(batch), precision, kBf16Bytes,
                 kProduct);
}

Work gemm_input_gradient(std::int64_t m, std::int64_t n, std::int64_t k, Precision precision,
                         std::int64_t batch) {
  Work work = gemm(m, k, n, precision, batch);
  work.rule = &kInputGradient;
  return work;
}

Work gemm_weight_gradient(std::int64_t m, std::int64_t n, std::int64_t k, Precision precision,
                          std::int64_t batch) {
  return accumulated(product(Kernel::gemm, static_cast<double>(k), static_cast<double>(n),
                             static_cast<double>(m), static_cast<double>(batch), precision,
                             kFp32Bytes, kWeightGradient));
}

Work grouped_gemm(std::int64_t experts, std::int64_t rows, std::int64_t n, std::int64_t k,
                  Precision precision) {
  return product(Kernel::grouped_gemm, static_cast<double>(rows) / static_cast<double>(experts),
                 static_cast<double>(n), static_cast<double>(k), static_cast<double>(experts),
                 precision, kBf16Bytes, kGroupedProduct);
}

Work grouped_gemm_input_gradient(std::int64_t experts, std::int64_t rows, std::int64_t n,
                                 std::int64_t k, Precision precision) {
  Work work = grouped_gemm(experts, rows, k, n, precision);
  work.rule = &kGroupedInputGradient;
  return work;
}

Work grouped_gemm_weight_gradient(std::int64_t experts, std::int64_t rows, std::int64_t n,
                                  std::int64_t k, Precision precision) {
  return accumulated(product(Kernel::grouped_gemm, static_cast<double>(k), static_cast<double>(n),
                             static_cast<double>(rows) / static_cast<double>(experts),
                             static_cast<double>(experts), precision, kFp32Bytes,
                             kGroupedWeightGradient));
}

}  // namespace hysim::ops
