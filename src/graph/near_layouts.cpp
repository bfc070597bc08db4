#include "graph/near_layouts.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace hysim::graph {

namespace {

constexpr std::size_t kMostValues = 24;
constexpr std::int64_t kMostChunksAStage = 16;
constexpr std::int64_t kMostSequences = 64;  // of a micro-batch

std::vector<std::int64_t> divisors(std::int64_t number, std::int64_t most) {
  std::vector<std::int64_t> values;
  for (std::int64_t d = 1; d <= number / d; ++d) {
    if (number % d != 0) continue;
    values.push_back(d);
    if (d != number / d) values.push_back(number / d);
  }
  std::erase_if(values, [&](std::int64_t value) { return value > most; });
  std::sort(values.begin(), values.end());
  return values;
}

/// The size in a plan, constant or not.
template <class P>
auto& select(P& plan, LayoutSize size) {
  auto& sizes = plan.parallelism.sizes;
  switch (size) {
    case LayoutSize::cp:
      return sizes.cp;
    case LayoutSize::pp:
      return sizes.pp;
    case LayoutSize::tp:
      return sizes.tp;
    case LayoutSize::ep:
      return sizes.ep;
    case LayoutSize::etp:
      return sizes.etp;
    case LayoutSize::vpp:
      return plan.parallelism.vpp;
    case LayoutSize::micro_batch_size:
      break;
  }
  return plan.workload.micro_batch_size;
}

double distance_of(std::int64_t from, std::int64_t to) {
  return std::fabs(std::log2(static_cast<double>(to) / static_cast<double>(from)));
}

/// The values of one size other than the plan's, nearest first.
std::vector<std::int64_t> others(const Plan& plan, std::int64_t gpus, LayoutSize size) {
  const std::int64_t now = size_of(plan, size);
  std::vector<std::int64_t> values = layout_values(plan, gpus, size);
  std::erase(values, now);
  std::stable_sort(values.begin(), values.end(), [&](std::int64_t a, std::int64_t b) {
    return distance_of(now, a) < distance_of(now, b);
  });
  if (values.size() > kMostValues) values.resize(kMostValues);
  return values;
}

bool contains(const std::vector<SizeChange>& all, const std::vector<SizeChange>& some) {
  return std::all_of(some.begin(), some.end(), [&](const SizeChange& change) {
    return std::find(all.begin(), all.end(), change) != all.end();
  });
}

class Search {
 public:
  Search(const Plan& plan, std::int64_t gpus, std::int64_t dp)
      : original_(plan), plan_(plan), gpus_(gpus), dp_(dp) {
    for (int s = 0; s < kLayoutSizes; ++s) {
      values_.push_back(others(plan, gpus, static_cast<LayoutSize>(s)));
    }
  }

  /// Every legal layout of exactly `count` changes that needs all of them.
  void level(int count) {
    found_before_ = found_.size();
    change(0, count);
  }
  std::vector<NearLayout>& found() { return found_; }

 private:
  void change(int from, int left) {
    if (left == 0) {
      try_changes();
      return;
    }
    for (int s = from; s + left <= kLayoutSizes; ++s) {
      for (const std::int64_t value : values_[static_cast<std::size_t>(s)]) {
        changes_.push_back({static_cast<LayoutSize>(s), value});
        change(s + 1, left - 1);
        changes_.pop_back();
      }
    }
  }

  void try_changes() {
    if (has_empty_chunks()) return;
    for (std::size_t i = 0; i < found_before_; ++i) {
      if (contains(changes_, found_[i].changes)) return;
    }
    if (try_layout(false)) return;
    // The layers as written may be what is wrong, or no longer fit the chunks.
    try_layout(true);
  }

  /// More chunks than layers are legal and nothing to suggest.
  bool has_empty_chunks() const {
    std::int64_t pp = original_.parallelism.sizes.pp;
    std::int64_t vpp = original_.parallelism.vpp;
    for (const SizeChange& change : changes_) {
      if (change.size == LayoutSize::pp) pp = change.to;
      if (change.size == LayoutSize::vpp) vpp = change.to;
    }
    return pp * vpp > static_cast<std::int64_t>(original_.model.layers.size());
  }

  bool try_layout(bool relay) {
    plan_.workload.micro_batch_size = original_.workload.micro_batch_size;
    plan_.parallelism = original_.parallelism;
    if (!lay_out(plan_, gpus_, changes_, relay)) return false;
    if (dp_ > 0 && plan_.parallelism.sizes.dp != dp_) return false;
    if (!check(plan_, gpus_).empty()) return false;
    NearLayout layout;
    layout.changes = changes_;
    for (const SizeChange& c : changes_) {
      layout.distance += distance_of(size_of(original_, c.size), c.to);
    }
    layout.dp = plan_.parallelism.sizes.dp;
    layout.relaid = plan_.parallelism.layers_per_chunk != original_.parallelism.layers_per_chunk;
    layout.layers_per_chunk = plan_.parallelism.layers_per_chunk;
    found_.push_back(std::move(layout));
    return true;
  }

