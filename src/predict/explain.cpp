#include "predict/explain.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "config/named.h"
#include "config/sourced.h"
#include "predict/explain_step.h"

namespace hysim::predictor {

namespace {

// What rounding may make of a number on its way through a formula.
constexpr double kRounding = 1e-9;
// Differences of long times, such as waiting, are as exact as the step is.
constexpr double kStepRounding = 1e-12;

std::string word_of(config::SourceKind kind) {
  for (const auto& [word, value] : config::source_kinds()) {
    if (value == kind) return std::string(word);
  }
  return "";
}

/// "gpu/laws/gemm_bf16" -> "laws/gemm_bf16" when the text begins with `prefix`.
std::optional<std::string_view> after(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  return text.substr(prefix.size());
}

/// Completes the lines of sheets whose inputs stand in documents.
class Documents {
 public:
  Documents(const Job& job, const Resources& resources, const std::string& scenario_path)
      : job_(job), scenario_(scenario_path) {
    const auto described = [&](std::string_view folder, std::string_view name) {
      return resources.describe(config::named_path(folder, name));
    };
    gpu_ = described("hw_profiles/gpus", job.cluster.gpu);
    std::string cluster = text_at("cluster");
    if (!cluster.ends_with(".json") && cluster.find(':') != std::string::npos) cluster = "generic";
    cluster_ = described("hw_profiles/clusters", cluster);
    stack_ = described("hw_profiles/stacks", text_at("training.stack"));
  }

  void complete(FormulaLine& line, const std::string& key) const {
    if (const auto field = after(key, "gpu/")) {
      const auto& infos = hardware::gpu_fields();
      const auto info = std::find_if(infos.begin(), infos.end(), [&](const auto& candidate) {
        return candidate.key == *field;
      });
      line.unit = info->si_unit;
      line.meaning = info->meaning;
      take(line, job_.gpu.fields[static_cast<std::size_t>(info - infos.begin())], gpu_, *field);
    } else if (const auto name = after(key, "cluster/")) {
      for (const ClusterField& known : kClusterFields) {
        if (known.key != *name) continue;
        line.unit = known.unit;
        line.meaning = known.meaning;
        take(line, job_.cluster.*known.member, cluster_, *name);
      }
    } else if (const auto figure = after(key, "stack/")) {
      line.unit = "s";
      line.meaning = "idle GPU time between dependent kernels";
      take(line, job_.stack.launch_gap, stack_, *figure);
    } else if (const auto setting = after(key, "scenario/")) {
      line.source = InputSource{scenario_, "/" + std::string(*setting), "setting", "", ""};
    } else if (const auto settings = after(key, "counted/")) {
      line.counted_from = with_values(*settings);
      if (!line.counted_from.empty()) line.source->text += "; from " + line.counted_from;
    }
  }

 private:
  struct ClusterField {
    std::string_view key;
    std::string_view unit;
    std::string_view meaning;
    config::Sourced topology::Cluster::*member;
  };
  static constexpr ClusterField kClusterFields[] = {
      {"nic_bandwidth", "B/s", "line rate of the NIC share of one GPU",
       &topology::Cluster::nic_bandwidth},
      {"nic_efficiency", "1", "achieved share of the line, large messages",
       &topology::Cluster::nic_efficiency},
      {"ring_loss_per_doubling", "1", "share of ring bandwidth lost per doubling of nodes",
       &topology::Cluster::ring_loss_per_doubling},
      {"all_to_all_efficiency", "1", "share of the line, NCCL all-to-all",
       &topology::Cluster::all_to_all_efficiency},
      {"dispatch_efficiency", "1", "share of the line, fused dispatch (DeepEP)",
       &topology::Cluster::dispatch_efficiency},
      {"host_bandwidth", "B/s", "copies between a GPU and host memory, each direction",
       &topology::Cluster::host_bandwidth},
  };

