#include "ops/indexer_loss.h"

#include "ops/element_bytes.h"
#include "units/real.h"

namespace hysim::ops {

Work indexer_teacher(const IndexerLossShape& s, std::int64_t passes) {
  Work work;
  work.kernel = Kernel::index_loss;
  work.flops = Flops(2.0 * real(s.pairs) * real(s.attention_heads) * real(s.qk_dim) * real(passes));
  work.launches = real(passes);
  return work;
}

Work indexer_gradient(const IndexerLossShape& s) {
  Work work;
  work.kernel = Kernel::index_loss;
  work.flops = Flops(6.0 * real(s.pairs) * real(s.index_heads) * real(s.index_dim));
  work.gathered = Bytes(kBf16Bytes * real(s.pairs) * real(s.index_dim));
  work.scattered = Bytes(kFp32Bytes * real(s.pairs) * real(s.index_dim));
  return work;
}

}  // namespace hysim::ops
