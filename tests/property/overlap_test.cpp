// Properties of one task list on the streams of a GPU, and of collectives: P22, P23 and the derived
// two-stream timelines.
//
// Contention between a kernel and a collective that run at once (des.contention) is left to the
// simulated predictor: here streams do not slow each other.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "collectives/alpha_beta.h"
#include "collectives/collective.h"
#include "predict/streams.h"
#include "property/machines.h"

namespace hysim {
namespace {

using graph::Stream;
using graph::Task;
using graph::TaskList;
using predictor::ListCost;

Task compute_task(double seconds, std::vector<std::int32_t> after, double launches = 0.0) {
  return {0, Stream::compute, test::kernel_of(seconds, launches), std::move(after)};
}
Task exchange_task(Stream stream, double seconds, std::vector<std::int32_t> after) {
  return {0, stream, test::exchange_of(seconds), std::move(after)};
}

// --- derived timelines ---

struct Op {
  const char* name;
  bool compute;
  double seconds;
  std::vector<const char*> after;
};
struct Timeline {
  const char* name;
  std::vector<Op> ops;
  double makespan;
};

// Streams first in, first out, in issue order; start = max(stream free, dependencies end).
// Timelines and makespans were derived by hand.
const std::vector<Timeline>& timelines() {
  static const std::vector<Timeline> list = {
      {"communication of a layer behind the next layer's compute",
       {{"c1", true, 10, {}},
        {"x1", false, 6, {"c1"}},
        {"c2", true, 10, {}},
        {"x2", false, 6, {"c2"}},
        {"c3", true, 10, {}},
        {"x3", false, 6, {"c3"}}},
       36},
      {"the same, bound by communication",
       {{"c1", true, 10, {}},
        {"x1", false, 14, {"c1"}},
        {"c2", true, 10, {}},
        {"x2", false, 14, {"c2"}},
        {"c3", true, 10, {}},
        {"x3", false, 14, {"c3"}}},
       52},
      {"a gather before each compute, one ahead",
       {{"g1", false, 4, {}},
        {"g2", false, 4, {}},
        {"c1", true, 7, {"g1"}},
        {"g3", false, 4, {"c1"}},
        {"c2", true, 7, {"g2"}},
        {"c3", true, 7, {"g3"}}},
       25},
      {"dispatch and combine of two micro-batches in turn",
       {{"Aatt", true, 5, {}},
        {"Adisp", false, 4, {"Aatt"}},
        {"Batt", true, 5, {}},
        {"Bdisp", false, 4, {"Batt"}},
        {"Amlp", true, 6, {"Adisp"}},
        {"Acomb", false, 4, {"Amlp"}},
        {"Bmlp", true, 6, {"Bdisp"}},
        {"Bcomb", false, 4, {"Bmlp"}}},
       26},
      {"the same one after the other",
       {{"Aatt", true, 5, {}},
        {"Adisp", false, 4, {"Aatt"}},
        {"Amlp", true, 6, {"Adisp"}},
        {"Acomb", false, 4, {"Amlp"}},
        {"Batt", true, 5, {"Acomb"}},
        {"Bdisp", false, 4, {"Batt"}},
        {"Bmlp", true, 6, {"Bdisp"}},
        {"Bcomb", false, 4, {"Bmlp"}}},
       38},
  };
  return list;
}

TEST(TwoStreams, DerivedTimelines) {
  for (const Timeline& timeline : timelines()) {
    TaskList list;
    std::map<std::string, std::int32_t> index;
    double compute = 0.0;
    double communication = 0.0;
    for (const Op& op : timeline.ops) {
      std::vector<std::int32_t> after;
      for (const char* name : op.after) after.push_back(index.at(name));
      index[op.name] = static_cast<std::int32_t>(list.size());
      list.push_back(op.compute ? compute_task(op.seconds, after)
                                : exchange_task(Stream::ep, op.seconds, after));
      (op.compute ? compute : communication) += op.seconds;
    }
    const ListCost cost = predictor::cost_list(list, test::unit_machine());
    EXPECT_EQ(cost.span, timeline.makespan) << timeline.name;
    const auto ep = static_cast<std::size_t>(predictor::CommKind::ep);
    EXPECT_EQ(cost.communication[ep].busy, communication) << timeline.name;
    EXPECT_EQ(cost.communication[ep].bytes, communication) << timeline.name;
    double critical = 0.0;
    double overlapped = 0.0;
    for (const predictor::LeafTime& leaf : cost.leaves) {
      critical += leaf.critical;
      overlapped += leaf.overlapped;
    }
    EXPECT_EQ(critical, timeline.makespan) << timeline.name;
    EXPECT_EQ(critical + overlapped, compute + communication) << timeline.name;
  }
}

// Two equal streams: independent they take the longer, chained the sum.
TEST(TwoStreams, IndependentTakeTheLongerAndChainedTheSum) {
  TaskList list = {compute_task(7.0, {}), exchange_task(Stream::tp, 5.0, {})};
  EXPECT_EQ(predictor::cost_list(list, test::unit_machine()).span, 7.0);
  list[1].after = {0};
  EXPECT_EQ(predictor::cost_list(list, test::unit_machine()).span, 12.0);
}

TEST(TwoStreams, AnEmptyListCostsNothing) {
  const ListCost cost = predictor::cost_list({}, test::unit_machine());
  EXPECT_EQ(cost.span, 0.0);
  EXPECT_TRUE(cost.leaves.empty());
}

// --- P23 ---

/// Any list in issue order on `streams` streams, whole seconds, any dependencies on earlier tasks.
TaskList random_list(int streams) {
  const auto tasks = *rc::gen::inRange<std::int32_t>(1, 25);
  TaskList list;
  for (std::int32_t i = 0; i < tasks; ++i) {
    std::vector<std::int32_t> after;
    for (std::int32_t before = 0; before < i; ++before) {
      if (*rc::gen::inRange(0, 4) == 0) after.push_back(before);
    }
    const auto seconds = static_cast<double>(*rc::gen::inRange(0, 100));
    const auto stream = static_cast<Stream>(*rc::gen::inRange(0, streams));
    if (stream == Stream::compute) {
      list.push_back(compute_task(seconds, after, *rc::gen::inRange(0, 3)));
    } else {
      list.push_back(exchange_task(stream, seconds, after));
    }
  }
  return list;
}

test::Machine gapped_machine() {
  test::Machine machine = test::unit_machine();
  machine.stack.launch_gap = Seconds(3.0);
  return machine;
}

/// Seconds each stream is busy, launch gaps included.
std::array<double, graph::kStreams> busy_of(const TaskList& list) {
  std::array<double, graph::kStreams> busy{};
  for (const Task& task : list) {
    double& on = busy[static_cast<std::size_t>(task.stream)];
    if (const auto* work = std::get_if<ops::Work>(&task.work)) {
      on += work->read.si() + 3.0 * work->launches;
    } else {
      on += std::get<collectives::Collective>(task.work).nvlink_sent.si();
    }
  }
  return busy;
}

double span(const TaskList& list) { return predictor::cost_list(list, gapped_machine()).span; }

// P23: max(sum compute, sum comm) <= makespan <= sum compute + sum comm for any two-stream
// schedule.
RC_GTEST_PROP(P23Overlap, BoundsOfTwoStreams, ()) {
  const TaskList list = random_list(2);
  const std::array<double, graph::kStreams> busy = busy_of(list);
  const double found = span(list);
  RC_ASSERT(found >= std::max(busy[0], busy[1]));
  RC_ASSERT(found <= busy[0] + busy[1]);
}

RC_GTEST_PROP(P23Overlap, BoundsOfAllStreams, ()) {
  const TaskList list = random_list(graph::kStreams);
  const std::array<double, graph::kStreams> busy = busy_of(list);
  const double found = span(list);
  RC_ASSERT(found >= *std::max_element(busy.begin(), busy.end()));
  RC_ASSERT(found <= busy[0] + busy[1] + busy[2] + busy[3]);
}

// P23: removing a dependency or shortening an op never increases the makespan (FIFO streams).
RC_GTEST_PROP(P23Overlap, FewerDependenciesOrShorterTasksNeverTakeLonger, ()) {
  const TaskList list = random_list(graph::kStreams);
  const double before = span(list);
  TaskList free = list;
  Task& freed = free[static_cast<std::size_t>(
      *rc::gen::inRange<std::int32_t>(0, static_cast<std::int32_t>(list.size())))];
  if (!freed.after.empty()) {
    freed.after.erase(
        freed.after.begin() +
        *rc::gen::inRange<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(freed.after.size())));
  }
  RC_ASSERT(span(free) <= before);
  TaskList shorter = list;
  Task& cut = shorter[static_cast<std::size_t>(
      *rc::gen::inRange<std::int32_t>(0, static_cast<std::int32_t>(list.size())))];
  if (auto* work = std::get_if<ops::Work>(&cut.work)) {
    work->read = Bytes(std::floor(work->read.si() / 2.0));
  } else {
    auto& op = std::get<collectives::Collective>(cut.work);
    op.nvlink_sent = Bytes(std::floor(op.nvlink_sent.si() / 2.0));
  }
  RC_ASSERT(span(shorter) <= before);
}

// P23: what is critical and its launch gaps make up the span exactly, and nothing is lost.
RC_GTEST_PROP(P23Overlap, CriticalTimesSumToTheSpan, ()) {
  const TaskList list = random_list(graph::kStreams);
  const ListCost cost = predictor::cost_list(list, gapped_machine());
  double critical = 0.0;
  double overlapped = 0.0;
  for (const predictor::LeafTime& leaf : cost.leaves) {
    RC_ASSERT(leaf.critical == 0.0 || leaf.overlapped == 0.0);
    critical += leaf.critical;
    overlapped += leaf.overlapped;
  }
  RC_ASSERT(critical + cost.launch == cost.span);
  const std::array<double, graph::kStreams> busy = busy_of(list);
  RC_ASSERT(critical + overlapped + cost.launch + cost.launch_overlapped ==
            busy[0] + busy[1] + busy[2] + busy[3]);
  double exposed = 0.0;
  for (const predictor::CommTotal& total : cost.communication) {
    RC_ASSERT(total.exposed <= total.busy);
    exposed += total.exposed;
  }
  RC_ASSERT(exposed <= cost.span);
}

// --- P22 ---

using collectives::AlphaBeta;

double sum_error(double a, double b) { return std::abs(a - b) / std::max(1.0, std::abs(b)); }

// P22: ring all-reduce = reduce-scatter + all-gather; bytes sent: all-reduce 2(n-1)/n S,
// all-gather, reduce-scatter and all-to-all (n-1)/n S; n = 1 costs 0.
RC_GTEST_PROP(P22Collectives, Identities, ()) {
  const auto n = *rc::gen::inRange<std::int64_t>(1, 2000);
  const Bytes bytes(static_cast<double>(*rc::gen::inRange<std::int64_t>(1, 1 << 30)));
  const Seconds alpha(static_cast<double>(*rc::gen::inRange(0, 1000)) * 1e-7);
  const BytesPerSecond beta(static_cast<double>(*rc::gen::inRange<std::int64_t>(1, 1000)) * 1e9);
  const AlphaBeta all_reduce = collectives::ring_all_reduce(n, bytes);
  const AlphaBeta gather = collectives::ring_all_gather(n, bytes);
  const AlphaBeta scatter = collectives::ring_reduce_scatter(n, bytes);
  const AlphaBeta exchange = collectives::pairwise_all_to_all(n, bytes);
  const double share = static_cast<double>(n - 1) / static_cast<double>(n);
  RC_ASSERT(sum_error(all_reduce.sent.si(), 2.0 * share * bytes.si()) < 1e-12);
  for (const AlphaBeta& one : {gather, scatter, exchange}) {
    RC_ASSERT(sum_error(one.sent.si(), share * bytes.si()) < 1e-12);
  }
  const Seconds sum = gather.time(alpha, beta) + scatter.time(alpha, beta);
  RC_ASSERT(sum_error(all_reduce.time(alpha, beta).si(), sum.si()) < 1e-12);
  for (const AlphaBeta& none :
       {collectives::ring_all_reduce(1, bytes), collectives::ring_all_gather(1, bytes),
        collectives::pairwise_all_to_all(1, bytes), collectives::tree_all_reduce(1, bytes, 4),
        collectives::halving_doubling_all_reduce(1, bytes)}) {
    RC_ASSERT(none.time(alpha, beta).si() == 0.0);
  }
}

// P22: all times are affine in S and in alpha at fixed algorithm.
RC_GTEST_PROP(P22Collectives, TimesAreAffine, ()) {
  const auto n = *rc::gen::inRange<std::int64_t>(2, 300);
  const auto time = [&](int which, double bytes, double alpha) {
    const Bytes b(bytes);
    const std::array<AlphaBeta, 5> all = {
        collectives::ring_all_reduce(n, b), collectives::ring_all_gather(n, b),
        collectives::pairwise_all_to_all(n, b), collectives::tree_all_reduce(n, b, 8),
        collectives::halving_doubling_all_reduce(n, b)};
    return all.at(static_cast<std::size_t>(which)).time(Seconds(alpha), BytesPerSecond(64.0)).si();
  };
  const auto s = static_cast<double>(*rc::gen::inRange<std::int64_t>(1, 1 << 20));
  const auto a = static_cast<double>(*rc::gen::inRange<std::int64_t>(1, 1000));
  for (int which = 0; which < 5; ++which) {
    const double zero = time(which, 0.0, a);
    RC_ASSERT(sum_error(time(which, 2.0 * s, a) - zero, 2.0 * (time(which, s, a) - zero)) < 1e-9);
    const double still = time(which, s, 0.0);
    RC_ASSERT(sum_error(time(which, s, 3.0 * a) - still, 3.0 * (time(which, s, a) - still)) < 1e-9);
  }
}

// P22: halving-doubling <= ring for equal bandwidth, strictly when alpha > 0 and n > 2.
RC_GTEST_PROP(P22Collectives, HalvingDoublingIsNoSlowerThanTheRing, ()) {
  const std::int64_t n = std::int64_t{1} << *rc::gen::inRange(0, 12);
  const Bytes bytes(static_cast<double>(*rc::gen::inRange<std::int64_t>(1, 1 << 30)));
  const auto alpha = static_cast<double>(*rc::gen::inRange(0, 1000)) * 1e-6;
  const BytesPerSecond beta(1e9);
  const double ring = collectives::ring_all_reduce(n, bytes).time(Seconds(alpha), beta).si();
  const double halving =
      collectives::halving_doubling_all_reduce(n, bytes).time(Seconds(alpha), beta).si();
  RC_ASSERT(halving <= ring * (1.0 + 1e-15));
  if (alpha > 0.0 && n > 2) RC_ASSERT(halving < ring);
}

// P22: the operations as they are timed: nothing for a group of one, all-reduce sends what
// reduce-scatter and all-gather do, and bus bandwidth is not above the link's.
RC_GTEST_PROP(P22Collectives, OperationsAsTheyAreTimed, ()) {
  const test::Machine machine = test::real_machine();
  collectives::Collective op;
  const std::int64_t nodes = *rc::gen::inRange<std::int64_t>(1, 65);
  const std::int64_t per_node = *rc::gen::inRange<std::int64_t>(1, 9);
  op.bytes = Bytes(static_cast<double>(*rc::gen::inRange<std::int64_t>(1, 1 << 30)));
  const auto timed = [&](collectives::Kind kind, const topology::GroupShape& group) {
    op.kind = kind;
    op.group = group;
    return collectives::time(op, machine.gpu, machine.network).total().si();
  };
  for (const collectives::Kind kind :
       {collectives::Kind::all_reduce, collectives::Kind::all_gather,
        collectives::Kind::reduce_scatter, collectives::Kind::send_recv}) {
    RC_ASSERT(timed(kind, {1, 1, 1}) == 0.0);
    RC_ASSERT(collectives::bytes_sent(op).si() == 0.0);
  }
  const topology::GroupShape group{nodes * per_node, nodes, per_node};
  if (group.size == 1) return;
  std::array<double, 3> sent{};
  std::array<double, 3> busbw{};
  const std::array<collectives::Kind, 3> kinds = {collectives::Kind::all_gather,
                                                  collectives::Kind::reduce_scatter,
                                                  collectives::Kind::all_reduce};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const double seconds = timed(kinds[i], group);
    sent[i] = collectives::bytes_sent(op).si();
    busbw[i] = sent[i] / seconds;
  }
  RC_ASSERT(sum_error(sent[2], sent[0] + sent[1]) < 1e-12);
  RC_ASSERT(busbw[0] <= machine.gpu.all_gather_busbw.value.si());
  RC_ASSERT(busbw[1] <= machine.gpu.reduce_scatter_busbw.value.si());
  RC_ASSERT(busbw[2] <= machine.gpu.all_reduce_busbw.value.si());
  if (nodes > 1) {
    const double nics = machine.network.nic.value.si() * static_cast<double>(per_node);
    for (const double bandwidth : busbw) RC_ASSERT(bandwidth <= nics);
  }
}

}  // namespace
}  // namespace hysim
