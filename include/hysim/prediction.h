// What a prediction says: plain values that every view (text, JSON, library callers) renders from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hysim/units.h"

namespace hysim {

/// A nominal value with the 10th and 90th percentile of its draws, widened to the nominal value
/// where that lies outside. Without draws low = high = value.
template <class T>
struct Ranged {
  T value{};
  T low{};
  T high{};
};

/// Whether the fullest GPU's memory suffices: `tight` when it fits nominally but not at the high
/// end of the range, or when less than 5 % is left.
enum class Fit { yes, tight, no };
const char* to_string(Fit fit);

/// Sizes of the parallel groups. world = tp * cp * dp * pp.
struct Layout {
  std::int64_t tp = 1, cp = 1, pp = 1, vpp = 1, dp = 1, ep = 1, etp = 1;
  std::vector<std::int64_t> layers_per_stage;
};

struct MemoryPart {
  std::string name;  // "weights", "gradients", "optimizer", "checkpoints", "saved_indices", ...
  Bytes bytes;
};

/// One GPU of one pipeline stage, at its fullest moment.
struct StageMemory {
  std::int64_t stage = 0;
  std::vector<MemoryPart> parts;  // tensors, then "fragmentation", "nccl_buffers" and
                                  // "cuda_context"; they sum to `device`
  Bytes allocated;                // tensors the framework holds (torch.cuda.max_memory_allocated)
  Bytes reserved;                 // with the caching allocator's fragmentation
  Bytes device;                   // with CUDA context and NCCL buffers (as nvidia-smi shows)
};

/// A change of settings that lowers the peak of a job that does not fit, predicted nominally.
struct Remedy {
  std::string name;               // "score table in chunks of 2048 rows"
  std::vector<std::string> sets;  // "path=value", to be given to --set
  Bytes peak_per_gpu;             // with the change
  Bytes host_per_node;            // kept in a node's host memory with the change
  Seconds step_time;              // with the change
  double cost = 0.0;              // step time with it over that without, minus 1
  Fit fits = Fit::no;             // with the change; `no` only for the one that comes closest
};

struct Memory {
  Ranged<Bytes> peak_per_gpu;  // device reading of the fullest stage
  Bytes capacity;              // usable bytes of the GPU
  Bytes host_per_node;         // what offloading keeps in a node's host memory
  Bytes host_capacity;         // of a node; 0: the cluster does not state it
  Fit fits = Fit::yes;         // in the GPU, and in a stated host_capacity
  std::int64_t fullest_stage = 0;
  std::vector<MemoryPart> parts;  // of the fullest stage
  std::vector<StageMemory> by_stage;
  std::vector<Remedy> remedies;  // sought when it does not fit, cheapest first

  bool host_exceeded() const { return host_capacity > Bytes{} && host_per_node > host_capacity; }
};

/// `critical` leaves sum to the step time; `overlapped` work hides behind critical work.
enum class TimeKind { critical, overlapped };
const char* to_string(TimeKind kind);

struct BreakdownLeaf {
  std::string path;      // "selection/scoring/forward": part / kernel / phase
  Ranged<Seconds> time;  // on the critical stage, over the whole step
  TimeKind kind = TimeKind::critical;
  std::string bound_by;  // "tensor", "vector", "memory", "sm", "network" (between nodes), "nvlink",
                         // "latency", "launch", "host", "schedule"
};

struct CommunicationRow {
  std::string kind;      // "tp", "cp", "ep", "pp", "dp"
  std::string tier;      // slowest tier crossed: "nvlink", "network"
  Bytes bytes_per_rank;  // sent, over the whole step, critical stage
  Seconds time;          // busy time of the stream
  Seconds exposed;       // part of the step that nothing else covered
};

/// Operations of one kind on one group and size, as nccl-tests would report them. Of an exchange
/// among experts `bytes` is the buffer of one rank, and both bandwidths count NVLink and network.
struct CollectiveRow {
  std::string path;  // breakdown leaf: "communication/cp/forward"
  std::string kind;  // "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "dispatch",
                     // "send_recv"
  std::int64_t ranks = 1;
  std::int64_t nodes = 1;
  std::int64_t per_node = 1;  // most members in one node
  Bytes bytes;                // size by nccl-tests' convention
  std::string algorithm;   // "ring", "tree", "hierarchical", "pairwise", "fused", "point_to_point"
  std::string protocol;    // "LL", "LL128", "Simple"; empty where NCCL's tuner chooses none
  Seconds time;            // of one operation
  BytesPerSecond algbw;    // bytes / time
  BytesPerSecond busbw;    // bytes on the bus / time
  std::int64_t count = 0;  // on the critical stage, over the step
};

/// FLOP over (step time x GPUs x peak).
struct Utilisation {
  Ranged<double> fraction;
  Flops flops_per_step;    // over all GPUs
  FlopsPerSecond peak;     // dense tensor peak of one GPU that it is divided by
  std::string convention;  // what is counted
};

/// Model FLOP of one token, forward and backward, by one way to count sparse attention.
struct FlopCount {
  std::string name;  // "absorbed", "up_projected", "dense"
  Flops per_token;
  std::string convention;
};

/// What one GPU of a pipeline stage does.
struct StageCost {
  std::int64_t stage = 0;
  Seconds forward;          // of one micro-batch, through all chunks of the stage
  Seconds backward;         // of one micro-batch, recomputation included
  Seconds busy;             // both, over the step
  double flop_share = 0.0;  // of the FLOP that all stages execute
};

/// Shares of the step time by what its constants rest on; they sum to 1.
struct EvidenceShares {
  double this_gpu = 0.0;
  double other_gpu = 0.0;
  double datasheet = 0.0;
  double assumed = 0.0;
};

/// A number of a GPU, cluster or stack profile that the prediction rests on.
struct Constant {
  std::string id;  // "gpu/h20-96/hbm_bandwidth", "cluster/nic_bandwidth"
  double value = 0.0;
  double low = 0.0;  // of the range it is drawn from
  double high = 0.0;
  std::string unit;  // SI: "B/s"; "1" for none
  std::string kind;  // "datasheet", "measured", "published", "derived", "assumed"
  std::string source;
};

struct InputFile {
  std::string path;
  std::string sha256;
};

/// What a reader should know before using an answer: a limit of the software stack, a setting
/// without effect, a length the model was not made for.
struct Warning {
  std::string id;  // stable, to filter by: "dsa-cudnn-256k", "inert-selection-replay"
  std::string message;
  std::string source;  // the thread or file a known limit is taken from; "" for our own checks

