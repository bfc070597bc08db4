// Bytes every kind of communication sends, taken from the collectives of built programs, against
// independently derived figures.
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/collective.h"
#include "graph/layer.h"
#include "graph/program.h"
#include "ops/routing.h"
#include "oracles/figures.h"
#include "unit/graph/plans.h"

namespace hysim {
namespace {

using collectives::Collective;
using collectives::Kind;
using config::Node;
using graph::Plan;
using graph::Program;
using graph::Stream;
using graph::TaskList;
using model::AttentionKind;
using model::FfnKind;
using model::IndexRole;
using model::LayerSpec;
using ops::IndexerLoss;
using test::built;
using test::BuiltLayer;
using test::member;
using test::number;
using test::text;
using test::whole;

const Node& figures() {
  static const Node node = test::read_figures("comm");
  return node;
}
const Node::Array& rows(std::string_view key) { return member(figures(), key).as_array(); }

constexpr LayerSpec kSparseMoe{AttentionKind::dsa, IndexRole::computes, FfnKind::moe};
constexpr LayerSpec kSparseDense{AttentionKind::dsa, IndexRole::computes, FfnKind::dense};
constexpr LayerSpec kDense{AttentionKind::gqa, IndexRole::none, FfnKind::dense};

std::vector<Collective> on_stream(const TaskList& list, Stream stream) {
  std::vector<Collective> found;
  for (const graph::Task& task : list) {
    const auto* op = std::get_if<Collective>(&task.work);
    if (op != nullptr && task.stream == stream) found.push_back(*op);
  }
  return found;
}
double sent(const TaskList& list, Stream stream) {
  double bytes = 0.0;
  for (const Collective& op : on_stream(list, stream)) bytes += collectives::bytes_sent(op).si();
  return bytes;
}

Plan with_groups(const std::string& model, std::int64_t seq_len, std::int64_t tp, std::int64_t cp,
                 std::int64_t ep = 1) {
  topology::GroupSizes sizes;
  sizes.tp = tp;
  sizes.cp = cp;
  sizes.ep = ep;
  return test::on_groups(test::bundled(model), sizes, 1, seq_len);
}

// --- tensor parallelism ---

TEST(CommOracle, TensorParallelLayers) {
  for (const Node& row : rows("tp_sp")) {
    const std::string name = text(row, "model");
    SCOPED_TRACE(name + " cp " + std::to_string(whole(row, "cp")));
    Plan plan = with_groups(name, whole(row, "seq"), whole(row, "tp"), whole(row, "cp"));
    const bool sparse = name == "glm-5.1";
    const LayerSpec spec = sparse ? kSparseDense : kDense;

    const BuiltLayer none = built(plan, spec);
    for (const TaskList* list : {&none.layer.forward, &none.layer.backward}) {
      for (const Collective& op : on_stream(*list, Stream::tp)) {
        EXPECT_EQ(op.bytes.si(), number(row, "tensor"));
        EXPECT_EQ(collectives::bytes_sent(op).si(), number(row, "one"));
      }
    }
    EXPECT_EQ(sent(none.layer.forward, Stream::tp), number(row, "forward"));
    EXPECT_EQ(sent(none.layer.backward, Stream::tp), number(row, "backward"));

    plan.training.recompute = graph::Recompute::full;
    const BuiltLayer full = built(plan, spec);
    EXPECT_EQ(sent(full.layer.forward, Stream::tp) + sent(full.layer.backward, Stream::tp),
              number(row, "full_recompute"));

    plan.parallelism.sequence_parallel = false;
    const BuiltLayer reduced = built(plan, spec);
    EXPECT_EQ(sent(reduced.layer.forward, Stream::tp), number(row, "all_reduce_forward"));
    for (const Collective& op : on_stream(reduced.layer.forward, Stream::tp)) {
      EXPECT_EQ(op.kind, Kind::all_reduce);
    }
  }
}

// Attention of an MoE layer exchanges like that of a dense one; a shared expert is a dense layer
// of its own, the routed ones exchange over EP.
TEST(CommOracle, TensorParallelAttentionOfMoeLayers) {
  for (const Node& row : rows("tp_sp")) {
    if (text(row, "model") != "glm-5.1") continue;
    Plan plan = with_groups("glm-5.1", whole(row, "seq"), whole(row, "tp"), whole(row, "cp"));
    EXPECT_EQ(sent(built(plan, kSparseMoe).layer.forward, Stream::tp), number(row, "forward"));
    plan.model.moe.shared_ffn = 0;
    EXPECT_EQ(sent(built(plan, kSparseMoe).layer.forward, Stream::tp),
              number(row, "moe_attention_forward"));
  }
}

TEST(CommOracle, TeacherOverTensorParallelRanks) {
  for (const Node& row : rows("kl_teacher")) {
    Plan plan = with_groups("glm-5.1", whole(row, "seq"), whole(row, "tp"), whole(row, "cp"));
    const double without = sent(built(plan, kSparseDense).layer.forward, Stream::tp);
    plan.training.indexer_loss = IndexerLoss::sparse;
    EXPECT_EQ(sent(built(plan, kSparseDense).layer.forward, Stream::tp) - without,
              number(row, "sparse"));
    plan.training.indexer_loss = IndexerLoss::dense;
    EXPECT_EQ(sent(built(plan, kSparseDense).layer.forward, Stream::tp) - without,
              number(row, "dense"));
  }
}

// --- context parallelism ---

TEST(CommOracle, KeysOfSparseLayers) {
  for (const Node& row : rows("cp_allgather")) {
    SCOPED_TRACE(text(row, "model") + " cp " + std::to_string(whole(row, "cp")));
    Plan plan = with_groups(text(row, "model"), whole(row, "seq"), 1, whole(row, "cp"));
    plan.training.recompute = graph::Recompute::full;
    const auto step = [&](IndexerLoss loss, bool replay) {
      plan.training.indexer_loss = loss;
      plan.kernels.selection_replay = replay;
      const BuiltLayer b = built(plan, kSparseMoe);
      return sent(b.layer.forward, Stream::cp) + sent(b.layer.backward, Stream::cp);
    };
    EXPECT_EQ(step(IndexerLoss::sparse, false), number(row, "recompute_loss"));
    EXPECT_EQ(step(IndexerLoss::off, false), number(row, "recompute"));
    EXPECT_EQ(step(IndexerLoss::sparse, true), number(row, "replay_loss"));
    EXPECT_EQ(step(IndexerLoss::off, true), number(row, "replay"));

    plan.training.recompute = graph::Recompute::none;
    plan.training.indexer_loss = IndexerLoss::sparse;
    plan.kernels.selection_replay = false;
    const BuiltLayer b = built(plan, kSparseMoe);
    std::vector<double> forward;
    for (const Collective& op : on_stream(b.layer.forward, Stream::cp)) {
      EXPECT_EQ(op.kind, Kind::all_gather);
      forward.push_back(collectives::bytes_sent(op).si());
    }
    EXPECT_EQ(forward, (std::vector<double>{number(row, "latent"), number(row, "index_keys")}));
    EXPECT_EQ(sent(b.layer.forward, Stream::cp), number(row, "forward"));
    std::vector<double> backward;
    for (const Collective& op : on_stream(b.layer.backward, Stream::cp)) {
      EXPECT_EQ(op.kind, Kind::reduce_scatter);
      backward.push_back(collectives::bytes_sent(op).si());
    }
    EXPECT_EQ(backward, (std::vector<double>{number(row, "dkv"), number(row, "dindex")}));
  }
}

// A TP rank gathers the same keys: the latent and the index keys are not split by heads.
TEST(CommOracle, KeysOfSparseLayersAreNotSplitByTp) {
  const Node& row = rows("cp_allgather").at(2);
  ASSERT_EQ(whole(row, "cp"), 16);
  const Plan plan = with_groups("glm-5.1", whole(row, "seq"), 8, 16);
  EXPECT_EQ(sent(built(plan, kSparseMoe).layer.forward, Stream::cp), number(row, "forward"));
}

TEST(CommOracle, KeysOfDenseLayers) {
  for (const Node& row : rows("dense_kv")) {
    const Plan plan =
        with_groups(text(row, "model"), whole(row, "seq"), whole(row, "tp"), whole(row, "cp"));
    const LayerSpec spec = plan.model.layers.front();
    EXPECT_EQ(sent(built(plan, spec).layer.forward, Stream::cp), number(row, "forward"))
        << text(row, "model");
  }
}

TEST(CommOracle, OneRankSendsNothing) {
  Plan plan = with_groups("glm-5.1", 131072, 1, 1);
  plan.training.indexer_loss = IndexerLoss::sparse;
  plan.training.recompute = graph::Recompute::full;
  const BuiltLayer b = built(plan, kSparseMoe);
  EXPECT_EQ(test::communication_tasks(b.layer.forward), 0);
  EXPECT_EQ(test::communication_tasks(b.layer.backward), 0);
}

// --- expert parallelism ---

/// Bytes of every exchange of a full-recompute step: forward, recomputation, backward, each a
/// dispatch and a combine.
std::vector<std::pair<double, double>> exchanges(const Plan& plan) {
  const BuiltLayer b = built(plan, kSparseMoe);
  std::vector<std::pair<double, double>> found;
  for (const TaskList* list : {&b.layer.forward, &b.layer.backward}) {
    for (const Collective& op : on_stream(*list, Stream::ep)) {
      found.emplace_back(op.nvlink_sent.si(), op.network_sent.si());
    }
  }
  return found;
}

TEST(CommOracle, ExpertExchanges) {
  for (const Node& row : rows("ep")) {
    SCOPED_TRACE(text(row, "model") + " ep " + std::to_string(whole(row, "ep")));
    Plan plan = with_groups(text(row, "model"), whole(row, "seq"), whole(row, "tp"),
                            whole(row, "cp"), whole(row, "ep"));
    plan.training.recompute = graph::Recompute::full;
    plan.model.moe.groups = 1;  // the figures are of uniform routing
    plan.model.moe.groups_picked = 1;
    for (const bool fp8 : {false, true}) {
      plan.training.precision = fp8 ? ops::Precision::fp8 : ops::Precision::bf16;
      const auto expected = [&](const std::string& what, bool dispatch) {
        return number(row, what + (fp8 && dispatch ? "_fp8" : "_bf16"));
      };
      for (const auto dispatcher : {graph::Dispatcher::alltoall, graph::Dispatcher::deepep}) {
        plan.kernels.dispatcher = dispatcher;
        const auto found = exchanges(plan);
        ASSERT_EQ(found.size(), 6U);  // three dispatches, three combines
        for (std::size_t i = 0; i < found.size(); ++i) {
          // fp8 goes out in forward and recomputation; combines and all gradients are bf16.
          const bool dispatch = i == 0 || i == 2;
          const auto [nvlink, network] = found[i];
          if (dispatcher == graph::Dispatcher::alltoall) {
            EXPECT_NEAR(nvlink + network, expected("copies", dispatch), 1.0) << i;
          } else {
            EXPECT_NEAR(network, expected("nodes", dispatch), 1.0) << i;
            EXPECT_NEAR(nvlink, expected("ranks", dispatch), 1.0) << i;
          }
        }
      }
    }
    EXPECT_EQ(graph::make_context(plan, 8).tokens() / whole(row, "tp"), whole(row, "tokens"));
  }
}

// DeepSeek's router takes experts from 4 of 8 groups, one a node at EP64: fewer nodes are reached.
TEST(CommOracle, GroupLimitedRouting) {
  const Node& limited = member(figures(), "ep_limited");
  Plan plan = with_groups(text(limited, "model"), 131072, 1, 8, 64);
  plan.parallelism.sizes.dp = 8;
  plan.kernels.dispatcher = graph::Dispatcher::deepep;
  ASSERT_EQ(plan.model.moe.groups, 8);
  ASSERT_EQ(plan.model.moe.groups_picked, 4);
  const auto [nvlink, network] = exchanges(plan).front();
  const double token = 7168.0 * 2.0 * 16384.0;
  EXPECT_NEAR(network, test::fraction(limited, "remote_nodes") * token, 1.0);
  EXPECT_NEAR(nvlink, test::fraction(limited, "ranks") * 63.0 / 64.0 * token, 1.0);
}

// --- pipeline and data parallelism ---

TEST(CommOracle, PipelineBoundaries) {
  for (const Node& row : rows("pp_p2p")) {
    topology::GroupSizes sizes;
    sizes.tp = whole(row, "tp");
    sizes.cp = whole(row, "cp");
    sizes.pp = 2;
    const Plan plan =
        test::on_groups(test::bundled(text(row, "model")), sizes, 2, whole(row, "seq"));
    const Program program = graph::build_training_step(plan, 8);
    EXPECT_EQ(program.pipeline_send.kind, Kind::send_recv);
    EXPECT_EQ(collectives::bytes_sent(program.pipeline_send).si(), number(row, "bytes"))
        << text(row, "model") << " cp " << whole(row, "cp");
  }
}

Plan plan_of_layout(const std::string& name) {
  const Node& of = member(member(figures(), "layouts"), name);
  topology::GroupSizes sizes;
  sizes.tp = whole(of, "tp");
  sizes.pp = whole(of, "pp");
  sizes.cp = whole(of, "cp");
  sizes.ep = whole(of, "ep");
  sizes.dp = whole(of, "dp");
  Plan plan =
      test::on_groups(test::bundled(text(of, "model")), sizes, whole(of, "m"), whole(of, "seq"));
  plan.parallelism.layers_per_chunk = test::wholes(of, "layers");
  return plan;
}

double replica_bytes(Kind kind, const topology::GroupShape& group, double parameters,
                     double bytes_each) {
  Collective op;
  op.kind = kind;
  op.group = group;
  op.bytes = Bytes(parameters * bytes_each);
  return collectives::bytes_sent(op).si();
}

TEST(CommOracle, DataParallelReplicas) {
  for (const Node& row : rows("dp")) {
    const std::string name = text(row, "layout");
    SCOPED_TRACE(name);
    Plan plan = plan_of_layout(name);
    const Program program = graph::build_training_step(plan, 8);
    const graph::ParameterShare share = graph::stage_parameters(program, whole(row, "stage"));
    EXPECT_EQ(share.dense, number(row, "dense"));
    EXPECT_EQ(share.expert, number(row, "expert"));
    EXPECT_EQ(program.dense_group.size, whole(row, "dense_group"));
    EXPECT_EQ(program.expert_group.size, whole(row, "expert_group"));
    const auto all = [&](Kind kind, double bytes_each) {
      return replica_bytes(kind, program.dense_group, share.dense, bytes_each) +
             replica_bytes(kind, program.expert_group, share.expert, bytes_each);
    };
    const auto expect = [&](std::string_view key, double bytes) {
      EXPECT_NEAR(bytes / number(row, key), 1.0, 1e-9) << key;
    };
    EXPECT_EQ(program.gradient_bytes, 4.0);
    expect("zero0_all_reduce", all(Kind::all_reduce, program.gradient_bytes));
    expect("zero1_reduce_scatter", all(Kind::reduce_scatter, program.gradient_bytes));
    expect("zero1_all_gather", all(Kind::all_gather, 2.0));
    plan.training.gradient = graph::GradientType::bf16;
    expect("zero1_reduce_scatter_bf16",
           all(Kind::reduce_scatter, graph::build_training_step(plan, 8).gradient_bytes));
  }
}

}  // namespace
}  // namespace hysim
