// Reads the settings of one variant into a checked Job, echoing every setting with its default.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>

#include "config/named.h"
#include "config/reader.h"
#include "config/words.h"
#include "graph/near_layouts.h"
#include "graph/scale.h"
#include "predict/inert.h"
#include "predict/profiles.h"
#include "predict/scenario.h"
#include "topology/groups.h"
#include "units/real.h"

namespace hysim::predictor {

namespace {

using config::Choice;
using config::Faults;
using config::in_quotes;
using config::Node;
using config::Reader;
using graph::Plan;

constexpr std::string_view kDefaultStack = "megatron-core-2026";
constexpr std::int64_t kMaxRanks = 1 << 20;
constexpr std::int64_t kMaxTokens = std::int64_t{1} << 24;
constexpr std::int64_t kMaxBatch = std::int64_t{1} << 32;
constexpr std::int64_t kMaxMicroBatch = 4096;
constexpr std::int64_t kMaxStages = 512;
constexpr std::int64_t kMaxLayers = 4096;

// Words of settings, as scenarios spell them.
const std::vector<Choice<ops::Precision>> kPrecisions = {{"bf16", ops::Precision::bf16},
                                                         {"fp8", ops::Precision::fp8}};
const std::vector<Choice<graph::Recompute>> kRecomputes = {
    {"none", graph::Recompute::none},
    {"selective", graph::Recompute::selective},
    {"full", graph::Recompute::full}};
const std::vector<Choice<graph::RecomputeMethod>> kMethods = {
    {"uniform", graph::RecomputeMethod::uniform}, {"block", graph::RecomputeMethod::block}};
const std::vector<Choice<graph::IndexerLoss>> kLosses = {{"off", graph::IndexerLoss::off},
                                                         {"sparse", graph::IndexerLoss::sparse},
                                                         {"dense", graph::IndexerLoss::dense}};
const std::vector<Choice<graph::GradientType>> kGradients = {{"fp32", graph::GradientType::fp32},
                                                             {"bf16", graph::GradientType::bf16}};
const std::vector<Choice<graph::Packing>> kPackings = {{"thd", graph::Packing::thd},
                                                       {"bshd", graph::Packing::bshd}};
const std::vector<Choice<ops::CpSplit>> kCpSplits = {{"zigzag", ops::CpSplit::zigzag},
                                                     {"contiguous", ops::CpSplit::contiguous}};
const std::vector<Choice<graph::Schedule>> kSchedules = {
    {"1f1b", graph::Schedule::one_f_one_b},
    {"interleaved", graph::Schedule::interleaved},
    {"breadth_first", graph::Schedule::breadth_first},
    {"gpipe", graph::Schedule::gpipe},
    {"zb-h1", graph::Schedule::zb_h1}};
const std::vector<Choice<graph::CpComm>> kCpComms = {{"all_gather", graph::CpComm::all_gather},
                                                     {"p2p", graph::CpComm::p2p},
                                                     {"a2a", graph::CpComm::a2a},
                                                     {"a2a+p2p", graph::CpComm::a2a_p2p}};
const std::vector<Choice<ops::Selection>> kSelections = {{"naive", ops::Selection::naive},
                                                         {"table", ops::Selection::table},
                                                         {"fused", ops::Selection::fused}};
const std::vector<Choice<ops::TopkKind>> kTopks = {{"torch", ops::TopkKind::torch},
                                                   {"radix", ops::TopkKind::radix}};
const std::vector<Choice<ops::KeyCrop>> kCrops = {{"none", ops::KeyCrop::none},
                                                  {"segment", ops::KeyCrop::segment}};
const std::vector<Choice<ops::SparseBackend>> kBackends = {
    {"cudnn", ops::SparseBackend::cudnn}, {"tilelang", ops::SparseBackend::tilelang}};
const std::vector<Choice<graph::IndexerTp>> kIndexerTps = {
    {"replicated", graph::IndexerTp::replicated}, {"sharded", graph::IndexerTp::sharded}};
const std::vector<Choice<graph::Dispatcher>> kDispatchers = {
    {"alltoall", graph::Dispatcher::alltoall}, {"deepep", graph::Dispatcher::deepep}};

struct ModuleWord {
  std::string_view word;
  bool graph::RecomputeModules::*member;
};
constexpr ModuleWord kModules[] = {
    {"core_attn", &graph::RecomputeModules::core_attn},
    {"mla_up_proj", &graph::RecomputeModules::mla_up_proj},
    {"layernorm", &graph::RecomputeModules::layernorm},
    {"moe_act", &graph::RecomputeModules::moe_act},
    {"mlp", &graph::RecomputeModules::mlp},
    {"moe", &graph::RecomputeModules::moe},
};

template <class E>
Node word(E value, const std::vector<Choice<E>>& choices) {
  for (const Choice<E>& choice : choices) {
    if (choice.value == value) return Node::string(std::string(choice.word));
  }
  return Node::null();
}

Node integers(const std::vector<std::int64_t>& values) {
  Node::Array array;
  for (const std::int64_t value : values) array.push_back(Node::integer(value));
  return Node::array(std::move(array));
}

/// An amount of bytes as the reader takes it: whole, or a text with unit.
Node bytes_node(Bytes bytes) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (bytes.si() == std::floor(bytes.si()) && bytes.si() < kExact) {
    return Node::integer(static_cast<std::int64_t>(bytes.si()));
  }
  return Node::string(config::to_text(Node::number(bytes.si())) + " B");
}

/// Reads one section and writes what it understood into the echo.
class Section {
 public:
  Section(Reader& parent, std::string_view name)
      : reader_(parent.object(name)), echo_(Node::object()) {}

