#include "report/budget_view.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>

#include "report/view_parts.h"
#include "units/text.h"

namespace hysim::report {

namespace {

constexpr double kMwh = 1000.0;  // kWh

struct Line {
  const char* label;
  const char* unit;
  double scale;
  std::function<const Ranged<double>*(const Budget&)> value;
};

const std::array<Line, 4>& lines() {
  static const std::array<Line, 4> kLines = {{
      {"Days", "", 1.0, [](const Budget& b) { return &b.days; }},
      {"GPU-hours", "", 1.0, [](const Budget& b) { return &b.gpu_hours; }},
      {"Energy", "MWh", kMwh,
       [](const Budget& b) { return b.energy_kwh ? &*b.energy_kwh : nullptr; }},
      {"Cost", "USD", 1.0, [](const Budget& b) { return b.cost_usd ? &*b.cost_usd : nullptr; }},
  }};
  return kLines;
}

std::string title(const Budget& budget) {
  return "Training on " + token_budget_text(budget.tokens) +
         " tokens: " + units::format_count(budget.steps) + (budget.steps == 1 ? " step" : " steps");
}

std::string cell(const Line& line, const Budget& budget) {
  const Ranged<double>* const value = line.value(budget);
  return value == nullptr ? "n/a" : with_range(*value, {line.unit, line.scale});
}

std::string label_of(const Line& line) {
  return *line.unit == '\0' ? line.label : std::string(line.label) + " (" + line.unit + ")";
}

bool shown(const Line& line, const std::vector<Prediction>& variants) {
  for (const Prediction& p : variants) {
    if (p.budget && line.value(*p.budget) != nullptr) return true;
  }
  return false;
}

void add_sources(Document& document, const Budget& budget) {
  for (const std::string& text : budget.assumptions) document.add(Paragraph{text, Tone::faint});
}

/// "hyscale instead of megatron-tilelang saves 3.4 days, 41,800 GPU-hours and 104,000 USD."
std::string saving(const std::vector<Prediction>& variants, std::size_t baseline,
                   std::size_t candidate) {
  const Budget& before = *variants[baseline].budget;
  const Budget& after = *variants[candidate].budget;
  const std::vector<std::string> names = column_names(variants);
  const bool saves = after.days.value <= before.days.value;
  std::string amounts;
  const auto add = [&](double from, double to, const std::string& unit) {
    amounts += (amounts.empty() ? "" : ", ") + significant(saves ? from - to : to - from) + unit;
  };
  add(before.days.value, after.days.value, " days");
  add(before.gpu_hours.value, after.gpu_hours.value, " GPU-hours");
  if (before.energy_kwh && after.energy_kwh) {
    add(before.energy_kwh->value / kMwh, after.energy_kwh->value / kMwh, " MWh");
  }
  if (before.cost_usd && after.cost_usd) {
    add(before.cost_usd->value, after.cost_usd->value, " USD");
  }
  return names[candidate] + " instead of " + names[baseline] + (saves ? " saves " : " costs ") +
         amounts + (saves ? "" : " more");
}

}  // namespace

std::string token_budget_text(double tokens) {
  constexpr std::array<std::pair<double, const char*>, 4> kSteps = {
      {{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "K"}}};
  for (const auto& [scale, suffix] : kSteps) {
    if (tokens < scale) continue;
    const double count = tokens / scale;
    const bool whole = count == std::floor(count);
    return (whole ? std::to_string(static_cast<std::int64_t>(count)) : significant(count, 4)) +
           suffix;
  }
  return significant(tokens, 4);
}

void add_budget(Document& document, const Prediction& prediction) {
  if (!prediction.budget) return;
  Table table;
  table.show_titles = false;
  table.columns = {{"", Align::left}, {"", Align::left, true}};
  for (const Line& line : lines()) {
    if (!shown(line, {prediction})) continue;
    table.rows.push_back(Row{{line.label, cell(line, *prediction.budget)}});
  }
  document.add(Heading{title(*prediction.budget)});
  document.add(std::move(table));
  add_sources(document, *prediction.budget);
}

void add_budget(Document& document, const std::vector<Prediction>& variants, std::size_t baseline,
                std::size_t candidate) {
  for (const Prediction& p : variants) {
    if (!p.budget) return;
  }
  if (variants.empty()) return;
  Table table;
  table.columns.push_back({"", Align::left});
  for (const auto& name : column_names(variants)) table.columns.push_back({name});
  for (const Line& line : lines()) {
    if (!shown(line, variants)) continue;
    table.rows.push_back(row_of(label_of(line), variants, [&](const auto& p) {
      const Ranged<double>* const value = line.value(*p.budget);
      return Cell(value == nullptr ? "n/a" : significant(value->value / line.scale));
    }));
  }
  document.add(Heading{title(*variants.front().budget)});
  document.add(std::move(table));
  if (baseline < variants.size() && candidate < variants.size() && baseline != candidate) {
    document.add(Paragraph{saving(variants, baseline, candidate), Tone::strong});
  }
  add_sources(document, *variants.front().budget);
}

}  // namespace hysim::report
