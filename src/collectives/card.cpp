#include "collectives/card.h"

#include <cstdint>
#include <string>
#include <utility>

#include "collectives/nccl.h"
#include "units/real.h"

namespace hysim::collectives {

namespace {

using config::Card;
using hardware::Gpu;
using topology::Network;

constexpr const char* kTuning = "NVIDIA/nccl src/graph/tuning.cc at 5067397c (2.30.7)";
constexpr const char* kNvlsFit =
    "fit to nccl-tests with NVLS on 8 H100 and 8 H200 (Azure/AI-benchmarking-guide; "
    "stas00/ml-engineering @744d01e), src/collectives/nccl.h";
constexpr const char* kPassFit =
    "fit to nccl-tests on 2, 4 and 8 GPUs (ai-dynamo/aiconfigurator @095f58a5), "
    "src/collectives/nccl.h";
constexpr const char* kGroupSettings =
    "parallelism.tp parallelism.cp parallelism.pp parallelism.ep parallelism.etp "
    "parallelism.hsdp_shard parallelism.rank_order";
constexpr const char* kContention = "contention with other groups and traffic";

/// A card that takes its numbers from one operation, one GPU and one network.
class CollectiveCard {
 public:
  CollectiveCard(std::string title, const Collective& op, const Network& network)
      : op_(op), network_(network) {
    card_.title = std::move(title);
    card_.leaves_out = kContention;
    card_.where = "src/collectives/collective.cpp";
    if (op.counted != nullptr) card_.use = op.counted->text;
  }

  void group() {
    member_count("ranks", op_.group.size, "members of the group");
    member_count("nodes", op_.group.nodes, "nodes the group spans");
    member_count("per_node", op_.group.per_node, "most members in one node");
  }
  /// Of the group: ranks, nodes.
  void member_count(std::string symbol, std::int64_t count, std::string meaning) {
    card_.counted(std::move(symbol), real(count), "1", std::move(meaning),
                  {"the group of rank 0, placed on nodes rank by rank", "src/topology/groups.cpp",
                   kGroupSettings});
  }
  void bytes(std::string meaning) { counted_bytes("bytes", op_.bytes, std::move(meaning)); }
  void counted_bytes(std::string symbol, Bytes value, std::string meaning) {
    config::Origin origin;
    if (op_.counted != nullptr) {
      origin = {op_.counted->text, op_.counted->where, op_.counted->settings};
    }
    card_.counted(std::move(symbol), value.si(), "B", std::move(meaning), std::move(origin));
  }

  /// "all_gather" -> its figures inside a node of 8 GPUs.
  void latency_field(const std::string& kind, const hardware::Known<Seconds>& known) {
    card_.field(kind + "_latency", "gpu/collectives/" + kind + "/latency", known.value.si());
  }
  void busbw_field(const std::string& kind, const hardware::Known<BytesPerSecond>& known) {
    card_.field(kind + "_busbw", "gpu/collectives/" + kind + "/busbw", known.value.si());
  }
  void nic() { card_.field("nic_bandwidth", "cluster/nic_bandwidth", network_.nic.value.si()); }
  void network_field(const std::string& key, const hardware::Known<double>& known) {
    card_.field(key, "cluster/" + key, known.value);
  }

  /// NCCL's bandwidth of a ring: `inside` is the symbol of the figure inside a node.
  void ring_busbw(const std::string& inside) {
    if (op_.group.nodes <= 1) {
      define("ring_busbw", inside, "B/s", "as measured inside a node");
      return;
    }
    nic();
    network_field("nic_efficiency", network_.nic_efficiency);
    network_field("ring_loss_per_doubling", network_.ring_loss_per_doubling);
    define("kept", "max(1 / 10, 1 - ring_loss_per_doubling * max(0, log2(nodes) - 1))", "1",
           "share left after the loss per doubling of nodes beyond two");
    define("nics", "nic_bandwidth * nic_efficiency * per_node * kept", "B/s",
           "of the members of one node");
    define("ring_busbw", op_.group.per_node > 1 ? "min(" + inside + ", nics)" : "nics", "B/s",
           "bus bandwidth of a ring");
  }