  template <class E>
  void choice(std::string_view key, E& value, const std::vector<Choice<E>>& choices) {
    value = reader_.choice(key, value, choices);
    echo_.set(key, word(value, choices));
  }
  void integer(std::string_view key, std::int64_t& value, std::int64_t low, std::int64_t high) {
    value = reader_.integer(key, value, low, high);
    echo_.set(key, Node::integer(value));
  }
  void tokens(std::string_view key, std::int64_t& value, std::int64_t low, std::int64_t high) {
    value = reader_.token_count(key, value, low, high);
    echo_.set(key, Node::integer(value));
  }
  void number(std::string_view key, double& value, double low, double high) {
    value = reader_.number(key, value, low, high);
    echo_.set(key, Node::number(value));
  }
  void boolean(std::string_view key, bool& value) {
    value = reader_.boolean(key, value);
    echo_.set(key, Node::boolean(value));
  }
  void bytes(std::string_view key, Bytes& value) {
    value = reader_.bytes(key, value);
    echo_.set(key, bytes_node(value));
  }
  Node finish() {
    reader_.finish();
    return std::move(echo_);
  }
  Reader& reader() { return reader_; }
  Node& echo() { return echo_; }

 private:
  Reader reader_;
  Node echo_;
};

Node read_workload(Reader& root, graph::Workload& w) {
  Section s(root, "workload");
  s.reader().required("seq_len");
  w.seq_len = 1;
  s.tokens("seq_len", w.seq_len, 1, kMaxTokens);
  s.integer("micro_batch_size", w.micro_batch_size, 1, kMaxMicroBatch);
  s.reader().required("global_batch_size");
  s.integer("global_batch_size", w.global_batch_size, 1, kMaxBatch);
  s.choice("packing", w.packing, kPackings);
  return s.finish();
}

/// What of the parallelism needs the model and the cluster is filled in later.
struct LayoutText {
  std::vector<std::int64_t> layers;
  bool given = false;
  std::int64_t dp = 0;  // 0: not given
};

Node read_parallelism(Reader& root, graph::Parallelism& p, LayoutText& layout) {
  Section s(root, "parallelism");
  s.integer("tp", p.sizes.tp, 1, kMaxRanks);
  s.integer("cp", p.sizes.cp, 1, kMaxRanks);
  s.integer("pp", p.sizes.pp, 1, kMaxStages);
  s.integer("vpp", p.vpp, 1, kMaxStages);
  s.integer("ep", p.sizes.ep, 1, kMaxRanks);
  s.integer("etp", p.sizes.etp, 1, kMaxRanks);
  layout.dp = s.reader().integer("dp", 0, 1, std::numeric_limits<std::int64_t>::max());
  std::int64_t zero = 1;
  s.integer("zero", zero, 0, 3);
  p.zero = static_cast<int>(zero);
  s.integer("fsdp_prefetch", p.fsdp_prefetch, 0, kMaxLayers);
  s.boolean("reshard_after_forward", p.reshard_after_forward);
  s.integer("hsdp_shard", p.hsdp_shard, 0, kMaxRanks);
  if (p.vpp > 1) p.schedule = graph::Schedule::interleaved;
  s.choice("schedule", p.schedule, kSchedules);
  if (p.vpp > 1 && p.schedule == graph::Schedule::one_f_one_b) {
    s.reader().fault(
        "schedule", "has one chunk a stage; with vpp > 1 use \"interleaved\" or \"breadth_first\"");
  }
  s.integer("microbatch_group_size", p.microbatch_group_size, 0, kMaxBatch);
  layout.given = s.reader().has("pipeline_layout");
  layout.layers = s.reader().integers("pipeline_layout", 0, kMaxLayers);
  s.boolean("hierarchical_collectives", p.hierarchical_collectives);
  s.choice("cp_comm", p.cp_comm, kCpComms);
  p.hierarchical_cp_sizes = s.reader().integers("hierarchical_cp_sizes", 1, kMaxRanks);
  if (!p.hierarchical_cp_sizes.empty()) {
    s.echo().set("hierarchical_cp_sizes", integers(p.hierarchical_cp_sizes));
  }
  s.choice("cp_layout", p.cp_split, kCpSplits);
  p.sequence_parallel = p.sizes.tp > 1;
  s.boolean("sequence_parallel", p.sequence_parallel);
  const std::string order = s.reader().string("rank_order", "tp-cp-ep-dp-pp");
  if (!topology::parse_rank_order(order, p.rank_order)) {
    s.reader().fault("rank_order",
                     "must be an order of tp, cp, ep, dp and pp such as \"tp-cp-ep-dp-pp\", "
                     "found \"" +
                         order + "\"");
  }
  s.echo().set("rank_order", Node::string(order));
  return s.finish();
}

/// "recompute_modules": ["core_attn", ...]
void read_modules(Section& s, graph::RecomputeModules& modules) {
  if (const Node* list = s.reader().raw("recompute_modules"); list != nullptr) {
    modules = {};
    modules.core_attn = false;
    std::string known;
    for (const ModuleWord& m : kModules) {
      known += (known.empty() ? "\"" : ", \"") + std::string(m.word) + "\"";
    }
    const std::string expected = "\"recompute_modules\" must be an array of " + known + ", found ";
    if (!list->is_array()) {
      s.reader().fault("recompute_modules", expected + config::to_text(*list));
      return;
    }
    for (std::size_t i = 0; i < list->as_array().size(); ++i) {
      const Node& entry = list->as_array()[i];
      bool found = false;
      for (const ModuleWord& m : kModules) {
        if (!entry.is_string() || entry.as_string() != m.word) continue;
        modules.*m.member = true;
        found = true;
      }
      if (!found) {
        s.reader().faults().add(entry,
                                s.reader().pointer() + "/recompute_modules/" + std::to_string(i),
                                expected + config::to_text(entry));
      }
    }
  }
  Node::Array echo;
  for (const ModuleWord& m : kModules) {
    if (modules.*m.member) echo.push_back(Node::string(std::string(m.word)));
  }
  s.echo().set("recompute_modules", Node::array(std::move(echo)));
}

struct OverlapWord {
  std::string_view word;
  bool graph::Overlap::*member;
};
constexpr OverlapWord kOverlaps[] = {
    {"tp", &graph::Overlap::tp},
    {"cp", &graph::Overlap::cp},
    {"grad_reduce", &graph::Overlap::grad_reduce},
    {"param_gather", &graph::Overlap::param_gather},
    {"shared_expert", &graph::Overlap::shared_expert},
};

/// "overlap": {"tp": true}: what the job hides, where it differs from its stack. One a word; the
/// stack's own are filled in later.
using OverlapText = std::array<std::optional<bool>, std::size(kOverlaps)>;

OverlapText read_overlap(Section& s) {
  Reader reader = s.reader().object("overlap");
  OverlapText given;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const bool value = reader.boolean(kOverlaps[i].word, false);
    if (reader.has(kOverlaps[i].word)) given[i] = value;
  }
  reader.finish();
  return given;
}

