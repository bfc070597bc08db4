// The first screen of a comparison: the speedup, what was asked, every variant a column.
#include <algorithm>
#include <iterator>
#include <utility>

#include "config/node.h"
#include "report/budget_view.h"
#include "report/view_parts.h"
#include "report/views.h"
#include "units/text.h"

namespace hysim::report {

namespace {

constexpr std::size_t kMaxHypotheses = 12;  // shown as rows; of more only the main ones

/// The largest parts of the fullest GPU's memory.
std::string largest_parts(const Memory& memory) {
  constexpr std::size_t kShown = 4;
  std::vector<MemoryPart> parts = memory.parts;
  std::stable_sort(parts.begin(), parts.end(),
                   [](const MemoryPart& a, const MemoryPart& b) { return a.bytes > b.bytes; });
  if (parts.size() > kShown) parts.resize(kShown);
  std::string text;
  for (const MemoryPart& part : parts) {
    text += (text.empty() ? "" : ", ") + part.name + " " + units::format(part.bytes);
  }
  return text;
}

std::string marked(const std::string& time, Fit fit) { return fit == Fit::no ? time + "*" : time; }

void add_answer(Document& document, const Comparison& c, std::size_t baseline,
                std::size_t candidate) {
  std::string answer =
      c.speedup.candidate + " vs " + c.speedup.baseline + ": " + times_with_range(c.speedup.ratio);
  if (c.speedup.hypothetical) {
    std::string why;
    for (const std::size_t v : {baseline, candidate}) {
      if (v >= c.variants.size() || c.variants[v].memory.fits != Fit::no) continue;
      const std::string& name = v == baseline ? c.speedup.baseline : c.speedup.candidate;
      why += (why.empty() ? "" : "; ") + name + " " + kUnfit + " (" +
             against_capacity(c.variants[v].memory) + ")";
      if (baseline == candidate) break;
    }
    if (why.empty()) why = c.speedup.note;
    answer += "  hypothetical" + (why.empty() ? std::string() : ": " + why);
  }
  document.add(Paragraph{answer, c.speedup.hypothetical ? Tone::caution : Tone::strong});
  if (!c.speedup.hypothetical && !c.speedup.note.empty()) document.add(Paragraph{c.speedup.note});
  if (c.envelope) {
    const auto count = static_cast<std::int64_t>(c.hypotheses.size());
    document.add(Paragraph{
        "Over unpublished settings: " + times(c.envelope->first) + " to " +
        times(c.envelope->second) +
        (count == 1 ? " (1 hypothesis)" : " (" + units::format_count(count) + " hypotheses)")});
  }
  if (c.reference) {
    std::string source = c.reference->source.empty() ? "" : " (" + c.reference->source + ")";
    document.add(Paragraph{"Published: " + times(c.reference->speedup) + source +
                           ", shown beside ours and not used"});
  }
}

void add_variants(Document& document, const std::vector<Prediction>& variants) {
  Table shared;
  shared.show_titles = false;
  shared.columns = {{"", Align::left}, {"", Align::left, true}};
  Table table;
  table.columns.push_back({"", Align::left});
  for (const auto& name : column_names(variants)) table.columns.push_back({name});
  add_facts(variants, shared, table);
  shared.rows.push_back(Row{{"Ranges", draws_text(variants)}});
  document.add(std::move(shared));

  const auto add = [&](const char* label, const std::function<Cell(const Prediction&)>& cell,
                       int indent = 0) {
    table.rows.push_back(row_of(label, variants, cell, indent));
  };
  add("Step time", [](const Prediction& p) {
    return Cell(marked(text_of(p.step_time.value), p.memory.fits), Tone::strong);
  });
  const bool ranges = std::any_of(variants.begin(), variants.end(), [](const Prediction& p) {
    return p.step_time.low != p.step_time.value || p.step_time.high != p.step_time.value;
  });
  if (ranges) {
    add(
        "range",
        [](const Prediction& p) {
          return Cell(range(p.step_time.low.si(), p.step_time.value.si(), p.step_time.high.si(),
                            scale_of(p.step_time.value)));
        },
        2);
  }
  add("Tokens/s/GPU",
      [](const Prediction& p) { return Cell(significant(p.tokens_per_second_per_gpu.value)); });
  add("MFU", [](const Prediction& p) { return Cell(percent(p.mfu.fraction.value)); });
  add("HFU", [](const Prediction& p) { return Cell(percent(p.hfu.fraction.value)); });
  add("Peak memory",
      [](const Prediction& p) { return Cell(text_of(p.memory.peak_per_gpu.value)); });
  add(
      "of", [](const Prediction& p) { return Cell(text_of(p.memory.capacity)); }, 2);
  add("Fits",
      [](const Prediction& p) { return Cell(fits_text(p.memory.fits), tone_of(p.memory.fits)); });
  for (std::size_t i = 0; i < std::size(kEvidenceLabels); ++i) {
    const std::string label = i == 0 ? "Rests on this GPU" : kEvidenceLabels[i];
    add(
        label.c_str(), [i](const Prediction& p) { return Cell(evidence_cells(p.evidence)[i]); },
        i == 0 ? 0 : 2);
  }
  document.add(std::move(table));
}

void add_footnotes(Document& document, const std::vector<Prediction>& variants) {
  const std::vector<std::string> names = column_names(variants);
  for (std::size_t v = 0; v < variants.size(); ++v) {
    const Memory& memory = variants[v].memory;
    if (memory.fits != Fit::no) continue;
    std::string text = "* " + names[v] + " " + kUnfit +
                       ", its time is as if it did: " + against_capacity(memory) + " on stage " +
                       std::to_string(memory.fullest_stage);
    const std::string parts = largest_parts(memory);
    if (!parts.empty()) text += " (" + parts + ")";
    document.add(Paragraph{text, Tone::bad});
  }
}

void add_breakdown(Document& document, const std::vector<Prediction>& variants,
                   std::size_t baseline, std::size_t candidate) {
  const GroupTable rows = folded(side_by_side(variants, TimeKind::critical), variants, kFoldBelow);
  const TimeUnit unit = time_unit(variants);
  Table table;
  table.columns.push_back({"", Align::left});
  for (const auto& name : column_names(variants)) table.columns.push_back({name});
  for (const auto& name : rows.names) table.rows.push_back(Row{{name}});
  std::vector<TimeColumn> columns;
  for (std::size_t v = 0; v < variants.size(); ++v) {
    columns.push_back(time_column(column_of(rows, v), unit));
    for (std::size_t i = 0; i < rows.names.size(); ++i) {
      table.rows[i].cells.emplace_back(columns[v].cells[i]);
    }
  }
  Row sum{{Cell("Step", Tone::strong)}};
  sum.rule_above = true;
  for (const TimeColumn& column : columns) sum.cells.emplace_back(column.sum, Tone::strong);
  table.rows.push_back(std::move(sum));

  // What the candidate saves, from the rounded numbers, so that the table adds up.
  constexpr std::size_t kMaxWithSaved = 3;
  if (baseline != candidate && variants.size() <= kMaxWithSaved &&
      columns[baseline].counts.size() == rows.names.size() &&
      columns[candidate].counts.size() == rows.names.size()) {
    table.columns.push_back({"saved"});
    std::int64_t total = 0;
    for (std::size_t i = 0; i < rows.names.size(); ++i) {
      const std::int64_t saved = columns[baseline].counts[i] - columns[candidate].counts[i];
      total += saved;
      table.rows[i].cells.emplace_back(saved == 0 ? "-" : fixed_point(saved, unit.decimals));
    }
    table.rows.back().cells.emplace_back(fixed_point(total, unit.decimals), Tone::strong);
  }
  document.add(
      Heading{std::string("Where the time goes (") + unit.scale.unit + " on the critical stage)"});
  document.add(std::move(table));
  add_hidden_time(document, variants);
}

void add_ablation(Document& document, const Comparison& c) {
  if (c.ablation.empty()) return;
  struct Part {
    AblationKind kind;
    const char* title;
    const char* prefix;
  };
  constexpr Part kParts[] = {{AblationKind::cumulative, "In order", "+ "},
                             {AblationKind::alone, "Each alone", ""},
                             {AblationKind::all_but, "All but each", "without "}};
  Table table;
  table.columns = {{"", Align::left}, {"step time"}, {"range"}, {"speedup"}, {"range"}};
  table.show_titles = false;
  bool unfit = false;
  for (const Part& part : kParts) {
    bool titled = false;
    for (const AblationRow& row : c.ablation) {
      if (row.kind != part.kind) continue;
      if (!titled) table.rows.push_back(Row{{Cell(part.title, Tone::faint)}});
      titled = true;
      unfit = unfit || row.fits == Fit::no;
      const Ranged<Seconds>& time = row.step_time;
      const Ranged<double>& ratio = row.ratio;
      // Trailing blank: digits stay below each other.
      Row line{{part.prefix + row.name, text_of(time.value) + (row.fits == Fit::no ? "*" : " "),
                range(time.low.si(), time.value.si(), time.high.si(), scale_of(time.value)),
                times(ratio.value), range(ratio.low, ratio.value, ratio.high, kPlain)}};
      line.indent = 2;
      table.rows.push_back(std::move(line));
    }
  }
  document.add(Heading{"What each step of " + c.speedup.candidate +
                       " buys (step time, speedup over " + c.speedup.baseline + ")"});
  document.add(std::move(table));
  if (unfit) document.add(Paragraph{"* " + std::string(kUnfit)});
}

/// A JSON string without its quotes; other values as they are.
std::string plain_value(const std::string& json) {
  const bool quoted = json.size() >= 2 && json.front() == '"' && json.back() == '"';
  return quoted ? json.substr(1, json.size() - 2) : json;
}

/// Every hypothesis a row, from the least to the most.
void add_all_hypotheses(Document& document, const Comparison& c) {
  // One column a setting, named by the last part of its path where that is enough.
  std::vector<std::string> paths;
  for (const Hypothesis& hypothesis : c.hypotheses) {
    for (const auto& setting : hypothesis.settings) {
      if (std::find(paths.begin(), paths.end(), setting.first) == paths.end()) {
        paths.push_back(setting.first);
      }
    }
  }
  const auto last_part = [](const std::string& path) {
    const std::size_t at = path.find_last_of("./");
    return at == std::string::npos ? path : path.substr(at + 1);
  };
  Table table;
  for (const auto& path : paths) {
    const auto clashes = std::count_if(paths.begin(), paths.end(), [&](const std::string& other) {
      return last_part(other) == last_part(path);
    });
    table.columns.push_back({clashes > 1 ? path : last_part(path), Align::left});
  }
  if (table.columns.empty()) table.columns.push_back({"setting", Align::left});
  for (const char* title : {"speedup", "range"}) table.columns.push_back({title});

  std::vector<Hypothesis> sorted = c.hypotheses;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Hypothesis& a, const Hypothesis& b) {
    return a.ratio.value < b.ratio.value;
  });
  bool unfit = false;
  for (const Hypothesis& hypothesis : sorted) {
    Row row;
    for (const auto& path : paths) {
      const auto at = std::find_if(hypothesis.settings.begin(), hypothesis.settings.end(),
                                   [&](const auto& setting) { return setting.first == path; });
      row.cells.emplace_back(at == hypothesis.settings.end() ? "-" : plain_value(at->second));
    }
    if (paths.empty()) row.cells.emplace_back("-");
    const Ranged<double>& ratio = hypothesis.ratio;
    unfit = unfit || hypothesis.fits == Fit::no;
    row.cells.emplace_back(times(ratio.value) + (hypothesis.fits == Fit::no ? "*" : " "));
    row.cells.emplace_back(range(ratio.low, ratio.value, ratio.high, kPlain));
    table.rows.push_back(std::move(row));
  }
  document.add(Heading{"If what is unpublished was (speedup under each hypothesis)"});
  document.add(std::move(table));
  if (unfit) document.add(Paragraph{"* one of the two " + std::string(kUnfit)});
}

