// The analytic predictor: one evaluation of a program on one set of machine numbers. Tasks of a
// layer are placed on streams, layers make up pipeline chunks, chunks a schedule; the time of the
// critical stage is then attributed to leaves so that critical leaves sum to the step.
// Wrong when ranks of a stage differ (imbalance, stragglers) or flows contend: the simulated
// predictor's business.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "graph/program.h"
#include "graph/stack.h"
#include "hardware/gpu.h"
#include "topology/cluster.h"

namespace hysim::predictor {

/// Plain numbers of one evaluation: nominal or a draw.
struct Machine {
  hardware::Gpu gpu;
  topology::Network network;
  graph::Stack stack;
};

/// What bounds a leaf: the bounds of cost::Bound, then transfer between nodes, transfer inside one,
/// latency, the schedule and the link to host memory.
enum class LeafBound {
  tensor,
  vector,
  memory,
  sm,
  launch,
  network,
  nvlink,
  latency,
  schedule,
  host
};
inline constexpr int kLeafBounds = 10;
/// Of a transfer among ranks of so many nodes.
constexpr LeafBound transfer_bound(std::int64_t nodes) {
  return nodes > 1 ? LeafBound::network : LeafBound::nvlink;
}
const char* to_string(LeafBound bound);

/// Kinds of communication, in report order.
enum class CommKind { tp, cp, ep, pp, dp };
inline constexpr int kCommKinds = 5;
const char* to_string(CommKind kind);

struct CommTotal {
  double bytes = 0.0;    // sent by one rank of the critical stage over the step
  double busy = 0.0;     // seconds
  double exposed = 0.0;  // seconds
  bool network = false;  // crosses nodes
};

/// Seconds of one micro-batch on one stage, all its chunks.
struct StageTime {
  double forward = 0.0;
  double backward = 0.0;
};

/// Result of one evaluation; vectors are indexed by Evaluator::leaves().
struct Evaluation {
  double step = 0.0;
  std::int64_t critical_stage = 0;
  std::vector<double> critical;    // seconds; sums to step
  std::vector<double> overlapped;  // seconds hidden behind critical work
  // Filled by a detailed evaluation only:
  std::vector<std::array<double, kLeafBounds>> bounds;  // seconds by what binds
  std::array<double, config::kEvidenceKinds> evidence{};
  std::array<CommTotal, kCommKinds> communication{};
  std::vector<StageTime> stages;
};

/// Memory that evaluations, one at a time, use again: the first of a program makes it as large as
/// it needs, later ones allocate nothing.
class Workspace {
 public:
  Workspace();
  ~Workspace();
  Workspace(Workspace&&) noexcept;
  Workspace& operator=(Workspace&&) noexcept;

 private:
  friend class Evaluator;
  struct Buffers;
  std::unique_ptr<Buffers> buffers_;
};

class Evaluator {
 public:
  explicit Evaluator(const graph::Program& program);

  /// Breakdown paths: the program's, then those of the step itself.
  const std::vector<std::string>& leaves() const { return leaves_; }
  Evaluation evaluate(const Machine& machine, bool detailed) const;
  /// The same into an Evaluation that is there already.
  void evaluate(const Machine& machine, bool detailed, Workspace& workspace,
                Evaluation& result) const;

  /// Tensor and vector FLOP of all GPUs in one step; `gpus_per_stage` ranks do each stage's work.
  double executed_flops(std::int64_t gpus_per_stage) const;
  /// FLOP of one rank of each stage for one micro-batch.
  std::vector<double> stage_flops() const;

 private:
  const graph::Program& program_;
  std::vector<std::string> leaves_;
  std::int32_t bubble_;
  std::int32_t optimizer_;
  std::int32_t launch_;
  std::int32_t contention_;
  std::int32_t pp_;
  std::int32_t dp_;
  std::int32_t to_host_ = -1;  // only where something is offloaded
  std::int32_t from_host_ = -1;
};

}  // namespace hysim::predictor
