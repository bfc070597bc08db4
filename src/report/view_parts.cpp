#include "report/view_parts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "report/views.h"
#include "units/text.h"

namespace hysim::report {

namespace {

std::string stages_text(const std::vector<std::int64_t>& layers) {
  std::string text;
  for (std::size_t i = 0; i < layers.size();) {
    std::size_t end = i;
    while (end < layers.size() && layers[end] == layers[i]) ++end;
    text += (text.empty() ? "" : ", ") + std::to_string(layers[i]);
    if (end - i > 1) text += " x" + std::to_string(end - i);
    i = end;
  }
  return text;
}

std::string plural(std::int64_t count, const std::string& noun) {
  return units::format_count(count) + " " + noun + (count == 1 ? "" : "s");
}

struct Fact {
  std::string label;
  std::function<std::string(const Prediction&)> value;
  std::function<std::string(const Prediction&)> brief;  // in a column of its own
};

std::string tokens_text(const Prediction& p) {
  constexpr double kExact = 9e15;
  std::string text = plural(p.global_batch_size, "sequence") + " of " +
                     units::format_tokens(p.seq_len) + " a step";
  const double tokens = static_cast<double>(p.global_batch_size) * static_cast<double>(p.seq_len);
  if (tokens < kExact) {
    text += " (" + units::format_count(p.global_batch_size * p.seq_len) + " tokens)";
  }
  return text;
}

const std::vector<Fact>& facts() {
  const auto scenario = [](const Prediction& p) { return p.scenario; };
  const auto model = [](const Prediction& p) { return p.model; };
  const auto cluster = [](const Prediction& p) { return p.cluster; };
  const auto gpus = [](const Prediction& p) { return units::format_count(p.gpus) + " x " + p.gpu; };
  static const std::vector<Fact> table = {
      {"Scenario", scenario, scenario},
      {"Model", model, model},
      {"Cluster", cluster, cluster},
      {"GPUs", gpus, gpus},
      {"Tokens", tokens_text,
       [](const Prediction& p) {
         return units::format_count(p.global_batch_size) + " x " + units::format_tokens(p.seq_len);
       }},
      {"Micro-batches",
       [](const Prediction& p) {
         return units::format_count(p.micro_batches) + " a pipeline, of " +
                plural(p.micro_batch_size, "sequence");
       },
       [](const Prediction& p) {
         return units::format_count(p.micro_batches) + " of " +
                units::format_count(p.micro_batch_size);
       }},
  };
  return table;
}

struct Size {
  const char* label;
  std::int64_t Layout::*member;
  bool always;  // shown even when it is 1
};
constexpr Size kSizes[] = {{"tp", &Layout::tp, true},   {"cp", &Layout::cp, true},
                           {"pp", &Layout::pp, true},   {"vpp", &Layout::vpp, false},
                           {"dp", &Layout::dp, true},   {"ep", &Layout::ep, true},
                           {"etp", &Layout::etp, false}};

bool all_same(const std::vector<Prediction>& variants,
              const std::function<std::string(const Prediction&)>& value) {
  return std::all_of(variants.begin(), variants.end(),
                     [&](const Prediction& p) { return value(p) == value(variants.front()); });
}

/// "MFU: 6 N D ...; of 148 TFLOP/s a GPU"
std::string convention_text(const char* name, const Utilisation& utilisation) {
  std::string text = std::string(name) + ": ";
  if (!utilisation.convention.empty()) text += utilisation.convention + "; ";
  return text + "of " + units::format(utilisation.peak) + " a GPU";
}

}  // namespace

Row row_of(std::string label, const std::vector<Prediction>& variants,
           const std::function<Cell(const Prediction&)>& cell, int indent) {
  Row row;
  row.indent = indent;
  row.cells.emplace_back(std::move(label));
  for (const Prediction& p : variants) row.cells.push_back(cell(p));
  return row;
}

void add_facts(const std::vector<Prediction>& variants, Table& shared, Table& apart) {
  const Prediction& first = variants.front();
  for (const Fact& fact : facts()) {
    if (!all_same(variants, fact.value)) {
      apart.rows.push_back(
          row_of(fact.label, variants, [&](const Prediction& p) { return fact.brief(p); }));
    } else if (!fact.value(first).empty()) {
      shared.rows.push_back(Row{{fact.label, fact.value(first)}});
    }
  }

  std::string layout;
  for (const Size& size : kSizes) {
    const auto value = [&](const Prediction& p) { return std::to_string(p.layout.*size.member); };
    if (!all_same(variants, value)) {
      apart.rows.push_back(
          row_of(size.label, variants, [&](const Prediction& p) { return value(p); }));
    } else if (size.always || first.layout.*size.member != 1) {
      layout += (layout.empty() ? "" : ", ") + std::string(size.label) + " " + value(first);
    }
  }
  const auto stages = [](const Prediction& p) { return stages_text(p.layout.layers_per_stage); };
  if (all_same(variants, stages) && first.layout.layers_per_stage.size() > 1) {
    layout += "; layers " + stages(first);
  }
  shared.rows.push_back(Row{{"Layout", layout}});
  if (!all_same(variants, stages)) {
    apart.rows.push_back(
        row_of("Layers", variants, [&](const Prediction& p) { return stages(p); }));
  }
}

std::string nominal_end(const Ranged<Seconds>& step) {
  if (step.low == step.high) return "";
  const Scale scale = scale_of(step.value);
  const auto shown = [&](Seconds time) { return quantity(time.si(), scale); };
  const std::string value = shown(step.value);
  const std::string few = "about a tenth of them at most are ";
  if (shown(step.low) == value) return few + "shorter than the nominal step, the low end";
  if (shown(step.high) == value) return few + "longer than the nominal step, the high end";
  return "";
}

std::string draws_text(const std::vector<Prediction>& variants) {
  const Prediction& first = variants.front();
  if (first.draws <= 0) return "nominal values only (0 draws)";
  std::string text = "[10th, 90th percentile] of " + plural(first.draws, "draw") + ", seed " +
                     std::to_string(first.seed);
  std::map<std::string, std::vector<std::string>> ends;
  const std::vector<std::string> names = column_names(variants);
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const std::string end = nominal_end(variants[i].step_time);
    if (!end.empty()) ends[end].push_back(names[i]);
  }
  for (const auto& [end, which] : ends) {
    text += "; " + end;
    if (which.size() == variants.size()) continue;
    for (const std::string& name : which) text += (name == which.front() ? " (" : ", ") + name;
    text += ")";
  }
  return text;
}

