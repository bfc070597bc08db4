// Pipeline schedules against an independently derived table (1F1B and interleaved; GPipe is no
// schedule of ours), a timeline by hand, and closed forms with and without latency. All exact.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "config/node.h"
#include "graph/schedule.h"
#include "oracles/figures.h"

namespace hysim {
namespace {

using config::Node;
using graph::PipelineResult;
using graph::PipelineTimes;
using test::member;

const Node& figures() {
  static const Node node = test::read_figures("pipeline");
  return node;
}
std::vector<double> numbers(const Node& array) {
  std::vector<double> values;
  for (const Node& value : array.as_array()) values.push_back(value.as_number());
  return values;
}

/// Whole stages cut into vpp equal chunks.
PipelineTimes times_of(std::int64_t p, std::int64_t m, std::int64_t vpp,
                       const std::vector<double>& forward, const std::vector<double>& backward,
                       double latency) {
  PipelineTimes times;
  times.pp = p;
  times.vpp = vpp;
  times.micro_batches = m;
  times.send = latency;
  for (std::int64_t v = 0; v < vpp; ++v) {
    for (std::size_t s = 0; s < forward.size(); ++s) {
      times.forward.push_back(forward[s] / static_cast<double>(vpp));
      times.backward.push_back(backward[s] / static_cast<double>(vpp));
    }
  }
  return times;
}

TEST(PipelineOracle, Table) {
  const auto& stage_times = member(figures(), "stage_times").as_array();
  const auto& table = member(figures(), "table").as_array();
  EXPECT_EQ(table.size(), 136U);
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto& row = table[i].as_array();
    const std::int64_t p = row[0].as_integer();
    const std::int64_t m = row[1].as_integer();
    const std::int64_t vpp = row[2].as_integer();
    const Node& of = stage_times[static_cast<std::size_t>(row[3].as_integer())];
    const PipelineTimes times = times_of(p, m, vpp, numbers(member(of, "forward")),
                                         numbers(member(of, "backward")), row[4].as_number());
    // Chunk times are whole numbers of quarter ticks: sums are exact.
    EXPECT_EQ(graph::run_pipeline(times).makespan, row[5].as_number()) << "row " << i;
    const auto& peaks = row[6].as_array();
    ASSERT_EQ(static_cast<std::int64_t>(peaks.size()), p);
    for (std::int64_t s = 0; s < p; ++s) {
      EXPECT_EQ(graph::peak_in_flight(p, vpp, m, s),
                peaks[static_cast<std::size_t>(s)].as_integer())
          << "row " << i << " stage " << s;
    }
  }
}

TEST(PipelineOracle, TimelineByHand) {
  const Node& of = member(figures(), "timeline");
  const PipelineResult result = graph::run_pipeline(times_of(
      member(of, "p").as_integer(), member(of, "m").as_integer(), 1, numbers(member(of, "forward")),
      numbers(member(of, "backward")), member(of, "latency").as_number()));
  EXPECT_EQ(result.makespan, member(of, "makespan").as_number());
  EXPECT_EQ(result.stage_end, numbers(member(of, "stage_end")));
}

TEST(PipelineOracle, KnownAnswers) {
  for (const Node& node : member(figures(), "known").as_array()) {
    const auto& row = node.as_array();
    const auto stages = static_cast<std::size_t>(row[0].as_integer());
    const PipelineTimes times =
        times_of(row[0].as_integer(), row[1].as_integer(), row[2].as_integer(),
                 std::vector<double>(stages, row[3].as_number()),
                 std::vector<double>(stages, row[4].as_number()), row[5].as_number());
    EXPECT_EQ(graph::run_pipeline(times).makespan, row[6].as_number())
        << "p " << row[0].as_integer() << " m " << row[1].as_integer() << " delay "
        << row[5].as_number();
  }
}

TEST(PipelineOracle, OneSlowStage) {
  const Node& of = member(figures(), "slow");
  std::vector<double> forward(static_cast<std::size_t>(member(of, "p").as_integer()), 1.0);
  std::vector<double> backward(forward.size(), 2.0);
  const auto slow = static_cast<std::size_t>(member(of, "stage").as_integer());
  forward[slow] = 2.0;
  backward[slow] = 4.0;
  EXPECT_EQ(graph::run_pipeline(times_of(member(of, "p").as_integer(), member(of, "m").as_integer(),
                                         1, forward, backward, 0.0))
                .makespan,
            member(of, "makespan").as_number());
}

}  // namespace
}  // namespace hysim
