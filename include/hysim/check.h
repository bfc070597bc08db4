// What was understood of a scenario or a cluster, before or instead of believing its prediction.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hysim/predict.h"
#include "hysim/prediction.h"
#include "hysim/resources.h"
#include "hysim/units.h"

namespace hysim {

/// The group of each kind that holds rank 0; the others lie alike.
struct GroupCheck {
  std::string kind;           // "tp", "cp", "dp x cp", "ep", "etp", "edp", "pp"
  std::int64_t size = 1;      // ranks
  std::int64_t groups = 1;    // of this kind in the job
  std::int64_t nodes = 1;     // spanned
  std::int64_t per_node = 1;  // most members in one node
  std::string tier;           // slowest tier crossed: "nvlink", "network"; "" for one rank
  std::vector<std::int64_t> ranks;
};

struct VariantCheck {
  Prediction prediction;  // nominal, without draws
  std::vector<GroupCheck> groups;
  std::vector<std::pair<std::string, std::string>> defaults;  // settings not written: path, value
};

struct ModelCheck {
  std::string name;
  std::vector<std::pair<std::string, std::int64_t>> layers;  // "dsa+moe" and how many
  std::int64_t mtp_layers = 0;
  double parameters = 0.0;
  double active_parameters = 0.0;
};

struct ScenarioCheck {
  std::string name;
  ModelCheck model;  // of the first variant
  std::vector<VariantCheck> variants;
  std::vector<std::string> unpublished;  // settings that compare enumerates
};

/// Reads every variant and predicts it nominally. Throws InputError with the faults of all of them.
ScenarioCheck check_scenario(const Resources& resources, const ScenarioText& scenario,
                             const Executor& executor = serial_executor());

/// One tier of links; bandwidths are of one direction.
struct TierCheck {
  std::string name;          // "nvlink", "network"
  BytesPerSecond per_gpu;    // line rate
  BytesPerSecond achieved;   // of it by large ring messages between two nodes; as measured
                             // inside a node
  std::int64_t gpus = 1;     // that it joins
  BytesPerSecond bisection;  // between the halves of what it joins
};

struct ClusterCheck {
  std::string name;
  std::string gpu;
  std::string gpu_full_name;
  std::int64_t nodes = 1;
  std::int64_t gpus_per_node = 1;
  Bytes usable_memory;            // of one GPU
  std::vector<TierCheck> tiers;   // network only with two nodes or more
  double oversubscription = 1.0;  // of the fabric above the NICs
  std::vector<std::string> assumptions;
};

/// A cluster document. Throws InputError, also for a GPU that nothing has.
ClusterCheck check_cluster(const Resources& resources, const std::string& text,
                           const std::string& path);

}  // namespace hysim