Tone tone_of(Fit fit) {
  return fit == Fit::yes ? Tone::good : fit == Fit::tight ? Tone::caution : Tone::bad;
}

std::string fits_text(Fit fit) { return fit == Fit::no ? kUnfit : to_string(fit); }

std::string against_capacity(const Memory& memory) {
  std::string text = text_of(memory.peak_per_gpu.value) + " of " + text_of(memory.capacity);
  if (memory.host_exceeded()) text += ", host memory " + host_memory(memory);
  return text;
}

std::string host_memory(const Memory& memory) {
  std::string text = text_of(memory.host_per_node);
  if (memory.host_capacity > Bytes{}) text += " of " + text_of(memory.host_capacity);
  return text + " a node";
}

std::vector<std::string> column_names(const std::vector<Prediction>& variants) {
  // The shortest of three that tells all apart.
  const auto full = [](const Prediction& p) {
    return p.variant.empty() ? p.scenario : p.scenario + ":" + p.variant;
  };
  const auto variant = [](const Prediction& p) {
    return p.variant.empty() ? p.scenario : p.variant;
  };
  const auto scenario = [](const Prediction& p) { return p.scenario; };
  const auto named = [&](const auto& name) {
    std::vector<std::string> names;
    names.reserve(variants.size());
    for (const Prediction& p : variants) names.push_back(name(p));
    return names;
  };
  const auto distinct = [](const std::vector<std::string>& names) {
    return std::set<std::string>(names.begin(), names.end()).size() == names.size();
  };
  for (auto names : {named(variant), named(scenario)}) {
    if (distinct(names)) return names;
  }
  return named(full);
}

std::size_t variant_index(const std::string& name, const std::vector<Prediction>& variants,
                          std::size_t fallback) {
  const std::vector<std::string> names = column_names(variants);
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const Prediction& p = variants[i];
    if (names[i] == name || p.scenario + ":" + p.variant == name) return i;
  }
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (variants[i].variant == name) return i;
  }
  return fallback;
}