/// "offload": {"activations": true or a share, "indices": true}
void read_offload(Section& s, graph::Offload& offload) {
  Reader reader = s.reader().object("offload");
  const Node* const activations = reader.raw("activations");
  if (activations != nullptr && activations->is_boolean()) {
    offload.activations = activations->as_boolean() ? 1.0 : 0.0;
  } else if (activations != nullptr && !activations->is_number()) {
    reader.fault("activations",
                 "\"activations\" must be true, false or a share from 0 to 1, found " +
                     config::to_text(*activations));
  } else {
    offload.activations = reader.number("activations", 0.0, 0.0, 1.0);
  }
  offload.indices = reader.boolean("indices", false);
  reader.finish();
  Node echo = Node::object();
  echo.set("activations", Node::number(offload.activations));
  echo.set("indices", Node::boolean(offload.indices));
  s.echo().set("offload", std::move(echo));
}

Node read_training(Reader& root, graph::Training& t, OverlapText& overlap, std::string& stack) {
  Section s(root, "training");
  stack = s.reader().string("stack", kDefaultStack);
  s.echo().set("stack", Node::string(stack));
  overlap = read_overlap(s);
  s.choice("precision", t.precision, kPrecisions);
  t.recompute = graph::Recompute::none;
  s.choice("recompute", t.recompute, kRecomputes);
  s.choice("recompute_method", t.recompute_method, kMethods);
  s.integer("recompute_num_layers", t.recompute_num_layers, 1, kMaxLayers);
  read_modules(s, t.recompute_modules);
  {
    Reader indexer = s.reader().object("indexer");
    t.indexer_loss = indexer.choice("loss", graph::IndexerLoss::sparse, kLosses);
    indexer.finish();
    Node echo = Node::object();
    echo.set("loss", word(t.indexer_loss, kLosses));
    s.echo().set("indexer", std::move(echo));
  }
  s.number("expert_imbalance", t.expert_imbalance, 1.0, real(kMaxRanks));
  s.integer("mtp_num_layers", t.mtp_num_layers, 0, 64);
  t.mtp_stage = s.reader().integer("mtp_stage", t.mtp_stage, 0, kMaxStages);
  s.echo().set("mtp_stage", Node::integer(t.mtp_stage));
  s.choice("gradient_dtype", t.gradient, kGradients);
  s.integer("loss_chunk_tokens", t.loss_chunk_tokens, 0, kMaxTokens);
  read_offload(s, t.offload);
  return s.finish();
}

