// Properties of selecting and attending by shapes: P01, P02, P05, P17, P24, P29 and P30.
#include "ops/selection.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "cost/kernel_time.h"
#include "graph/layer.h"
#include "ops/attention.h"
#include "ops/linear.h"
#include "ops/routing.h"
#include "ops/segments.h"
#include "property/machines.h"
#include "unit/graph/plans.h"
#include "unit/ops/shapes.h"
#include "units/text.h"

namespace hysim {
namespace {

using ops::Segment;
using ops::SelectionShape;
using test::glm_indexer;

double kernel_seconds(const ops::Work& work) {
  return cost::kernel_time(work, test::real_machine().gpu, Seconds(0.0)).total().si();
}

std::int64_t brute_pairs(std::int64_t begin, std::int64_t length, std::int64_t cap) {
  std::int64_t pairs = 0;
  for (std::int64_t i = begin; i < begin + length; ++i) pairs += std::min(i + 1, cap);
  return pairs;
}

// P01: pairs(S) = S(S+1)/2 exactly; pairs(2S)/pairs(S) = 2(2S+1)/(S+1).
RC_GTEST_PROP(P01SequenceScaling, PairsAreTriangles, ()) {
  const auto s = *rc::gen::inRange<std::int64_t>(1, 2000);
  const std::int64_t pairs = ops::causal_pairs(Segment{0, s});
  RC_ASSERT(pairs == brute_pairs(0, s, s));
  RC_ASSERT(pairs == s * (s + 1) / 2);
  RC_ASSERT(ops::causal_pairs(Segment{0, 2 * s}) * (s + 1) == pairs * 2 * (2 * s + 1));
  const auto begin = *rc::gen::inRange<std::int64_t>(0, 2000);
  const auto k = *rc::gen::inRange<std::int64_t>(1, 3000);
  RC_ASSERT(ops::causal_pairs(Segment{begin, s}) == brute_pairs(begin, s, begin + s));
  RC_ASSERT(ops::selected_pairs(Segment{begin, s}, k) == brute_pairs(begin, s, k));
}

// P01: at S = 524288 scoring time (compute bound, no launches) grows by 3.9999962, linear items by
// exactly 2, selected pairs by 2145387520/1071645696.
TEST(P01SequenceScaling, FromHalfAMillionToAMillionTokens) {
  constexpr std::int64_t kHalf = 524288;
  const SelectionShape half = glm_indexer({{0, kHalf}}, kHalf);
  const SelectionShape whole = glm_indexer({{0, 2 * kHalf}}, 2 * kHalf);
  const ops::Work half_score = ops::index_score(half, 1);
  const double ratio = kernel_seconds(ops::index_score(whole, 1)) / kernel_seconds(half_score);
  EXPECT_NEAR(ratio, 4.0, 4e-5);
  EXPECT_NEAR(ratio, 2.0 * (2.0 * kHalf + 1.0) / (kHalf + 1.0), 1e-12);
  const auto linear = [](std::int64_t tokens) {
    return kernel_seconds(ops::gemm(tokens, 6144, 2048, ops::Precision::bf16));
  };
  // Waves of tiles are whole at these sizes to one part in ten thousand.
  EXPECT_NEAR(linear(2 * kHalf) / linear(kHalf), 2.0, 1e-3);
  EXPECT_EQ(ops::gemm(2 * kHalf, 6144, 2048, ops::Precision::bf16).flops,
            2.0 * ops::gemm(kHalf, 6144, 2048, ops::Precision::bf16).flops);
  EXPECT_EQ(ops::selected_pairs(Segment{0, kHalf}, 2048), 1071645696);
  EXPECT_EQ(ops::selected_pairs(Segment{0, 2 * kHalf}, 2048), 2145387520);
}

// P02: for S <= k, selected pairs = causal pairs and sparse attention FLOP = dense absorbed
// attention FLOP.
RC_GTEST_PROP(P02Saturation, ShortSequencesAreDense, ()) {
  const auto k = *rc::gen::inRange<std::int64_t>(1, 4000);
  const auto s = *rc::gen::inRange<std::int64_t>(1, k + 1);
  const Segment all{0, s};
  RC_ASSERT(ops::selected_pairs(all, k) == ops::causal_pairs(all));
  const std::int64_t latent = 512;
  const std::int64_t rope = 64;
  const std::int64_t pairs = ops::selected_pairs(all, k);
  const ops::SparseAttention sparse{pairs, s, s, 64, latent, rope};
  const ops::DenseAttention dense{pairs, s, s, 64, 1, latent + rope, latent};
  RC_ASSERT(ops::sparse_attention_forward(sparse, ops::SparseBackend::cudnn).flops ==
            ops::dense_attention_forward(dense).flops);
}

// P02: doubling k beyond S changes nothing (time, memory of valid indices, FLOP).
TEST(P02Saturation, DoublingTopkBeyondTheSequenceChangesNothing) {
  const test::Machine machine = test::real_machine();
  for (const ops::Selection selection : {ops::Selection::table, ops::Selection::fused}) {
    for (const ops::TopkKind topk : {ops::TopkKind::torch, ops::TopkKind::radix}) {
      const auto plan_with = [&](std::int64_t k) {
        graph::Plan plan = test::one_gpu(test::TinySparse{.top_k = k}.make(), 512);
        plan.training.recompute = graph::Recompute::full;
        plan.training.indexer_loss = ops::IndexerLoss::sparse;
        plan.kernels.selection = selection;
        plan.kernels.topk = topk;
        return plan;
      };
      const graph::Program a = graph::build_training_step(plan_with(512), 8);
      const graph::Program b = graph::build_training_step(plan_with(1024), 8);
      const predictor::Evaluator of_a(a);
      const predictor::Evaluator of_b(b);
      EXPECT_EQ(of_a.executed_flops(1), of_b.executed_flops(1));
      EXPECT_EQ(of_a.evaluate(machine, false).step, of_b.evaluate(machine, false).step);
      graph::Plan kept_a = plan_with(512);
      graph::Plan kept_b = plan_with(1024);
      kept_a.kernels.selection_replay = kept_b.kernels.selection_replay = true;
      EXPECT_EQ(graph::build_training_step(kept_a, 8).layers.back().indices,
                graph::build_training_step(kept_b, 8).layers.back().indices);
    }
  }
}

// P05: with the fused kernel the HBM bytes of selection have no term proportional to pairs x 4; the
// workspace is 0.
RC_GTEST_PROP(P05NoTable, HyTopkTrafficGrowsWithTokensAlone, ()) {
  const auto s = *rc::gen::inRange<std::int64_t>(1, 1 << 20);
  const ops::Work one = ops::hytopk(glm_indexer({{0, s}}, s));
  const ops::Work two = ops::hytopk(glm_indexer({{0, 2 * s}}, 2 * s));
  const Bytes traffic = one.read + one.written + one.gathered + one.scattered;
  RC_ASSERT(two.read + two.written + two.gathered + two.scattered == 2.0 * traffic);
  RC_ASSERT(one.flops == ops::index_score(glm_indexer({{0, s}}, s), 1).flops);
  RC_ASSERT(ops::table_write(glm_indexer({{0, s}}, s)).written ==
            Bytes(4.0 * static_cast<double>(ops::causal_pairs(Segment{0, s}))));
}

// P17: scored pairs over CP ranks sum to S(S+1)/2 for every layout; zigzag gives the same on all
// ranks; contiguous has max/mean = (2CP-1)/CP up to the diagonal and is never faster than zigzag.
RC_GTEST_PROP(P17ContextParallel, PairsAreConserved, ()) {
  const auto cp = *rc::gen::inRange<std::int64_t>(1, 65);
  const std::int64_t s = 2 * cp * *rc::gen::inRange<std::int64_t>(1, 200);
  const std::int64_t k = *rc::gen::inRange<std::int64_t>(1, s + 10);
  for (const ops::CpSplit split : {ops::CpSplit::zigzag, ops::CpSplit::contiguous}) {
    std::int64_t sum = 0;
    std::int64_t selected = 0;
    std::int64_t most = 0;
    std::int64_t tokens = 0;
    for (std::int64_t rank = 0; rank < cp; ++rank) {
      const std::vector<Segment> segments = ops::cp_segments(s, cp, rank, split);
      const std::int64_t pairs = ops::causal_pairs(segments);
      sum += pairs;
      most = std::max(most, pairs);
      selected += ops::selected_pairs(segments, k);
      tokens += ops::query_count(segments);
      if (split == ops::CpSplit::zigzag) RC_ASSERT(pairs * cp == s * (s + 1) / 2);
    }
    RC_ASSERT(sum == s * (s + 1) / 2);
    RC_ASSERT(selected == ops::selected_pairs(Segment{0, s}, k));
    RC_ASSERT(tokens == s);
    const std::int64_t slowest = ops::slowest_cp_rank(s, cp, split, k);
    RC_ASSERT(ops::causal_pairs(ops::cp_segments(s, cp, slowest, split)) == most);
    if (split == ops::CpSplit::contiguous) {
      const std::int64_t chunk = s / cp;
      // max/mean = ((2cp-1)c + 1)/(S + 1), which tends to (2cp-1)/cp.
      RC_ASSERT(most * cp * (s + 1) == sum * ((2 * cp - 1) * chunk + 1));
    }
  }
}

// P17: the published ratios: S = 1048576 on CP 64.
TEST(P17ContextParallel, AtAMillionTokensOn64Ranks) {
  constexpr std::int64_t kTokens = 1 << 20;
  const auto pairs = [](std::int64_t rank, ops::CpSplit split) {
    return ops::causal_pairs(ops::cp_segments(kTokens, 64, rank, split));
  };
  for (const std::int64_t rank : {0, 1, 31, 63}) {
    EXPECT_EQ(pairs(rank, ops::CpSplit::zigzag), 8589942784);
  }
  EXPECT_EQ(pairs(0, ops::CpSplit::contiguous), 134225920);
  EXPECT_EQ(pairs(63, ops::CpSplit::contiguous), 17045659648);
  EXPECT_NEAR(17045659648.0 / 8589942784.0, 1.98437, 5e-6);
  const auto selected = [](std::int64_t rank) {
    return ops::selected_pairs(ops::cp_segments(kTokens, 64, rank, ops::CpSplit::zigzag), 2048);
  };
  EXPECT_EQ(selected(0), 31458304);  // the rank with the short rows
  EXPECT_EQ(selected(1), 33554432);
  EXPECT_EQ(selected(63), 33554432);
}

// P17: contiguous scoring is slower at the slowest rank, and never faster than zigzag.
RC_GTEST_PROP(P17ContextParallel, ContiguousIsNeverFaster, ()) {
  const auto cp = *rc::gen::inRange<std::int64_t>(1, 9);
  const std::int64_t s = 2 * cp * *rc::gen::inRange<std::int64_t>(100, 2000);
  const auto scoring = [&](ops::CpSplit split) {
    topology::GroupSizes sizes;
    sizes.cp = cp;
    graph::Plan plan = test::on_groups(test::TinySparse{}.make(), sizes, 1, s);
    plan.parallelism.cp_split = split;
    return kernel_seconds(ops::index_score(graph::make_context(plan, 8).selection(), 1));
  };
  const double zigzag = scoring(ops::CpSplit::zigzag);
  RC_ASSERT(scoring(ops::CpSplit::contiguous) >= zigzag * (1.0 - 1e-12));
}

// P24 by enumeration: the distinct other ranks that hold one of a token's k experts, over all
// subsets of k of E experts.
TEST(P24ExpertCopies, EqualTheEnumeration) {
  for (const std::int64_t experts : {4, 8, 12}) {
    for (std::int64_t k = 1; k <= 4; ++k) {
      for (std::int64_t parts = 1; parts <= experts; ++parts) {
        if (experts % parts != 0) continue;
        const std::int64_t per_part = experts / parts;
        double distinct = 0.0;
        double remote = 0.0;
        double subsets = 0.0;
        for (std::uint32_t set = 0; set < (1U << experts); ++set) {
          if (std::popcount(set) != k) continue;
          subsets += 1.0;
          for (std::int64_t part = 0; part < parts; ++part) {
            const std::uint32_t own = ((1U << per_part) - 1U) << (part * per_part);
            if ((set & own) == 0U) continue;
            distinct += 1.0;
            if (part != 0) remote += 1.0;
          }
        }
        const ops::Routing routing{experts, k, 1, 1};
        EXPECT_NEAR(ops::expected_remote(routing, parts), remote / subsets, 1e-12);
        EXPECT_NEAR(ops::expected_distinct(routing, parts), distinct / subsets, 1e-12);
      }
    }
  }
}

// P24: E[distinct remote ranks] <= k(1 - 1/EP), <= EP - 1, increasing in EP; equal to k(1 - 1/EP)
// iff one expert a rank; node copies <= rank copies; EP = 1 gives 0.
RC_GTEST_PROP(P24ExpertCopies, Bounds, ()) {
  const int log_experts = *rc::gen::inRange(1, 10);
  const std::int64_t experts = std::int64_t{1} << log_experts;
  const auto k = *rc::gen::inRange<std::int64_t>(1, std::min<std::int64_t>(experts, 16) + 1);
  const ops::Routing routing{experts, k, 1, 1};
  RC_ASSERT(ops::expected_remote(routing, 1) == 0.0);
  double before = 0.0;
  for (int log_ep = 1; log_ep <= log_experts; ++log_ep) {
    const std::int64_t ep = std::int64_t{1} << log_ep;
    const auto ranks = static_cast<double>(ep);
    const double copies = ops::expected_remote(routing, ep);
    const double most = static_cast<double>(k) * (1.0 - 1.0 / ranks);
    RC_ASSERT(copies <= most * (1.0 + 1e-12));
    RC_ASSERT(copies <= (ranks - 1.0) * (1.0 + 1e-12));
    RC_ASSERT(copies > before);
    const bool equal = std::abs(copies - most) <= 1e-12 * most;
    RC_ASSERT(equal == (ep == experts || k == 1));
    // Nodes of eight ranks: a node's copy serves all its ranks.
    RC_ASSERT(ops::expected_remote(routing, std::max<std::int64_t>(1, ep / 8)) <= copies);
    before = copies;
  }
}

// P24: fp8 dispatch bytes = bf16 x (1 + 4/128)/2; combining stays in bf16; what all ranks send is
// what all receive, so one rank's share says both.
TEST(P24ExpertCopies, DispatchInFp8HasScales) {
  for (const graph::Dispatcher dispatcher :
       {graph::Dispatcher::alltoall, graph::Dispatcher::deepep}) {
    topology::GroupSizes sizes;
    sizes.dp = 8;
    sizes.ep = 8;
    graph::Plan plan = test::on_groups(test::TinySparse{}.make(), sizes);
    plan.kernels.dispatcher = dispatcher;
    const graph::LayerContext context = graph::make_context(plan, 4);
    const auto sent = [&](double bytes_per_value) {
      return collectives::bytes_sent(graph::expert_exchange(context, bytes_per_value)).si();
    };
    EXPECT_GT(sent(2.0), 0.0);
    const auto exchanged = [&](ops::Precision precision) {
      plan.training.precision = precision;
      const graph::Program program = graph::build_training_step(plan, 4);
      std::vector<double> bytes;
      for (const graph::Task& task : program.layers.back().forward) {
        if (task.stream != graph::Stream::ep) continue;
        bytes.push_back(collectives::bytes_sent(std::get<collectives::Collective>(task.work)).si());
      }
      return bytes;
    };
    const std::vector<double> bf16 = exchanged(ops::Precision::bf16);
    const std::vector<double> fp8 = exchanged(ops::Precision::fp8);
    ASSERT_EQ(bf16.size(), 2U);  // dispatch, combine
    ASSERT_EQ(fp8.size(), 2U);
    EXPECT_DOUBLE_EQ(fp8[0], bf16[0] * (1.0 + 4.0 / 128.0) / 2.0);
    EXPECT_EQ(fp8[1], bf16[1]);
  }
}

// P24: an all-to-all sends k(1 - 1/EP) copies of each token, however it is split over tiers.
RC_GTEST_PROP(P24ExpertCopies, AllToAllSendsEveryCopy, ()) {
  topology::GroupSizes sizes;
  sizes.ep = std::int64_t{1} << *rc::gen::inRange(0, 4);
  sizes.dp = sizes.ep;
  const std::int64_t k = *rc::gen::inRange<std::int64_t>(1, 5);
  const graph::Plan plan = test::on_groups(test::TinySparse{.experts_per_token = k}.make(), sizes);
  const std::int64_t gpus_per_node = std::int64_t{1} << *rc::gen::inRange(0, 4);
  const graph::LayerContext context = graph::make_context(plan, gpus_per_node);
  const double bytes = collectives::bytes_sent(graph::expert_exchange(context, 2.0)).si();
  const auto ep = static_cast<double>(sizes.ep);
  const double expected = 256.0 * static_cast<double>(k) * (1.0 - 1.0 / ep) * 64.0 * 2.0;
  RC_ASSERT(std::abs(bytes - expected) <= 1e-9 * std::max(1.0, expected));
}

// P29: the score chunk changes workspace and launch count: FLOP, table bytes and indices are the
// same; total rows = chunks x rows with the last chunk partial. (Each chunk streams its keys again,
// so bytes read grow with the number of chunks.)
RC_GTEST_PROP(P29Chunking, ChangesWorkspaceAndLaunchesOnly, ()) {
  const auto s = *rc::gen::inRange<std::int64_t>(2, 100000);
  const SelectionShape shape = glm_indexer({{0, s}}, s);
  const std::int64_t wanted = *rc::gen::inRange<std::int64_t>(1, s + 1000);
  const std::int64_t rows = ops::rows_per_chunk(shape, Bytes(0.0), wanted);
  const std::int64_t chunks = ops::chunk_count(shape, rows);
  RC_ASSERT(rows == std::min(wanted, s));
  RC_ASSERT((chunks - 1) * rows < s);
  RC_ASSERT(chunks * rows >= s);
  const ops::Work once = ops::index_score(shape, 1);
  const ops::Work cut = ops::index_score(shape, chunks);
  RC_ASSERT(cut.flops == once.flops);
  RC_ASSERT(cut.vector_flops == once.vector_flops);
  RC_ASSERT(cut.units == once.units);
  RC_ASSERT(cut.written == once.written);
  RC_ASSERT(cut.launches == static_cast<double>(chunks));
  for (const bool torch : {true, false}) {
    const ops::Work all = torch ? ops::torch_topk(shape, 1) : ops::radix_topk(shape, 1);
    const ops::Work part = torch ? ops::torch_topk(shape, chunks) : ops::radix_topk(shape, chunks);
    RC_ASSERT(part.units == all.units);
    RC_ASSERT(part.written == all.written);
    RC_ASSERT(part.launches == static_cast<double>(chunks));
  }
  const auto r = static_cast<double>(rows);
  const auto keys = static_cast<double>(s);
  RC_ASSERT(ops::table_workspace(shape, ops::TopkKind::radix, rows).si() == 12.0 * r * keys);
  RC_ASSERT(ops::table_workspace(shape, ops::TopkKind::torch, rows).si() ==
            4.0 * r * keys + 12.0 * r * 2048.0);
}

// P30: reported GB use 1e9; a 1 GiB chunk at S = 1048576 is exactly 256 rows; 8192 rows are exactly
// 32 GiB; int32 indices of a 1M-token layer are exactly 8 GiB over all CP ranks.
TEST(P30Units, ChunksTablesAndIndices) {
  constexpr std::int64_t kTokens = 1 << 20;
  const SelectionShape shape = glm_indexer({{0, kTokens}}, kTokens);
  EXPECT_EQ(ops::rows_per_chunk(shape, Bytes(1024.0 * 1024.0 * 1024.0), 0), 256);
  EXPECT_EQ(4.0 * 8192.0 * static_cast<double>(ops::table_row_keys(shape)), 34359738368.0);
  EXPECT_EQ(ops::table_workspace(shape, ops::TopkKind::radix, 8192).si(), 3.0 * 34359738368.0);
  double indices = 0.0;
  for (std::int64_t rank = 0; rank < 64; ++rank) {
    topology::GroupSizes sizes;
    sizes.cp = 64;
    graph::Plan plan = test::on_groups(test::TinySparse{.top_k = 2048}.make(), sizes, 1, kTokens);
    const graph::LayerContext context = graph::make_context(plan, 8);
    indices += ops::index_bytes(context.top_k(), context.shape).si();
  }
  EXPECT_EQ(indices, 8589934592.0);
  EXPECT_EQ(units::format(Bytes(34359738368.0)), "34.4 GB");
  EXPECT_EQ(units::format(Bytes(1e9)), "1.00 GB");
  EXPECT_EQ(units::parse_bytes("1 GiB").value(), Bytes(1073741824.0));
  EXPECT_EQ(units::parse_bytes("1 GB").value(), Bytes(1e9));
}

}  // namespace
}  // namespace hysim