  Plan original_;
  Plan plan_;
  std::int64_t gpus_;
  std::int64_t dp_;
  std::vector<std::vector<std::int64_t>> values_;
  std::vector<SizeChange> changes_;
  std::vector<NearLayout> found_;
  std::size_t found_before_ = 0;  // layouts of fewer changes
};

bool nearer(const NearLayout& a, const NearLayout& b) {
  if (a.changes.size() != b.changes.size()) return a.changes.size() < b.changes.size();
  if (a.distance != b.distance) return a.distance < b.distance;
  return std::lexicographical_compare(a.changes.begin(), a.changes.end(), b.changes.begin(),
                                      b.changes.end(),
                                      [](const SizeChange& x, const SizeChange& y) {
                                        return std::tuple(x.size, x.to) < std::tuple(y.size, y.to);
                                      });
}

}  // namespace

std::string_view to_string(LayoutSize size) {
  switch (size) {
    case LayoutSize::cp:
      return "cp";
    case LayoutSize::pp:
      return "pp";
    case LayoutSize::tp:
      return "tp";
    case LayoutSize::ep:
      return "ep";
    case LayoutSize::etp:
      return "etp";
    case LayoutSize::vpp:
      return "vpp";
    case LayoutSize::micro_batch_size:
      return "micro_batch_size";
  }
  return "";
}

std::string setting_of(LayoutSize size) {
  return (size == LayoutSize::micro_batch_size ? "workload." : "parallelism.") +
         std::string(to_string(size));
}

std::int64_t& size_of(Plan& plan, LayoutSize size) { return select(plan, size); }
std::int64_t size_of(const Plan& plan, LayoutSize size) { return select(plan, size); }

std::vector<std::int64_t> layout_values(const Plan& plan, std::int64_t gpus, LayoutSize size) {
  const bool experts =
      std::any_of(plan.model.layers.begin(), plan.model.layers.end(),
                  [](const auto& layer) { return layer.ffn == model::FfnKind::moe; });
  const auto layers = static_cast<std::int64_t>(plan.model.layers.size());
  switch (size) {
    case LayoutSize::cp:
    case LayoutSize::tp:
      return divisors(gpus, gpus);
    case LayoutSize::pp:
      return divisors(gpus, layers);
    case LayoutSize::ep:
      return experts ? divisors(plan.model.moe.num_experts, gpus) : std::vector<std::int64_t>{1};
    case LayoutSize::etp:
      return experts ? divisors(gpus, plan.model.moe.expert_ffn) : std::vector<std::int64_t>{1};
    case LayoutSize::vpp: {
      std::vector<std::int64_t> values;
      for (std::int64_t v = 1; v <= std::min(layers, kMostChunksAStage); ++v) values.push_back(v);
      return values;
    }
    case LayoutSize::micro_batch_size:
      return divisors(plan.workload.global_batch_size, kMostSequences);
  }
  return {};
}

bool lay_out(Plan& plan, std::int64_t gpus, const std::vector<SizeChange>& changes, bool relay) {
  topology::GroupSizes& sizes = plan.parallelism.sizes;
  const std::int64_t chunks = plan.chunks();
  const bool follows_tp = plan.parallelism.sequence_parallel == (sizes.tp > 1);
  for (const SizeChange& change : changes) size_of(plan, change.size) = change.to;
  const std::int64_t fixed = sizes.tp * sizes.cp * sizes.pp;
  if (gpus % fixed != 0) return false;
  sizes.dp = gpus / fixed;
  if (follows_tp) plan.parallelism.sequence_parallel = sizes.tp > 1;
  if (relay || plan.chunks() != chunks) {
    plan.parallelism.layers_per_chunk = default_layout(plan.model, plan.chunks());
  }
  return true;
}

std::vector<NearLayout> near_layouts(const Plan& plan, std::int64_t gpus, std::size_t most,
                                     std::int64_t dp) {
  Search search(plan, gpus, dp);
  for (int changes = 0; changes <= kMostChanges && search.found().size() < most; ++changes) {
    search.level(changes);
  }
  std::vector<NearLayout> found = std::move(search.found());
  std::sort(found.begin(), found.end(), nearer);
  if (found.size() > most) found.resize(most);
  return found;
}

std::string to_text(const NearLayout& layout) {
  std::string text;
  for (const SizeChange& change : layout.changes) {
    text += (text.empty() ? "" : ", ") + std::string(to_string(change.size)) + " " +
            std::to_string(change.to);
  }
  if (layout.relaid) {
    std::string counts;
    for (const std::int64_t count : layout.layers_per_chunk) {
      counts += (counts.empty() ? "" : ",") + std::to_string(count);
    }
    text +=
        (text.empty() ? "" : ", ") + std::string("parallelism.pipeline_layout=[") + counts + "]";
  }
  return text + " (dp " + std::to_string(layout.dp) + ")";
}

}  // namespace hysim::graph
