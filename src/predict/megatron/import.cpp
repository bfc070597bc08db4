// Megatron-LM arguments to a scenario: the table of arguments.h where one argument is one setting,
// and the cases where several make one. Settings keep the place of their argument, so that faults
// found later point into the script.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "config/named.h"
#include "config/reader.h"
#include "config/words.h"
#include "hysim/megatron.h"
#include "predict/megatron/arguments.h"
#include "predict/megatron/lookup.h"
#include "predict/megatron/model.h"
#include "predict/megatron/pattern.h"
#include "predict/scenario.h"
#include "topology/cluster.h"

namespace hysim {

namespace {

using config::Node;
using predictor::MegatronKind;
using predictor::MegatronLookup;
using predictor::MegatronMapping;

Node with_position(const Node& value, const config::Position& at) {
  if (value.is_string()) return Node::string(value.as_string(), at);
  if (value.is_integer()) return Node::integer(value.as_integer(), at);
  if (value.is_boolean()) return Node::boolean(value.as_boolean(), at);
  if (value.is_array()) return Node::array(value.as_array(), at);
  if (value.is_object()) return Node::object(value.as_object(), at);
  return value.is_number() ? Node::number(value.as_number(), at) : value;
}

/// JSON text, or a word that is none.
Node value_of(std::string_view text) {
  try {
    return config::parse(text, "");
  } catch (const InputError&) {
    return Node::string(std::string(text));
  }
}

/// Letters and digits only, small: names are compared across "GLM-5.1", "glm5.1".
std::string squeezed(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c >= 'A' && c <= 'Z') result += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) result += c;
  }
  return result;
}

class Importer {
 public:
  Importer(const Resources& resources, const MegatronRun& run, const ImportOptions& options)
      : resources_(resources), run_(run), options_(options), lookup_(run) {
    std::string file = "arguments";
    for (const MegatronArgument& argument : run.arguments) file = argument.file;
    for (const MegatronArgument& setting : run.settings) file = setting.file;
    file_ = std::make_shared<const std::string>(file);
    document_ = Node::object({}, {file_, 0, 0});
  }

  MegatronImport run() {
    document_.set("schema", Node::string("hysim.scenario/1"));
    document_.set("name", Node::string(options_.name.empty() ? "imported" : options_.name));
    document_.set("note", Node::string("imported from " + *file_));
    read_model();
    read_cluster();
    throw_faults();
    read_settings();
    read_layout();
    read_attention();
    read_training();
    for (const MegatronArgument& setting : run_.settings) put_comment(setting);
    throw_faults();
    check();
    document_.set("assumptions", assumptions());
    result_.report = lookup_.report();
    result_.model = document_.find("model")->as_string();
    result_.scenario = config::to_text(document_, 2) + "\n";
    return std::move(result_);
  }

 private:
  void throw_faults() {
    if (!lookup_.faults().empty()) throw InputError(lookup_.faults());
  }

  /// Sets a setting at the place of an argument.
  void put(std::string_view path, const Node& value, std::string_view argument) {
    const Diagnostic place = lookup_.at(argument, "");
    config::set_path(document_, path,
                     with_position(value, {std::make_shared<const std::string>(place.file),
                                           place.line, place.line > 0 ? 1 : 0}));
    lookup_.note(argument, std::string(path) + " = " + config::to_text(value));
  }

  /// "# hysim: PATH=VALUE"
  const MegatronArgument* comment(std::string_view path) const {
    const MegatronArgument* last = nullptr;
    for (const MegatronArgument& setting : run_.settings) {
      if (setting.name == path) last = &setting;
    }
    return last;
  }
  void put_comment(const MegatronArgument& setting) {
    const config::Position at = {std::make_shared<const std::string>(setting.file), setting.line,
                                 setting.line > 0 ? 1 : 0};
    try {
      config::set_path(document_, setting.name, with_position(value_of(setting.values[0]), at));
    } catch (const std::invalid_argument& error) {
      lookup_.faults().push_back({setting.file, setting.line, 0, "", error.what()});
    }
  }

  // ------------------------------------------------------------ model

  std::vector<std::string> models_like(const model::Transformer& wanted) {
    std::vector<std::string> names;
    for (const std::string& name : config::names_in(resources_, "models")) {
      try {
        const model::Transformer known = model::load_transformer(resources_, name);
        if (predictor::same_architecture(wanted, known, lookup_.given("vocab-size"))) {
          names.push_back(name);
        }
      } catch (const InputError&) {
        continue;  // a model that cannot be predicted is no candidate
      }
    }
    return names;
  }