  void latencies(const std::string& algorithm, const HopLatencies& l) {
    const auto add = [&](const std::string& name, Seconds value, const std::string& what) {
      card_.constant(algorithm + "_" + name, value.si(), "s", what, kTuning);
    };
    add("base", l.base, "start of the protocol");
    add("nvlink_hop", l.nvlink_hop, "one hop inside a node");
    add("network_hop", l.network_hop, "one hop across nodes");
  }

  void define(std::string symbol, std::string formula, std::string unit, std::string meaning) {
    card_.define(std::move(symbol), std::move(formula), std::move(unit), std::move(meaning));
  }
  void constant(std::string symbol, double value, std::string unit, std::string meaning) {
    card_.constant(std::move(symbol), value, std::move(unit), std::move(meaning), kTuning);
  }
  /// A constant of NVLS that is a measurement.
  void fitted(std::string symbol, double value, std::string unit, std::string meaning) {
    card_.constant(std::move(symbol), value, std::move(unit), std::move(meaning), kNvlsFit);
  }
  void own_share() {
    card_.constant("own_share", kOwnShare, "1", "steps that a rank's own part takes", kPassFit);
  }

  Card finish() {
    define("t", "latency + transfer", "s", "one execution");
    return std::move(card_);
  }

 private:
  const Collective& op_;
  const Network& network_;
  Card card_;
};

/// The symbol of an all-reduce's ring bandwidth inside a node.
std::string all_reduce_ring(CollectiveCard& c, const Collective& op, const Gpu& gpu) {
  c.busbw_field("all_reduce", gpu.all_reduce_busbw);
  const bool whole = op.group.nodes > 1 || op.group.size >= 8;
  if (whole && !since_hopper(gpu)) return "all_reduce_busbw";
  c.busbw_field("all_gather", gpu.all_gather_busbw);
  c.busbw_field("reduce_scatter", gpu.reduce_scatter_busbw);
  c.define("pass_busbw", "min(all_reduce_busbw, max(all_gather_busbw, reduce_scatter_busbw))",
           "B/s", "of a ring: no faster than its passes");
  return "pass_busbw";
}

/// The symbol of an all-gather's or reduce-scatter's bandwidth inside a node.
std::string pass_busbw(CollectiveCard& c, const Collective& op, const std::string& kind) {
  const std::string busbw = kind + "_busbw";
  if (op.group.nodes > 1 || op.group.size >= 8) return busbw;
  c.own_share();
  c.define("pass_busbw", busbw + " * (7 + own_share) / 7 * (ranks - 1) / (ranks - 1 + own_share)",
           "B/s", "of few GPUs: measured with 8, of which 7 are peers");
  return "pass_busbw";
}

/// A ring collective by one algorithm and protocol.
Card ring_card(const Collective& op, const Gpu& gpu, const Network& network, Protocol protocol,
               bool tree) {
  const bool reduces = op.kind == Kind::all_reduce;
  const std::string kind = reduces                       ? "all_reduce"
                           : op.kind == Kind::all_gather ? "all_gather"
                                                         : "reduce_scatter";
  const std::string passes = reduces ? "2 * " : "";
  const bool across = op.group.nodes > 1;
  const bool low_latency = protocol == Protocol::ll;
  CollectiveCard c(kind + ": " + (tree ? "double binary tree" : "ring") + ", " +
                       to_string(protocol) + " protocol",
                   op, network);
  c.group();
  c.bytes(op.kind == Kind::all_gather ? "gathered" : "of one rank's buffer");

  // Latency.
  if (!tree || low_latency) c.latencies("ring", ring_latencies(protocol));
  if (tree) {
    c.latencies("tree", tree_latencies(protocol));
    c.define("modelled_latency",
             "tree_base + 2 * ((per_node - 1) * tree_nvlink_hop + log2(nodes) * tree_network_hop)",
             "s", "reduction up, broadcast down");
  } else {
    std::string hop = "ring_nvlink_hop";
    if (across) {
      c.constant("network_overhead", kNetworkOverhead.si(), "s",
                 "least cost of a hop inside a node when the ring leaves it");
      hop = "max(ring_nvlink_hop, network_overhead)";
    }
    std::string latency = "ring_base + " + passes + "(nodes - 1) * ring_network_hop + " + passes +
                          "(ranks - nodes) * " + hop;
    if (protocol == Protocol::simple && reduces && across) {
      c.constant("plateau", kSimplePlateau, "1", "of ring all-reduces across nodes, Simple");
      latency = "plateau * (" + latency + ")";
    }
    c.define("modelled_latency", latency, "s", "base and hops of the protocol");
  }
  if (low_latency) {
    c.latency_field(kind, reduces                       ? gpu.all_reduce_latency
                          : op.kind == Kind::all_gather ? gpu.all_gather_latency
                                                        : gpu.reduce_scatter_latency);
    c.define("modelled_latency_of_8", "ring_base + " + passes + "7 * ring_nvlink_hop", "s",
             "of a ring of 8 GPUs of a node, where latency was measured");
    c.define("latency", "modelled_latency * " + kind + "_latency / modelled_latency_of_8", "s",
             "the model, scaled by what was measured");
  } else {
    c.define("latency", "modelled_latency", "s", "");
  }

  // Bandwidth.
  if (reduces) {
    c.ring_busbw(all_reduce_ring(c, op, gpu));
  } else {
    c.busbw_field(kind,
                  op.kind == Kind::all_gather ? gpu.all_gather_busbw : gpu.reduce_scatter_busbw);
    c.ring_busbw(pass_busbw(c, op, kind));
  }
  c.constant(
      "protocol_share",
      tree ? tree_bandwidth_factor(protocol, op.group.nodes) : ring_bandwidth_factor(protocol), "1",
      "of the ring's bus bandwidth that algorithm and protocol reach");
  if (low_latency) {
    c.constant("low_latency_cap", low_latency_cap(gpu.architecture, op.group.nodes).si(), "B/s",
               "most that the LL protocol reaches on such a group");
    c.define("busbw", "min(ring_busbw * protocol_share, low_latency_cap)", "B/s", "");
  } else {
    c.define("busbw", "ring_busbw * protocol_share", "B/s", "");
  }
  c.define("sent", tree ? "2 * bytes" : passes + "(ranks - 1) / ranks * bytes", "B",
           "by the busiest rank");
  c.define("transfer", "sent / busbw", "s", "");
  return c.finish();
}

/// All-reduce by NVLink's switches, between nodes by trees.
Card nvls_card(const Collective& op, const Gpu& gpu, const Network& network) {
  const bool across = op.group.nodes > 1;
  CollectiveCard c(across ? "all_reduce: NVLink switches and trees between nodes (NVLSTree)"
                          : "all_reduce: NVLink switches (NVLS)",
                   op, network);
  c.bytes("of one rank's buffer");
  c.constant("nvls_base", kNvlsLatency.si(), "s", "start of a reduction by switches");
  if (across) {
    c.group();
    c.constant("nvls_network_hop", kNvlsNetworkHop.si(), "s", "one hop across nodes");
    c.define("modelled_latency", "nvls_base + 2 * log2(nodes) * nvls_network_hop", "s",
             "reduction up, broadcast down");
  } else {
    c.define("modelled_latency", "nvls_base", "s", "");
  }
  c.latency_field("all_reduce", gpu.all_reduce_latency);
  c.constant("modelled_latency_of_8", ring_latency({8, 1, 8}, Protocol::ll, 2).si(), "s",
             "of a ring of 8 GPUs of a node, LL, where latency was measured");
  c.define("latency", "modelled_latency * all_reduce_latency / modelled_latency_of_8", "s",
           "the model, scaled by what was measured");
  c.busbw_field("all_reduce", gpu.all_reduce_busbw);
  c.define("inside", "bytes * 2 * 7 / 8 / all_reduce_busbw", "s",
           "the buffer once through the switches; measured with 8 GPUs");
  c.fitted("ramp", kNvlsRamp.si(), "s", "what a large message takes beyond latency and bytes");
  c.fitted("half_ramp", kNvlsHalfRamp.si(), "B", "message that takes half of it");
  c.define("extra", "ramp * bytes / (bytes + half_ramp)", "s", "");
  if (!across) {
    c.define("transfer", "inside + extra", "s", "");
    return c.finish();
  }
  c.nic();
  c.network_field("nic_efficiency", network.nic_efficiency);
  c.constant("tree_share", nvls_tree_share(op.group.nodes), "1",
             "of the bytes that the busiest node sends: two trees, half each");
  c.define("between", "bytes * tree_share / (nic_bandwidth * nic_efficiency * per_node)", "s",
           "over all NICs of the members of a node");
  c.define("transfer", "max(inside, between) + extra", "s", "");
  return c.finish();
}

/// Of the algorithm and protocol that collective.h chooses.
Card tuned_card(Collective op, const Gpu& gpu, const Network& network) {
  op.tiered = false;
  const CollectiveTime chosen = time(op, gpu, network);
  if (chosen.algorithm == Algorithm::nvls || chosen.algorithm == Algorithm::nvls_tree) {
    return nvls_card(op, gpu, network);
  }
  return ring_card(op, gpu, network, chosen.protocol.value_or(Protocol::ll),
                   chosen.algorithm == Algorithm::tree);
}

Card exchange_card(const Collective& op, const Gpu& gpu, const Network& network) {
  const bool fused = op.kind == Kind::dispatch;
  CollectiveCard c(fused ? "dispatch or combine, one copy a node (DeepEP)" : "all-to-all (NCCL)",
                   op, network);
  c.latency_field("all_to_all", gpu.all_to_all_latency);
  if (op.group.nodes > 1) {
    const HopLatencies simple = ring_latencies(Protocol::simple);
    const HopLatencies tree = tree_latencies(Protocol::ll);
    c.member_count("nodes", op.group.nodes, "nodes the group spans");
    c.constant("message", (simple.base + simple.network_hop).si(), "s",
               "one message across nodes, Simple protocol");
    c.constant("tree_base", tree.base.si(), "s", "start of the LL protocol");
    c.constant("tree_network_hop", tree.network_hop.si(), "s", "one hop across nodes, LL");
    c.define("latency",
             "all_to_all_latency + message + tree_base + 2 * log2(nodes) * tree_network_hop", "s",
             "inside the node, then to the farthest");
  } else {
    c.define("latency", "all_to_all_latency", "s", "");
  }
  c.counted_bytes("nvlink_sent", op.nvlink_sent, "by one rank to ranks of its node");
  c.counted_bytes("network_sent", op.network_sent, "by one rank to other nodes");
  c.busbw_field("all_to_all", gpu.all_to_all_busbw);
  c.nic();
  const std::string efficiency = fused ? "dispatch_efficiency" : "all_to_all_efficiency";
  c.network_field(efficiency, fused ? network.dispatch_efficiency : network.all_to_all_efficiency);
  c.define(
      "transfer",
      "max(nvlink_sent / all_to_all_busbw, network_sent / (nic_bandwidth * " + efficiency + "))",
      "s", "both tiers carry their part at the same time");
  return c.finish();
}

Card message_card(const Collective& op, const Gpu& gpu, const Network& network) {
  const bool across = op.group.nodes > 1;
  CollectiveCard c(across ? "message between nodes" : "message inside a node", op, network);
  const HopLatencies l = ring_latencies(Protocol::simple);
  c.constant("base", l.base.si(), "s", "start of the Simple protocol");
  c.constant("hop", (across ? l.network_hop : l.nvlink_hop).si(), "s", "one hop");
  c.define("latency", "base + hop", "s", "");
  c.bytes("of the message");
  if (across) {
    c.nic();
    c.network_field("nic_efficiency", network.nic_efficiency);
    c.define("transfer", "bytes / (nic_bandwidth * nic_efficiency)", "s", "");
  } else {
    c.busbw_field("all_to_all", gpu.all_to_all_busbw);
    c.define("transfer", "bytes / all_to_all_busbw", "s", "");
  }
  return c.finish();
}

}  // namespace

Card collective_card(const Collective& op, const Gpu& gpu, const Network& network) {
  switch (op.kind) {
    case Kind::all_reduce:
    case Kind::all_gather:
    case Kind::reduce_scatter:
      return tuned_card(op, gpu, network);
    case Kind::all_to_all:
    case Kind::dispatch:
      return exchange_card(op, gpu, network);
    case Kind::send_recv:
      return message_card(op, gpu, network);
  }
  return {};
}

}  // namespace hysim::collectives
