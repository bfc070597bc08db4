// Chooses what a job in a few words leaves open, by predicting the combinations.
#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "config/words.h"
#include "graph/near_layouts.h"
#include "hysim/layout.h"
#include "predict/run.h"
#include "predict/scenario.h"
#include "units/text.h"

namespace hysim {

const char* const kJobPath = "the options";

namespace {

using config::Node;
using graph::LayoutSize;
using predictor::Job;
using predictor::Override;
using predictor::Scenario;

constexpr std::int64_t kTokensPerStep = std::int64_t{1} << 24;
constexpr std::int64_t kMostTp = 8;
constexpr std::int64_t kMostPp = 64;

Node text(const std::string& value) { return Node::string(value); }

/// "glm-5.1-1m-h20-96-64x8"
std::string name_of(const JobText& job) {
  const auto stem = [](const std::string& path) {
    const std::string file = path.substr(path.rfind('/') + 1);
    return file.ends_with(".json") ? file.substr(0, file.size() - 5) : file;
  };
  std::string name = stem(job.model) + "-" + job.seq_len + "-" + stem(job.cluster);
  for (char& c : name) {
    if (c == ':') c = '-';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return name;
}

/// The scenario as far as it is said.
Node draft(const JobText& job) {
  Node workload = Node::object({{"seq_len", text(job.seq_len)}});
  const auto given = [](Node& section, const char* key, const std::optional<std::int64_t>& value) {
    if (value) section.set(key, Node::integer(*value));
  };
  given(workload, "micro_batch_size", job.micro_batch_size);
  given(workload, "global_batch_size", job.global_batch_size);
  Node parallelism = Node::object();
  given(parallelism, "tp", job.tp);
  given(parallelism, "pp", job.pp);
  given(parallelism, "vpp", job.vpp);
  given(parallelism, "cp", job.cp);
  given(parallelism, "ep", job.ep);
  given(parallelism, "etp", job.etp);
  Node training = Node::object();
  if (!job.precision.empty()) training.set("precision", text(job.precision));
  if (!job.recompute.empty()) training.set("recompute", text(job.recompute));
  return Node::object({{"schema", text("hysim.scenario/1")},
                       {"name", text(name_of(job))},
                       {"model", text(job.model)},
                       {"cluster", text(job.cluster)},
                       {"workload", std::move(workload)},
                       {"parallelism", std::move(parallelism)},
                       {"training", std::move(training)}});
}

ScenarioText scenario_text(const Node& document) {
  return {config::to_text(document, 2) + "\n", kJobPath};
}

/// The document with what --set will change, for looking up what is given.
Node with_sets(const Node& document, const std::vector<SetText>& sets) {
  const Scenario scenario = predictor::parse_scenario(scenario_text(document));
  std::vector<Override> overrides;
  for (const SetText& set : sets) {
    overrides.push_back(predictor::parse_override(set, scenario.variants));
  }
  return predictor::variant_document(scenario, {}, "", overrides);
}

Job resolve(const Resources& resources, const Node& document, const std::vector<SetText>& sets,
            bool judged) {
  const Scenario scenario = predictor::parse_scenario(scenario_text(document));
  return predictor::resolve(resources, scenario, "", with_sets(document, sets), judged);
}

std::int64_t odd_part(std::int64_t number) {
  return number >> std::countr_zero(static_cast<std::uint64_t>(number));
}

std::int64_t rounded_up(std::int64_t number, std::int64_t multiple) {
  return (number + multiple - 1) / multiple * multiple;
}

std::int64_t default_batch(std::int64_t seq_len, std::int64_t gpus) {
  const std::int64_t odd = odd_part(gpus);
  const std::int64_t sequences = std::max<std::int64_t>(1, kTokensPerStep / seq_len / odd);
  return odd * static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(sequences)));
}

/// dp when what is open is 1.
std::int64_t most_replicas(const graph::Plan& plan, std::int64_t gpus) {
  const topology::GroupSizes& sizes = plan.parallelism.sizes;
  return std::max<std::int64_t>(1, gpus / (sizes.tp * sizes.cp * sizes.pp));
}

/// Values that a size not given may have.
std::vector<std::int64_t> choices(const Job& job, LayoutSize size) {
  const std::int64_t gpus = job.cluster.gpus();
  std::vector<std::int64_t> values = graph::layout_values(job.plan, gpus, size);
  std::erase_if(values, [&](std::int64_t value) {
    if (size == LayoutSize::etp || size == LayoutSize::vpp ||
        size == LayoutSize::micro_batch_size) {
      return value != 1;
    }
    if (!std::has_single_bit(static_cast<std::uint64_t>(value))) {
      return value != odd_part(gpus);  // else no layout might divide an odd number of GPUs
    }
    if (size == LayoutSize::tp) return value > kMostTp || job.cluster.gpus_per_node % value != 0;
    return size == LayoutSize::pp && value > kMostPp;
  });
  return values;
}

struct Candidate {
  std::vector<graph::SizeChange> sizes;
  graph::Recompute recompute = graph::Recompute::none;
  Fit fits = Fit::no;
  Bytes peak;
  double step = 0.0;
};

/// Predicts a layout with the least recomputation that makes it fit.
void judge(const Job& base, const std::vector<graph::Recompute>& recomputes, Candidate& candidate) {
  Job job = base;
  graph::lay_out(job.plan, job.cluster.gpus(), candidate.sizes, false);
  for (const graph::Recompute recompute : recomputes) {
    job.plan.training.recompute = recompute;
    const predictor::Run run = predictor::run(job, {1, 0, false}, serial_executor());
    candidate.recompute = recompute;
    candidate.fits = run.memory.fits;
    candidate.peak = run.memory.peak_per_gpu.value;
    candidate.step = run.nominal.step;
    if (candidate.fits != Fit::no) return;
  }
}

bool better(const Candidate& a, const Candidate& b) {
  if (a.fits != b.fits) return a.fits < b.fits;
  if (a.fits == Fit::no && a.peak != b.peak) return a.peak < b.peak;
  return a.step < b.step;  // of equals the first stays
}

/// Every legal combination of the sizes in `open`, smaller tp first, then pp, cp, ep.
std::vector<Candidate> combinations(const Job& base, const std::vector<LayoutSize>& open) {
  std::vector<Candidate> all = {{}};
  for (const LayoutSize size : open) {
    std::vector<Candidate> longer;
    for (const Candidate& candidate : all) {
      for (const std::int64_t value : choices(base, size)) {
        longer.push_back(candidate);
        longer.back().sizes.push_back({size, value});
      }
    }
    all = std::move(longer);
  }
  graph::Plan plan = base.plan;
  std::erase_if(all, [&](const Candidate& candidate) {
    plan.parallelism = base.plan.parallelism;
    return !graph::lay_out(plan, base.cluster.gpus(), candidate.sizes, false) ||
           !graph::check(plan, base.cluster.gpus()).empty();
  });
  return all;
}

const char* word_of(graph::Recompute recompute) {
  switch (recompute) {
    case graph::Recompute::none:
      return "none";
    case graph::Recompute::selective:
      return "selective";
    case graph::Recompute::full:
      return "full";
  }
  return "";
}

/// "9,10,10,9"; long lists of equal counts are shortened.
std::string layers_text(const std::vector<std::int64_t>& layers) {
  constexpr std::size_t kLongest = 16;
  std::string result;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers.size() > kLongest && i == 4) {
      result += ",...";
      i = layers.size() - 4;
    }
    result += (result.empty() ? "" : ",") + std::to_string(layers[i]);
  }
  return result;
}