TimeUnit time_unit(const std::vector<Prediction>& variants) {
  Seconds longest;
  Seconds shortest;
  for (const Prediction& p : variants) {
    const Seconds step = p.step_time.value;
    if (!std::isfinite(step.si()) || step <= Seconds{}) continue;
    longest = max(longest, step);
    shortest = shortest == Seconds{} ? step : min(shortest, step);
  }
  TimeUnit unit;
  unit.scale = scale_of(longest);
  const double in_unit = shortest.si() / unit.scale.si;
  const int exponent = in_unit > 0.0 ? static_cast<int>(std::floor(std::log10(in_unit))) : 0;
  unit.decimals = std::clamp(3 - exponent, 0, 3);
  return unit;
}

TimeColumn time_column(const std::vector<Seconds>& times, const TimeUnit& unit) {
  TimeColumn column;
  std::vector<double> values;
  double total = 0.0;
  for (const Seconds time : times) {
    values.push_back(time.si() / unit.scale.si);
    total += values.back();
  }
  const double last_decimal = std::pow(10.0, -unit.decimals);
  if (total < 1e9) column.counts = rounded_to_sum(values, last_decimal);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == 0.0) {
      column.cells.emplace_back("-");
    } else if (column.counts.empty()) {
      column.cells.push_back(significant(values[i]));
    } else {
      column.cells.push_back(fixed_point(column.counts[i], unit.decimals));
    }
  }
  if (column.counts.empty()) {
    column.sum = significant(total);
  } else {
    column.sum =
        fixed_point(std::accumulate(column.counts.begin(), column.counts.end(), std::int64_t{0}),
                    unit.decimals);
  }
  return column;
}

std::vector<Seconds> column_of(const GroupTable& table, std::size_t variant) {
  std::vector<Seconds> times;
  for (const auto& row : table.times) times.push_back(row[variant]);
  return times;
}

void add_hidden_time(Document& document, const std::vector<Prediction>& variants) {
  const GroupTable hidden = side_by_side(variants, TimeKind::overlapped);
  if (hidden.names.empty()) return;
  Table table;
  table.show_titles = variants.size() > 1;
  table.columns.push_back({"", Align::left});
  for (const auto& name : column_names(variants)) table.columns.push_back({name});
  for (std::size_t i = 0; i < hidden.names.size(); ++i) {
    Row row{{hidden.names[i]}};
    for (const Seconds time : hidden.times[i]) {
      row.cells.emplace_back(time == Seconds{} ? "-" : text_of(time));
    }
    table.rows.push_back(std::move(row));
  }
  document.add(Heading{"Hidden behind other work, not in the sum"});
  document.add(std::move(table));
}

std::vector<std::string> evidence_cells(const EvidenceShares& evidence) {
  const std::vector<double> shares = {evidence.this_gpu, evidence.other_gpu, evidence.datasheet,
                                      evidence.assumed};
  const auto counts = rounded_to_sum(shares, 0.01);
  std::vector<std::string> cells;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    cells.push_back(i < counts.size() ? std::to_string(counts[i]) + " %" : "n/a");
  }
  return cells;
}
void add_assumptions(Document& document, const std::vector<Prediction>& variants) {
  // Each once, in order of appearance; one that does not hold for all says for which.
  const std::vector<std::string> names = column_names(variants);
  std::vector<std::string> items;
  std::set<std::string> done;
  for (const Prediction& p : variants) {
    for (const std::string& assumption : p.assumptions) {
      if (!done.insert(assumption).second) continue;
      std::string holders;
      bool everywhere = true;
      for (std::size_t v = 0; v < variants.size(); ++v) {
        const auto& own = variants[v].assumptions;
        if (std::find(own.begin(), own.end(), assumption) == own.end()) {
          everywhere = false;
        } else {
          holders += (holders.empty() ? "" : ", ") + names[v];
        }
      }
      items.push_back(everywhere ? assumption : holders + ": " + assumption);
    }
  }
  if (items.empty()) return;
  document.add(Heading{"Assumes"});
  document.add(Bullets{std::move(items)});
}

void add_conventions(Document& document, const std::vector<Prediction>& variants) {
  std::vector<std::string> done;
  for (const Prediction& p : variants) {
    for (std::string text : {convention_text("MFU", p.mfu), convention_text("HFU", p.hfu)}) {
      if (std::find(done.begin(), done.end(), text) != done.end()) continue;
      document.add(Paragraph{text, Tone::faint, 5});
      done.push_back(std::move(text));
    }
  }
}

}  // namespace hysim::report
