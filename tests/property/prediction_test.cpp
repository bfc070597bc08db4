// Properties of whole predictions: P03, P05, P06, P07, P18, P19, P25, P26 and P28, on small models.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "cost/kernel_time.h"
#include "graph/layer.h"
#include "graph/memory.h"
#include "hysim/predict.h"
#include "hysim/report.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/model_flops.h"
#include "property/machines.h"
#include "unit/graph/plans.h"

namespace hysim {
namespace {

using graph::IndexerLoss;
using graph::Plan;
using graph::Program;
using graph::Recompute;
using ops::Selection;
using test::Machine;
using test::Step;

constexpr double kRounding = 1e-9;

bool same(double a, double b, double scale) { return std::abs(a - b) <= kRounding * scale; }

/// A real machine with every rate and burden moved by up to four, either way.
Machine random_machine() {
  Machine machine = test::real_machine();
  for (const std::vector<test::Knob>* knobs : {&test::rates(), &test::burdens()}) {
    for (const test::Knob& knob : *knobs) {
      knob.scale(machine, std::exp2(static_cast<double>(*rc::gen::inRange(-20, 21)) / 10.0));
    }
  }
  return machine;
}

/// Four layers on one GPU under full recomputation; `micro_batches` sequences.
Plan sparse_plan(std::int64_t seq_len, IndexerLoss loss, std::int64_t micro_batches = 2) {
  Plan plan = test::one_gpu(test::TinySparse{.top_k = 256, .hidden = 512}.make(), seq_len);
  plan.workload.global_batch_size = micro_batches;
  plan.training.recompute = Recompute::full;
  plan.training.indexer_loss = loss;
  return plan;
}

/// Seconds of one selection, and of the index projections, of one layer.
struct SelectionSeconds {
  double table = 0.0;  // scoring, table, top-k
  double fused = 0.0;
  double projections = 0.0;
};
SelectionSeconds selection_of(const Plan& plan, const Machine& machine) {
  const ops::SelectionShape shape = graph::make_context(plan, 8).selection();
  const auto seconds = [&](const ops::Work& work) {
    return cost::kernel_time(work, machine.gpu, machine.stack.launch_gap).total().si();
  };
  const std::int64_t rows = ops::rows_per_chunk(shape, plan.kernels.score_chunk_bytes, 0);
  const std::int64_t chunks = ops::chunk_count(shape, rows);
  SelectionSeconds s;
  s.table = seconds(ops::index_score(shape, chunks)) + seconds(ops::table_write(shape)) +
            seconds(plan.kernels.topk == ops::TopkKind::torch ? ops::torch_topk(shape, chunks)
                                                              : ops::radix_topk(shape, chunks));
  s.fused = seconds(ops::hytopk(shape));
  const std::int64_t tokens = ops::query_count(shape.segments);
  const std::int64_t latent = plan.model.attention.q_lora_rank;
  const std::int64_t width = shape.heads * shape.head_dim;
  s.projections =
      seconds(ops::gemm(tokens, width, latent, ops::Precision::bf16)) +
      seconds(ops::gemm(tokens, shape.head_dim, plan.model.hidden, ops::Precision::bf16)) +
      seconds(ops::gemm(tokens, shape.heads, plan.model.hidden, ops::Precision::bf16)) +
      seconds(ops::rotary(tokens * (width + shape.head_dim), ops::Pass::forward));
  return s;
}

// P03: under full recomputation time(base) - time(replay) = layers x micro-batches x one selection
// (and, without an indexer loss, the index projections), with no pipeline or communication.
RC_GTEST_PROP(P03Replay, SavesExactlyOneSelection, ()) {
  const Machine machine = random_machine();
  const auto loss = *rc::gen::element(IndexerLoss::off, IndexerLoss::sparse);
  const auto micro_batches = *rc::gen::inRange<std::int64_t>(1, 5);
  const auto tokens = *rc::gen::inRange<std::int64_t>(1, 20000);
  Plan plan = sparse_plan(tokens, loss, micro_batches);
  plan.kernels.topk = *rc::gen::element(ops::TopkKind::torch, ops::TopkKind::radix);
  plan.kernels.selection = *rc::gen::element(Selection::table, Selection::fused);
  const double base = test::step_of(plan, machine);
  plan.kernels.selection_replay = true;
  const double replay = test::step_of(plan, machine);
  const SelectionSeconds of = selection_of(plan, machine);
  const double once = (plan.kernels.selection == Selection::fused ? of.fused : of.table) +
                      (loss == IndexerLoss::off ? of.projections : 0.0);
  const double saved = once * 4.0 * static_cast<double>(micro_batches);
  RC_ASSERT(same(base - replay, saved, base));
}

// P03: without recomputation replay changes time by 0.
RC_GTEST_PROP(P03Replay, ChangesNoTimeWithoutRecomputation, ()) {
  const Machine machine = random_machine();
  Plan plan = sparse_plan(
      4096, *rc::gen::element(IndexerLoss::off, IndexerLoss::sparse, IndexerLoss::dense));
  plan.training.recompute = Recompute::none;
  const double base = test::step_of(plan, machine);
  plan.kernels.selection_replay = true;
  RC_ASSERT(test::step_of(plan, machine) == base);
}

// P05: results are unchanged versus the baseline: every other leaf takes the same time.
RC_GTEST_PROP(P05NoTable, NothingButSelectionChanges, ()) {
  const Machine machine = random_machine();
  Plan plan = sparse_plan(8192, IndexerLoss::sparse);
  const Step table(plan, machine);
  plan.kernels.selection = Selection::fused;
  const Step fused(plan, machine);
  for (const std::string& leaf : table.leaves) {
    if (leaf.rfind("selection/", 0) == 0 || leaf == "launch") continue;
    RC_ASSERT(same(fused.critical(leaf), table.critical(leaf), table.seconds()));
  }
  RC_ASSERT(fused.critical("selection/topk") == 0.0);
  RC_ASSERT(fused.critical("selection/score_table") == 0.0);
  const Program program = graph::build_training_step(plan, 8);
  for (const graph::LayerProgram& layer : program.layers) {
    RC_ASSERT(layer.score_workspace == Bytes(0.0));
  }
}

struct Variants {
  double base = 0.0;
  double hytopk = 0.0;
  double replay = 0.0;
  double both = 0.0;
};
Variants variants_of(Plan plan, const Machine& machine) {
  Variants v;
  v.base = test::step_of(plan, machine);
  plan.kernels.selection_replay = true;
  v.replay = test::step_of(plan, machine);
  plan.kernels.selection = Selection::fused;
  v.both = test::step_of(plan, machine);
  plan.kernels.selection_replay = false;
  v.hytopk = test::step_of(plan, machine);
  return v;
}

// P06: time(both) <= min(time(hy), time(rep)) <= time(base) whenever hy <= score + table + topk;
// time(base)/time(both) = (R + 2s)/(R + s') <= 2s/s'.
RC_GTEST_PROP(P06Variants, AreOrderedAndBounded, ()) {
  const Machine machine = random_machine();
  const Plan plan = sparse_plan(*rc::gen::inRange<std::int64_t>(300, 20000), IndexerLoss::sparse);
  const SelectionSeconds of = selection_of(plan, machine);
  const Variants v = variants_of(plan, machine);
  const double slack = kRounding * v.base;
  const double s = of.table * 8.0;  // four layers, two micro-batches
  const double fused = of.fused * 8.0;
  const double rest = v.base - 2.0 * s;
  RC_ASSERT(rest > 0.0);
  RC_ASSERT(same(v.both, rest + fused, v.base));
  RC_ASSERT(same(v.hytopk, rest + 2.0 * fused, v.base));
  RC_ASSERT(same(v.replay, rest + s, v.base));
  RC_ASSERT(v.replay <= v.base + slack);
  RC_ASSERT(v.both <= v.hytopk + slack);
  if (of.fused > of.table) return;
  RC_ASSERT(v.both <= std::min(v.hytopk, v.replay) + slack);
  RC_ASSERT(std::min(v.hytopk, v.replay) <= v.base + slack);
  RC_ASSERT(v.base / v.both <= 2.0 * of.table / of.fused * (1.0 + kRounding));
}

// P06: the speedup decreases monotonically in the rest R towards 1.
RC_GTEST_PROP(P06Variants, SpeedupDecreasesInTheRest, ()) {
  Machine machine = random_machine();
  const Plan plan = sparse_plan(8192, IndexerLoss::sparse);
  const SelectionSeconds of = selection_of(plan, machine);
  RC_PRE(of.fused <= of.table);
  double before = 0.0;
  for (int i = 0; i < 12; ++i) {
    const Variants v = variants_of(plan, machine);
    const double speedup = v.base / v.both;
    RC_ASSERT(speedup > 1.0);
    if (i > 0) RC_ASSERT(speedup <= before * (1.0 + kRounding));
    before = speedup;
    // Slower matrices and attention, which no variant saves; scoring has a rate of its own.
    for (auto* fraction :
         {&machine.gpu.gemm_bf16, &machine.gpu.grouped_gemm_bf16,
          &machine.gpu.sparse_attention_forward, &machine.gpu.sparse_attention_backward_cudnn}) {
      fraction->value /= 8.0;
    }
  }
  RC_ASSERT(before < 1.001);
}

// P07: adding the same exposed time X >= 0 to both variants strictly lowers a speedup above 1:
// (T1 + X)/(T2 + X) < T1/T2.
RC_GTEST_PROP(P07Amdahl, TheSameTimeOnBothSidesLowersTheSpeedup, ()) {
  const Machine machine = random_machine();
  Plan plan = sparse_plan(8192, IndexerLoss::off);
  Plan candidate = plan;
  candidate.kernels.selection = Selection::fused;
  candidate.kernels.selection_replay = true;
  const double t1 = test::step_of(plan, machine);
  const double t2 = test::step_of(candidate, machine);
  RC_PRE(t1 > t2 * (1.0 + 1e-6));
  // A larger vocabulary costs the head of both the same.
  plan.model.vocab *= 64;
  candidate.model.vocab *= 64;
  const double more1 = test::step_of(plan, machine);
  const double more2 = test::step_of(candidate, machine);
  RC_ASSERT(more1 > t1);
  RC_ASSERT(same(more1 - t1, more2 - t2, more1));
  RC_ASSERT(more1 / more2 < t1 / t2);
}

/// GLM-5.1 cut to six layers: matrices outweigh collectives' fixed latencies.
Plan wide_plan(std::int64_t tp) {
  model::Transformer model = test::bundled("glm-5.1");
  model.layers.resize(6);
  topology::GroupSizes sizes;
  sizes.tp = tp;
  sizes.cp = 2;
  Plan plan = test::on_groups(model, sizes, 1, 1 << 18);
  plan.training.recompute = Recompute::full;
  plan.training.indexer_loss = IndexerLoss::sparse;
  return plan;
}

// P18: with the indexer duplicated over TP = r, GPU-seconds of selection are r times those of TP =
// 1: wall time per layer is independent of TP at fixed CP; de-duplication divides it by r.
TEST(P18IndexerOverTp, IsRepeatedOnEveryRankUnlessSharded) {
  const Machine machine = test::real_machine();
  for (const Selection selection : {Selection::table, Selection::fused}) {
    double one = 0.0;
    for (const std::int64_t tp : {1, 2, 4}) {
      Plan plan = wide_plan(tp);
      plan.kernels.selection = selection;
      const double replicated = Step(plan, machine).critical("selection/");
      if (tp == 1) one = replicated;
      EXPECT_EQ(replicated, one) << "tp " << tp;
      plan.kernels.indexer_tp = graph::IndexerTp::sharded;
      const double sharded = Step(plan, machine).critical("selection/");
      EXPECT_NEAR(sharded, one / static_cast<double>(tp), 1e-12 * one) << "tp " << tp;
    }
  }
}

// P18: speedup(both) is non-decreasing in r.
TEST(P18IndexerOverTp, SpeedupGrowsWithReplication) {
  // NVLink so fast that the collectives TP adds weigh nothing.
  Machine machine = test::real_machine();
  for (auto* busbw : {&machine.gpu.all_reduce_busbw, &machine.gpu.all_gather_busbw,
                      &machine.gpu.reduce_scatter_busbw, &machine.gpu.all_to_all_busbw}) {
    busbw->value = busbw->value * 1e3;
  }
  double before = 0.0;
  for (const std::int64_t tp : {1, 2, 4}) {
    Plan plan = wide_plan(tp);
    const double base = test::step_of(plan, machine);
    plan.kernels.selection = Selection::fused;
    plan.kernels.selection_replay = true;
    const double speedup = base / test::step_of(plan, machine);
    EXPECT_GT(speedup, before) << "tp " << tp;
    before = speedup;
  }
}

/// Plans that use every stream, schedule and kernel, on one node or several.
Plan communicating_plan() {
  topology::GroupSizes sizes;
  sizes.tp = std::int64_t{1} << *rc::gen::inRange(0, 3);
  sizes.cp = std::int64_t{1} << *rc::gen::inRange(0, 3);
  sizes.dp = std::int64_t{1} << *rc::gen::inRange(0, 3);
  sizes.pp = *rc::gen::inRange<std::int64_t>(1, 5);
  sizes.ep = std::min<std::int64_t>(8, sizes.tp * sizes.cp * sizes.dp);
  test::TinySparse tiny{.layers = 8, .top_k = 128, .hidden = 256};
  const std::int64_t groups = *rc::gen::inRange<std::int64_t>(1, 4);
  Plan plan = test::on_groups(tiny.make(), sizes, sizes.pp * groups, 4096);
  if (sizes.pp > 1 && *rc::gen::arbitrary<bool>()) {
    plan.parallelism.vpp = 2;
    test::lay_out(plan);
  } else if (sizes.pp > 1) {
    plan.parallelism.schedule = *rc::gen::element(graph::Schedule::one_f_one_b,
                                                  graph::Schedule::gpipe, graph::Schedule::zb_h1);
  }
  // Sharded gradients and weights want no pipeline.
  plan.parallelism.zero = *rc::gen::inRange(0, sizes.pp > 1 ? 2 : 4);
  plan.parallelism.fsdp_prefetch = *rc::gen::inRange<std::int64_t>(0, 3);
  plan.parallelism.reshard_after_forward = *rc::gen::arbitrary<bool>();
  plan.training.offload.activations = *rc::gen::element(0.0, 0.5, 1.0);
  plan.training.offload.indices = *rc::gen::arbitrary<bool>();
  plan.training.recompute =
      *rc::gen::element(Recompute::none, Recompute::selective, Recompute::full);
  plan.training.indexer_loss = *rc::gen::element(IndexerLoss::off, IndexerLoss::sparse);
  plan.training.precision = *rc::gen::element(ops::Precision::bf16, ops::Precision::fp8);
  plan.training.mtp_num_layers = *rc::gen::inRange<std::int64_t>(0, 2);
  plan.kernels.selection = *rc::gen::element(Selection::naive, Selection::table, Selection::fused);
  plan.kernels.topk = *rc::gen::element(ops::TopkKind::torch, ops::TopkKind::radix);
  plan.kernels.sparse_attention =
      *rc::gen::element(ops::SparseBackend::cudnn, ops::SparseBackend::tilelang);
  plan.kernels.dispatcher =
      *rc::gen::element(graph::Dispatcher::alltoall, graph::Dispatcher::deepep);
  plan.overlap.tp = *rc::gen::arbitrary<bool>();
  plan.overlap.cp = *rc::gen::arbitrary<bool>();
  plan.overlap.grad_reduce = *rc::gen::arbitrary<bool>();
  plan.overlap.param_gather = *rc::gen::arbitrary<bool>();
  RC_ASSERT(graph::check(plan, sizes.world()).empty());
  return plan;
}

// P19: doubling any rate or halving any latency never increases step time.
RC_GTEST_PROP(P19HardwareMonotone, EveryRateAndBurden, ()) {
  const Plan plan = communicating_plan();
  const Machine machine = random_machine();
  const Program program = graph::build_training_step(plan, 8);
  const predictor::Evaluator evaluator(program);
  const double base = evaluator.evaluate(machine, false).step * (1.0 + kRounding);
  for (const test::Knob& knob : test::rates()) {
    Machine faster = machine;
    knob.scale(faster, 2.0);
    RC_LOG(knob.name);
    RC_ASSERT(evaluator.evaluate(faster, false).step <= base);
  }
  for (const test::Knob& knob : test::burdens()) {
    Machine lighter = machine;
    knob.scale(lighter, 0.5);
    RC_LOG(knob.name);
    RC_ASSERT(evaluator.evaluate(lighter, false).step <= base);
  }
}

/// Clock, peaks and bandwidths times c; latencies and gaps over c.
void scale_hardware(Machine& machine, double c) {
  hardware::Gpu& gpu = machine.gpu;
  gpu.clock.value = gpu.clock.value * c;
  for (auto* peak : {&gpu.bf16, &gpu.fp8, &gpu.fp32}) peak->value = peak->value * c;
  for (auto* bandwidth :
       {&gpu.hbm_bandwidth, &gpu.nvlink, &gpu.all_reduce_busbw, &gpu.all_gather_busbw,
        &gpu.reduce_scatter_busbw, &gpu.all_to_all_busbw, &machine.network.nic}) {
    bandwidth->value = bandwidth->value * c;
  }
  for (auto* latency : {&gpu.all_reduce_latency, &gpu.all_gather_latency,
                        &gpu.reduce_scatter_latency, &gpu.all_to_all_latency}) {
    latency->value = latency->value / c;
  }
  machine.stack.launch_gap = machine.stack.launch_gap / c;
}

// P19: multiplying all rates (and 1/latency, 1/overhead) by c divides step time by c exactly.
RC_GTEST_PROP(P19HardwareMonotone, ScalingTheGpuScalesTheStep, ()) {
  Machine machine = random_machine();
  Plan plan = sparse_plan(*rc::gen::inRange<std::int64_t>(1, 20000), IndexerLoss::sparse);
  plan.kernels.selection = *rc::gen::element(Selection::naive, Selection::table, Selection::fused);
  const double base = test::step_of(plan, machine);
  const double c = std::exp2(static_cast<double>(*rc::gen::inRange(-30, 31)) / 10.0);
  scale_hardware(machine, c);
  RC_ASSERT(same(test::step_of(plan, machine) * c, base, base));
}

// P19 with communication: NCCL's latencies are constants of its tuner, no numbers of the machine,
// so a machine c times faster takes between 1/c of the time and all of it.
RC_GTEST_PROP(P19HardwareMonotone, ScalingAClusterIsBoundedByFixedLatencies, ()) {
  const Plan plan = communicating_plan();
  Machine machine = random_machine();
  const double base = test::step_of(plan, machine);
  const double c = std::exp2(static_cast<double>(*rc::gen::inRange(0, 31)) / 10.0);
  scale_hardware(machine, c);
  const double scaled = test::step_of(plan, machine);
  RC_ASSERT(scaled <= base * (1.0 + kRounding));
  RC_ASSERT(scaled >= base / c * (1.0 - kRounding));
}

// The parts of a step: critical leaves sum to it, none is negative, and what binds each leaf sums
// to its time.
RC_GTEST_PROP(Breakdown, CriticalLeavesSumToTheStep, ()) {
  const Step step(communicating_plan(), random_machine());
  const predictor::Evaluation& e = step.evaluation;
  const double sum = std::accumulate(e.critical.begin(), e.critical.end(), 0.0);
  RC_ASSERT(same(sum, e.step, e.step));
  for (std::size_t i = 0; i < e.critical.size(); ++i) {
    RC_ASSERT(e.critical[i] >= 0.0);
    RC_ASSERT(e.overlapped[i] >= 0.0);
    const double bounds = std::accumulate(e.bounds[i].begin(), e.bounds[i].end(), 0.0);
    if (step.leaves[i] == "launch") continue;  // gaps hidden behind other work have no bound
    RC_ASSERT(same(bounds, e.critical[i] + e.overlapped[i], e.step));
  }
  for (const predictor::CommTotal& total : e.communication) {
    RC_ASSERT(total.exposed >= 0.0);
    RC_ASSERT(total.exposed <= total.busy * (1.0 + kRounding));
  }
}

// P26: tp = cp = ep = 1: nothing is sent over that group; pp = 1: no bubble and nothing between
// stages; one GPU: step = the sum of its kernels.
RC_GTEST_PROP(P26Degenerate, GroupsOfOneSendNothing, ()) {
  const Plan plan = communicating_plan();
  const topology::GroupSizes& sizes = plan.parallelism.sizes;
  const Step step(plan, random_machine());
  const auto sent = [&](predictor::CommKind kind) {
    return step.evaluation.communication[static_cast<std::size_t>(kind)].bytes;
  };
  RC_ASSERT((sent(predictor::CommKind::tp) > 0.0) == (sizes.tp > 1));
  RC_ASSERT((sent(predictor::CommKind::cp) > 0.0) == (sizes.cp > 1));
  RC_ASSERT((sent(predictor::CommKind::pp) > 0.0) == (sizes.pp > 1));
  if (sizes.ep == 1) RC_ASSERT(sent(predictor::CommKind::ep) == 0.0);
  RC_ASSERT((sent(predictor::CommKind::dp) > 0.0) == (sizes.world() > 1));
  if (sizes.pp == 1) {
    RC_ASSERT(same(step.critical("bubble"), 0.0, step.seconds()));
    RC_ASSERT(step.critical("communication/pp") == 0.0);
  }
}

TEST(P26Degenerate, OneGpuIsTheSumOfItsKernels) {
  const Machine machine = test::real_machine();
  const Plan plan = sparse_plan(4096, IndexerLoss::sparse, 3);
  const Program program = graph::build_training_step(plan, 8);
  double seconds = 0.0;
  const auto add = [&](const graph::TaskList& list) {
    for (const graph::Task& task : list) {
      seconds +=
          cost::kernel_time(std::get<ops::Work>(task.work), machine.gpu, machine.stack.launch_gap)
              .total()
              .si();
    }
  };
  for (const std::int32_t layer : program.chunks.front().layers) {
    add(program.layers[static_cast<std::size_t>(layer)].forward);
    add(program.layers[static_cast<std::size_t>(layer)].backward);
  }
  for (const graph::LayerProgram* ends : {&program.embedding, &program.head}) {
    add(ends->forward);
    add(ends->backward);
  }
  seconds *= 3.0;
  const auto parameters = static_cast<double>(model::total_parameters(plan.model).total);
  for (const ops::Work& work : {ops::gradient_norm(parameters, 4.0), ops::adam(parameters)}) {
    seconds += cost::kernel_time(work, machine.gpu, machine.stack.launch_gap).total().si();
  }
  EXPECT_NEAR(test::step_of(plan, machine), seconds, kRounding * seconds);
}

// P28: full recomputation executes the forward of its layers twice: FLOP(full) - FLOP(none) =
// forward FLOP of the layers, minus replayed selection; embedding and head are not run again.
RC_GTEST_PROP(P28Recompute, AddsTheForwardOfTheLayers, ()) {
  const auto micro_batches = *rc::gen::inRange<std::int64_t>(1, 5);
  const auto loss = *rc::gen::element(IndexerLoss::off, IndexerLoss::sparse, IndexerLoss::dense);
  const auto tokens = *rc::gen::inRange<std::int64_t>(300, 5000);
  Plan plan = sparse_plan(tokens, loss, micro_batches);
  plan.kernels.selection = *rc::gen::element(Selection::table, Selection::fused);
  const auto executed = [&](Recompute recompute, bool replay) {
    plan.training.recompute = recompute;
    plan.kernels.selection_replay = replay;
    const Program program = graph::build_training_step(plan, 8);
    return predictor::Evaluator(program).executed_flops(1);
  };
  const double none = executed(Recompute::none, false);
  const double full = executed(Recompute::full, false);
  // The first pass of a recomputed layer runs without the loss: this is a layer's plain forward.
  const Program program = graph::build_training_step(plan, 8);
  double forward = 0.0;
  double selection = 0.0;
  for (const std::int32_t layer : program.chunks.front().layers) {
    const graph::TaskList& list = program.layers[static_cast<std::size_t>(layer)].forward;
    forward += test::flops_under(program, list, "");
    selection +=
        test::flops_under(program, list, "selection/") +
        (loss == IndexerLoss::off ? test::flops_under(program, list, "linear/indexer") : 0.0);
  }
  const auto m = static_cast<double>(micro_batches);
  RC_ASSERT(same(full - none, m * forward, full));
  if (loss == IndexerLoss::dense) return;  // its scores are needed again: replay saves no FLOP
  RC_ASSERT(same(executed(Recompute::full, true) - none, m * (forward - selection), full));
}

// --- whole predictions ---

/// A scenario small enough to predict in milliseconds, with variants.
ScenarioText small_scenario() {
  return {R"({"schema": "hysim.scenario/1", "name": "small", "model": "glm-5.1",
              "cluster": "h20-96:4x8",
              "workload": {"seq_len": "128K", "global_batch_size": 8},
              "parallelism": {"tp": 1, "pp": 2, "cp": 16, "ep": 16},
              "training": {"recompute": "full"},
              "variants": {"base": {}, "both": [
                {"step": "HyTopK", "set": {"kernels": {"selection": "fused"}}},
                {"step": "replay", "set": {"kernels": {"selection_replay": true}}}]}})",
          "small.json"};
}

