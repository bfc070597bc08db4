#include "predict/run.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "graph/scale.h"
#include "ops/model_flops.h"
#include "ops/sparse_count.h"
#include "predict/collective_rows.h"
#include "predict/constants.h"
#include "units/text.h"

namespace hysim::predictor {

namespace {

constexpr double kLowPercentile = 0.10;
constexpr double kHighPercentile = 0.90;
// Less than this share of the capacity left is called tight.
constexpr double kTightShare = 0.05;
// Draws are handed to the executor in blocks: one draw is tens of microseconds.
constexpr std::int64_t kDrawsPerBlock = 16;

/// Factors on what this job does not have.
void warn_inert_scale(const graph::Program& program, Job& job) {
  for (const graph::Scale& scale : job.plan.scale) {
    const graph::ScaleName* const name = graph::find_scale_name(scale.name);
    if (name == nullptr || graph::touches(program, *name)) continue;
    job.warnings.push_back(
        {"inert-scale",
         "scale." + scale.name + " changes nothing: this job has no " + std::string(name->meaning),
         ""});
  }
}

/// What a device holds beyond the tensors of a stage.
struct Beyond {
  Bytes fragmentation;
  Bytes nccl;
  Bytes context;
  Bytes sum() const { return fragmentation + nccl + context; }
};
Beyond beyond(Bytes allocated, const graph::Stack& stack, std::int64_t communicators) {
  return {allocated * stack.fragmentation,
          stack.nccl_per_communicator * static_cast<double>(communicators), stack.context};
}

Bytes fullest(const std::vector<graph::StageBytes>& stages) {
  Bytes most;
  for (const graph::StageBytes& stage : stages) most = max(most, stage.allocated);
  return most;
}

/// Linear interpolation between the two samples next to the place; reorders the samples.
double percentile(std::vector<double>& samples, double share) {
  const double place = share * static_cast<double>(samples.size() - 1);
  const auto below = samples.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(samples.begin(), below, samples.end());
  const double above =
      below + 1 == samples.end() ? *below : *std::min_element(below + 1, samples.end());
  return *below + (place - std::floor(place)) * (above - *below);
}

template <class Q>
Ranged<Q> quantity(const Ranged<double>& r) {
  return {Q(r.value), Q(r.low), Q(r.high)};
}

/// Applies a function to each sample.
template <class F>
std::vector<double> mapped(std::vector<double> samples, const F& f) {
  for (double& sample : samples) sample = f(sample);
  return samples;
}

Memory memory_of(const Run& run, const Job& job, const Machine& nominal,
                 std::int64_t communicators) {
  Memory memory;
  Bytes most(-1.0);
  for (std::size_t s = 0; s < run.stages.size(); ++s) {
    StageMemory stage;
    stage.stage = static_cast<std::int64_t>(s);
    stage.allocated = run.stages[s].allocated;
    const Beyond b = beyond(stage.allocated, nominal.stack, communicators);
    stage.reserved = stage.allocated + b.fragmentation;
    stage.device = stage.allocated + b.sum();
    for (const graph::MemoryItem& item : run.stages[s].items) {
      stage.parts.push_back({item.name, item.bytes});
    }
    stage.parts.push_back({"fragmentation", b.fragmentation});
    stage.parts.push_back({"nccl_buffers", b.nccl});
    stage.parts.push_back({"cuda_context", b.context});
    if (stage.device > most) {
      most = stage.device;
      memory.fullest_stage = stage.stage;
      memory.parts = stage.parts;
    }
    memory.by_stage.push_back(std::move(stage));
  }
  memory.peak_per_gpu = quantity<Bytes>(ranged(most.si(), run.device_bytes));
  memory.capacity = nominal.gpu.hbm_usable.value;
  if (most > memory.capacity) {
    memory.fits = Fit::no;
  } else if (memory.peak_per_gpu.high > memory.capacity ||
             most > memory.capacity * (1.0 - kTightShare)) {
    memory.fits = Fit::tight;
  }
  for (const graph::StageBytes& stage : run.stages) {
    memory.host_per_node =
        max(memory.host_per_node, stage.host * static_cast<double>(job.cluster.gpus_per_node));
  }
  memory.host_capacity = job.cluster.host_memory;
  if (memory.host_exceeded()) memory.fits = Fit::no;
  return memory;
}

/// What offloading keeps in host memory, and whether a node has as much.
void note_host_memory(const Memory& memory, Job& job) {
  const Bytes node = memory.host_per_node;
  if (node.si() <= 0.0) return;
  job.assumptions.push_back("offloading keeps up to " +
                            units::format(node / static_cast<double>(job.cluster.gpus_per_node)) +
                            " of host memory a GPU, " + units::format(node) + " a node");
  if (!memory.host_exceeded()) return;
  job.warnings.push_back({"host-memory",
                          "offloading needs " + units::format(node) +
                              " of host memory a node; the cluster states " +
                              units::format(memory.host_capacity),
                          ""});
}

std::vector<BreakdownLeaf> breakdown(const Run& run) {
  std::vector<BreakdownLeaf> leaves;
  const auto emit = [&](std::size_t i, TimeKind kind, double nominal,
                        const std::vector<std::vector<double>>& samples) {
    if (nominal <= 0.0) return;
    BreakdownLeaf leaf;
    leaf.path = run.leaves[i];
    leaf.kind = kind;
    leaf.time =
        quantity<Seconds>(ranged(nominal, samples.empty() ? std::vector<double>{} : samples[i]));
    const auto& bounds = run.nominal.bounds[i];
    const auto most = std::max_element(bounds.begin(), bounds.end());
    leaf.bound_by = to_string(static_cast<LeafBound>(most - bounds.begin()));
    leaves.push_back(std::move(leaf));
  };
  for (std::size_t i = 0; i < run.leaves.size(); ++i) {
    emit(i, TimeKind::critical, run.nominal.critical[i], run.critical);
  }
  for (std::size_t i = 0; i < run.leaves.size(); ++i) {
    emit(i, TimeKind::overlapped, run.nominal.overlapped[i], run.overlapped);
  }
  return leaves;
}

EvidenceShares evidence(const Evaluation& nominal) {
  double sum = 0.0;
  for (const double seconds : nominal.evidence) sum += seconds;
  if (sum <= 0.0) return {};
  const auto share = [&](config::Evidence kind) {
    return nominal.evidence[static_cast<std::size_t>(kind)] / sum;
  };
  return {share(config::Evidence::this_gpu), share(config::Evidence::other_gpu),
          share(config::Evidence::datasheet), share(config::Evidence::assumed)};
}

std::vector<StageCost> stage_costs(const Run& run, std::int64_t micro_batches) {
  double flops = 0.0;
  for (const double stage : run.stage_flops) flops += stage;
  std::vector<StageCost> stages;
  for (std::size_t s = 0; s < run.nominal.stages.size(); ++s) {
    const StageTime& time = run.nominal.stages[s];
    stages.push_back({static_cast<std::int64_t>(s), Seconds(time.forward), Seconds(time.backward),
                      Seconds((time.forward + time.backward) * static_cast<double>(micro_batches)),
                      flops > 0.0 ? run.stage_flops[s] / flops : 0.0});
  }
  return stages;
}

/// Model FLOP of a token as MFU counts them, then the ways that count a sparse model otherwise.
std::vector<FlopCount> flop_counts(const graph::Plan& plan) {
  using ops::SparseCount;
  const auto per_token = [&](SparseCount count) {
    return ops::model_flops_per_sequence(plan.model, plan.workload.seq_len,
                                         plan.training.indexer_loss, plan.training.mtp_num_layers,
                                         count) /
           static_cast<double>(plan.workload.seq_len);
  };
  std::vector<FlopCount> counts = {
      {"absorbed", per_token(SparseCount::absorbed), ops::kModelFlopConvention}};
  const auto add = [&](const char* name, SparseCount count, const char* convention) {
    const Flops flops = per_token(count);
    if (flops != counts.front().per_token) counts.push_back({name, flops, convention});
  };
  add("up_projected", SparseCount::up_projected,
      "the same with sparse attention in the heads' own dimensions instead of the latent's "
      "(Megatron-LM PR 6148)");
  add("dense", SparseCount::dense,
      "as if attention were dense: every causal pair, no indexer (counters that do not know "
      "sparse attention)");
  return counts;
}

}  // namespace

void set_machine(const Job& job, const config::Sampler& sampler, Machine& machine) {
  hardware::resolve(job.gpu, sampler, machine.gpu);
  machine.network = topology::resolve(job.cluster, sampler);
  machine.stack = graph::resolve(job.stack, sampler, job.gpu.name);
}

Ranged<double> ranged(double nominal, std::vector<double> samples) {
  if (samples.empty()) return {nominal, nominal, nominal};
  const double low = percentile(samples, kLowPercentile);
  const double high = percentile(samples, kHighPercentile);
  return {nominal, std::min(nominal, low), std::max(nominal, high)};
}

Run run(Job job, const RunOptions& options, const Executor& executor) {
  Run result;
  const graph::Program program = graph::build_training_step(job.plan, job.cluster.gpus_per_node);
  const Evaluator evaluator(program);
  warn_inert_scale(program, job);
  Machine nominal;
  set_machine(job, config::Sampler(), nominal);
  const topology::GroupSizes& sizes = job.plan.parallelism.sizes;
  const std::int64_t communicators = graph::communicators(job.plan);
  result.kind = program.kind;
  result.leaves = evaluator.leaves();
  result.nominal = evaluator.evaluate(nominal, true);
  result.collectives = collective_rows(program, nominal, result.nominal.critical_stage);
  result.executed_flops = evaluator.executed_flops(sizes.world() / sizes.pp);
  result.stage_flops = evaluator.stage_flops();
  for (std::int64_t s = 0; s < program.pp; ++s) {
    result.stages.push_back(graph::stage_memory(program, job.plan.training, s));
  }
  const Bytes allocated = fullest(result.stages);

  const auto draws = static_cast<std::size_t>(options.draws);
  result.steps.resize(draws);
  result.device_bytes.resize(draws);
  if (options.breakdown_ranges) {
    result.critical.assign(result.leaves.size(), std::vector<double>(draws));
    result.overlapped.assign(result.leaves.size(), std::vector<double>(draws));
  }
  const std::int64_t blocks = (options.draws + kDrawsPerBlock - 1) / kDrawsPerBlock;
  executor(blocks, [&](std::int64_t block) {
    const std::int64_t end = std::min(options.draws, (block + 1) * kDrawsPerBlock);
    Machine drawn;
    Workspace workspace;
    Evaluation sample;
    for (std::int64_t d = block * kDrawsPerBlock; d < end; ++d) {
      set_machine(job, config::Sampler(options.seed, static_cast<std::uint64_t>(d)), drawn);
      evaluator.evaluate(drawn, false, workspace, sample);
      const auto i = static_cast<std::size_t>(d);
      result.steps[i] = sample.step;
      result.device_bytes[i] =
          (allocated + beyond(allocated, drawn.stack, communicators).sum()).si();
      for (std::size_t leaf = 0; leaf < result.critical.size(); ++leaf) {
        result.critical[leaf][i] = sample.critical[leaf];
        result.overlapped[leaf][i] = sample.overlapped[leaf];
      }
    }
  });
  result.memory = memory_of(result, job, nominal, communicators);
  note_host_memory(result.memory, job);
  result.job = std::move(job);
  return result;
}

Prediction to_prediction(const Run& run, std::uint64_t seed) {
  const Job& job = run.job;
  const graph::Plan& plan = job.plan;
  Prediction p;
  p.kind = run.kind;
  p.scenario = job.scenario;
  p.variant = job.variant;
  p.model = plan.model.name;
  p.cluster = job.cluster.name;
  p.gpu = job.gpu.name;
  p.gpus = job.cluster.gpus();
  p.seq_len = plan.workload.seq_len;
  p.micro_batch_size = plan.workload.micro_batch_size;
  p.global_batch_size = plan.workload.global_batch_size;
  p.micro_batches = plan.micro_batches();
  const topology::GroupSizes& sizes = plan.parallelism.sizes;
  p.layout = {sizes.tp, sizes.cp, sizes.pp,  plan.parallelism.vpp,
              sizes.dp, sizes.ep, sizes.etp, {}};
  p.layout.layers_per_stage.assign(static_cast<std::size_t>(sizes.pp), 0);
  for (std::size_t c = 0; c < plan.parallelism.layers_per_chunk.size(); ++c) {
    p.layout.layers_per_stage[c % static_cast<std::size_t>(sizes.pp)] +=
        plan.parallelism.layers_per_chunk[c];
  }

  const double gpus = static_cast<double>(p.gpus);
  const double tokens = static_cast<double>(p.seq_len) * static_cast<double>(p.global_batch_size);
  p.step_time = quantity<Seconds>(ranged(run.nominal.step, run.steps));
  p.tokens_per_second_per_gpu =
      ranged(tokens / run.nominal.step / gpus,
             mapped(run.steps, [&](double step) { return tokens / step / gpus; }));

  // The datasheet's peak of the linear layers' precision, not a draw of it.
  const hardware::Gpu gpu = hardware::resolve(job.gpu, config::Sampler());
  const bool fp8 = plan.training.precision == ops::Precision::fp8;
  const double peak = (fp8 ? gpu.fp8 : gpu.bf16).value.si();
  const auto utilisation = [&](double flops, std::string convention) {
    const auto fraction = [&](double step) { return flops / (step * gpus * peak); };
    return Utilisation{ranged(fraction(run.nominal.step), mapped(run.steps, fraction)),
                       Flops(flops), FlopsPerSecond(peak), std::move(convention)};
  };
  const double model_flops =
      ops::model_flops_per_sequence(plan.model, plan.workload.seq_len, plan.training.indexer_loss,
                                    plan.training.mtp_num_layers)
          .si() *
      static_cast<double>(p.global_batch_size);
  p.mfu = utilisation(model_flops, ops::kModelFlopConvention);
  p.hfu = utilisation(run.executed_flops,
                      "executed FLOPs of all kernels, recomputation and head padding included; "
                      "every rank counted as its stage's slowest");

  p.model_flops = flop_counts(plan);
  p.memory = run.memory;
  p.stages = stage_costs(run, p.micro_batches);
  p.critical_stage = run.nominal.critical_stage;
  p.breakdown = breakdown(run);
  for (std::size_t k = 0; k < kCommKinds; ++k) {
    const CommTotal& total = run.nominal.communication[k];
    if (total.bytes <= 0.0 && total.busy <= 0.0) continue;
    p.communication.push_back({to_string(static_cast<CommKind>(k)),
                               total.network ? "network" : "nvlink", Bytes(total.bytes),
                               Seconds(total.busy), Seconds(total.exposed)});
  }
  p.collectives = run.collectives;
  p.evidence = evidence(run.nominal);
  p.assumptions = job.assumptions;
  p.warnings = job.warnings;
  p.resolved_scenario = config::to_text(job.resolved, 2);
  p.constants = constants_of(job);
  p.seed = seed;
  p.draws = static_cast<std::int64_t>(run.steps.size());
  return p;
}

Ranged<double> speedup(const Run& baseline, const Run& candidate) {
  std::vector<double> samples(std::min(baseline.steps.size(), candidate.steps.size()));
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i] = baseline.steps[i] / candidate.steps[i];
  }
  return ranged(baseline.nominal.step / candidate.nominal.step, std::move(samples));
}

}  // namespace hysim::predictor
