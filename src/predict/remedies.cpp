#include "predict/remedies.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "graph/near_layouts.h"

namespace hysim::predictor {

namespace {

using config::Node;
using graph::LayoutSize;
using graph::Plan;

// Pairs are shown only when nothing single helps: a few are enough.
constexpr std::size_t kMostPairs = 3;
constexpr std::int64_t kFewestRows = 128;
constexpr double kSmallestChunk = 16.0 * 1024.0 * 1024.0;  // bytes
constexpr std::int64_t kFewestLossTokens = 512;
constexpr int kOffloadStep = 5;  // percent of the activations

/// Settings that change together, and what to call that.
struct Change {
  std::string name;
  std::vector<std::pair<std::string, Node>> settings;  // path, value
};
/// Changes of one kind, the smallest first.
using Family = std::vector<Change>;

/// A change as predicted; nothing when it is illegal.
struct Outcome {
  Change change;
  bool legal = false;
  bool host_exceeded = false;
  Fit fits = Fit::no;
  Bytes peak;
  Bytes host;
  Seconds step;
};

Change one(std::string name, std::string path, Node value) {
  return {std::move(name), {{std::move(path), std::move(value)}}};
}

Family chunks(const graph::Kernels& k, std::int64_t queries) {
  Family family;
  if (k.selection != ops::Selection::table) return family;
  if (k.score_chunk_rows > 0) {
    for (std::int64_t rows = std::min(k.score_chunk_rows, queries) / 2; rows >= kFewestRows;
         rows /= 2) {
      family.push_back(one("score table in chunks of " + std::to_string(rows) + " rows",
                           "kernels.score_chunk_rows", Node::integer(rows)));
    }
    return family;
  }
  for (double bytes = k.score_chunk_bytes.si() / 2.0; bytes >= kSmallestChunk; bytes /= 2.0) {
    const auto whole = static_cast<std::int64_t>(bytes);
    family.push_back(one("score table in chunks of " + std::to_string(whole >> 20) + " MiB",
                         "kernels.score_chunk_bytes", Node::integer(whole)));
  }
  return family;
}

Family loss_chunks(const Plan& plan) {
  Family family;
  const std::int64_t tokens =
      plan.workload.seq_len * plan.workload.micro_batch_size / plan.parallelism.sizes.cp;
  const std::int64_t now =
      plan.training.loss_chunk_tokens > 0 ? plan.training.loss_chunk_tokens : tokens;
  for (std::int64_t chunk = std::min(now, tokens) / 2; chunk >= kFewestLossTokens; chunk /= 2) {
    family.push_back(one("logits in chunks of " + std::to_string(chunk) + " tokens",
                         "training.loss_chunk_tokens", Node::integer(chunk)));
  }
  return family;
}

Family more_recomputation(const graph::Training& t) {
  Family family;
  const std::string path = "training.recompute";
  if (t.recompute == graph::Recompute::none) {
    family.push_back(one("selective recomputation", path, Node::string("selective")));
  }
  if (t.recompute != graph::Recompute::full) {
    family.push_back(one("full recomputation", path, Node::string("full")));
  } else if (t.recompute_method == graph::RecomputeMethod::block) {
    family.push_back(one("full recomputation of every layer", "training.recompute_method",
                         Node::string("uniform")));
  } else if (t.recompute_num_layers > 1) {
    family.push_back(
        one("a checkpoint every layer", "training.recompute_num_layers", Node::integer(1)));
  }
  return family;
}

Family smaller_micro_batches(const graph::Workload& w) {
  Family family;
  for (std::int64_t size = w.micro_batch_size / 2; size >= 1; size /= 2) {
    family.push_back(one("micro_batch_size " + std::to_string(size), "workload.micro_batch_size",
                         Node::integer(size)));
  }
  return family;
}

Family more_sharding(int zero) {
  Family family;
  for (std::int64_t level = zero + 1; level <= 3; ++level) {
    family.push_back(
        one("ZeRO-" + std::to_string(level), "parallelism.zero", Node::integer(level)));
  }
  return family;
}

/// More of them than now; less where the host's memory is what is missing.
Family offloaded_activations(double now, bool host_exceeded) {
  Family family;
  const auto add = [&](int percent) {
    const bool all = percent == 100;
    family.push_back(one(
        all            ? "activations offloaded"
        : percent == 0 ? "no activations offloaded"
                       : std::to_string(percent) + " % of the activations offloaded",
        "training.offload.activations", all ? Node::boolean(true) : Node::number(percent / 100.0)));
  };
  if (host_exceeded) {
    for (int percent = 100 - kOffloadStep; percent >= 0; percent -= kOffloadStep) {
      if (percent < 100.0 * now) add(percent);
    }
  } else {
    for (int percent = kOffloadStep; percent <= 100; percent += kOffloadStep) {
      if (percent > 100.0 * now) add(percent);
    }
  }
  return family;
}

bool keeps_indices(const Run& run) {
  return std::any_of(run.stages.begin(), run.stages.end(), [](const graph::StageBytes& stage) {
    return std::any_of(stage.items.begin(), stage.items.end(),
                       [](const graph::MemoryItem& item) { return item.name == "saved_indices"; });
  });
}

/// Doubles `grown`; `giver` (nothing: dp, which is derived) halves.
std::optional<Change> doubled(const Plan& plan, LayoutSize grown, std::optional<LayoutSize> giver) {
  const topology::GroupSizes& sizes = plan.parallelism.sizes;
  Change change;
  const auto set = [&](LayoutSize size, std::int64_t value) {
    change.name += (change.name.empty() ? "" : ", ") + std::string(to_string(size)) + " " +
                   std::to_string(value);
    change.settings.emplace_back(graph::setting_of(size), Node::integer(value));
  };
  set(grown, 2 * graph::size_of(plan, grown));
  if (giver) {
    const std::int64_t now = graph::size_of(plan, *giver);
    if (now % 2 != 0) return std::nullopt;
    set(*giver, now / 2);
  } else {
    if (sizes.dp % 2 != 0) return std::nullopt;
    change.name += " (dp " + std::to_string(sizes.dp / 2) + ")";
  }
  return change;
}

/// Chunks of the pipeline with a change.
std::int64_t chunks_with(const Plan& plan, const Change& change) {
  std::int64_t pp = plan.parallelism.sizes.pp;
  std::int64_t vpp = plan.parallelism.vpp;
  for (const auto& [path, value] : change.settings) {
    if (path == graph::setting_of(LayoutSize::pp)) pp = value.as_integer();
    if (path == graph::setting_of(LayoutSize::vpp)) vpp = value.as_integer();
  }
  return pp * vpp;
}

/// Settings of a change that no longer has the layers on the chunks of the plan.
void relay(const Plan& plan, const Node& document, Change& change) {
  const std::int64_t chunks = chunks_with(plan, change);
  if (chunks == plan.chunks()) return;
  if (config::find_path(document, "parallelism.pipeline_layout") == nullptr) return;
  Node::Array layers;
  for (const std::int64_t count : graph::default_layout(plan.model, chunks)) {
    layers.push_back(Node::integer(count));
  }
  change.settings.emplace_back("parallelism.pipeline_layout", Node::array(std::move(layers)));
}

std::vector<Family> families(const Run& run, const Node& document) {
  const Plan& plan = run.job.plan;
  const graph::Kernels& k = plan.kernels;
  std::vector<Family> all;
  // Chunks without layers are legal and nothing to suggest.
  const auto most_chunks =
      std::max(plan.chunks(), static_cast<std::int64_t>(plan.model.layers.size()));
  const auto add = [&](Family family) {
    std::erase_if(family, [&](const Change& c) { return chunks_with(plan, c) > most_chunks; });
    if (!family.empty()) all.push_back(std::move(family));
  };
  const auto single = [&](Change change) { add({std::move(change)}); };
  if (plan.model.indexer.top_k > 0) {
    if (k.selection == ops::Selection::naive) {
      single(one("selection in chunks of a table", "kernels.selection", Node::string("table")));
    }
    add(chunks(k, plan.workload.seq_len / plan.parallelism.sizes.cp));
    if (k.selection != ops::Selection::fused) {
      single(one("fused selection", "kernels.selection", Node::string("fused")));
    }
    if (k.selection_replay) {
      single(one("no selection replay", "kernels.selection_replay", Node::boolean(false)));
    }
    if (keeps_indices(run)) {
      single(one("saved indices offloaded", "training.offload.indices", Node::boolean(true)));
    }
  }
  add(loss_chunks(plan));
  add(more_recomputation(plan.training));
  add(smaller_micro_batches(plan.workload));
  add(more_sharding(plan.parallelism.zero));
  add(offloaded_activations(plan.training.offload.activations, run.memory.host_exceeded()));
  if (plan.parallelism.vpp > 1) {
    single(one("vpp 1", graph::setting_of(LayoutSize::vpp), Node::integer(1)));
  }
  const std::optional<LayoutSize> dp;
  for (const auto& [grown, giver] :
       {std::pair(LayoutSize::cp, dp), std::pair(LayoutSize::cp, std::optional(LayoutSize::pp)),
        std::pair(LayoutSize::cp, std::optional(LayoutSize::tp)), std::pair(LayoutSize::pp, dp),
        std::pair(LayoutSize::pp, std::optional(LayoutSize::cp)),
        std::pair(LayoutSize::pp, std::optional(LayoutSize::tp)), std::pair(LayoutSize::tp, dp),
        std::pair(LayoutSize::tp, std::optional(LayoutSize::cp))}) {
    if (std::optional<Change> change = doubled(plan, grown, giver)) single(std::move(*change));
  }
  if (plan.model.moe.num_experts > 0) {
    for (const LayoutSize size : {LayoutSize::ep, LayoutSize::etp}) {
      const std::int64_t to = 2 * graph::size_of(plan, size);
      single(one(std::string(to_string(size)) + " " + std::to_string(to), graph::setting_of(size),
                 Node::integer(to)));
    }
  }
  for (Family& family : all) {
    for (Change& change : family) relay(plan, document, change);
  }
  return all;
}

class Search {
 public:
  Search(const Resources& resources, const Scenario& scenario, const Variant& variant,
         const std::vector<Override>& overrides, const Executor& executor)
      : resources_(resources),
        scenario_(scenario),
        variant_(variant),
        overrides_(overrides),
        executor_(executor) {}