/// Says what was chosen and why.
class Account {
 public:
  void add(const std::string& what, const std::string& why) {
    summary_ += (summary_.empty() ? "chose " : ", ") + what;
    chosen_.push_back("chosen: " + what + ": " + why);
  }
  const std::string& summary() const { return summary_; }
  std::vector<std::string>& chosen() { return chosen_; }

 private:
  std::string summary_;
  std::vector<std::string> chosen_;
};

/// Defaults that another job of this model and these sizes may well have otherwise.
template <class IsOpen>
void tell_defaults(const Job& base, const IsOpen& is_open, Account& account) {
  const graph::Plan& plan = base.plan;
  const topology::GroupSizes& sizes = plan.parallelism.sizes;
  const auto tell = [&](bool matters, const std::string& path, const char* name, const char* why) {
    const Node* const value = config::find_path(base.resolved, path);
    if (!matters || !is_open(path) || value == nullptr) return;
    const std::string word = value->is_string() ? value->as_string() : config::to_text(*value);
    account.add(std::string(name) + " " + word, why);
  };
  tell(sizes.dp * sizes.cp > 1, "parallelism.zero", "zero",
       "the default: replicas divide the optimizer's state");
  tell(sizes.cp > 1, "parallelism.cp_comm", "cp_comm", "the default");
  tell(sizes.ep > 1, "kernels.dispatcher", "dispatcher", "the default");
  tell(plan.model.indexer.top_k > 0, "training.indexer.loss", "indexer loss", "the default");
  tell(plan.model.mtp_layers > 0, "training.mtp_num_layers", "mtp_num_layers",
       "the default, though the model has MTP layers");
}

std::string why_sizes(const std::vector<Candidate>& tried, const Candidate& best,
                      std::int64_t fitting) {
  if (tried.size() == 1) return "the only legal sizes beside those given";
  const std::string of = " of " + std::to_string(tried.size()) + " legal layouts tried";
  if (best.fits == Fit::no) return "none" + of + " fits and this one needs least memory";
  return "the fastest of the " + std::to_string(fitting) + " that fit" +
         (best.fits == Fit::tight ? " (tightly)" : "") + of;
}

}  // namespace