  /// Of several with one architecture: the one that the tokenizer's name contains, else the first.
  std::string chosen(const std::vector<std::string>& names) {
    if (names.size() == 1) return names.front();
    std::string best;
    for (const MegatronArgument& argument : run_.arguments) {
      if (argument.name != "tokenizer-model" || argument.values.empty()) continue;
      const std::string tokenizer = squeezed(argument.values[0]);
      for (const std::string& name : names) {
        if (tokenizer.find(squeezed(name)) == std::string::npos) continue;
        if (name.size() > best.size()) best = name;
      }
    }
    std::string others;
    for (const std::string& name : names) others += (others.empty() ? "" : ", ") + name;
    if (best.empty()) best = names.front();
    result_.notes.push_back("the arguments describe " + others + " alike; " + best + " is taken");
    return best;
  }

  void read_model() {
    const MegatronArgument* const said = comment("model");
    const bool named = said != nullptr || !options_.model.empty();
    if (named) {
      const Node value = said != nullptr ? value_of(said->values[0]) : Node();
      document_.set("model", Node::string(value.is_string() ? value.as_string() : options_.model));
    }
    const std::size_t before = lookup_.faults().size();
    constexpr std::int64_t kAnyVocabulary = 32000;
    const Node config = predictor::huggingface_config(lookup_, kAnyVocabulary);
    const bool read = lookup_.faults().size() == before;
    if (named) lookup_.faults().resize(before);
    if (!read) return;
    const std::string text = config::to_text(config, 2) + "\n";
    const model::Transformer wanted = model::parse_transformer(text, *file_, "described");
    if (named) {
      const std::string& name = document_.find("model")->as_string();
      if (!predictor::same_architecture(wanted, model::load_transformer(resources_, name), false)) {
        lookup_.fault("num-layers", "the arguments describe another model than " + name);
      }
      return;
    }
    if (const auto names = models_like(wanted); !names.empty()) {
      const std::string name = chosen(names);
      document_.set("model", Node::string(name));
      result_.notes.push_back("the architecture is that of the bundled " + name);
      return;
    }
    if (!lookup_.given("vocab-size")) {
      lookup_.fault("num-layers",
                    "no bundled model is this one, and a model of your own needs --vocab-size; the "
                    "tokenizer's is not in the script");
    } else if (options_.model_path.empty()) {
      lookup_.fault("num-layers",
                    "no bundled model is this one; with -o FILE its config.json is written beside "
                    "the scenario, or name a model with --model");
    } else {
      result_.model_config = text;
      document_.set("model", Node::string(options_.model_path));
      result_.notes.push_back("no bundled model is this one: its config is " + options_.model_path);
    }
  }

  // ------------------------------------------------------------ cluster

  void read_cluster() {
    const std::int64_t nodes = lookup_.integer("nnodes", 0);
    const std::int64_t each = lookup_.integer("nproc-per-node", 0);
    lookup_.note("nnodes", "cluster");
    lookup_.note("nproc-per-node", "cluster");
    const std::string shape = std::to_string(nodes) + "x" + std::to_string(each);
    const bool known = nodes > 0 && each > 0;
    std::string cluster = options_.cluster;
    if (cluster.empty() && !options_.gpu.empty()) {
      if (!known) {
        lookup_.fault("nnodes",
                      "the number of nodes and GPUs is not here (--nnodes, --nproc-per-node): give "
                      "--cluster " +
                          options_.gpu + ":NODESxGPUS");
        return;
      }
      cluster = options_.gpu + ":" + shape;
    }
    if (const auto* const said = comment("cluster"); cluster.empty() && said != nullptr) {
      const Node value = value_of(said->values[0]);
      if (value.is_string()) cluster = value.as_string();
    }
    if (cluster.empty()) {
      lookup_.fault("nnodes",
                    "a script does not say which GPUs it runs on: give " +
                        (known ? "--gpu NAME for its " + shape + ", or " : std::string()) +
                        "--cluster NAME or GPU:NODESxGPUS");
      return;
    }
    const std::int64_t gpus = topology::load_cluster(resources_, cluster).gpus();
    if (known && nodes * each != gpus) {
      lookup_.fault("nnodes", "the script starts " + shape + " = " + std::to_string(nodes * each) +
                                  " processes, but " + cluster + " has " + std::to_string(gpus) +
                                  " GPUs");
    }
    gpus_ = gpus;
    document_.set("cluster", Node::string(cluster));
  }