/// A kernel that a document defines, as the settings name it.
struct ChosenKernel {
  std::string family;
  std::string name;
};
using hardware::NamedKernels;

/// One of the bundled kernels of a family, or another that a document defines for some GPU. Where
/// it is not known what documents define, only misspelled bundled names are refused.
template <class E>
void read_implementation(Section& s, std::string_view family, E& value,
                         std::vector<Choice<E>> choices, NamedKernels* known,
                         std::vector<ChosenKernel>& chosen) {
  const Node* const node = s.reader().raw(family);
  const bool bundled = node == nullptr || !node->is_string() ||
                       std::any_of(choices.begin(), choices.end(), [&](const Choice<E>& choice) {
                         return choice.word == node->as_string();
                       });
  if (bundled) {
    s.choice(family, value, choices);
    return;
  }
  if (known != nullptr) {
    for (const hardware::NamedKernel& kernel : known->get()) {
      if (kernel.family == family) choices.push_back({kernel.name, value});
    }
  }
  std::vector<std::string> words;
  for (const Choice<E>& choice : choices) words.emplace_back(choice.word);
  if (known != nullptr || !config::nearest(node->as_string(), words).empty()) {
    s.reader().choice(family, value, choices);
  }
  chosen.push_back({std::string(family), node->as_string()});
  s.echo().set(family, *node);
}

Node read_kernels(Reader& root, graph::Kernels& k, NamedKernels* known,
                  std::vector<ChosenKernel>& chosen) {
  Section s(root, "kernels");
  read_implementation(s, "selection", k.selection, kSelections, known, chosen);
  read_implementation(s, "topk", k.topk, kTopks, known, chosen);
  s.bytes("score_chunk_bytes", k.score_chunk_bytes);
  s.integer("score_chunk_rows", k.score_chunk_rows, 0, kMaxTokens);
  s.boolean("score_clean", k.score_clean);
  s.choice("key_crop", k.key_crop, kCrops);
  s.choice("selection_precision", k.selection_precision, kPrecisions);
  s.integer("score_head_multiple", k.score_head_multiple, 1, 1024);
  s.integer("loss_head_multiple", k.loss_head_multiple, 1, 1024);
  read_implementation(s, "sparse_attention", k.sparse_attention, kBackends, known, chosen);
  s.choice("indexer_tp", k.indexer_tp, kIndexerTps);
  s.choice("dispatcher", k.dispatcher, kDispatchers);
  s.boolean("selection_replay", k.selection_replay);
  return s.finish();
}