ChosenLayout choose_layout(const Resources& resources, const JobText& job,
                           const std::vector<SetText>& sets, const Executor& executor) {
  Node document = draft(job);
  Account account;
  Node said = with_sets(document, sets);
  const auto is_open = [&](const std::string& path) {
    return config::find_path(said, path) == nullptr;
  };
  const bool open_batch = is_open("workload.global_batch_size");
  if (open_batch) config::set_path(document, "workload.global_batch_size", Node::integer(1));
  Job base = resolve(resources, document, sets, false);
  graph::Plan& plan = base.plan;
  if (open_batch) {
    plan.workload.global_batch_size = default_batch(plan.workload.seq_len, base.cluster.gpus());
  }

  std::vector<LayoutSize> open;
  for (const LayoutSize size : {LayoutSize::tp, LayoutSize::pp, LayoutSize::cp, LayoutSize::ep}) {
    if (size == LayoutSize::ep && plan.model.moe.num_experts == 0) continue;
    if (is_open(graph::setting_of(size))) open.push_back(size);
  }
  std::vector<graph::Recompute> recomputes = {plan.training.recompute};
  const bool open_recompute = is_open("training.recompute");
  if (open_recompute) {
    recomputes = {graph::Recompute::none, graph::Recompute::selective, graph::Recompute::full};
  }
  const bool own_layers = !is_open("parallelism.pipeline_layout");
  std::vector<Candidate> tried = combinations(base, open);
  if (tried.empty() && open_batch) {
    const std::int64_t batch = plan.workload.global_batch_size;
    plan.workload.global_batch_size = rounded_up(
        batch, most_replicas(plan, base.cluster.gpus()) * plan.workload.micro_batch_size);
    tried = combinations(base, open);
    // The nearest layouts are those of the batch that would be chosen.
    if (tried.empty()) plan.workload.global_batch_size = batch;
  }
  if (open_batch) {
    config::set_path(document, "workload.global_batch_size",
                     Node::integer(plan.workload.global_batch_size));
  }
  ChosenLayout chosen;
  if (tried.empty()) {
    // Says why, and what would be legal.
    static_cast<void>(resolve(resources, document, sets, true));
    throw InputError({Diagnostic{
        kJobPath, 0, 0, "",
        "no legal layout has these sizes on " + std::to_string(base.cluster.gpus()) + " GPUs"}});
  }
  const auto count = static_cast<std::int64_t>(tried.size());
  executor(count,
           [&](std::int64_t i) { judge(base, recomputes, tried[static_cast<std::size_t>(i)]); });
  const Candidate& best = *std::min_element(tried.begin(), tried.end(), better);
  chosen.tried = count;
  chosen.fitting =
      std::count_if(tried.begin(), tried.end(), [](const auto& c) { return c.fits != Fit::no; });

  graph::lay_out(plan, base.cluster.gpus(), best.sizes, false);
  std::string sizes;
  for (const graph::SizeChange& change : best.sizes) {
    config::set_path(document, graph::setting_of(change.size), Node::integer(change.to));
    sizes += (sizes.empty() ? "" : ", ") + std::string(to_string(change.size)) + " " +
             std::to_string(change.to);
  }
  if (!sizes.empty()) account.add(sizes, why_sizes(tried, best, chosen.fitting));
  account.add("dp " + std::to_string(plan.parallelism.sizes.dp), "what the other sizes leave");
  if (!own_layers && plan.chunks() > 1) {
    account.add("pipeline_layout " + layers_text(plan.parallelism.layers_per_chunk),
                "layers spread evenly");
  }
  if (is_open("workload.micro_batch_size")) account.add("micro_batch_size 1", "the default");
  if (open_batch) {
    account.add("global_batch_size " + std::to_string(plan.workload.global_batch_size),
                "sequences of about 2^24 tokens together");
  }
  if (open_recompute) {
    config::set_path(document, "training.recompute", text(word_of(best.recompute)));
    const char* why = "it fits without more";
    if (best.recompute == graph::Recompute::selective) why = "it does not fit without";
    if (best.recompute == graph::Recompute::full) {
      why = best.fits == Fit::no ? "the least memory" : "it does not fit with less";
    }
    account.add(std::string("recompute ") + word_of(best.recompute), why);
  }
  if (is_open("training.precision")) account.add("precision bf16", "the default");
  if (plan.model.indexer.top_k > 0 && is_open("kernels.selection")) {
    account.add("selection table with torch top-k", "as Megatron-LM does");
  }
  tell_defaults(base, is_open, account);
  Node::Array assumptions;
  for (const std::string& line : account.chosen()) assumptions.push_back(text(line));
  document.set("assumptions", Node::array(std::move(assumptions)));
  chosen.summary = account.summary();
  chosen.chose = std::move(account.chosen());
  chosen.scenario = scenario_text(document);
  return chosen;
}

}  // namespace hysim