  /// "workload.seq_len model.hidden_size" -> "workload.seq_len 1M, model.hidden_size 6144".
  std::string with_values(std::string_view settings) const {
    std::string text;
    while (!settings.empty()) {
      const std::size_t end = std::min(settings.find(' '), settings.size());
      const std::string_view key = settings.substr(0, end);
      settings.remove_prefix(std::min(end + 1, settings.size()));
      const std::string value = value_of(key);
      if (!value.empty()) text += (text.empty() ? "" : ", ") + std::string(key) + " " + value;
    }
    return text;
  }
  /// Of a setting of the scenario or a key of the model; "" where there is none.
  std::string value_of(std::string_view key) const {
    const model::Transformer& m = job_.plan.model;
    const std::pair<std::string_view, std::int64_t> figures[] = {
        {"model.hidden_size", m.hidden},
        {"model.vocab_size", m.vocab},
        {"model.num_attention_heads", m.attention.num_heads},
        {"model.num_key_value_heads", m.attention.num_kv_heads},
        {"model.head_dim", m.attention.head_dim},
        {"model.kv_lora_rank", m.attention.kv_lora_rank},
        {"model.qk_rope_head_dim", m.attention.qk_rope_head_dim},
        {"model.index_n_heads", m.indexer.num_heads},
        {"model.index_head_dim", m.indexer.head_dim},
        {"model.index_topk", m.indexer.top_k},
        {"model.num_experts_per_tok", m.moe.experts_per_token},
        {"model.n_routed_experts", m.moe.num_experts},
        {"model.moe_intermediate_size", m.moe.expert_ffn},
        {"model.intermediate_size", m.dense_ffn},
    };
    for (const auto& [name, figure] : figures) {
      if (name == key) return figure > 0 ? std::to_string(figure) : "";
    }
    const config::Node* const node = config::find_path(job_.resolved, key);
    if (node == nullptr || node->is_null()) return "";
    return node->is_string() ? node->as_string() : config::to_text(*node);
  }
  std::string text_at(std::string_view path) const {
    const config::Node* const node = config::find_path(job_.resolved, path);
    return node != nullptr && node->is_string() ? node->as_string() : "";
  }
  static void take(FormulaLine& line, const config::Sourced& sourced, const std::string& document,
                   std::string_view pointer) {
    line.low = sourced.low;
    line.high = sourced.high;
    line.source = InputSource{document, "/" + std::string(pointer), word_of(sourced.kind),
                              sourced.source, sourced.measured_on};
  }

  const Job& job_;
  std::string scenario_;
  std::string gpu_;
  std::string cluster_;
  std::string stack_;
};

Sheet sheet_of(const Calculation& lines, NodeId result, const Documents& documents) {
  std::vector<std::string> keys;
  Sheet sheet = lines.sheet(result, keys);
  for (std::size_t i = 0; i < sheet.lines.size(); ++i) {
    if (!keys[i].empty()) documents.complete(sheet.lines[i], keys[i]);
  }
  return sheet;
}

LeafExplanation explain_leaf(const BreakdownLeaf& leaf, const CalculatedLeaf& calculated,
                             const StepCalculation& step, const Documents& documents,
                             double step_seconds) {
  LeafExplanation result;
  result.leaf = leaf;
  result.share = leaf.time.value.si() / step_seconds;
  result.notes = calculated.notes;
  double explained = 0.0;
  if (calculated.time) {
    result.sheet = sheet_of(step.lines, *calculated.time, documents);
    explained = step.lines.value(*calculated.time);
  }
  const double missing = leaf.time.value.si() - explained;
  if (std::abs(missing) > kRounding * leaf.time.value.si() + kStepRounding * step_seconds) {
    result.unexplained = missing;
    result.notes.push_back(
        "the formulas below do not give the predicted time: a law has no card yet");
  }
  return result;
}

/// ASCII letters only: paths hold no others.
std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

/// What stands between slashes, without what is empty.
std::vector<std::string_view> components(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end > 0) parts.push_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return parts;
}

/// Whether the letters of `word` stand in `text`, in this order.
bool contains_in_order(std::string_view text, std::string_view word) {
  std::size_t next = 0;
  for (const char c : text) {
    if (next < word.size() && c == word[next]) ++next;
  }
  return next == word.size();
}

// How well a pattern names a path; less is better.
constexpr int kSamePath = 0;
constexpr int kBeginsPath = 1;
constexpr int kSameWord = 2;
constexpr int kBeginsWord = 3;
constexpr int kInWord = 4;
constexpr int kLettersOfWord = 5;
constexpr int kNoMatch = 6;

int match_of(std::string_view component, std::string_view word) {
  if (component == word) return kSameWord;
  if (component.starts_with(word)) return kBeginsWord;
  if (component.find(word) != std::string_view::npos) return kInWord;
  return contains_in_order(component, word) ? kLettersOfWord : kNoMatch;
}

/// Of the words, in order, each in a component of its own: the worst, made as good as can be.
int match_of(const std::vector<std::string_view>& path, std::size_t from,
             const std::vector<std::string_view>& words, std::size_t word) {
  if (word == words.size()) return kSamePath;
  int best = kNoMatch;
  for (std::size_t i = from; i < path.size(); ++i) {
    best = std::min(
        best, std::max(match_of(path[i], words[word]), match_of(path, i + 1, words, word + 1)));
  }
  return best;
}

/// `pattern` is in lower case.
int match_of(const std::string& path, const std::string& pattern) {
  const std::string lower = in_lower_case(path);
  if (lower == pattern) return kSamePath;
  if (lower.starts_with(pattern)) return kBeginsPath;
  return match_of(components(lower), 0, components(pattern), 0);
}

}  // namespace

