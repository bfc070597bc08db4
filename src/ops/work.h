// What a kernel has to do, from shapes alone: operations by pipe, bytes by kind of access. No
// hardware number appears here; src/cost turns Work into time.
#pragma once

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

  Flops total_flops() const { return flops + vector_flops; }
};

}  // namespace hysim::ops