/// "scale": {"kernels.topk": 0.5}: what-if factors on times.
Node read_scale(Reader& root, std::vector<graph::Scale>& scale) {
  constexpr double kLeast = 1e-6;
  constexpr double kMost = 1e6;
  Reader reader = root.object("scale");
  Node echo = Node::object();
  if (!reader.node().is_object()) return echo;
  for (const auto& [key, value] : reader.node().as_object()) {
    if (graph::find_scale_name(key) == nullptr) {
      reader.fault(key, graph::unknown_scale_name(key));
      continue;
    }
    const double factor = reader.number(key, 1.0, kLeast, kMost);
    scale.push_back({key, factor});
    echo.set(key, Node::number(factor));
  }
  return echo;
}

/// Faults of the plan at the places of the settings document.
void report(const std::vector<graph::PlanFault>& plan_faults, const Node& settings,
            Faults& faults) {
  for (const graph::PlanFault& fault : plan_faults) {
    const Node* at = config::find_path(settings, fault.setting);
    if (at == nullptr)
      at = config::find_path(settings, fault.setting.substr(0, fault.setting.find('.')));
    std::string pointer = "/" + fault.setting;
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    faults.add(at != nullptr ? *at : settings, pointer, fault.message);
  }
}

/// A length beyond what the model was trained for.
void warn_positions(const Plan& plan, std::vector<Warning>& warnings) {
  const std::int64_t most = plan.model.max_positions;
  if (most <= 0 || plan.workload.seq_len <= most) return;
  warnings.push_back({"positions",
                      "seq_len " + std::to_string(plan.workload.seq_len) +
                          " is beyond the model's max_position_embeddings " + std::to_string(most),
                      ""});
}

/// A cluster written as GPU:NODESxGPUS whose nodes cut the NVLink domain of a rack-scale GPU, so
/// that a group which would fit the domain goes over NICs.
void warn_nvlink_domain(Job& job) {
  constexpr double kBoard = 8.0;  // GPUs of the largest board; a larger domain spans trays
  const std::optional<config::Sourced>& domain = job.gpu.nvlink_domain;
  const bool generic = job.cluster.name.find(':') != std::string::npos;
  const std::int64_t per_node = job.cluster.gpus_per_node;
  if (!generic || !domain || domain->value <= kBoard || real(per_node) >= domain->value) return;
  const graph::Parallelism& p = job.plan.parallelism;
  const topology::Groups groups = topology::groups_of_rank_zero(p.sizes, p.rank_order);
  std::string cut;
  const auto look = [&](std::string_view name, const std::vector<std::int64_t>& ranks) {
    const topology::GroupShape shape = topology::shape_of(ranks, per_node);
    if (shape.nodes == 1 || real(shape.size) > domain->value) return;
    cut += (cut.empty() ? "" : ", ") + std::string(name) + " " + std::to_string(shape.size);
  };
  look("tp", groups.tp);
  look("cp", groups.cp);
  look("ep", groups.ep);
  if (cut.empty()) return;
  const std::string all = std::to_string(std::llround(domain->value));
  job.warnings.push_back(
      {"nvlink-domain",
       "the cluster " + job.cluster.name + " puts " + cut + " on NICs, across nodes of " +
           std::to_string(per_node) + " GPUs, but NVLink joins " + all + " of " + job.gpu.name +
           ": write nodes of up to " + all + " GPUs, as GPU:NODESxGPUS with the same product",
       domain->source});
}

bool has_experts(const Plan& plan) { return plan.model.moe.num_experts > 1; }

void note_assumptions(Job& job) {
  for (const graph::Scale& scale : job.plan.scale) {
    job.assumptions.push_back("what if: " + scale.name + " takes " +
                              config::to_text(Node::number(scale.factor)) + " of its time");
  }
  std::string names;
  for (std::size_t i = 0; i < job.gpu.fields.size(); ++i) {
    if (job.gpu.fields[i].kind != config::SourceKind::assumed) continue;
    names += (names.empty() ? "" : ", ") + std::string(hardware::gpu_fields()[i].key);
  }
  if (!names.empty()) {
    job.assumptions.push_back("assumed for " + job.gpu.name + ", not measured: " + names);
  }
  if (has_experts(job.plan) && job.plan.training.expert_imbalance == 1.0) {
    job.assumptions.push_back("experts are balanced: every expert gets the same number of tokens");
  }
  if (job.plan.training.precision == ops::Precision::fp8) {
    job.assumptions.push_back(
        "inputs of linear layers are saved in fp8; fp8 copies of weights are not counted in "
        "memory");
  }
}

