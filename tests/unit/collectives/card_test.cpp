// Cards of collectives against collective.h: the printed formulas give CollectiveTime::total() on
// every kind, group, size, GPU and network, so for every algorithm and protocol that is chosen.
#include "collectives/card.h"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "config/sourced.h"
#include "hysim/resources.h"

namespace hysim::collectives {
namespace {

using config::Card;
using config::CardLine;

double result_of(const Card& card) {
  std::map<std::string, double, std::less<>> values;
  double last = 0.0;
  for (const CardLine& line : card.lines) {
    last = line.formula.empty() ? line.value
                                : config::evaluate(line.formula, [&](std::string_view symbol) {
                                    const auto found = values.find(symbol);
                                    EXPECT_NE(found, values.end()) << symbol;
                                    return found == values.end() ? 0.0 : found->second;
                                  });
    values[line.symbol] = last;
  }
  return last;
}

TEST(CollectiveCard, GivesTheTimeOfItsLaw) {
  std::set<std::string> titles;
  for (const char* const name :
       {"h20-96", "h100-sxm-80", "b200-180", "h800-sxm-80", "a100-sxm-80"}) {
    const hardware::Gpu gpu =
        hardware::resolve(hardware::load_gpu_profile(embedded_resources(), name), {});
    const topology::Network network =
        topology::resolve(topology::load_cluster(embedded_resources(), "h20-512"), {});
    for (const Kind kind : {Kind::all_reduce, Kind::all_gather, Kind::reduce_scatter,
                            Kind::all_to_all, Kind::dispatch, Kind::send_recv}) {
      for (const topology::GroupShape& group : std::vector<topology::GroupShape>{{2, 1, 2},
                                                                                 {6, 1, 6},
                                                                                 {8, 1, 8},
                                                                                 {2, 2, 1},
                                                                                 {16, 2, 8},
                                                                                 {64, 64, 1},
                                                                                 {64, 8, 8},
                                                                                 {512, 64, 8}}) {
        for (double bytes = 1e2; bytes < 1e11; bytes *= 9.0) {
          Collective op;
          op.kind = kind;
          op.group = group;
          op.bytes = Bytes(bytes);
          op.nvlink_sent = Bytes(0.6 * bytes);
          op.network_sent = Bytes(group.nodes > 1 ? 0.4 * bytes : 0.0);
          const Card card = collective_card(op, gpu, network);
          const double total = time(op, gpu, network).total().si();
          EXPECT_NEAR(result_of(card), total, 1e-12 * total)
              << name << " " << card.title << " of " << bytes << " B, " << group.size << " ranks";
          titles.insert(card.title);
        }
      }
    }
  }
  // Rings, trees and switches, small and large messages.
  EXPECT_GE(titles.size(), 12U);
  EXPECT_TRUE(titles.contains("all_reduce: NVLink switches (NVLS)"));
  EXPECT_TRUE(titles.contains("all_reduce: NVLink switches and trees between nodes (NVLSTree)"));
}

}  // namespace
}  // namespace hysim::collectives