/// What a setting's value changes: of objects the members that differ, "tp 2, cp 32".
std::string change(const std::string& base, const std::string& value) {
  if (!base.starts_with('{') || !value.starts_with('{')) return plain_value(value);
  const config::Node from = config::parse(base, "");
  const config::Node to = config::parse(value, "");
  std::string text;
  for (const auto& [key, member] : to.as_object()) {
    const config::Node* const before = from.find(key);
    if (before != nullptr && *before == member) continue;
    text += (text.empty() ? "" : ", ") + key + " " + plain_value(config::to_text(member));
  }
  return text.empty() ? plain_value(value) : text;
}

/// The settings of `hypothesis` that differ from those of `base`.
std::vector<std::string> changes(const Hypothesis& base, const Hypothesis& hypothesis) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < hypothesis.settings.size() && i < base.settings.size(); ++i) {
    const auto& [path, value] = hypothesis.settings[i];
    if (value != base.settings[i].second) {
      texts.push_back(path + ": " + change(base.settings[i].second, value));
    }
  }
  return texts;
}

/// Of many hypotheses: what each setting does alone, and the combinations at both ends.
void add_main_hypotheses(Document& document, const Comparison& c) {
  const Hypothesis& base = c.hypotheses.front();  // every setting's first value
  Table table;
  table.columns = {{"", Align::left}, {"speedup"}, {"range"}};
  bool unfit = false;
  const auto add = [&](std::string name, const Hypothesis& hypothesis) {
    const Ranged<double>& ratio = hypothesis.ratio;
    unfit = unfit || hypothesis.fits == Fit::no;
    table.rows.push_back(
        Row{{std::move(name), times(ratio.value) + (hypothesis.fits == Fit::no ? "*" : " "),
             range(ratio.low, ratio.value, ratio.high, kPlain)}});
  };
  add("all at their first value", base);
  const Hypothesis* least = &base;
  const Hypothesis* most = &base;
  for (const Hypothesis& hypothesis : c.hypotheses) {
    const std::vector<std::string> differing = changes(base, hypothesis);
    if (differing.size() == 1) add(differing.front(), hypothesis);
    if (hypothesis.ratio.value < least->ratio.value) least = &hypothesis;
    if (hypothesis.ratio.value > most->ratio.value) most = &hypothesis;
  }
  document.add(Heading{"If what is unpublished was otherwise (speedup, one setting at a time)"});
  document.add(std::move(table));
  if (unfit) document.add(Paragraph{"* one of the two " + std::string(kUnfit)});
  const auto describe = [&](const char* which, const Hypothesis& hypothesis) {
    std::string text;
    for (const std::string& item : changes(base, hypothesis)) {
      text += (text.empty() ? "" : "; ") + item;
    }
    document.add(Paragraph{std::string(which) + " of all " +
                           units::format_count(static_cast<std::int64_t>(c.hypotheses.size())) +
                           " combinations: " + times(hypothesis.ratio.value) +
                           (text.empty() ? "" : " with " + text)});
  };
  describe("Least", *least);
  describe("Most", *most);
}