/// What a settings document says by itself.
struct Settings {
  std::string name;
  std::string model;
  std::string cluster;
  std::string stack;
  Plan plan;
  LayoutText layout;
  OverlapText overlap;
  std::vector<ChosenKernel> kernels;  // that documents define
  Node echo = Node::object();         // every setting, defaults filled in
};

/// `known`: kernels that documents define; null where there is no way to tell.
Settings read_settings(Reader& root, NamedKernels* known) {
  Settings s;
  const std::string schema = root.required_string("schema");
  if (!schema.empty() && schema != "hysim.scenario/1") {
    root.fault("schema", "\"schema\" must be \"hysim.scenario/1\", found " + in_quotes(schema));
  }
  s.name = root.required_string("name");
  s.model = root.required_string("model");
  s.cluster = root.required_string("cluster");
  s.echo.set("schema", Node::string("hysim.scenario/1"));
  s.echo.set("name", Node::string(s.name));
  s.echo.set("model", Node::string(s.model));
  s.echo.set("cluster", Node::string(s.cluster));
  s.echo.set("workload", read_workload(root, s.plan.workload));
  s.echo.set("parallelism", read_parallelism(root, s.plan.parallelism, s.layout));
  s.echo.set("training", read_training(root, s.plan.training, s.overlap, s.stack));
  s.echo.set("kernels", read_kernels(root, s.plan.kernels, known, s.kernels));
  Node scale = read_scale(root, s.plan.scale);
  if (!scale.as_object().empty()) s.echo.set("scale", std::move(scale));
  for (const std::string_view key : kFrameKeys) {
    if (root.raw(key) == nullptr) continue;
    root.fault(key, in_quotes(key) + " is no setting: no variant and no --set can change it");
  }
  root.finish();
  return s;
}

/// Loads the documents that settings name. A name that nothing has is a fault where it is written.
class Loader {
 public:
  Loader(Profiles& profiles, Reader& root, Faults& faults)
      : profiles_(profiles), root_(root), faults_(faults) {}

  void load(const Settings& settings, Job& job) {
    named(root_, "model", "models", settings.model,
          [&] { job.plan.model = profiles_.model(settings.model); });
    const bool has_cluster = named(root_, "cluster", kClusters, settings.cluster,
                                   [&] { job.cluster = profiles_.cluster(settings.cluster); });
    if (has_cluster) load_gpu(settings.cluster, job);
    Reader training = root_.object("training");
    named(training, "stack", "hw_profiles/stacks", settings.stack,
          [&] { job.stack = profiles_.stack(settings.stack); });
  }

 private:
  static constexpr std::string_view kClusters = "hw_profiles/clusters";
  static constexpr std::string_view kGpus = "hw_profiles/gpus";

  bool exists(std::string_view folder, std::string_view name) const {
    return profiles_.resources().read(config::named_path(folder, name)).has_value();
  }

  /// False when `load` failed: a fault of the document named, or of `key`, which names none.
  template <class Load>
  bool named(Reader& reader, std::string_view key, std::string_view folder, const std::string& name,
             const Load& load) {
    try {
      load();
      return true;
    } catch (const InputError& error) {
      const bool inside = exists(folder, name);
      for (const Diagnostic& fault : error.diagnostics()) {
        if (inside) {
          faults_.add(fault);
        } else {
          reader.fault(key, fault.message);
        }
      }
      return false;
    }
  }

  /// The cluster's GPU: named by a cluster document, or in the scenario as GPU:NODESxGPUS.
  void load_gpu(const std::string& cluster, Job& job) {
    const std::string& gpu = job.cluster.gpu;
    const auto load = [&] { job.gpu = profiles_.gpu(gpu); };
    try {
      load();
      return;
    } catch (const InputError&) {  // loaded again where its fault belongs
    }
    if (exists(kGpus, gpu) || !exists(kClusters, cluster)) {
      named(root_, "cluster", kGpus, gpu, load);
      return;
    }
    const config::NamedDocument text =
        config::load_named(profiles_.resources(), kClusters, "cluster", cluster, "");
    const Node document = config::parse(text.text, text.path);
    Reader reader(document, "", faults_);
    named(reader, "gpu", kGpus, gpu, load);
  }

  Profiles& profiles_;
  Reader& root_;
  Faults& faults_;
};

// How many legal layouts an illegal one is answered with.
constexpr std::size_t kNearLayouts = 3;

/// Whether other sizes could cure the fault.
bool is_of_layout(const graph::PlanFault& fault) {
  return fault.setting.starts_with("parallelism") || fault.setting.starts_with("workload.");
}

