#include "ops/indexer_loss.h"

#include "ops/element_bytes.h"
#include "units/real.h"

namespace hysim::ops {

namespace {

constexpr const char* kWhere = "src/ops/indexer_loss.cpp";
constexpr const char* kSettings =
    "workload.seq_len workload.micro_batch_size parallelism.cp parallelism.cp_layout "
    "parallelism.tp training.indexer.loss kernels.loss_head_multiple model.index_topk";

constexpr CountRule kTeacher{
    .what = "what attention gives each selected pair, as the indexer's teacher",
    .where = kWhere,
    .settings = kSettings,
    .names = "pairs heads qk_dim passes",
    .flops = "2 * pairs * heads * qk_dim * passes",
};
constexpr CountRule kGradient{
    .what = "index scores again, and gradients of index queries and keys",
    .where = kWhere,
    .settings = kSettings,
    .names = "pairs index_heads index_dim",
    .flops = "6 * pairs * index_heads * index_dim",
    .gathered = "2 * pairs * index_dim",
    .scattered = "4 * pairs * index_dim",
};

}  // namespace

Work indexer_teacher(const IndexerLossShape& s, std::int64_t passes) {
  Work work;
  work.kernel = Kernel::index_loss;
  work.flops = Flops(2.0 * real(s.pairs) * real(s.attention_heads) * real(s.qk_dim) * real(passes));
  work.launches = real(passes);
  work.rule = &kTeacher;
  work.sizes = {real(s.pairs), real(s.attention_heads), real(s.qk_dim), real(passes)};
  return work;
}

Work indexer_gradient(const IndexerLossShape& s) {
  Work work;
  work.kernel = Kernel::index_loss;
  work.flops = Flops(6.0 * real(s.pairs) * real(s.index_heads) * real(s.index_dim));
  work.gathered = Bytes(kBf16Bytes * real(s.pairs) * real(s.index_dim));
  work.scattered = Bytes(kFp32Bytes * real(s.pairs) * real(s.index_dim));
  work.rule = &kGradient;
  work.sizes = {real(s.pairs), real(s.index_heads), real(s.index_dim)};
  return work;
}

}  // namespace hysim::ops