void add_hypotheses(Document& document, const Comparison& c) {
  if (c.hypotheses.empty()) return;
  if (c.hypotheses.size() > kMaxHypotheses) {
    add_main_hypotheses(document, c);
  } else {
    add_all_hypotheses(document, c);
  }
}

}  // namespace

Document comparison_document(const Comparison& c, const std::vector<std::string>& notes) {
  Document document;
  const std::size_t last = c.variants.empty() ? 0 : c.variants.size() - 1;
  const std::size_t baseline = variant_index(c.speedup.baseline, c.variants, 0);
  const std::size_t candidate = variant_index(c.speedup.candidate, c.variants, last);
  add_answer(document, c, baseline, candidate);
  for (const std::string& note : notes) document.add(Paragraph{note, Tone::faint});
  if (!c.variants.empty()) {
    add_variants(document, c.variants);
    add_footnotes(document, c.variants);
    add_budget(document, c.variants, baseline, candidate);
    add_breakdown(document, c.variants, baseline, candidate);
  }
  add_ablation(document, c);
  add_hypotheses(document, c);
  if (!c.variants.empty()) {
    document.add(Heading{"Conventions"});
    add_conventions(document, c.variants);
    add_assumptions(document, c.variants);
  }
  return document;
}

}  // namespace hysim::report
