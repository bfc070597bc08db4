#include "unit/predict/scenarios.h"

#include <ios>
#include <sstream>

#include <gtest/gtest.h>

#include "config/node.h"

namespace hysim::predictor::test {

namespace {

const char* const kTwoVariants = R"({
  "schema": "hysim.scenario/1",
  "name": "two",
  "model": "glm-5.1",
  "cluster": "h20-512",
  "workload": {"seq_len": "128K", "micro_batch_size": 1, "global_batch_size": 128},
  "parallelism": {"pp": 8, "pipeline_layout": [9, 10, 10, 10, 10, 10, 10, 9], "cp": 8, "ep": 64},
  "training": {"recompute": "full", "mtp_num_layers": 1},
  "kernels": {"topk": "torch", "selection_precision": "bf16"},
  "variants": {
    "table": {"kernels": {"selection": "table"}},
    "fused": [
      {"step": "HyTopK", "set": {"kernels": {"selection": "fused"}}},
      {"step": "replay", "set": {"kernels": {"selection_replay": true}}}
    ]
  }
}
)";

const char* const kDense = R"({
  "schema": "hysim.scenario/1",
  "name": "dense",
  "model": "llama2-7b",
  "cluster": "h100-sxm-80:1x8",
  "workload": {"seq_len": 4096, "global_batch_size": 16},
  "training": {"recompute": "full"}
}
)";

/// Writes fields one a line.
class Writer {
 public:
  Writer() { text_ << std::hexfloat; }
  template <class T>
  Writer& operator<<(const T& value) {
    text_ << value << '\n';
    return *this;
  }
  Writer& operator<<(const Ranged<double>& r) { return *this << r.value << r.low << r.high; }
  template <class D>
  Writer& operator<<(const Ranged<Quantity<D>>& r) {
    return *this << r.value.si() << r.low.si() << r.high.si();
  }
  Writer& operator<<(const MemoryPart& part) { return *this << part.name << part.bytes.si(); }
  Writer& operator<<(const Utilisation& u) {
    return *this << u.fraction << u.flops_per_step.si() << u.peak.si() << u.convention;
  }
  Writer& operator<<(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) *this << text;
    return *this << "end";
  }
  Writer& operator<<(const std::vector<Warning>& warnings) {
    for (const Warning& warning : warnings) *this << warning.text();
    return *this << "end";
  }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
};

void write(Writer& w, const Layout& l) {
  w << l.tp << l.cp << l.pp << l.vpp << l.dp << l.ep << l.etp;
  for (const std::int64_t layers : l.layers_per_stage) w << layers;
}

void write(Writer& w, const Memory& m) {
  w << m.peak_per_gpu << m.capacity.si() << to_string(m.fits) << m.fullest_stage;
  for (const MemoryPart& part : m.parts) w << part;
  for (const StageMemory& stage : m.by_stage) {
    w << stage.stage << stage.allocated.si() << stage.reserved.si() << stage.device.si();
    for (const MemoryPart& part : stage.parts) w << part;
  }
}

void write(Writer& w, const Prediction& p) {
  w << p.scenario << p.variant << p.model << p.cluster << p.gpu << p.gpus << p.seq_len
    << p.micro_batch_size << p.global_batch_size << p.micro_batches;
  write(w, p.layout);
  w << p.step_time << p.tokens_per_second_per_gpu << p.mfu << p.hfu;
  for (const FlopCount& count : p.model_flops) {
    w << count.name << count.per_token.si() << count.convention;
  }
  write(w, p.memory);
  for (const StageCost& stage : p.stages) {
    w << stage.stage << stage.forward.si() << stage.backward.si() << stage.busy.si()
      << stage.flop_share;
  }
  w << p.critical_stage;
  for (const BreakdownLeaf& leaf : p.breakdown) {
    w << leaf.path << leaf.time << to_string(leaf.kind) << leaf.bound_by;
  }
  for (const CommunicationRow& row : p.communication) {
    w << row.kind << row.tier << row.bytes_per_rank.si() << row.time.si() << row.exposed.si();
  }
  for (const CollectiveRow& row : p.collectives) {
    w << row.path << row.kind << row.ranks << row.nodes << row.per_node << row.bytes.si()
      << row.algorithm << row.protocol << row.time.si() << row.algbw.si() << row.busbw.si()
      << row.count;
  }
  w << p.evidence.this_gpu << p.evidence.other_gpu << p.evidence.datasheet << p.evidence.assumed;
  w << p.assumptions << p.warnings << p.resolved_scenario;
  for (const InputFile& file : p.inputs) w << file.path << file.sha256;
  w << p.seed << p.draws;
}

