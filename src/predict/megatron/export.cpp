// A scenario as Megatron-LM arguments. What the arguments do not say is found by importing them
// again: settings that come back different stand in the text as "# hysim: PATH=VALUE" comments.
#include <algorithm>
#include <utility>

#include "config/words.h"
#include "hysim/megatron.h"
#include "predict/megatron/arguments.h"
#include "predict/megatron/model.h"
#include "predict/megatron/pattern.h"
#include "predict/scenario.h"

namespace hysim {

namespace {

using config::Node;
using predictor::Job;
using predictor::MegatronKind;
using predictor::MegatronMapping;

MegatronArgument argument(std::string_view name) { return {std::string(name), {}, {}, "", 0}; }
MegatronArgument argument(std::string_view name, std::string value) {
  return {std::string(name), {std::move(value)}, {}, "", 0};
}

class Exporter {
 public:
  explicit Exporter(const Job& job) : job_(job), settings_(job.resolved) {}

  std::vector<MegatronArgument> launcher() const {
    return {argument("nproc-per-node", std::to_string(job_.cluster.gpus_per_node)),
            argument("nnodes", std::to_string(job_.cluster.nodes))};
  }

  std::vector<MegatronArgument> arguments() {
    arguments_ = predictor::megatron_model(job_.plan.model).arguments;
    for (const MegatronMapping& mapping : predictor::megatron_mappings()) write(mapping);
    write_parallelism();
    write_recompute();
    if (job_.plan.model.moe.num_experts > 0) write_dispatcher();
    if (job_.plan.model.indexer.top_k > 0) write_selection();
    arguments_.push_back(argument("bf16"));  // beside fp8 as well
    return std::move(arguments_);
  }

 private:
  const Node* find(std::string_view path) const { return config::find_path(settings_, path); }
  bool is(std::string_view path, std::string_view json) const {
    const Node* const value = find(path);
    return value != nullptr && *value == config::parse(json, "");
  }
  std::string text(std::string_view path) const {
    const Node* const value = find(path);
    if (value == nullptr) return "";
    return value->is_string() ? value->as_string() : config::to_text(*value);
  }

  void write(const MegatronMapping& mapping) {
    if (!mapping.absent.empty() && is(mapping.path, mapping.absent)) return;
    if (mapping.argument.starts_with("recompute-")) return;
    if (mapping.kind == MegatronKind::integer) {
      arguments_.push_back(argument(mapping.argument, text(mapping.path)));
      return;
    }
    for (const auto& [word, setting] : mapping.words) {
      if (!is(mapping.path, setting)) continue;
      arguments_.push_back(mapping.kind == MegatronKind::flag
                               ? argument(mapping.argument)
                               : argument(mapping.argument, std::string(word)));
      return;
    }
  }

  void write_parallelism() {
    const auto& sizes = job_.plan.parallelism.sizes;
    if (sizes.tp > 1 && is("parallelism.sequence_parallel", "true")) {
      arguments_.push_back(argument("sequence-parallel"));
    }
    if (job_.plan.model.moe.num_experts > 0) {
      arguments_.push_back(argument("expert-tensor-parallel-size", std::to_string(sizes.etp)));
    }
    const std::string zero = text("parallelism.zero");
    if (zero == "1") {
      arguments_.push_back(argument("use-distributed-optimizer"));
    } else if (zero == "2" || zero == "3") {
      arguments_.push_back(argument("use-megatron-fsdp"));
      arguments_.push_back(argument("data-parallel-sharding-strategy",
                                    zero == "2" ? "optim_grads" : "optim_grads_params"));
    }
    if (sizes.cp > 1) arguments_.push_back(argument("cp-comm-type", text("parallelism.cp_comm")));
    write_layout();
  }

  /// Megatron cuts evenly and puts MTP layers last unless told otherwise.
  void write_layout() {
    const std::vector<std::int64_t>& layers = job_.plan.parallelism.layers_per_chunk;
    const std::int64_t pp = job_.plan.parallelism.sizes.pp;
    if (layers.size() < 2) return;
    const bool even = std::all_of(layers.begin(), layers.end(),
                                  [&](std::int64_t count) { return count == layers.front(); });
    const std::int64_t mtp = job_.plan.training.mtp_num_layers;
    const std::int64_t given = job_.plan.training.mtp_stage;
    const std::int64_t stage = given < 0 ? pp - 1 : given;
    if (even && (mtp == 0 || stage == pp - 1)) return;
    predictor::MegatronLayout layout{layers, std::vector<std::int64_t>(layers.size(), 0)};
    if (mtp > 0) layout.mtp[layers.size() - static_cast<std::size_t>(pp - stage)] = mtp;
    arguments_.push_back(
        argument("pipeline-model-parallel-layout", predictor::pipeline_layout_text(layout)));
  }

