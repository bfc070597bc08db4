#include "topology/cluster.h"

#include <charconv>
#include <optional>

#include "config/named.h"

namespace hysim::topology {

namespace {

constexpr std::string_view kFolder = "hw_profiles/clusters";
constexpr std::int64_t kMaxNodes = 1 << 17;
constexpr std::int64_t kMaxGpusPerNode = 1024;
constexpr std::int64_t kMaxGpus = 1 << 20;

struct Field {
  std::string_view key;
  std::string_view si_unit;
  config::Sourced Cluster::*member;
  bool zero_allowed = false;
  double most = 1.0;  // of the high end
  bool optional = false;
};
constexpr Field kFields[] = {
    {"nic_bandwidth", "B/s", &Cluster::nic_bandwidth, false, 1e18},
    {"nic_efficiency", "1", &Cluster::nic_efficiency},
    {"ring_loss_per_doubling", "1", &Cluster::ring_loss_per_doubling, true},
    {"all_to_all_efficiency", "1", &Cluster::all_to_all_efficiency},
    {"dispatch_efficiency", "1", &Cluster::dispatch_efficiency},
    {"host_bandwidth", "B/s", &Cluster::host_bandwidth, false, 1e18, true},
};

}  // namespace

std::optional<Shorthand> parse_shorthand(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  Shorthand result;
  result.gpu = std::string(text.substr(0, colon));
  const std::string_view counts = text.substr(colon + 1);
  const char* const end = counts.data() + counts.size();
  const auto nodes = std::from_chars(counts.data(), end, result.nodes);
  if (nodes.ec != std::errc() || nodes.ptr == end || *nodes.ptr != 'x') return std::nullopt;
  const auto gpus = std::from_chars(nodes.ptr + 1, end, result.gpus_per_node);
  if (gpus.ec != std::errc() || gpus.ptr != end) return std::nullopt;
  if (result.nodes < 1 || result.nodes > kMaxNodes || result.gpus_per_node < 1 ||
      result.gpus_per_node > kMaxGpusPerNode || result.nodes * result.gpus_per_node > kMaxGpus) {
    return std::nullopt;
  }
  return result;
}

Cluster parse_cluster(std::string_view text, std::string_view path) {
  const config::Node root = config::parse(text, path);
  config::Faults faults;
  config::Reader reader(root, "", faults);
  const std::string schema = reader.required_string("schema");
  if (!schema.empty() && schema != "hysim.cluster/1") {
    reader.fault("schema", "must be \"hysim.cluster/1\", found \"" + schema + "\"");
  }
  Cluster cluster;
  cluster.name = reader.required_string("name");
  cluster.gpu = reader.required_string("gpu");
  cluster.nodes = reader.required_integer("nodes", 1, kMaxNodes);
  cluster.gpus_per_node = reader.required_integer("gpus_per_node", 1, kMaxGpusPerNode);
  if (cluster.gpus() > kMaxGpus) {
    reader.fault("nodes", "nodes x gpus_per_node must be at most " + std::to_string(kMaxGpus));
  }
  reader.ignore("note");
  for (const Field& field : kFields) {
    if (field.optional && !reader.has(field.key)) continue;
    const config::Node* const value = reader.required(field.key);
    if (value == nullptr) continue;
    const std::size_t before = faults.count();
    cluster.*field.member =
        config::read_sourced(*value, "/" + std::string(field.key),
                             "cluster/" + std::string(field.key), field.si_unit, faults);
    if (faults.count() > before) continue;
    const config::Sourced& sourced = cluster.*field.member;
    if (sourced.low < 0.0) {
      reader.fault(field.key, "must not be negative");
    } else if (sourced.low == 0.0 && !field.zero_allowed) {
      reader.fault(field.key, "must be greater than zero");
    } else if (sourced.high > field.most) {
      reader.fault(field.key, field.most == 1.0 ? "must be at most 1" : "is too large");
    }
  }
  cluster.host_memory = reader.bytes("host_memory", Bytes(0.0));
  reader.finish();
  faults.throw_if_any();
  return cluster;
}

Cluster load_cluster(const Resources& resources, std::string_view name) {
  if (name.find(':') == std::string_view::npos || name.ends_with(".json")) {
    const config::NamedDocument document = config::load_named(
        resources, kFolder, "cluster", name,
        "`hysim list clusters` shows all; GPU:NODESxGPUS makes one, for example h20-96:64x8");
    return parse_cluster(document.text, document.path);
  }
  const auto shorthand = parse_shorthand(name);
  if (!shorthand) {
    throw InputError({Diagnostic{
        std::string(kFolder), 0, 0, "",
        "\"" + std::string(name) + "\" is no GPU:NODESxGPUS, for example \"h20-96:64x8\""}});
  }
  const config::NamedDocument generic =
      config::load_named(resources, kFolder, "cluster", "generic", "");
  Cluster cluster = parse_cluster(generic.text, generic.path);
  cluster.name = std::string(name);
  cluster.gpu = shorthand->gpu;
  cluster.nodes = shorthand->nodes;
  cluster.gpus_per_node = shorthand->gpus_per_node;
  return cluster;
}

Network resolve(const Cluster& cluster, const config::Sampler& sampler) {
  const auto known = [&](const config::Sourced& s) {
    return Known<double>{sampler(s), config::evidence_of(s, cluster.gpu)};
  };
  Network network;
  const Known<double> nic = known(cluster.nic_bandwidth);
  network.nic = {BytesPerSecond(nic.value), nic.evidence};
  network.nic_efficiency = known(cluster.nic_efficiency);
  network.ring_loss_per_doubling = known(cluster.ring_loss_per_doubling);
  network.all_to_all_efficiency = known(cluster.all_to_all_efficiency);
  network.dispatch_efficiency = known(cluster.dispatch_efficiency);
  const Known<double> host = known(cluster.host_bandwidth);
  network.host = {BytesPerSecond(host.value), host.evidence};
  return network;
}

}  // namespace hysim::topology