template <class T>
double number(T value) {
  if constexpr (std::is_same_v<T, double>) {
    return value;
  } else {
    return value.si();
  }
}

}  // namespace

const Resources& bundle() {
  static const Resources value = embedded_resources();
  return value;
}

std::string bundled_text(std::string_view path) { return bundle().read(path).value(); }

std::vector<std::string> scenario_names() {
  std::vector<std::string> names;
  for (const std::string& path : bundle().list("scenarios")) {
    const std::size_t slash = path.rfind('/') + 1;
    names.push_back(path.substr(slash, path.rfind('.') - slash));
  }
  return names;
}

ScenarioText bundled_scenario(const std::string& name) { return load_scenario(bundle(), name); }

const std::vector<BundledVariant>& bundled_variants() {
  static const std::vector<BundledVariant> value = [] {
    std::vector<BundledVariant> list;
    for (const std::string& name : scenario_names()) {
      const ScenarioText scenario = bundled_scenario(name);
      const config::Node document = config::parse(scenario.text, scenario.path);
      const config::Node* const variants = document.find("variants");
      if (variants == nullptr) {
        list.push_back({scenario, name, ""});
        continue;
      }
      for (const auto& [variant, patch] : variants->as_object()) {
        list.push_back({scenario, name, variant});
      }
    }
    return list;
  }();
  return value;
}

ScenarioText two_variants() { return {kTwoVariants, "two.json"}; }
ScenarioText dense() { return {kDense, "dense.json"}; }

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  EXPECT_EQ(text.find(from, at + 1), std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

ScenarioText replaced(ScenarioText scenario, std::string_view from, std::string_view to) {
  scenario.text = replaced(std::move(scenario.text), from, to);
  return scenario;
}

std::string replaced_all(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

Prediction predict_nominal(const ScenarioText& scenario, const std::vector<SetText>& sets,
                           const std::string& variant, const Resources& resources) {
  PredictOptions options;
  options.variant = variant;
  options.sets = sets;
  options.draws = 0;
  return predict(resources, scenario, options);
}

Comparison compare_nominal(const ScenarioText& scenario, const std::vector<SetText>& sets,
                           const Resources& resources) {
  CompareOptions options;
  options.sets = sets;
  options.draws = 0;
  return compare(resources, scenario, options);
}

std::vector<Diagnostic> faults_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const InputError& error) {
    return error.diagnostics();
  }
  ADD_FAILURE() << "was accepted";
  return {};
}

std::string fingerprint(const Prediction& prediction) {
  Writer w;
  write(w, prediction);
  return w.text();
}

std::string fingerprint(const Comparison& c) {
  Writer w;
  for (const Prediction& variant : c.variants) write(w, variant);
  w << c.speedup.baseline << c.speedup.candidate << c.speedup.ratio << c.speedup.hypothetical
    << c.speedup.note;
  for (const Hypothesis& row : c.hypotheses) {
    for (const auto& [path, value] : row.settings) w << path << value;
    w << row.ratio << to_string(row.fits);
  }
  if (c.envelope) w << c.envelope->first << c.envelope->second;
  for (const AblationRow& row : c.ablation) {
    w << to_string(row.kind) << row.name << row.step_time << row.ratio << to_string(row.fits);
  }
  if (c.reference) w << c.reference->speedup << c.reference->source;
  w << c.warnings;
  return w.text();
}

std::vector<std::string> ids_of(const Prediction& prediction) {
  std::vector<std::string> ids;
  for (const Warning& warning : prediction.warnings) ids.push_back(warning.id);
  return ids;
}

std::string disordered(const Prediction& p) {
  std::string names;
  const auto check = [&](const std::string& name, const auto& r) {
    if (number(r.low) <= number(r.value) && number(r.value) <= number(r.high)) return;
    names += name + " ";
  };
  check("step_time", p.step_time);
  check("tokens_per_second_per_gpu", p.tokens_per_second_per_gpu);
  check("mfu", p.mfu.fraction);
  check("hfu", p.hfu.fraction);
  check("peak_per_gpu", p.memory.peak_per_gpu);
  for (const BreakdownLeaf& leaf : p.breakdown) check(leaf.path, leaf.time);
  return names;
}

}  // namespace hysim::predictor::test
