#include "ops/routing.h"

namespace hysim::ops {

double expected_distinct(const Routing& r, std::int64_t parts) {
  if (parts <= 1) return 1.0;
  double experts = static_cast<double>(r.num_experts);
  double holders = static_cast<double>(parts);
  const double per_part = experts / holders;
  if (r.groups_picked < r.groups && parts >= r.groups && parts % r.groups == 0) {
    const double share = static_cast<double>(r.groups_picked) / static_cast<double>(r.groups);
    experts *= share;
    holders *= share;
  }
  // C(N - s, k) / C(N, k) as a product of k factors.
  double none = 1.0;
  for (std::int64_t i = 0; i < r.experts_per_token; ++i) {
    const double left = experts - per_part - static_cast<double>(i);
    if (left <= 0.0) {
      none = 0.0;
      break;
    }
    none *= left / (experts - static_cast<double>(i));
  }
  return holders * (1.0 - none);
}

double expected_remote(const Routing& r, std::int64_t parts) {
  if (parts <= 1) return 0.0;
  return expected_distinct(r, parts) * static_cast<double>(parts - 1) / static_cast<double>(parts);
}

}  // namespace hysim::ops