  std::vector<Outcome> predicted(std::vector<Change> changes) const {
    std::vector<Outcome> outcomes(changes.size());
    executor_(static_cast<std::int64_t>(changes.size()), [&](std::int64_t i) {
      const auto at = static_cast<std::size_t>(i);
      outcomes[at] = outcome(std::move(changes[at]));
    });
    return outcomes;
  }

 private:
  Outcome outcome(Change change) const {
    Outcome result;
    std::vector<Override> changes = overrides_;
    for (const auto& [path, value] : change.settings) changes.push_back({"", path, value});
    result.change = std::move(change);
    try {
      const Node document = variant_document(scenario_, variant_.steps, variant_.name, changes);
      const Run run = predictor::run(resolve(resources_, scenario_, variant_.name, document),
                                     {1, 0, false}, serial_executor());
      result.legal = true;
      result.fits = run.memory.fits;
      result.peak = run.memory.peak_per_gpu.value;
      result.host = run.memory.host_per_node;
      result.host_exceeded = run.memory.host_exceeded();
      result.step = Seconds(run.nominal.step);
    } catch (const InputError&) {
      result.legal = false;
    }
    return result;
  }

  const Resources& resources_;
  const Scenario& scenario_;
  const Variant& variant_;
  const std::vector<Override>& overrides_;
  const Executor& executor_;
};

Remedy to_remedy(const Outcome& outcome, double step_before) {
  Remedy remedy;
  remedy.name = outcome.change.name;
  for (const auto& [path, value] : outcome.change.settings) {
    remedy.sets.push_back(path + "=" +
                          (value.is_string() ? value.as_string() : config::to_text(value)));
  }
  remedy.fits = outcome.fits;
  remedy.peak_per_gpu = outcome.peak;
  remedy.host_per_node = outcome.host;
  remedy.step_time = outcome.step;
  remedy.cost = outcome.step.si() / step_before - 1.0;
  return remedy;
}

bool cheaper(const Remedy& a, const Remedy& b) { return a.step_time < b.step_time; }

/// The steps of all families in one list, and the families' ends in it.
struct Flat {
  std::vector<Change> changes;
  std::vector<std::size_t> ends;
};
Flat flat(std::vector<Family> all) {
  Flat list;
  for (Family& family : all) {
    for (Change& change : family) list.changes.push_back(std::move(change));
    list.ends.push_back(list.changes.size());
  }
  return list;
}

std::vector<Change> pairs_of(const std::vector<Outcome>& strongest) {
  std::vector<Change> pairs;
  for (std::size_t i = 0; i < strongest.size(); ++i) {
    for (std::size_t k = i + 1; k < strongest.size(); ++k) {
      Change pair = strongest[i].change;
      const Change& other = strongest[k].change;
      const bool same_setting =
          std::any_of(pair.settings.begin(), pair.settings.end(), [&](const auto& setting) {
            return std::any_of(other.settings.begin(), other.settings.end(),
                               [&](const auto& o) { return o.first == setting.first; });
          });
      if (same_setting) continue;
      pair.name += " and " + other.name;
      pair.settings.insert(pair.settings.end(), other.settings.begin(), other.settings.end());
      pairs.push_back(std::move(pair));
    }
  }
  return pairs;
}

}  // namespace

std::vector<Remedy> remedies(const Resources& resources, const Scenario& scenario,
                             const Variant& variant, const std::vector<Override>& overrides,
                             const Run& run, const Executor& executor) {
  const Search search(resources, scenario, variant, overrides, executor);
  const Bytes peak = run.memory.peak_per_gpu.value;
  const double step = run.nominal.step;
  const Fit before = run.memory.fits;
  // Where host memory is what is missing a change may leave more on the GPU.
  const bool host_exceeded = run.memory.host_exceeded();
  const auto cures = [&](const Outcome& o) {
    return o.legal && o.fits < before && (o.peak < peak || host_exceeded);
  };
  const auto possible = [](const Outcome& o) { return o.legal && !o.host_exceeded; };
  Flat list =
      flat(families(run, variant_document(scenario, variant.steps, variant.name, overrides)));
  const std::vector<Outcome> outcomes = search.predicted(std::move(list.changes));

  std::vector<Remedy> found;
  std::vector<Outcome> strongest;  // of each family: the step of least memory
  std::size_t begin = 0;
  for (const std::size_t end : list.ends) {
    const auto first = outcomes.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = outcomes.begin() + static_cast<std::ptrdiff_t>(end);
    begin = end;
    if (const auto cure = std::find_if(first, last, cures); cure != last) {
      found.push_back(to_remedy(*cure, step));
      continue;
    }
    const auto least = std::min_element(first, last, [&](const Outcome& a, const Outcome& b) {
      if (possible(a) != possible(b)) return possible(a);
      return possible(a) && a.peak < b.peak;
    });
    if (possible(*least) && least->peak < peak) strongest.push_back(*least);
  }
  if (found.empty() && before == Fit::no) {
    const std::vector<Outcome> pairs = search.predicted(pairs_of(strongest));
    for (const Outcome& pair : pairs) {
      if (cures(pair)) found.push_back(to_remedy(pair, step));
    }
    std::stable_sort(found.begin(), found.end(), cheaper);
    if (found.size() > kMostPairs) found.resize(kMostPairs);
    if (found.empty()) {
      strongest.insert(strongest.end(), pairs.begin(), pairs.end());
      std::erase_if(strongest, [&](const Outcome& o) { return !possible(o); });
      const auto closest =
          std::min_element(strongest.begin(), strongest.end(),
                           [](const Outcome& a, const Outcome& b) { return a.peak < b.peak; });
      if (closest != strongest.end()) found.push_back(to_remedy(*closest, step));
    }
  }
  std::stable_sort(found.begin(), found.end(), cheaper);
  return found;
}

}  // namespace hysim::predictor
