// What a kernel has to do, from shapes alone: operations by pipe, bytes by kind of access. No
// hardware number appears here; src/cost turns Work into time.
#pragma once

#include <array>
#include <cstdint>

#include "hysim/units.h"

namespace hysim::ops {

enum class Precision { bf16, fp8, fp32 };

/// Bytes of one element.
double element_bytes(Precision precision);

/// The law that prices a kernel (src/cost/kernel_time.cpp has a case for each).
enum class Kernel {
  gemm,
  grouped_gemm,
  attention_forward,
  attention_backward,
  sparse_attention_forward,
  sparse_attention_backward_cudnn,
  sparse_attention_backward_tilelang,
  index_score,  // score MMA and its epilogue; the table is priced apart
  index_loss,   // teacher and KL gradient kernels
  torch_topk,
  radix_topk,
  hytopk,  // fused scoring and exact selection, no table
  stream,  // bound by streaming HBM traffic
};

/// How a Work was counted, for people: a formula for each number over the sizes it was counted
/// from, in the grammar of config/formula.h. nullptr where the number is zero. A test computes them
/// again.
struct CountRule {
  const char* what = "";      // "gradient of the weights, B[m,n] += A'[m,k] C[k,n]"
  const char* where = "";     // the file that counts the same
  const char* settings = "";  // what the sizes hang on, apart by spaces: "workload.seq_len ..."
  const char* names = "";     // of Work::sizes in order, apart by spaces: "m n k batch"
  const char* flops = nullptr;
  const char* read = nullptr;
  const char* written = nullptr;
  const char* gathered = nullptr;
  const char* scattered = nullptr;
  const char* units = nullptr;
  const char* heads = nullptr;
  const char* tiles = nullptr;
  const char* depth = nullptr;
  const char* compactions = nullptr;
};

/// One kernel, or `launches` alike ones, of one rank.
struct Work {
  Kernel kernel = Kernel::stream;
  Precision precision = Precision::bf16;
  Flops flops;               // on the tensor pipe, 2 per multiply-add
  Flops vector_flops;        // on the vector pipe
  Bytes read;                // streamed from HBM
  Bytes written;             // streamed to HBM
  Bytes gathered;            // random rows read
  Bytes scattered;           // random rows accumulated into (each is read and written)
  double units = 0.0;        // scored pairs (index_score, hytopk) or table elements (top-k)
  double heads = 0.0;        // index heads (index_score, hytopk)
  double tiles = 0.0;        // 128 x 128 output tiles (gemm, grouped_gemm)
  double depth = 0.0;        // length of the inner product (gemm, grouped_gemm)
  double compactions = 0.0;  // hytopk: compactions summed over query blocks
  double launches = 1.0;
  // Says where the numbers are from; no time hangs on it.
  const CountRule* rule = nullptr;
  std::array<double, 8> sizes{};  // what the rule's names stand for
  double share = 1.0;             // of what the rule gives, heads and depth apart

  Flops total_flops() const { return flops + vector_flops; }
};

}  // namespace hysim::ops
