// What one answer costs, from a single kernel's law to a whole comparison.
#include <benchmark/benchmark.h>

#include "collectives/collective.h"
#include "cost/kernel_time.h"
#include "graph/schedule.h"
#include "hysim/predict.h"
#include "hysim/prepared.h"
#include "perf/prepared.h"

namespace hysim {
namespace {

constexpr const char* kHeadline = "glm-5.1-1m-h20-512";
constexpr const char* kVariant = "hyscale";

void kernel_cost(benchmark::State& state) {
  const test::Prepared headline(test::bundled_job(kHeadline, kVariant));
  ops::Work work;
  work.kernel = ops::Kernel::gemm;
  work.flops = Flops(1e12);
  work.read = work.written = Bytes(1e9);
  work.tiles = 4096.0;
  work.depth = 6144.0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(work);
    benchmark::DoNotOptimize(cost::kernel_time(work, headline.nominal.gpu, Seconds(1e-6)));
  }
}
BENCHMARK(kernel_cost);

void collective_cost(benchmark::State& state) {
  const test::Prepared headline(test::bundled_job(kHeadline, kVariant));
  collectives::Collective op;
  op.kind = collectives::Kind::all_reduce;
  op.group = {64, 8, 8};
  op.bytes = Bytes(1e9);
  for (auto _ : state) {
    benchmark::DoNotOptimize(op);
    benchmark::DoNotOptimize(collectives::time(op, headline.nominal.gpu, headline.nominal.network));
  }
}
BENCHMARK(collective_cost);

/// Arguments: stages, chunks of a stage, micro-batches.
void schedule(benchmark::State& state) {
  graph::PipelineTimes times;
  times.pp = state.range(0);
  times.vpp = state.range(1);
  times.micro_batches = state.range(2);
  const auto chunks = static_cast<std::size_t>(times.pp * times.vpp);
  times.forward.assign(chunks, 1.0);
  times.backward.assign(chunks, 2.0);
  times.send = 0.01;
  graph::PipelineBuffers buffers;
  graph::PipelineResult result;
  for (auto _ : state) {
    graph::run_pipeline(times, buffers, result);
    benchmark::DoNotOptimize(result);
  }
}
BENCHMARK(schedule)->Args({8, 1, 64})->Args({8, 1, 32768})->Args({8, 2, 64})->Args({8, 2, 32768});

/// A prepared program on one machine: what a draw, a sweep or a search repeats.
void evaluation(benchmark::State& state) {
  const test::Prepared headline(test::bundled_job(kHeadline, kVariant));
  predictor::Workspace workspace;
  predictor::Evaluation result;
  for (auto _ : state) {
    headline.evaluator.evaluate(headline.nominal, false, workspace, result);
    benchmark::DoNotOptimize(result);
  }
}
BENCHMARK(evaluation)->Unit(benchmark::kMicrosecond);

/// What a user of the library repeats: 0 the nominal step, 1 another draw each time.
void prepared_prediction(benchmark::State& state) {
  const Resources bundle = embedded_resources();
  PreparedPrediction headline(bundle, load_scenario(bundle, kHeadline), kVariant);
  const bool draws = state.range(0) == 1;
  std::uint64_t draw = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(draws ? headline.step_time(1, draw++) : headline.step_time());
  }
}
BENCHMARK(prepared_prediction)->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

/// Drawing the machine alone.
void machine_draw(benchmark::State& state) {
  const test::Prepared headline(test::bundled_job(kHeadline, kVariant));
  predictor::Machine machine;
  std::uint64_t draw = 0;
  for (auto _ : state) {
    predictor::set_machine(headline.job, config::Sampler(1, draw++), machine);
    benchmark::DoNotOptimize(machine);
  }
}
BENCHMARK(machine_draw)->Unit(benchmark::kMicrosecond);

void program_building(benchmark::State& state) {
  const predictor::Job job = test::bundled_job(kHeadline, kVariant);
  for (auto _ : state) {
    benchmark::DoNotOptimize(graph::build_training_step(job.plan, job.cluster.gpus_per_node));
  }
}
BENCHMARK(program_building)->Unit(benchmark::kMicrosecond);

/// A whole call of the library: scenario, model, GPU, cluster and stack are parsed and checked.
/// Argument: draws.
void prediction(benchmark::State& state) {
  const Resources bundle = embedded_resources();
  const ScenarioText scenario = load_scenario(bundle, kHeadline);
  PredictOptions options;
  options.variant = kVariant;
  options.draws = state.range(0);
  for (auto _ : state) benchmark::DoNotOptimize(predict(bundle, scenario, options));
}
BENCHMARK(prediction)->Arg(0)->Arg(200)->Arg(512)->Unit(benchmark::kMillisecond);

/// Argument: sequences of a step, which are micro-batches of the one pipeline.
void accumulation(benchmark::State& state) {
  const std::string set = "workload.global_batch_size=" + std::to_string(state.range(0));
  const test::Prepared headline(test::bundled_job(kHeadline, kVariant, {set}));
  predictor::Workspace workspace;
  predictor::Evaluation result;
  for (auto _ : state) {
    headline.evaluator.evaluate(headline.nominal, false, workspace, result);
    benchmark::DoNotOptimize(result);
  }
}
BENCHMARK(accumulation)->Arg(64)->Arg(32768)->Unit(benchmark::kMicrosecond);

/// Every variant, ablation and hypothesis of the headline. Argument: draws.
void comparison(benchmark::State& state) {
  const Resources bundle = embedded_resources();
  const ScenarioText scenario = load_scenario(bundle, kHeadline);
  CompareOptions options;
  options.draws = state.range(0);
  for (auto _ : state) benchmark::DoNotOptimize(compare(bundle, scenario, options));
}
BENCHMARK(comparison)->Arg(0)->Arg(200)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hysim

BENCHMARK_MAIN();
