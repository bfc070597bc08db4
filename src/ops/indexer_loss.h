// Training the indexer: a KL loss between the attention distribution (teacher) and the index
// scores, over the selected keys (sparse) or all visible ones (dense).
#pragma once

#include <cstdint>

#include "ops/work.h"

namespace hysim::ops {

struct IndexerLossShape {
  std::int64_t pairs = 0;            // selected pairs (sparse) or causal pairs (dense)
  std::int64_t attention_heads = 0;  // on this rank
  std::int64_t qk_dim = 0;           // latent + rope
  std::int64_t index_heads = 0;
  std::int64_t index_dim = 0;
};

/// Teacher probabilities: FLOP 2 pairs heads qk_dim a pass. The sparse teacher takes one pass; the
/// dense one a second for the log-sum-exp (cuDNN path). No gradient flows through it.
Work indexer_teacher(const IndexerLossShape& shape, std::int64_t passes);
/// Scores again, dq and dk: FLOP 6 pairs H d; index keys gathered (bf16) and dk accumulated (fp32).
Work indexer_gradient(const IndexerLossShape& shape);

}  // namespace hysim::ops