/// Adds to the last fault which legal layouts are nearest, unless no layout would cure them all.
void suggest_layouts(const Plan& plan, std::int64_t gpus, const LayoutText& given,
                     std::vector<graph::PlanFault>& plan_faults) {
  if (plan_faults.empty() || !std::all_of(plan_faults.begin(), plan_faults.end(), is_of_layout)) {
    return;
  }
  std::string texts;
  for (graph::NearLayout& layout : graph::near_layouts(plan, gpus, kNearLayouts, given.dp)) {
    layout.relaid = layout.relaid && given.given;  // else it follows by itself
    texts += (texts.empty() ? "; nearest legal layouts: " : " | ") + graph::to_text(layout);
  }
  plan_faults.back().message += texts;
}

/// Job::plan completed by the documents named; checked when it is to be `judged`.
void complete_plan(const Settings& settings, Job& job, const Node& document, bool judged,
                   Faults& faults) {
  Plan& plan = job.plan;
  plan.overlap = job.stack.overlap;
  for (std::size_t i = 0; i < settings.overlap.size(); ++i) {
    bool& hidden = plan.overlap.*kOverlaps[i].member;
    hidden = settings.overlap[i].value_or(hidden);
  }
  topology::GroupSizes& sizes = plan.parallelism.sizes;
  if (graph::falls_back_unfused(plan)) plan.kernels.selection = ops::Selection::naive;
  const std::int64_t gpus = job.cluster.gpus();
  const std::int64_t fixed = sizes.tp * sizes.cp * sizes.pp;
  sizes.dp = std::max<std::int64_t>(1, gpus / fixed);
  plan.parallelism.layers_per_chunk = settings.layout.given
                                          ? settings.layout.layers
                                          : graph::default_layout(plan.model, plan.chunks());
  if (!judged) return;
  std::vector<graph::PlanFault> plan_faults = graph::check(plan, gpus);
  if (settings.layout.dp > 0 && gpus % fixed == 0 && settings.layout.dp != sizes.dp) {
    plan_faults.push_back(
        {"parallelism.dp", "\"dp\" is derived: " + std::to_string(gpus) +
                               " GPUs over tp x cp x pp = " + std::to_string(fixed) + " make " +
                               std::to_string(sizes.dp) + ", found " +
                               std::to_string(settings.layout.dp)});
  }
  suggest_layouts(plan, gpus, settings.layout, plan_faults);
  report(plan_faults, document, faults);
}

template <class E>
E value_of(const std::vector<Choice<E>>& choices, const std::string& word) {
  const auto found = std::find_if(choices.begin(), choices.end(),
                                  [&](const Choice<E>& choice) { return choice.word == word; });
  return found->value;
}

/// Takes the constants of the kernels that documents define for this job's GPU.
void choose_kernels(const Settings& settings, NamedKernels& known, Job& job, Reader& root) {
  Reader kernels = root.object("kernels");
  for (const ChosenKernel& chosen : settings.kernels) {
    const hardware::NamedKernel* found = nullptr;
    std::string elsewhere;
    for (const hardware::NamedKernel& kernel : known.get()) {
      if (kernel.family != chosen.family || kernel.name != chosen.name) continue;
      if (kernel.gpu == job.gpu.name) found = &kernel;
      elsewhere += (elsewhere.empty() ? "" : ", ") + kernel.gpu;
    }
    if (found == nullptr) {
      kernels.fault(chosen.family, in_quotes(chosen.name) + " is defined for " + elsewhere +
                                       ", not for " + job.gpu.name);
      continue;
    }
    hardware::use(*found, job.gpu);
    graph::Kernels& used = job.plan.kernels;
    if (chosen.family == "selection") used.selection = value_of(kSelections, found->like);
    if (chosen.family == "topk") used.topk = value_of(kTopks, found->like);
    if (chosen.family == "sparse_attention") {
      used.sparse_attention = value_of(kBackends, found->like);
    }
  }
}

/// A precision the GPU has no pipe for.
void check_precisions(const Job& job, const Node& document, Faults& faults) {
  const hardware::Gpu gpu = hardware::resolve(job.gpu, config::Sampler());
  // A profile without an fp8 pipe repeats the bf16 peak there.
  if (gpu.fp8.value > gpu.bf16.value) return;
  const auto refuse = [&](ops::Precision precision, std::string setting) {
    if (precision != ops::Precision::fp8) return;
    report({{std::move(setting), job.gpu.name + " has no fp8 tensor pipe; use \"bf16\""}}, document,
           faults);
  };
  refuse(job.plan.training.precision, "training.precision");
  refuse(job.plan.kernels.selection_precision, "kernels.selection_precision");
}

