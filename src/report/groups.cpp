#include "report/groups.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace hysim::report {

namespace {

struct Group {
  std::string_view prefix;  // of the path, whole components
  std::string_view name;
};

// In the order of the table.
constexpr Group kGroups[] = {
    {"selection/scoring", "Scoring"},
    {"selection/score_table", "Score table traffic"},
    {"selection/topk", "Top-k"},
    {"selection/hytopk", "HyTopK (fused)"},
    {"attention/sparse_forward", "Sparse attention fwd"},
    {"attention/sparse_backward", "Sparse attention bwd"},
    {"attention/dense_forward", "Dense attention fwd"},
    {"attention/dense_backward", "Dense attention bwd"},
    {"indexer_loss", "Indexer loss"},
    {"linear", "Linear layers"},
    {"experts", "Experts"},
    {"elementwise", "Elementwise"},
    {"vocabulary", "Vocabulary and loss"},
    {"communication/tp", "TP comm"},
    {"communication/cp", "CP comm"},
    {"communication/ep", "EP comm"},
    {"communication/pp", "PP comm"},
    {"communication/dp", "DP comm"},
    {"contention/dispatch_sms", "SMs taken by dispatch"},
    {"offload", "Offload copies"},
    {"bubble", "Pipeline bubble"},
    {"optimizer", "Optimizer"},
    {"launch", "Launch overhead"},
};

const Group* find_group(std::string_view path) {
  for (const Group& group : kGroups) {
    if (path.starts_with(group.prefix) &&
        (path.size() == group.prefix.size() || path[group.prefix.size()] == '/')) {
      return &group;
    }
  }
  return nullptr;
}

bool is_communication(std::string_view path) {
  return path.starts_with("communication/") && find_group(path) != nullptr;
}

/// Position of a name in the table; unknown names come last.
std::size_t rank(std::string_view name) {
  constexpr std::string_view kExposed = "Exposed ";
  if (name.starts_with(kExposed)) name.remove_prefix(kExposed.size());
  const auto* const at = std::find_if(std::begin(kGroups), std::end(kGroups),
                                      [&](const Group& group) { return group.name == name; });
  return static_cast<std::size_t>(at - std::begin(kGroups));
}

/// What binds a row: the causes that hold at least a quarter of its time, largest first.
std::string causes(std::vector<std::pair<std::string, double>> shares) {
  std::stable_sort(shares.begin(), shares.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  double total = 0.0;
  for (const auto& share : shares) total += share.second;
  std::string text;
  for (const auto& [cause, time] : shares) {
    if (cause.empty() || (!text.empty() && time < 0.25 * total)) continue;
    text += (text.empty() ? "" : ", ") + cause;
  }
  return text;
}

}  // namespace

std::string group_of(std::string_view path) {
  const Group* const group = find_group(path);
  if (group != nullptr) return std::string(group->name);
  // Phases of one kernel share a row.
  for (const std::string_view phase : {"/forward", "/recompute", "/backward"}) {
    if (path.size() > phase.size() && path.ends_with(phase)) {
      path.remove_suffix(phase.size());
      break;
    }
  }
  return std::string(path);
}

std::vector<GroupTime> grouped(const std::vector<BreakdownLeaf>& leaves, TimeKind kind) {
  std::vector<GroupTime> rows;
  std::vector<std::vector<std::pair<std::string, double>>> shares;
  for (const BreakdownLeaf& leaf : leaves) {
    if (leaf.kind != kind) continue;
    std::string name = group_of(leaf.path);
    if (kind == TimeKind::critical && is_communication(leaf.path)) name = "Exposed " + name;
    auto row = std::find_if(rows.begin(), rows.end(),
                            [&](const GroupTime& candidate) { return candidate.name == name; });
    if (row == rows.end()) {
      row = rows.insert(rows.end(), GroupTime{std::move(name), Seconds{}, ""});
      shares.emplace_back();
    }
    row->time += leaf.time.value;
    auto& own = shares[static_cast<std::size_t>(row - rows.begin())];
    const auto share = std::find_if(own.begin(), own.end(), [&](const auto& candidate) {
      return candidate.first == leaf.bound_by;
    });
    if (share == own.end()) {
      own.emplace_back(leaf.bound_by, leaf.time.value.si());
    } else {
      share->second += leaf.time.value.si();
    }
  }
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].bound_by = causes(std::move(shares[i]));
  std::stable_sort(rows.begin(), rows.end(), [](const GroupTime& a, const GroupTime& b) {
    return rank(a.name) < rank(b.name);
  });
  return rows;
}

GroupTable side_by_side(const std::vector<Prediction>& variants, TimeKind kind) {
  GroupTable table;
  for (std::size_t v = 0; v < variants.size(); ++v) {
    for (GroupTime& row : grouped(variants[v].breakdown, kind)) {
      auto at = std::find(table.names.begin(), table.names.end(), row.name);
      if (at == table.names.end()) {
        // Before the first name that the table lists later.
        at = std::find_if(table.names.begin(), table.names.end(),
                          [&](const std::string& name) { return rank(name) > rank(row.name); });
        const auto index = at - table.names.begin();
        at = table.names.insert(at, row.name);
        table.times.insert(table.times.begin() + index, std::vector<Seconds>(variants.size()));
        table.bound_by.insert(table.bound_by.begin() + index,
                              std::vector<std::string>(variants.size()));
      }
      const auto index = static_cast<std::size_t>(at - table.names.begin());
      table.times[index][v] = row.time;
      table.bound_by[index][v] = std::move(row.bound_by);
    }
  }
  return table;
}

GroupTable folded(const GroupTable& table, const std::vector<Prediction>& variants, double share) {
  constexpr double kRoundingNoise = 1e-9;
  GroupTable result;
  std::vector<Seconds> other(variants.size());
  std::vector<Seconds> sum(variants.size());
  bool any_other = false;
  for (std::size_t row = 0; row < table.names.size(); ++row) {
    bool small = true;
    bool zero = true;
    for (std::size_t v = 0; v < variants.size(); ++v) {
      const double time = std::fabs(table.times[row][v].si());
      const double step = std::fabs(variants[v].step_time.value.si());
      if (!(time < share * step) && time != 0.0) small = false;
      if (time != 0.0) zero = false;
      sum[v] += table.times[row][v];
    }
    if (zero) continue;
    if (small) {
      any_other = true;
      for (std::size_t v = 0; v < variants.size(); ++v) other[v] += table.times[row][v];
      continue;
    }
    result.names.push_back(table.names[row]);
    result.times.push_back(table.times[row]);
    result.bound_by.push_back(table.bound_by[row]);
  }
  const std::vector<std::string> unknown(variants.size());
  if (any_other) {
    result.names.emplace_back("Other");
    result.times.push_back(other);
    result.bound_by.push_back(unknown);
  }
  std::vector<Seconds> rest(variants.size());
  bool any_rest = false;
  for (std::size_t v = 0; v < variants.size(); ++v) {
    const Seconds step = variants[v].step_time.value;
    const Seconds difference = step - sum[v];
    if (std::fabs(difference.si()) > kRoundingNoise * std::fabs(step.si())) {
      rest[v] = difference;
      any_rest = true;
    }
  }
  if (any_rest) {
    result.names.emplace_back("Not itemized");
    result.times.push_back(rest);
    result.bound_by.push_back(unknown);
  }
  return result;
}

}  // namespace hysim::report