  // ------------------------------------------------------------ settings

  bool has_experts() const { return lookup_.given("num-experts"); }
  bool selects() const { return lookup_.given("experimental-attention-variant"); }

  void read_mapping(const MegatronMapping& mapping) {
    const std::string argument(mapping.argument);
    if (!lookup_.given(argument)) {
      lookup_.flag(argument);  // a switch that is turned off
      if (!mapping.absent.empty()) {
        config::set_path(document_, mapping.path, value_of(mapping.absent));
      }
      return;
    }
    switch (mapping.kind) {
      case MegatronKind::integer: {
        const std::int64_t low = mapping.absent == "0" ? 0 : 1;
        put(mapping.path, Node::integer(lookup_.integer(argument, 1, low)), argument);
        break;
      }
      case MegatronKind::flag:
        if (lookup_.flag(argument)) {
          put(mapping.path, value_of(mapping.words.front().setting), argument);
        }
        break;
      case MegatronKind::word: {
        const std::string word = lookup_.text(argument, "");
        std::string known;
        for (const auto& [name, setting] : mapping.words) {
          known += (known.empty() ? "" : ", ") + std::string(name);
          if (name == word) put(mapping.path, value_of(setting), argument);
        }
        if (config::find_path(document_, mapping.path) == nullptr) {
          lookup_.fault(argument, "--" + argument + " must be one of " + known + ", found " +
                                      config::in_quotes(word));
        }
        break;
      }
    }
  }

  void read_settings() {
    for (const std::string_view name : {"seq-length", "micro-batch-size"}) {
      if (lookup_.given(name)) continue;
      lookup_.fault(name, "--" + std::string(name) + " is needed");
    }
    for (const MegatronMapping& mapping : predictor::megatron_mappings()) read_mapping(mapping);
    throw_faults();

    tp_ = number("parallelism.tp");
    pp_ = number("parallelism.pp");
    const std::int64_t fixed = tp_ * pp_ * number("parallelism.cp");
    if (gpus_ % fixed != 0) {
      lookup_.fault("tensor-model-parallel-size", "tp x pp x cp = " + std::to_string(fixed) +
                                                      " does not divide the " +
                                                      std::to_string(gpus_) + " GPUs");
      return;
    }
    if (!lookup_.given("global-batch-size")) {
      config::set_path(document_, "workload.global_batch_size",
                       Node::integer(gpus_ / fixed * number("workload.micro_batch_size")));
      result_.notes.emplace_back(
          "no --global-batch-size: one micro-batch a data-parallel rank, as Megatron has it");
    }
    const bool sequence_parallel = lookup_.flag("sequence-parallel");
    config::set_path(document_, "parallelism.sequence_parallel",
                     Node::boolean(sequence_parallel && tp_ > 1));
    lookup_.note("sequence-parallel", tp_ > 1 ? "parallelism.sequence_parallel = true"
                                              : "off: Megatron needs tp > 1 for it");
    const std::int64_t etp =
        lookup_.integer("expert-tensor-parallel-size", has_experts() ? tp_ : 1);
    config::set_path(document_, "parallelism.etp", Node::integer(has_experts() ? etp : 1));
    lookup_.note("expert-tensor-parallel-size", "parallelism.etp = " + std::to_string(etp));
    read_zero();
  }

  std::int64_t number(std::string_view path) const {
    const Node* const value = config::find_path(document_, path);
    return value != nullptr && value->is_integer() ? std::max<std::int64_t>(1, value->as_integer())
                                                   : 1;
  }

  void read_zero() {
    std::int64_t zero = lookup_.flag("use-distributed-optimizer") ? 1 : 0;
    std::string argument = "use-distributed-optimizer";
    if (lookup_.flag("use-megatron-fsdp") || lookup_.flag("use-custom-fsdp")) {
      argument = lookup_.given("use-megatron-fsdp") ? "use-megatron-fsdp" : "use-custom-fsdp";
      const std::string strategy = lookup_.text("data-parallel-sharding-strategy", "no_shard");
      zero = strategy == "optim_grads_params" ? 3
             : strategy == "optim_grads"      ? 2
             : strategy == "optim"            ? 1
                                              : 0;
    } else if (lookup_.given("data-parallel-sharding-strategy")) {
      lookup_.not_modelled("data-parallel-sharding-strategy", "without --use-megatron-fsdp");
    }
    put("parallelism.zero", Node::integer(zero), argument);
  }

