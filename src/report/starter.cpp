#include "report/starter.h"

#include <optional>
#include <string_view>
#include <utility>

#include "config/named.h"
#include "config/node.h"
#include "config/words.h"
#include "hardware/gpu.h"
#include "hysim/errors.h"
#include "topology/cluster.h"
#include "units/text.h"

namespace hysim::report {

namespace {

using config::Node;

constexpr std::string_view kClusters = "hw_profiles/clusters";

/// "400 Gbit/s" taken apart.
struct Rate {
  double value = 0.0;
  std::string unit;
};
std::optional<Rate> parse_rate(const std::string& text) {
  const std::size_t end = text.find_first_not_of("0123456789.");
  if (end == 0 || end == std::string::npos) return std::nullopt;
  const std::size_t unit = text.find_first_not_of(' ', end);
  if (unit == std::string::npos) return std::nullopt;
  Rate rate;
  rate.unit = text.substr(unit);
  const auto known = units::parse_unit(rate.unit);
  if (!known || known->byte != 1 || known->flop != 0 || known->second != -1) return std::nullopt;
  try {
    const Node number = config::parse(text.substr(0, end), "");
    if (!number.is_number()) return std::nullopt;
    rate.value = number.as_number();
  } catch (const InputError&) {
    return std::nullopt;
  }
  return rate.value > 0.0 ? std::optional(rate) : std::nullopt;
}

Node line_rate(const ClusterStarter& starter) {
  const auto rate = parse_rate(starter.nic);
  if (!rate) {
    throw InputError({Diagnostic{"--nic " + starter.nic, 0, 0, "",
                                 "must be a rate such as \"400 Gbit/s\" or \"50 GB/s\""}});
  }
  const std::int64_t nics = starter.nics > 0 ? starter.nics : starter.gpus_per_node;
  const double share =
      rate->value * static_cast<double>(nics) / static_cast<double>(starter.gpus_per_node);
  const std::string source = std::to_string(nics) + " x " + starter.nic + " a node, over " +
                             std::to_string(starter.gpus_per_node) +
                             " GPUs: as told to hysim new; name the datasheet here";
  return Node::object({{"value", Node::number(share)},
                       {"unit", Node::string(rate->unit)},
                       {"low", Node::number(share)},
                       {"high", Node::number(share)},
                       {"kind", Node::string("datasheet")},
                       {"source", Node::string(source)}});
}

}  // namespace

std::string cluster_starter(const Resources& resources, const ClusterStarter& starter) {
  static_cast<void>(hardware::load_gpu_profile(resources, starter.gpu));
  const config::NamedDocument generic =
      config::load_named(resources, kClusters, "cluster", "generic", "");
  Node document = config::parse(generic.text, generic.path);
  document.set("name", Node::string(starter.name.empty()
                                        ? starter.gpu + "-" +
                                              std::to_string(starter.nodes * starter.gpus_per_node)
                                        : starter.name));
  document.set("gpu", Node::string(starter.gpu));
  document.set("nodes", Node::integer(starter.nodes));
  document.set("gpus_per_node", Node::integer(starter.gpus_per_node));
  document.set("note",
               Node::string("nic_bandwidth is the share of one GPU, one direction; the other "
                            "numbers are those of a generic cluster: replace them, with low, high, "
                            "kind and source, by what nccl-tests measures on yours"));
  if (!starter.nic.empty()) document.set("nic_bandwidth", line_rate(starter));
  const std::string text = config::to_text(document, 2) + "\n";
  static_cast<void>(topology::parse_cluster(text, "the new cluster"));
  return text;
}

std::string scenario_starter(const ChosenLayout& chosen, const std::string& name,
                             bool selects_tokens) {
  Node document = config::parse(chosen.scenario.text, chosen.scenario.path);
  if (!name.empty()) document.set("name", Node::string(name));
  document.set("note",
               Node::string("written by hysim new; docs/adding.md has every key, hysim check says "
                            "what is understood of it. Assumptions are shown with the answer"));
  if (selects_tokens) {
    Node baseline = config::parse(R"({"kernels": {"selection": "table", "topk": "torch"}})", "");
    Node hyscale = config::parse(
        R"([{"step": "HyTopK", "set": {"kernels": {"selection": "fused"}}},
            {"step": "selection replay", "set": {"kernels": {"selection_replay": true}}}])",
        "");
    document.set("variants",
                 Node::object({{"table", std::move(baseline)}, {"hyscale", std::move(hyscale)}}));
  }
  return config::to_text(document, 2) + "\n";
}

}  // namespace hysim::report