/// Offloading needs the rate of copies to host memory.
void check_offload(const Job& job, const Node& document, Faults& faults) {
  if (!job.plan.training.offload.any() || job.cluster.host_bandwidth.value > 0.0) return;
  report({{"training.offload", "the cluster " + in_quotes(job.cluster.name) +
                                   " states no \"host_bandwidth\": how fast a GPU copies to host "
                                   "memory"}},
         document, faults);
}

/// Settings whose defaults depend on the documents named.
Node resolved(Node echo, const Plan& plan) {
  Node& parallelism = *echo.find("parallelism");
  parallelism.set("dp", Node::integer(plan.parallelism.sizes.dp));
  parallelism.set("pipeline_layout", integers(plan.parallelism.layers_per_chunk));
  Node overlap = Node::object();
  for (const OverlapWord& o : kOverlaps) {
    overlap.set(o.word, Node::boolean(plan.overlap.*o.member));
  }
  echo.find("training")->set("overlap", std::move(overlap));
  const std::int64_t stage = plan.training.mtp_stage;
  echo.find("training")
      ->set("mtp_stage", Node::integer(stage < 0 ? plan.parallelism.sizes.pp - 1 : stage));
  return echo;
}

/// Every setting as it is where a scenario does not give it.
Node defaults(const Job& job) {
  static const Node of_every_job = [] {
    const Node document = config::parse(
        R"({"schema": "hysim.scenario/1", "name": "", "model": "", "cluster": "",
            "workload": {"seq_len": 1, "global_batch_size": 1}})",
        "");
    Faults faults;
    Reader root(document, "", faults);
    return read_settings(root, nullptr).echo;
  }();
  Node echo = of_every_job;
  Node overlap = Node::object();
  for (const OverlapWord& o : kOverlaps) {
    overlap.set(o.word, Node::boolean(job.stack.overlap.*o.member));
  }
  Node& training = *echo.find("training");
  training.set("overlap", std::move(overlap));
  training.set("mtp_stage", Node::integer(job.plan.parallelism.sizes.pp - 1));
  return echo;
}

Job resolve_settings(Profiles& profiles, const Scenario& scenario, const std::string& variant,
                     const Node& document, bool judged) {
  Faults faults;
  Reader root(document, "", faults);
  NamedKernels known(profiles.resources());
  Settings settings = read_settings(root, &known);
  faults.throw_if_any();

  Job job;
  job.scenario = scenario.name;
  job.variant = variant;
  job.plan = settings.plan;
  Loader(profiles, root, faults).load(settings, job);
  faults.throw_if_any();
  choose_kernels(settings, known, job, root);
  complete_plan(settings, job, document, judged, faults);
  check_precisions(job, document, faults);
  check_offload(job, document, faults);
  faults.throw_if_any();

  const Plan& plan = job.plan;
  job.resolved = resolved(std::move(settings.echo), plan);
  job.assumptions = scenario.assumptions;
  note_assumptions(job);
  if (judged) {
    const Node* const shared = scenario.variants.size() > 1 ? &scenario.base : nullptr;
    warn_inert(document, defaults(job), shared, job);
  }
  for (graph::StackLimit& limit : graph::limits_met(job.stack, limit_facts(job))) {
    job.warnings.push_back(
        {std::move(limit.id), std::move(limit.message), std::move(limit.source)});
  }
  warn_positions(plan, job.warnings);
  if (judged) warn_nvlink_domain(job);
  return job;
}

}  // namespace

void check_settings(const Node& settings, hardware::NamedKernels* known, Faults& faults) {
  Reader root(settings, "", faults);
  read_settings(root, known);
}

Job resolve(const Resources& resources, const Scenario& scenario, const std::string& variant,
            const Node& settings, bool judged) {
  Profiles profiles(resources);
  return resolve(profiles, scenario, variant, settings, judged);
}

Job resolve(Profiles& profiles, const Scenario& scenario, const std::string& variant,
            const Node& settings, bool judged) {
  try {
    return resolve_settings(profiles, scenario, variant, settings, judged);
  } catch (const InputError& error) {
    throw InputError(placed(scenario, error.diagnostics()));
  }
}

}  // namespace hysim::predictor