/// Runs bodies in an order of its own.
Executor shuffled_executor(std::uint64_t seed) {
  return [seed](std::int64_t count, const std::function<void(std::int64_t)>& body) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
    for (const std::int64_t i : order) body(i);
  };
}

// P25: same input, same seed: identical output, whatever the executor does.
TEST(P25Determinism, OrderOfExecutionChangesNoByte) {
  const Resources files = test::source_tree();
  PredictOptions options;
  options.draws = 70;
  const std::string serial = to_json(predict(files, small_scenario(), options));
  EXPECT_EQ(to_json(predict(files, small_scenario(), options)), serial);
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    options.executor = shuffled_executor(seed);
    EXPECT_EQ(to_json(predict(files, small_scenario(), options)), serial);
  }
  options.executor = serial_executor();
  options.seed = 2;
  EXPECT_NE(to_json(predict(files, small_scenario(), options)), serial);

  CompareOptions both;
  both.draws = 40;
  const std::string compared = to_json(compare(files, small_scenario(), both));
  both.executor = shuffled_executor(9);
  EXPECT_EQ(to_json(compare(files, small_scenario(), both)), compared);
}

// P25: a jitter of 0 equals the deterministic run exactly: inputs whose range is their value.
TEST(P25Determinism, DrawsWithoutRangesAreTheNominalRun) {
  const Resources files = test::source_tree();
  hardware::GpuProfile gpu = hardware::load_gpu_profile(files, "h20-96");
  topology::Cluster cluster = topology::load_cluster(files, "h20-512");
  graph::StackProfile stack = graph::load_stack(files, "megatron-core-2026");
  const auto fix = [](config::Sourced& field) { field.low = field.high = field.value; };
  for (config::Sourced& field : gpu.fields) fix(field);
  for (config::Sourced* field :
       {&cluster.nic_bandwidth, &cluster.nic_efficiency, &cluster.ring_loss_per_doubling,
        &cluster.all_to_all_efficiency, &cluster.dispatch_efficiency, &stack.launch_gap,
        &stack.context_bytes, &stack.nccl_bytes, &stack.fragmentation}) {
    fix(*field);
  }
  const auto machine = [&](const config::Sampler& sampler) {
    return Machine{hardware::resolve(gpu, sampler), topology::resolve(cluster, sampler),
                   graph::resolve(stack, sampler, "h20-96")};
  };
  const Program program = graph::build_training_step(wide_plan(4), 8);
  const predictor::Evaluator evaluator(program);
  const predictor::Evaluation nominal = evaluator.evaluate(machine(config::Sampler()), false);
  for (std::uint64_t i = 0; i < 50; ++i) {
    const predictor::Evaluation drawn = evaluator.evaluate(machine(config::Sampler(3, i)), false);
    EXPECT_EQ(drawn.step, nominal.step);
    EXPECT_EQ(drawn.critical, nominal.critical);
  }
}

// P28: MFU (model FLOP) is unaffected by recomputed FLOP in the numerator; HFU counts them.
TEST(P28Recompute, CountsInHardwareFlopsOnly) {
  const Resources files = test::source_tree();
  PredictOptions options;
  options.draws = 0;
  const Prediction full = predict(files, small_scenario(), options);
  options.sets = {"training.recompute=none"};
  const Prediction none = predict(files, small_scenario(), options);
  EXPECT_EQ(full.mfu.flops_per_step, none.mfu.flops_per_step);
  EXPECT_GT(full.hfu.flops_per_step.si(), 1.2 * none.hfu.flops_per_step.si());
  EXPECT_EQ(full.mfu.peak, none.mfu.peak);
  EXPECT_NEAR(full.hfu.fraction.value / full.mfu.fraction.value,
              full.hfu.flops_per_step / full.mfu.flops_per_step, 1e-12);
}

}  // namespace
}  // namespace hysim