Explanation explain_run(const Run& run, Prediction prediction, const Resources& resources,
                        const std::string& scenario_path) {
  const Job& job = run.job;
  const graph::Program program = graph::build_training_step(job.plan, job.cluster.gpus_per_node);
  Machine machine;
  set_machine(job, config::Sampler(), machine);
  const StepSettings settings{job.plan.workload.global_batch_size,
                              job.plan.workload.micro_batch_size, job.plan.parallelism.sizes.dp};
  const StepCalculation step = calculate_step(program, machine, run.leaves, run.nominal, settings);
  const Documents documents(job, resources, scenario_path);

  Explanation result;
  const double seconds = prediction.step_time.value.si();
  for (const BreakdownLeaf& leaf : prediction.breakdown) {
    const auto index = static_cast<std::size_t>(
        std::find(run.leaves.begin(), run.leaves.end(), leaf.path) - run.leaves.begin());
    const auto& calculated =
        leaf.kind == TimeKind::critical ? step.critical[index] : step.overlapped[index];
    result.leaves.push_back(explain_leaf(leaf, calculated, step, documents, seconds));
  }
  std::stable_sort(result.leaves.begin(), result.leaves.end(),
                   [](const LeafExplanation& a, const LeafExplanation& b) {
                     if (a.leaf.kind != b.leaf.kind) return a.leaf.kind == TimeKind::critical;
                     return a.leaf.time.value > b.leaf.time.value;
                   });
  BreakdownLeaf whole;
  whole.path = "step";
  whole.time = prediction.step_time;
  CalculatedLeaf calculated;
  calculated.time = step.step;
  result.step = explain_leaf(whole, calculated, step, documents, seconds);
  result.prediction = std::move(prediction);
  return result;
}

}  // namespace hysim::predictor

namespace hysim {

std::vector<LeafExplanation> matching_leaves(const Explanation& explanation,
                                             const std::string& pattern) {
  const std::string lower = predictor::in_lower_case(pattern);
  if (lower == explanation.step.leaf.path) return {explanation.step};
  std::vector<LeafExplanation> found;
  int best = predictor::kNoMatch;
  for (const LeafExplanation& leaf : explanation.leaves) {
    const int match = predictor::match_of(leaf.leaf.path, lower);
    if (match > best || match == predictor::kNoMatch) continue;
    if (match < best) found.clear();
    best = match;
    found.push_back(leaf);
  }
  return found;
}

}  // namespace hysim