  void write_recompute() {
    const std::string recompute = text("training.recompute");
    if (recompute == "none") return;
    arguments_.push_back(argument("recompute-granularity", recompute));
    if (recompute == "full") {
      arguments_.push_back(argument("recompute-method", text("training.recompute_method")));
      arguments_.push_back(argument("recompute-num-layers", text("training.recompute_num_layers")));
      return;
    }
    MegatronArgument modules = argument("recompute-modules");
    if (const Node* const list = find("training.recompute_modules"); list != nullptr) {
      for (const Node& module : list->as_array()) modules.values.push_back(module.as_string());
    }
    if (!modules.values.empty()) arguments_.push_back(std::move(modules));
  }

  void write_dispatcher() {
    if (is("kernels.dispatcher", "\"deepep\"")) {
      arguments_.push_back(argument("moe-token-dispatcher-type", "flex"));
      arguments_.push_back(argument("moe-flex-dispatcher-backend", "deepep"));
    } else {
      arguments_.push_back(argument("moe-token-dispatcher-type", "alltoall"));
    }
  }

  void write_selection() {
    // The backend that most settings agree with.
    std::string_view best;
    std::pair<std::ptrdiff_t, std::ptrdiff_t> least{-1, 0};  // settings missed, then those met
    for (const auto& backend : predictor::megatron_backends()) {
      const auto agree = std::count_if(backend.settings.begin(), backend.settings.end(),
                                       [&](const auto& s) { return is(s.argument, s.setting); });
      const std::pair<std::ptrdiff_t, std::ptrdiff_t> distance = {
          static_cast<std::ptrdiff_t>(backend.settings.size()) - agree, -agree};
      if (!best.empty() && distance >= least) continue;
      least = distance;
      best = backend.name;
    }
    arguments_.push_back(argument("dsa-kernel-backend", std::string(best)));
    const std::string loss = text("training.indexer.loss");
    if (loss == "off") {
      arguments_.push_back(argument("dsa-indexer-loss-coeff", "0.0"));
      return;
    }
    arguments_.push_back(argument("dsa-indexer-loss-coeff", "0.001"));
    if (loss == "sparse") arguments_.push_back(argument("dsa-indexer-use-sparse-loss"));
  }

