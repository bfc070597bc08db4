// The first screen of one prediction: the step time, what was asked, where time and memory go.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>

#include "report/budget_view.h"
#include "report/view_parts.h"
#include "report/views.h"
#include "units/text.h"

namespace hysim::report {

namespace {

/// Shares in percent with one decimal that add up to 100.
std::vector<std::string> share_cells(const std::vector<Seconds>& times, Seconds total) {
  std::vector<double> shares;
  shares.reserve(times.size());
  for (const Seconds time : times) {
    shares.push_back(total > Seconds{} ? 100.0 * (time / total) : 0.0);
  }
  const auto tenths = rounded_to_sum(shares, 0.1);
  std::vector<std::string> cells;
  for (std::size_t i = 0; i < times.size(); ++i) {
    cells.push_back(i < tenths.size() ? fixed_point(tenths[i], 1) : "n/a");
  }
  return cells;
}

void add_breakdown(Document& document, const Prediction& p) {
  const std::vector<Prediction> one = {p};
  const GroupTable rows = folded(side_by_side(one, TimeKind::critical), one, kFoldBelow);
  const TimeUnit unit = time_unit(one);
  const std::vector<Seconds> times = column_of(rows, 0);
  const TimeColumn column = time_column(times, unit);
  const auto shares = share_cells(times, p.step_time.value);

  Table table;
  table.columns = {{"", Align::left}, {unit.scale.unit}, {"%"}, {"bound by", Align::left}};
  for (std::size_t i = 0; i < rows.names.size(); ++i) {
    table.rows.push_back(Row{{rows.names[i], column.cells[i], shares[i], rows.bound_by[i][0]}});
  }
  Row sum{{Cell("Step", Tone::strong), Cell(column.sum, Tone::strong), Cell("100.0")}};
  sum.rule_above = true;
  table.rows.push_back(std::move(sum));
  document.add(Heading{"Where the time goes (stage " + std::to_string(p.critical_stage) +
                       ", the critical one)"});
  document.add(std::move(table));
  add_hidden_time(document, one);
}

void add_memory(Document& document, const Memory& memory) {
  if (memory.parts.empty()) return;
  Table table;
  table.columns = {{"", Align::left}, {"size"}, {"% of GPU"}};
  const auto add = [&](const std::string& name, Bytes bytes, bool rule = false) {
    const double share = memory.capacity > Bytes{} ? bytes / memory.capacity : 0.0;
    Row row{{name, text_of(bytes), significant(100.0 * share)}};
    row.rule_above = rule;
    table.rows.push_back(std::move(row));
  };
  for (const MemoryPart& part : memory.parts) add(part.name, part.bytes);
  for (const StageMemory& stage : memory.by_stage) {
    if (stage.stage != memory.fullest_stage) continue;
    add("Allocated", stage.allocated, true);
    add("Reserved, with fragmentation", stage.reserved);
    add("Device, with context and NCCL", stage.device);
  }
  document.add(
      Heading{"Memory of the fullest GPU (stage " + std::to_string(memory.fullest_stage) + ")"});
  document.add(std::move(table));
}

/// Time, work and memory of the stages; neighbours that read alike share a row.
void add_stages(Document& document, const Prediction& p) {
  if (p.stages.size() < 2) return;
  Table table;
  table.columns = {{"stage", Align::left}, {"layers"}, {"forward"}, {"backward"}, {"busy %"},
                   {"% of FLOP"},          {"memory"}};
  std::size_t first = 0;
  for (std::size_t s = 0; s < p.stages.size(); ++s) {
    const StageCost& stage = p.stages[s];
    const double busy = p.step_time.value > Seconds{} ? stage.busy / p.step_time.value : 0.0;
    Row row{
        {std::to_string(s),
         s < p.layout.layers_per_stage.size() ? std::to_string(p.layout.layers_per_stage[s]) : "",
         text_of(stage.forward), text_of(stage.backward), significant(100.0 * busy),
         significant(100.0 * stage.flop_share),
         s < p.memory.by_stage.size() ? text_of(p.memory.by_stage[s].device) : ""}};
    const bool alike =
        s > 0 &&
        std::equal(row.cells.begin() + 1, row.cells.end(), table.rows.back().cells.begin() + 1,
                   [](const Cell& a, const Cell& b) { return a.text == b.text; });
    if (alike) {
      table.rows.back().cells[0].text = std::to_string(first) + "-" + std::to_string(s);
    } else {
      first = s;
      table.rows.push_back(std::move(row));
    }
  }
  document.add(Heading{"Stages (one micro-batch; busy over the step)"});
  document.add(std::move(table));
}

std::string flops_text(const std::vector<FlopCount>& counts) {
  std::string text;
  for (const FlopCount& count : counts) {
    text += (text.empty() ? "" : ", ") + significant(count.per_token.si() / 1e9, 4) + " GFLOP";
    if (counts.size() > 1) text += " " + count.name;
  }
  return text;
}

/// "communication/cp/forward" -> "CP"
std::string group_name(std::string_view path) {
  constexpr std::string_view kPrefix = "communication/";
  if (path.starts_with(kPrefix)) path.remove_prefix(kPrefix.size());
  std::string name(path.substr(0, path.find('/')));
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return name;
}

/// "+3.1 %"
std::string signed_percent(double fraction) {
  return (fraction < 0.0 ? "-" : "+") + fixed_point(std::llround(1000.0 * std::fabs(fraction)), 1) +
         " %";
}

void add_remedies(Document& document, const Memory& memory) {
  if (memory.remedies.empty()) return;
  Table table;
  table.columns = {{"change", Align::left, true}, {"peak"}, {"step"}, {"cost"}};
  const bool host = std::any_of(memory.remedies.begin(), memory.remedies.end(),
                                [](const Remedy& r) { return r.host_per_node > Bytes{}; });
  if (host) table.columns.push_back({"host/node"});
  bool any_fits = false;
  for (const Remedy& remedy : memory.remedies) {
    table.rows.push_back(Row{{remedy.name, text_of(remedy.peak_per_gpu), text_of(remedy.step_time),
                              signed_percent(remedy.cost)}});
    if (host) {
      table.rows.back().cells.emplace_back(
          remedy.host_per_node > Bytes{} ? text_of(remedy.host_per_node) : "");
    }
    any_fits = any_fits || remedy.fits != Fit::no;
  }
  const char* title = "No one or two changes make it fit; the closest";
  if (any_fits) title = "What would make it fit (nominal; --set in the JSON)";
  if (memory.fits == Fit::tight) title = "What would give it room (nominal; --set in the JSON)";
  document.add(Heading{title});
  document.add(std::move(table));
}

void add_communication(Document& document, const Prediction& p) {
  if (p.communication.empty()) return;
  Table table;
  table.columns = {{"", Align::left}, {"over", Align::left}, {"sent a GPU"}, {"busy"}, {"exposed"}};
  for (const CommunicationRow& row : p.communication) {
    table.rows.push_back(Row{{group_name(row.kind), row.tier, units::format(row.bytes_per_rank),
                              text_of(row.time), text_of(row.exposed)}});
  }
  document.add(Heading{"Communication in a step (stage " + std::to_string(p.critical_stage) + ")"});
  document.add(std::move(table));
}

/// The operations of all phases together, in order of their sums.
std::vector<CollectiveRow> over_phases(const std::vector<CollectiveRow>& rows) {
  std::vector<CollectiveRow> merged;
  for (CollectiveRow row : rows) {
    row.path = group_name(row.path);
    const auto same = std::find_if(merged.begin(), merged.end(), [&](const CollectiveRow& other) {
      return other.path == row.path && other.kind == row.kind && other.ranks == row.ranks &&
             other.nodes == row.nodes && other.bytes == row.bytes && other.time == row.time;
    });
    if (same == merged.end()) {
      merged.push_back(std::move(row));
    } else {
      same->count += row.count;
    }
  }
  std::stable_sort(merged.begin(), merged.end(), [](const auto& a, const auto& b) {
    return a.time * static_cast<double>(a.count) > b.time * static_cast<double>(b.count);
  });
  return merged;
}

/// What a row runs by: "ring LL128", "pairwise".
std::string chosen(const CollectiveRow& row) {
  const std::string algorithm = row.algorithm == "point_to_point" ? "to one" : row.algorithm;
  return row.protocol.empty() ? algorithm : algorithm + " " + row.protocol;
}

void add_collectives(Document& document, const Prediction& p) {
  constexpr std::size_t kShown = 10;
  const std::vector<CollectiveRow> rows = over_phases(p.collectives);
  if (rows.empty()) return;
  Table table;
  table.columns = {{"", Align::left}, {"ranks"},    {"size"}, {"by", Align::left},
                   {"one takes"},     {"GB/s bus"}, {"times"}};
  for (std::size_t i = 0; i < std::min(kShown, rows.size()); ++i) {
    const CollectiveRow& row = rows[i];
    std::string ranks = std::to_string(row.ranks);
    if (row.nodes > 1) ranks += " on " + std::to_string(row.nodes);
    table.rows.push_back(Row{{row.path + " " + row.kind, ranks, units::format(row.bytes),
                              chosen(row), text_of(row.time), significant(row.busbw.si() / 1e9),
                              units::format_count(row.count)}});
  }
  document.add(Heading{"Collectives of that stage, as nccl-tests count (ranks on nodes)"});
  document.add(std::move(table));
  if (rows.size() > kShown) {
    document.add(Paragraph{
        std::to_string(rows.size() - kShown) + " smaller ones: `--json -` has all of them",
        Tone::faint});
  }
}

}  // namespace

Document prediction_document(const Prediction& p, const std::vector<std::string>& notes) {
  Document document;
  const std::vector<Prediction> one = {p};
  const bool unfit = p.memory.fits == Fit::no;
  std::string answer = column_names(one).front() + ": " + with_range(p.step_time) + " a step";
  if (unfit) {
    answer += ", hypothetical: " + std::string(kUnfit) + " (" + against_capacity(p.memory) + ")";
  }
  document.add(Paragraph{answer, unfit ? Tone::bad : Tone::strong});
  for (const std::string& note : notes) document.add(Paragraph{note, Tone::faint});

  Table table;
  table.show_titles = false;
  table.columns = {{"", Align::left}, {"", Align::left, true}};
  const auto add = [&](const char* label, std::string text, Tone tone = Tone::plain) {
    table.rows.push_back(Row{{label, Cell(std::move(text), tone)}});
  };
  add("Tokens/s/GPU", with_range(p.tokens_per_second_per_gpu, kPlain));
  add("MFU", with_range(p.mfu.fraction, kPercent));
  add("HFU", with_range(p.hfu.fraction, kPercent));
  if (!p.model_flops.empty()) add("Model FLOP/token", flops_text(p.model_flops));
  // Which of the two does not fit, where host memory is what is missing.
  const bool host_alone =
      p.memory.host_exceeded() && p.memory.peak_per_gpu.value <= p.memory.capacity;
  std::string peak = with_range(p.memory.peak_per_gpu) + " of " + text_of(p.memory.capacity) +
                     " on stage " + std::to_string(p.memory.fullest_stage);
  if (!host_alone) peak += p.memory.fits == Fit::yes ? ": fits" : ": " + fits_text(p.memory.fits);
  add("Peak memory", std::move(peak), host_alone ? Tone::plain : tone_of(p.memory.fits));
  if (p.memory.host_per_node > Bytes{}) {
    const bool exceeded = p.memory.host_exceeded();
    add("Host memory",
        host_memory(p.memory) + (exceeded                           ? ": " + std::string(kUnfit)
                                 : p.memory.host_capacity > Bytes{} ? ": fits"
                                                                    : ""),
        exceeded ? Tone::bad : Tone::plain);
  }
  std::string evidence;
  const auto shares = evidence_cells(p.evidence);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    evidence += (i == 0 ? "" : ", ") + std::string(kEvidenceLabels[i]) + " " + shares[i];
  }
  add("Rests on", evidence);
  Table apart;  // stays empty: one variant differs from none
  add_facts(one, table, apart);
  add("Ranges", draws_text(one));
  document.add(std::move(table));
  add_budget(document, p);
  add_breakdown(document, p);
  add_memory(document, p.memory);
  add_remedies(document, p.memory);
  add_stages(document, p);
  add_communication(document, p);
  add_collectives(document, p);
  document.add(Heading{"Conventions"});
  add_conventions(document, one);
  add_assumptions(document, one);
  return document;
}

}  // namespace hysim::report
