// Closed forms of collective algorithms in the alpha-beta model: every message costs `alpha` plus
// its bytes over `beta`. No contention, no reduction cost. Rings and messages are what collective.h
// counts bytes by; the others are references that its times are checked against, since NCCL runs
// none of them as such.
// Sources: Thakur, Rabenseifner and Gropp 2005; Chan et al. 2007; Patarasuk and Yuan 2009.
#pragma once

#include <cstdint>

#include "hysim/units.h"

namespace hysim::collectives {

/// One algorithm's cost: `steps` messages in sequence and bytes sent by the busiest rank.
struct AlphaBeta {
  double steps = 0.0;
  Bytes sent;
  Seconds time(Seconds alpha, BytesPerSecond beta) const { return steps * alpha + sent / beta; }
};

// `bytes` is the nccl-tests size: all-reduce and all-to-all the buffer of one rank, all-gather
// the gathered output, reduce-scatter the input, broadcast the message. n = 1 costs nothing.

/// Ring: 2(n-1) steps, 2(n-1)/n x bytes.
AlphaBeta ring_all_reduce(std::int64_t n, Bytes bytes);
/// Ring: n-1 steps, (n-1)/n x bytes.
AlphaBeta ring_all_gather(std::int64_t n, Bytes bytes);
AlphaBeta ring_reduce_scatter(std::int64_t n, Bytes bytes);
/// Recursive halving and doubling, n a power of two: 2 log2 n steps, 2(n-1)/n x bytes.
AlphaBeta halving_doubling_all_reduce(std::int64_t n, Bytes bytes);
/// Binary tree in `chunks` pieces, reduce then broadcast: 2(ceil(log2 n) + chunks - 1) steps of
/// bytes/chunks.
AlphaBeta tree_all_reduce(std::int64_t n, Bytes bytes, std::int64_t chunks);
/// Pairwise exchange: n-1 steps, (n-1)/n x bytes.
AlphaBeta pairwise_all_to_all(std::int64_t n, Bytes bytes);
/// One message.
AlphaBeta point_to_point(Bytes bytes);

/// Reduce-scatter inside nodes of `per_node`, ring all-reduce across `nodes` by each GPU with its
/// own NIC, all-gather inside.
Seconds hierarchical_all_reduce(std::int64_t per_node, std::int64_t nodes, Bytes bytes,
                                Seconds alpha_inside, BytesPerSecond beta_inside,
                                Seconds alpha_across, BytesPerSecond beta_across);

}  // namespace hysim::collectives