  const Job& job_;
  const Node& settings_;
  std::vector<MegatronArgument> arguments_;
};

/// Settings of `wanted` that `found` has otherwise, as "PATH=JSON".
void differences(const Node& wanted, const Node* found, const std::string& path,
                 std::vector<std::string>& lines) {
  if (wanted.is_object()) {
    for (const auto& [key, value] : wanted.as_object()) {
      const Node* const other = found != nullptr && found->is_object() ? found->find(key) : nullptr;
      differences(value, other, path.empty() ? key : path + "." + key, lines);
    }
  } else if (found == nullptr || !(wanted == *found)) {
    lines.push_back(path + "=" + config::to_text(wanted));
  }
}

const predictor::Variant& variant_of(const predictor::Scenario& scenario, const std::string& name,
                                     const std::string& path) {
  std::string known;
  for (const predictor::Variant& variant : scenario.variants) {
    if (name.empty() || variant.name == name) return variant;
    known += (known.empty() ? "" : ", ") + variant.name;
  }
  throw InputError({Diagnostic{
      path, 0, 0, "/variants",
      "no variant is named " + config::in_quotes(name) + " (variants: " + known + ")"}});
}

/// A value as bash and YAML take it.
std::string quoted(const std::string& value) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+/:@%";
  if (!value.empty() && value.find_first_not_of(kPlain) == std::string::npos) return value;
  return "\"" + value + "\"";  // layouts hold no quotes, dollars or backslashes
}

std::string line_of(const MegatronArgument& argument) {
  std::string line = "--" + argument.name;
  for (const std::string& value : argument.values) line += " " + quoted(value);
  return line;
}

std::string yaml_line(const MegatronArgument& argument) {
  std::string name = argument.name;
  std::replace(name.begin(), name.end(), '-', '_');
  if (argument.values.empty()) return name + ": true";
  if (argument.values.size() == 1) return name + ": " + quoted(argument.values[0]);
  std::string list;
  for (const std::string& value : argument.values) {
    list += (list.empty() ? "" : ", ") + quoted(value);
  }
  return name + ": [" + list + "]";
}

std::string comments(const std::vector<std::string>& settings) {
  std::string text;
  for (const std::string& setting : settings) text += "# hysim: " + setting + "\n";
  return text;
}

std::string text_of(MegatronFormat format, const std::string& title,
                    const std::vector<std::string>& settings,
                    const std::vector<MegatronArgument>& launcher,
                    const std::vector<MegatronArgument>& arguments) {
  const std::string why =
      settings.empty() ? "" : "# No argument of Megatron-LM says these:\n" + comments(settings);
  std::string text;
  switch (format) {
    case MegatronFormat::script:
      text = "#!/bin/bash\n# " + title + "\n" + why + "\nMEGATRON_ARGS=(\n";
      for (const MegatronArgument& a : arguments) text += "    " + line_of(a) + "\n";
      text += ")\n\ntorchrun";
      for (const MegatronArgument& a : launcher) text += " " + line_of(a);
      return text + " pretrain_gpt.py \\\n    \"${MEGATRON_ARGS[@]}\" \"$@\"\n";
    case MegatronFormat::arguments:
      text = "# " + title + "\n" + why;
      for (const MegatronArgument& a : arguments) text += line_of(a) + "\n";
      return text;
    case MegatronFormat::yaml:
      text = "# " + title + "\n" + why;
      for (const MegatronArgument& a : arguments) text += yaml_line(a) + "\n";
      return text;
  }
  return text;
}

}  // namespace

MegatronExport export_megatron(const Resources& resources, const ScenarioText& text,
                               const std::string& variant, const std::vector<SetText>& sets,
                               MegatronFormat format) {
  const predictor::Scenario scenario = predictor::parse_scenario(text);
  std::vector<predictor::Override> overrides;
  for (const SetText& set : sets) {
    overrides.push_back(predictor::parse_override(set, scenario.variants));
  }
  predictor::check_settings(scenario, overrides);
  const predictor::Variant& chosen = variant_of(scenario, variant, text.path);
  const Job job = predictor::resolve(
      resources, scenario, chosen.name,
      predictor::variant_document(scenario, chosen.steps, chosen.name, overrides));

  if (const auto beyond = predictor::megatron_model(job.plan.model).unexpressed; !beyond.empty()) {
    throw InputError(
        {Diagnostic{text.path, 0, 0, "/model", "has no Megatron arguments: " + beyond.front()}});
  }
  Exporter exporter(job);
  const std::vector<MegatronArgument> launcher = exporter.launcher();
  const std::vector<MegatronArgument> arguments = exporter.arguments();

  // What the arguments alone would be understood as.
  MegatronRun run;
  run.arguments = launcher;
  run.arguments.insert(run.arguments.end(), arguments.begin(), arguments.end());
  MegatronExport result;
  const auto said = [&](std::string_view path) {
    const Node* const value = config::find_path(job.resolved, path);
    run.settings.push_back({std::string(path), {config::to_text(*value)}, {}, "export", 0});
  };
  said("cluster");
  said("model");
  const MegatronImport back = import_megatron(resources, run, {});
  Node settings = predictor::parse_scenario({back.scenario, "export"}).base;
  const Job again = predictor::resolve(
      resources, predictor::parse_scenario({back.scenario, "export"}), "default", settings);
  Node wanted = job.resolved;
  wanted.erase("name");
  wanted.erase("model");
  wanted.erase("cluster");
  for (const MegatronArgument& setting : run.settings) {
    result.unexpressed.push_back(setting.name + "=" + setting.values[0]);
  }
  differences(wanted, &again.resolved, "", result.unexpressed);
  result.text = text_of(format, scenario.name + ", variant " + chosen.name, result.unexpressed,
                        launcher, arguments);
  return result;
}

}  // namespace hysim