  /// "[id] message (source)"
  std::string text() const;
  friend bool operator==(const Warning&, const Warning&) = default;
};

std::vector<std::string> texts_of(const std::vector<Warning>& warnings);

/// What training on a number of tokens takes at the predicted step time. Nothing but steps counts:
/// no checkpoint, evaluation or restart.
struct Budget {
  double tokens = 0.0;
  std::int64_t steps = 0;
  Ranged<double> days;
  Ranged<double> gpu_hours;
  std::optional<Ranged<double>> energy_kwh;  // nothing where the GPU's power is not known
  std::optional<Ranged<double>> cost_usd;    // nothing where no price is stated
  std::vector<std::string> assumptions;      // power, price and their sources
};

/// One training step under one variant.
struct Prediction {
  std::string kind;  // of program: "training_step"
  std::string scenario;
  std::string variant;
  std::string model;
  std::string cluster;
  std::string gpu;
  std::int64_t gpus = 0;
  std::int64_t seq_len = 0;
  std::int64_t micro_batch_size = 0;
  std::int64_t global_batch_size = 0;
  std::int64_t micro_batches = 0;  // per pipeline
  Layout layout;

  Ranged<Seconds> step_time;
  Ranged<double> tokens_per_second_per_gpu;
  Utilisation mfu;
  Utilisation hfu;
  std::vector<FlopCount> model_flops;  // mfu's first; others where they differ
  Memory memory;
  std::vector<StageCost> stages;
  std::int64_t critical_stage = 0;
  std::vector<BreakdownLeaf> breakdown;
  std::vector<CommunicationRow> communication;
  std::vector<CollectiveRow> collectives;  // longest in sum first
  EvidenceShares evidence;

  std::vector<std::string> assumptions;
  std::vector<Warning> warnings;
  std::optional<Budget> budget;   // when a number of tokens is asked about
  std::string resolved_scenario;  // JSON text: every setting, defaults filled in
  std::vector<InputFile> inputs;
  std::vector<Constant> constants;
  std::uint64_t seed = 0;
  std::int64_t draws = 0;
};

struct Speedup {
  std::string baseline;
  std::string candidate;
  Ranged<double> ratio;       // step time of the baseline over that of the candidate
  bool hypothetical = false;  // one side does not fit its GPUs
  std::string note;           // which side, when hypothetical
};

/// The speedup under one choice of what is unpublished.
struct Hypothesis {
  std::vector<std::pair<std::string, std::string>> settings;  // path, value as JSON text
  Ranged<double> ratio;
  Fit fits = Fit::yes;  // the worse of the two sides
};

enum class AblationKind { cumulative, alone, all_but };
const char* to_string(AblationKind kind);

/// The candidate with some of its steps.
struct AblationRow {
  AblationKind kind = AblationKind::cumulative;
  std::string name;  // the step's
  Ranged<Seconds> step_time;
  Ranged<double> ratio;  // against the baseline
  Fit fits = Fit::yes;
};

/// A published figure shown beside ours and never used.
struct Reference {
  double speedup = 0.0;
  std::string source;
};

struct Comparison {
  std::vector<Prediction> variants;  // in the scenario's order
  Speedup speedup;
  std::vector<Hypothesis> hypotheses;
  std::optional<std::pair<double, double>> envelope;  // over the hypotheses' nominal ratios
  std::vector<AblationRow> ablation;
  std::optional<Reference> reference;
  std::vector<Warning> warnings;
};

}  // namespace hysim
