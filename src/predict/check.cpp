#include "hysim/check.h"

#include <algorithm>
#include <cmath>

#include "config/reader.h"
#include "model/transformer.h"
#include "predict/run.h"
#include "predict/scenario.h"
#include "topology/groups.h"

namespace hysim {

namespace {

using config::Node;
using predictor::Job;
using predictor::Scenario;
using predictor::Variant;

std::vector<GroupCheck> groups_of(const Job& job) {
  const topology::GroupSizes& sizes = job.plan.parallelism.sizes;
  const topology::Groups groups =
      topology::groups_of_rank_zero(sizes, job.plan.parallelism.rank_order);
  std::vector<GroupCheck> checks;
  const auto add = [&](const char* kind, const std::vector<std::int64_t>& ranks) {
    const topology::GroupShape shape = topology::shape_of(ranks, job.cluster.gpus_per_node);
    GroupCheck check;
    check.kind = kind;
    check.size = shape.size;
    check.groups = sizes.world() / shape.size;
    check.nodes = shape.nodes;
    check.per_node = shape.per_node;
    check.tier = shape.size == 1 ? "" : shape.nodes == 1 ? "nvlink" : "network";
    check.ranks = ranks;
    checks.push_back(std::move(check));
  };
  add("tp", groups.tp);
  add("cp", groups.cp);
  add("dp x cp", groups.dp_cp);
  std::vector<std::int64_t> stages;
  for (std::int64_t s = 0; s < sizes.pp; ++s) stages.push_back(s * groups.pp_stride);
  add("pp", stages);
  const bool experts =
      std::any_of(job.plan.model.layers.begin(), job.plan.model.layers.end(),
                  [](const model::LayerSpec& layer) { return layer.ffn == model::FfnKind::moe; });
  if (experts) {
    add("ep", groups.ep);
    add("etp", groups.etp);
    add("edp", groups.edp);
  }
  return checks;
}

/// Settings of `resolved` that `written` lacks.
void add_defaults(const Node& resolved, const Node* written, const std::string& path,
                  std::vector<std::pair<std::string, std::string>>& defaults) {
  if (!resolved.is_object()) {
    if (written == nullptr) defaults.emplace_back(path, config::to_text(resolved));
    return;
  }
  for (const auto& [key, value] : resolved.as_object()) {
    const Node* const below =
        written != nullptr && written->is_object() ? written->find(key) : nullptr;
    add_defaults(value, below, path.empty() ? key : path + "." + key, defaults);
  }
}

ModelCheck model_check(const model::Transformer& model) {
  ModelCheck check;
  check.name = model.name;
  for (const model::LayerSpec& layer : model.layers) {
    const std::string kind = to_string(layer);
    const auto known = std::find_if(check.layers.begin(), check.layers.end(),
                                    [&](const auto& entry) { return entry.first == kind; });
    if (known == check.layers.end()) {
      check.layers.emplace_back(kind, 1);
    } else {
      ++known->second;
    }
  }
  check.mtp_layers = model.mtp_layers;
  const model::ParameterCount count = model::total_parameters(model);
  check.parameters = static_cast<double>(count.total);
  check.active_parameters = static_cast<double>(count.active);
  return check;
}

}  // namespace

ScenarioCheck check_scenario(const Resources& resources, const ScenarioText& text,
                             const Executor& executor) {
  const Scenario scenario = predictor::parse_scenario(text);
  predictor::check_settings(scenario, {});
  ScenarioCheck check;
  check.name = scenario.name;
  config::Faults faults;
  for (const Variant& variant : scenario.variants) {
    try {
      const Node document = predictor::variant_document(scenario, variant.steps, variant.name, {});
      Job job = predictor::resolve(resources, scenario, variant.name, document);
      VariantCheck one;
      one.groups = groups_of(job);
      add_defaults(job.resolved, &document, "", one.defaults);
      if (check.variants.empty()) check.model = model_check(job.plan.model);
      one.prediction =
          predictor::to_prediction(predictor::run(std::move(job), {1, 0, false}, executor), 1);
      check.variants.push_back(std::move(one));
    } catch (const InputError& error) {
      for (const Diagnostic& fault : error.diagnostics()) faults.add(fault);
    }
  }
  faults.throw_if_any();
  for (const predictor::Unpublished& setting : scenario.unpublished) {
    check.unpublished.push_back((setting.variant.empty() ? "" : setting.variant + ":") +
                                setting.path);
  }
  return check;
}

ClusterCheck check_cluster(const Resources& resources, const std::string& text,
                           const std::string& path) {
  const topology::Cluster cluster = topology::parse_cluster(text, path);
  hardware::GpuProfile profile;
  try {
    profile = hardware::load_gpu_profile(resources, cluster.gpu);
  } catch (const InputError& error) {
    const bool known = resources.read("hw_profiles/gpus/" + cluster.gpu + ".json").has_value();
    if (known) throw;
    const Node document = config::parse(text, path);
    config::Faults faults;
    for (const Diagnostic& fault : error.diagnostics()) {
      faults.add(*document.find("gpu"), "/gpu", fault.message);
    }
    throw InputError(faults.diagnostics());
  }
  const hardware::Gpu gpu = hardware::resolve(profile, config::Sampler());
  const topology::Network network = topology::resolve(cluster, config::Sampler());
  ClusterCheck check;
  check.name = cluster.name;
  check.gpu = cluster.gpu;
  check.gpu_full_name = profile.full_name;
  check.nodes = cluster.nodes;
  check.gpus_per_node = cluster.gpus_per_node;
  check.usable_memory = gpu.hbm_usable.value;
  if (cluster.gpus_per_node > 1) {
    const auto half = static_cast<double>(cluster.gpus_per_node / 2);
    check.tiers.push_back({"nvlink", gpu.nvlink.value, gpu.all_gather_busbw.value,
                           cluster.gpus_per_node, gpu.nvlink.value * half});
  }
  if (cluster.nodes > 1) {
    const auto half = static_cast<double>(cluster.nodes / 2 * cluster.gpus_per_node);
    check.tiers.push_back({"network", network.nic.value,
                           network.nic.value * network.nic_efficiency.value, cluster.gpus(),
                           network.nic.value * half});
    check.assumptions.push_back(
        "the fabric above the NICs is taken for non-blocking (oversubscription 1): rings lose " +
        config::to_text(
            Node::number(std::round(1000.0 * network.ring_loss_per_doubling.value) / 10.0)) +
        " % of their bandwidth at every doubling of nodes beyond two");
  }
  return check;
}

}  // namespace hysim
