// How many copies of a token a mixture-of-experts layer sends, under uniform routing.
#pragma once

#include <cstdint>

namespace hysim::ops {

struct Routing {
  std::int64_t num_experts = 1;
  std::int64_t experts_per_token = 1;
  std::int64_t groups = 1;  // router groups (group-limited routing)
  std::int64_t groups_picked = 1;
};

/// Expected number of distinct parts (ranks or nodes) among `parts` equal holders of the experts
/// that a token's experts lie on: parts x (1 - C(N - s, k) / C(N, k)), s experts a part. With
/// group-limited routing the experts come from groups_picked of groups, which are taken to be
/// unions of parts. Example: 256 experts, top-8, 64 ranks: 7.5558 / (63/64).
double expected_distinct(const Routing& routing, std::int64_t parts);

/// The same without the token's own part: times (parts - 1) / parts by symmetry.
double expected_remote(const Routing& routing, std::int64_t parts);

}  // namespace hysim::ops