  // ------------------------------------------------------------ pipeline

  std::int64_t layers() {
    const std::int64_t given = lookup_.integer("num-layers", 0);
    if (given > 0) return given;
    // --model, or a comment, names the model alone.
    const Node* const name = document_.find("model");
    if (name == nullptr || !name->is_string()) return 0;
    return static_cast<std::int64_t>(
        model::load_transformer(resources_, name->as_string()).layers.size());
  }

  /// Megatron-LM asserts so (arguments.py at 000c4ac2).
  bool refuse_chunks_of_uneven_stages() {
    if (lookup_.given("num-virtual-stages-per-pipeline-rank")) return false;
    for (const char* uneven :
         {"decoder-first-pipeline-num-layers", "decoder-last-pipeline-num-layers"}) {
      if (!lookup_.given(uneven)) continue;
      lookup_.fault("num-layers-per-virtual-pipeline-stage",
                    "Megatron-LM refuses it with --" + std::string(uneven) +
                        ": use --num-virtual-stages-per-pipeline-rank");
      return true;
    }
    return false;
  }

  void read_layout() {
    const std::int64_t total = layers();
    if (lookup_.given("num-layers-per-virtual-pipeline-stage")) {
      if (refuse_chunks_of_uneven_stages()) return;
      const std::int64_t each = lookup_.integer("num-layers-per-virtual-pipeline-stage", 1);
      if (total % (pp_ * each) != 0) {
        lookup_.fault("num-layers-per-virtual-pipeline-stage",
                      std::to_string(total) + " layers do not divide into " + std::to_string(pp_) +
                          " stages of chunks of " + std::to_string(each));
        return;
      }
      put("parallelism.vpp", Node::integer(total / (pp_ * each)),
          "num-layers-per-virtual-pipeline-stage");
    }
    if (lookup_.given("pipeline-model-parallel-layout")) {
      read_layout_text(total);
      return;
    }
    const std::int64_t chunks = pp_ * number("parallelism.vpp");
    std::vector<std::int64_t> each(static_cast<std::size_t>(chunks), 0);
    const std::int64_t vpp = number("parallelism.vpp");
    const std::int64_t first = lookup_.integer("decoder-first-pipeline-num-layers", 0);
    const std::int64_t last = lookup_.integer("decoder-last-pipeline-num-layers", 0);
    if (pp_ == 1) return;
    const std::int64_t middle_stages = pp_ - (first > 0 ? 1 : 0) - (last > 0 ? 1 : 0);
    const std::int64_t middle = total - first - last;
    const bool divides =
        middle_stages > 0 ? middle >= 0 && middle % (middle_stages * vpp) == 0 : middle == 0;
    if (!divides || first % vpp != 0 || last % vpp != 0) {
      if (comment("parallelism.pipeline_layout") != nullptr || comment("parallelism") != nullptr) {
        return;
      }
      if (lookup_.given("account-for-embedding-in-pipeline-split") ||
          lookup_.given("account-for-loss-in-pipeline-split")) {
        result_.notes.emplace_back("stages have our default numbers of layers");
        return;
      }
      lookup_.fault(first + last > 0 ? "decoder-first-pipeline-num-layers" : "num-layers",
                    std::to_string(total) + " layers do not divide evenly into " +
                        std::to_string(pp_) + " stages" +
                        (vpp > 1 ? " of " + std::to_string(vpp) + " chunks" : "") +
                        "; Megatron needs --pipeline-model-parallel-layout here, or give --set "
                        "parallelism.pipeline_layout=[...]");
      return;
    }
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      const std::int64_t stage = chunk % pp_;
      const std::int64_t of_stage = stage == 0 && first > 0        ? first
                                    : stage == pp_ - 1 && last > 0 ? last
                                    : middle_stages > 0            ? middle / middle_stages
                                                                   : 0;
      each[static_cast<std::size_t>(chunk)] = of_stage / vpp;
    }
    put("parallelism.pipeline_layout", list_of(each), "pipeline-model-parallel-size");
    lookup_.note("pipeline-model-parallel-size", "parallelism.pp = " + std::to_string(pp_));
    lookup_.note("decoder-first-pipeline-num-layers", "parallelism.pipeline_layout");
    lookup_.note("decoder-last-pipeline-num-layers", "parallelism.pipeline_layout");
  }

  static Node list_of(const std::vector<std::int64_t>& values) {
    Node::Array list;
    for (const std::int64_t value : values) list.push_back(Node::integer(value));
    return Node::array(std::move(list));
  }

  void read_layout_text(std::int64_t total) {
    const std::string_view name = "pipeline-model-parallel-layout";
    const std::string written = lookup_.text(name, "");
    const auto layout = predictor::parse_pipeline_layout(written);
    if (!layout) {
      lookup_.fault(name, "must be chunks of E, t, m and L such as \"Et*3|(tt|)*29,m|L\", found " +
                              config::in_quotes(written));
      return;
    }
    const auto chunks = static_cast<std::int64_t>(layout->layers.size());
    std::int64_t sum = 0;
    for (const std::int64_t each : layout->layers) sum += each;
    if (chunks % pp_ != 0 || sum != total) {
      lookup_.fault(name, "has " + std::to_string(sum) + " layers in " + std::to_string(chunks) +
                              " chunks; the model has " + std::to_string(total) +
                              " and there are " + std::to_string(pp_) + " stages");
      return;
    }
    put("parallelism.vpp", Node::integer(chunks / pp_), name);
    put("parallelism.pipeline_layout", list_of(layout->layers), name);
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      if (layout->mtp[static_cast<std::size_t>(chunk)] == 0) continue;
      config::set_path(document_, "training.mtp_stage", Node::integer(chunk % pp_));
    }
  }

  // ------------------------------------------------------------ attention and experts

  void read_attention() {
    const std::string_view comm = "cp-comm-type";
    if (number("parallelism.cp") > 1) {
      if (!lookup_.given(comm) && selects()) {
        config::set_path(document_, "parallelism.cp_comm", Node::string("all_gather"));
        result_.notes.emplace_back("DSA gathers keys: cp_comm is all_gather");
      } else {
        const std::string word = lookup_.text(comm, "p2p");
        put("parallelism.cp_comm", Node::string(word == "allgather" ? "all_gather" : word), comm);
      }
    } else {
      lookup_.text(comm, "");
      lookup_.note(comm, "without effect: cp is 1");
    }
    if (has_experts()) read_dispatcher();
    if (selects()) read_selection();
  }

  void read_dispatcher() {
    const std::string_view name = "moe-token-dispatcher-type";
    const std::string type = lookup_.text(name, "allgather");
    const bool deepep = lookup_.flag("moe-enable-deepep");
    const std::string backend = lookup_.text("moe-flex-dispatcher-backend", "deepep");
    lookup_.note("moe-enable-deepep", "kernels.dispatcher");
    lookup_.note("moe-flex-dispatcher-backend", "kernels.dispatcher");
    if (type == "flex") {
      put("kernels.dispatcher", Node::string("deepep"), name);
      if (backend != "deepep" && !deepep) {
        lookup_.not_modelled("moe-flex-dispatcher-backend", backend + " is priced as DeepEP");
      }
      return;
    }
    config::set_path(document_, "kernels.dispatcher", Node::string("alltoall"));
    if (type == "alltoall") {
      lookup_.note(name, "kernels.dispatcher = \"alltoall\"");
    } else {
      lookup_.not_modelled(name, "priced as alltoall");
      if (!lookup_.given(name)) {
        result_.notes.emplace_back(
            "no --moe-token-dispatcher-type: Megatron's default, allgather, is priced as alltoall");
      }
    }
  }

  void read_selection() {
    const std::string_view name = "dsa-kernel-backend";
    const std::string wanted = lookup_.text(name, "none");
    bool found = false;
    std::string known;
    for (const auto& backend : predictor::megatron_backends()) {
      known += (known.empty() ? "" : ", ") + std::string(backend.name);
      if (backend.name != wanted) continue;
      found = true;
      for (const auto& [path, value] : backend.settings) {
        config::set_path(document_, path, value_of(value));
      }
    }
    lookup_.note(name, "kernels");
    if (!found) {
      lookup_.fault(name, "--dsa-kernel-backend must be one of " + known + ", found " +
                              config::in_quotes(wanted));
    }
    const double coefficient = lookup_.number("dsa-indexer-loss-coeff", 0.0);
    const bool sparse = lookup_.flag("dsa-indexer-use-sparse-loss");
    const std::string loss = coefficient <= 0.0 ? "off" : sparse ? "sparse" : "dense";
    config::set_path(document_, "training.indexer.loss", Node::string(loss));
    lookup_.note("dsa-indexer-loss-coeff", "training.indexer.loss = " + loss);
    lookup_.note("dsa-indexer-use-sparse-loss", "training.indexer.loss = " + loss);
    const bool packed = lookup_.flag("sft") || lookup_.given("sequence-packing-scheduler") ||
                        lookup_.flag("sequence-packing");
    config::set_path(document_, "workload.packing", Node::string(packed ? "thd" : "bshd"));
    for (const std::string_view argument :
         {"sft", "sequence-packing-scheduler", "sequence-packing"}) {
      lookup_.note(argument, "workload.packing = \"thd\"");
    }
  }

  // ------------------------------------------------------------ training

  void read_training() {
    const bool fp16 = lookup_.flag("fp16");
    const bool bf16 = lookup_.flag("bf16");
    lookup_.note("bf16", "training.precision");
    if (fp16) {
      lookup_.note("fp16", "priced as bf16");
      if (!lookup_.given("accumulate-allreduce-grads-in-fp32")) {
        config::set_path(document_, "training.gradient_dtype", Node::string("bf16"));
      }
    } else if (!bf16 && !lookup_.given("fp8-format")) {
      result_.notes.emplace_back(
          "neither --bf16 nor --fp16: Megatron computes in fp32, which is priced as bf16");
    }
    if (lookup_.flag("recompute-activations")) {
      put("training.recompute", Node::string("selective"), "recompute-activations");
    }
    std::vector<std::string> modules = lookup_.list("recompute-modules");
    if (lookup_.flag("moe-layer-recompute")) modules.emplace_back("moe");
    if (modules.empty()) return;
    Node::Array list;
    for (const std::string& module : modules) {
      if (module == "shared_experts") {
        lookup_.not_modelled("recompute-modules", "shared_experts alone are not recomputed");
      } else {
        list.push_back(Node::string(module));
      }
    }
    const std::string_view argument =
        lookup_.given("recompute-modules") ? "recompute-modules" : "moe-layer-recompute";
    const Node* const recompute = config::find_path(document_, "training.recompute");
    if (argument == "moe-layer-recompute" &&
        (recompute == nullptr || recompute->as_string() == "none")) {
      config::set_path(document_, "training.recompute", Node::string("selective"));
    }
    const bool partly = list.size() < modules.size();
    put("training.recompute_modules", Node::array(std::move(list)), argument);
    if (partly) {
      lookup_.not_modelled("recompute-modules", "shared_experts alone are not recomputed");
    }
  }

  // ------------------------------------------------------------ end

  /// The scenario must be one that can be predicted; its faults are told at the arguments.
  void check() {
    predictor::Scenario scenario;
    scenario.name = document_.find("name")->as_string();
    scenario.document = document_;
    scenario.base = document_;
    for (const std::string_view key : predictor::kFrameKeys) scenario.base.erase(key);
    scenario.variants = {{"default", {}}};
    Resources resources = resources_;
    if (!result_.model_config.empty()) {
      resources =
          overlay(memory_resources({{options_.model_path, result_.model_config}}), resources_);
    }
    try {
      predictor::resolve(resources, scenario, "default", scenario.base);
    } catch (const InputError& error) {
      // A script has lines and no JSON pointers.
      std::vector<Diagnostic> faults = error.diagnostics();
      for (Diagnostic& fault : faults) {
        if (fault.file != *file_ || fault.line == 0) continue;
        fault.pointer.clear();
        fault.column = 0;
      }
      throw InputError(std::move(faults));
    }
  }

  Node assumptions() {
    Node::Array texts;
    for (const MegatronReportLine& line : lookup_.report()) {
      if (line.use != MegatronUse::not_modelled && line.use != MegatronUse::unknown) continue;
      const bool unknown = line.use == MegatronUse::unknown;
      texts.push_back(Node::string((unknown ? "unknown Megatron argument, not taken into account: "
                                            : "Megatron argument not modelled: ") +
                                   line.argument.text() +
                                   (line.note.empty() || unknown ? "" : ": " + line.note)));
    }
    return Node::array(std::move(texts));
  }

  const Resources& resources_;
  const MegatronRun& run_;
  const ImportOptions& options_;
  MegatronLookup lookup_;
  MegatronImport result_;
  std::shared_ptr<const std::string> file_;
  Node document_;
  std::int64_t gpus_ = 1, tp_ = 1, pp_ = 1;
};

}  // namespace

MegatronImport import_megatron(const Resources& resources, const MegatronRun& run,
                               const ImportOptions& options) {
  return Importer(resources, run, options).run();
}

}  // namespace hysim
