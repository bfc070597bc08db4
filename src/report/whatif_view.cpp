// Text views of the what-if answers: the answer in words first, then the rows behind it.
#include <algorithm>
#include <initializer_list>
#include <type_traits>

#include "report/csv_parts.h"
#include "report/view_parts.h"
#include "report/views.h"
#include "units/text.h"

namespace hysim::report {

namespace {

// Rows that save less of the step are counted, not shown.
constexpr double kShownShare = 0.0005;
constexpr std::size_t kMostInputs = 12;

/// `step`: of which the range is shown.
std::string draws_note(std::uint64_t seed, std::int64_t draws, const Ranged<Seconds>& step) {
  if (draws == 0) return "no draws: nominal values only";
  std::string note = "[10th, 90th percentile] of " + units::format_count(draws) + " draws, seed " +
                     std::to_string(seed);
  const std::string end = nominal_end(step);
  return end.empty() ? note : note + "; " + end;
}

/// "gpu/h20-96/laws/gemm_bf16" without the GPU's name.
std::string short_id(const std::string& id) {
  constexpr std::string_view kGpu = "gpu/";
  if (!id.starts_with(kGpu)) return id;
  const std::size_t slash = id.find('/', kGpu.size());
  return slash == std::string::npos ? id : id.substr(slash + 1);
}

// ---------------------------------------------------------------- sensitivity

void add_parts(Document& document, const Sensitivity& s, bool families) {
  Table table;
  table.columns = {{"", Align::left}, {"time"},       {"saved"},
                   {"% of step"},     {"at no cost"}, {"limit"}};
  if (!s.baseline.empty()) table.columns.push_back({"speedup"});
  std::size_t small = 0;
  for (const PartSensitivity& part : s.parts) {
    if (part.family != families) continue;
    const double share = part.saved / s.step_time.value;
    if (share < kShownShare) {
      ++small;
      continue;
    }
    Row row{{part.name, text_of(part.time), text_of(part.saved), significant(100.0 * share, 2),
             text_of(part.limit), times(s.step_time.value / part.limit)}};
    if (part.speedup) row.cells.emplace_back(times(*part.speedup));
    table.rows.push_back(std::move(row));
  }
  if (table.rows.empty()) return;
  document.add(Heading{families ? "Families of parts, each in 10 % less time"
                                : "Parts, each in 10 % less time"});
  document.add(std::move(table));
  if (small > 0) {
    document.add(Paragraph{
        units::format_count(static_cast<std::int64_t>(small)) + " more save less than 0.05 %",
        Tone::faint});
  }
}

void add_inputs(Document& document, const Sensitivity& s) {
  Table table;
  table.columns = {{"", Align::left}, {"saved"}, {"% of step"}, {"known from", Align::left}};
  if (!s.baseline.empty()) table.columns.push_back({"speedup"});
  for (const InputSensitivity& input : s.inputs) {
    const double share = input.saved / s.step_time.value;
    if (share < kShownShare || table.rows.size() == kMostInputs) break;
    Row row{{short_id(input.id), text_of(input.saved), significant(100.0 * share, 2), input.kind}};
    if (input.speedup) row.cells.emplace_back(times(*input.speedup));
    table.rows.push_back(std::move(row));
  }
  if (table.rows.empty()) return;
  document.add(
      Heading{"Inputs, each 10 % better: a rate x 1.1, a time / 1.1, a fraction at most 1"});
  document.add(std::move(table));
}

void add_spread(Document& document, const Sensitivity& s) {
  std::vector<const InputSensitivity*> widest;
  for (const InputSensitivity& input : s.inputs) {
    if (input.spread >= 0.01) widest.push_back(&input);
  }
  std::stable_sort(widest.begin(), widest.end(),
                   [](const auto* a, const auto* b) { return a->spread > b->spread; });
  if (widest.size() > kMostInputs) widest.resize(kMostInputs);
  if (widest.empty()) return;
  Table table;
  table.columns = {{"", Align::left}, {"step"}, {"% of variance"}};
  for (const InputSensitivity* input : widest) {
    const Scale scale = scale_of(s.step_time.value);
    table.rows.push_back(
        Row{{short_id(input->id),
             range(input->step.low.si(), input->step.value.si(), input->step.high.si(), scale) +
                 " " + scale.unit,
             significant(100.0 * input->spread, 2)}});
  }
  document.add(Heading{"What the range comes from: one input drawn, the others held"});
  document.add(std::move(table));
}

std::string largest_lever(const Sensitivity& s) {
  const auto most = std::find_if(s.parts.begin(), s.parts.end(),
                                 [](const PartSensitivity& part) { return !part.family; });
  if (most == s.parts.end() || most->saved <= Seconds{}) {
    return "No single part shortens the step when it takes 10 % less time.";
  }
  return most->name + " matters most: 10 % less of its time saves " + text_of(most->saved) + " (" +
         percent(most->saved / s.step_time.value) + "); at no cost the step would be " +
         times(s.step_time.value / most->limit) + " as fast.";
}

// ---------------------------------------------------------------- breakeven

/// So many digits, at least `least`, that what differs from `value` reads differently.
int digits_apart(double value, std::initializer_list<double> others, int least = 3) {
  constexpr int kMost = 15;
  int digits = least;
  for (const double other : others) {
    const auto alike = [&] { return significant(value, digits) == significant(other, digits); };
    while (other != value && digits < kMost && alike()) ++digits;
  }
  return digits;
}

/// Of speedups: the target is told apart from what it is compared with.
int digits_of(const Breakeven& b) { return digits_apart(b.target, {b.present, b.limit, 1.0}); }

std::string times_of(const Breakeven& b, double speedup) {
  return significant(speedup, digits_of(b)) + "x";
}

/// A time of the question, as exact as its speedups are.
std::string time_of(const Breakeven& b, Seconds time) {
  return quantity(time.si(), scale_of(time), digits_of(b));
}

/// Of a factor on a time: it and the speed it means are told apart from 1.
int factor_digits(double factor) {
  const int digits = digits_apart(factor, {1.0}, 4);
  return factor > 0.0 ? digits_apart(1.0 / factor, {1.0}, digits) : digits;
}

/// "3.8x faster", "1.4 times its time"
std::string words_of(double factor) {
  if (factor <= 0.0) return "at no cost";
  if (factor < 1.0) return significant(1.0 / factor, factor_digits(factor)) + "x faster";
  return "in up to " + significant(factor, factor_digits(factor)) + " times its time";
}

/// "1.20x as fast as it is"
std::string goal_of(const Breakeven& b, double speedup) {
  return times_of(b, speedup) + " as fast as " + (b.baseline.empty() ? "it is" : b.baseline);
}

std::string answer_of(const Breakeven& b) {
  if (!b.factor) {
    return "Impossible: with " + b.part + " at no cost " + b.variant + " would be " +
           goal_of(b, b.limit) + ", not " + times_of(b, b.target) + ".";
  }
  const double factor = b.factor->value;
  if (factor >= kMostSlowdown) {
    return b.part + " does not matter: " + b.variant + " is " + goal_of(b, b.target) +
           " at any speed of it.";
  }
  if (factor < 1.0) {
    return b.part + " must run " + words_of(factor) + " (time x " +
           significant(factor, factor_digits(factor)) + ") for " + b.variant + " to be " +
           goal_of(b, b.target) + ".";
  }
  return b.variant + " is " + goal_of(b, b.target) + " with " + b.part + " " + words_of(factor) +
         ".";
}

// ---------------------------------------------------------------- sweep

struct Reasons {
  std::vector<std::string> texts;
  std::size_t number(const std::string& reason) {
    const auto found = std::find(texts.begin(), texts.end(), reason);
    if (found != texts.end()) return static_cast<std::size_t>(found - texts.begin()) + 1;
    texts.push_back(reason);
    return texts.size();
  }
};

template <class T>
void append(std::string& out, const Ranged<T>& value) {
  const auto si = [](const T& v) {
    if constexpr (std::is_same_v<T, double>) {
      return v;
    } else {
      return v.si();
    }
  };
  out += ',' + csv_number(si(value.value)) + ',' + csv_number(si(value.low)) + ',' +
         csv_number(si(value.high));
}

}  // namespace

Document sensitivity_document(const Sensitivity& s) {
  Document document;
  document.add(Paragraph{
      s.variant + ": " + with_range(s.step_time) + " a step" +
          (s.speedup ? ", " + times_with_range(*s.speedup) + " over " + s.baseline : std::string()),
      Tone::strong});
  document.add(Paragraph{largest_lever(s)});
  add_parts(document, s, false);
  add_parts(document, s, true);
  add_inputs(document, s);
  add_spread(document, s);
  document.add(Paragraph{"Each row alone: the step evaluated again with it. " +
                             units::format_count(s.unmoved_inputs) +
                             " inputs do not move the step. Ranges are " +
                             draws_note(s.seed, s.draws, s.step_time) + ".",
                         Tone::faint, 0});
  return document;
}

Document breakeven_document(const Breakeven& b) {
  Document document;
  document.add(Paragraph{answer_of(b), b.factor ? Tone::strong : Tone::bad});
  Table table;
  table.show_titles = false;
  table.columns = {{"", Align::left}, {"", Align::left, true}};
  const auto add = [&](const char* label, std::string text) {
    table.rows.push_back(Row{{label, Cell(std::move(text))}});
  };
  add("Part now", b.part + " takes " + time_of(b, b.part_time) + " of the " + time_of(b, b.step) +
                      " step (critical stage, hidden time included)");
  if (b.factor && b.factor->value < kMostSlowdown) {
    add("Part then", time_of(b, b.part_time * b.factor->value));
    if (b.draws > 0) {
      const int digits = factor_digits(b.factor->value);
      add("Range", "time x " + significant(b.factor->value, digits) + " " +
                       range(b.factor->low, b.factor->value, b.factor->high, kPlain, digits) +
                       (b.factor->low > 0.0 ? "" : "; 0: impossible"));
    }
  }
  add("Step now", time_of(b, b.step) + (b.baseline.empty() ? ""
                                                           : ", " + goal_of(b, b.present) + " (" +
                                                                 time_of(b, b.reference) + ")"));
  add("Step then", b.factor && b.factor->value < kMostSlowdown
                       ? time_of(b, b.reference / b.target)
                       : "at best " + time_of(b, b.reference / b.limit));
  add("At no cost", times_of(b, b.limit));
  if (b.draws > 0) {
    add("Possible", "in " + percent(b.reachable) + " of " + units::format_count(b.draws) +
                        " draws, seed " + std::to_string(b.seed));
  }
  document.add(std::move(table));
  return document;
}

Document sweep_document(const Sweep& s) {
  Document document;
  const SweepRow* best = nullptr;
  const SweepRow* fitting = nullptr;
  std::int64_t legal = 0;
  for (const SweepRow& row : s.rows) {
    if (!row.reason.empty()) continue;
    ++legal;
    const auto better = [&](const SweepRow* than) {
      return than == nullptr ||
             row.tokens_per_second_per_gpu.value > than->tokens_per_second_per_gpu.value;
    };
    if (better(best)) best = &row;
    if (row.fits != Fit::no && better(fitting)) fitting = &row;
  }
  const SweepRow* const shown = fitting != nullptr ? fitting : best;
  if (shown != nullptr) {
    std::string which;
    for (std::size_t i = 0; i < s.axes.size(); ++i) {
      which += (i == 0 ? "" : ", ") + s.axes[i].path + "=" + shown->values[i];
    }
    document.add(Paragraph{
        (fitting != nullptr ? "Most tokens a second of what fits: " : "Nothing fits; fastest: ") +
            which + ", " + with_range(shown->tokens_per_second_per_gpu, kPlain) +
            " tokens/s/GPU, " + with_range(shown->step_time) + " a step",
        fitting != nullptr ? Tone::strong : Tone::caution});
  }
  document.add(Paragraph{
      s.scenario + (s.variant.empty() ? "" : ", " + s.variant) + ": " + units::format_count(legal) +
          " of " + units::format_count(static_cast<std::int64_t>(s.rows.size())) +
          " combinations are legal; " +
          draws_note(s.seed, s.draws, shown != nullptr ? shown->step_time : Ranged<Seconds>{}),
      Tone::faint});
  Table table;
  for (const SweepAxis& axis : s.axes) {
    table.columns.push_back({axis.path, table.columns.empty() ? Align::left : Align::right});
  }
  for (const char* title : {"step time", "tokens/s /GPU", "MFU", "peak memory", "fits"}) {
    table.columns.push_back({title});
  }
  if (!s.baseline.empty()) table.columns.push_back({"speedup"});
  Reasons reasons;
  for (const SweepRow& row : s.rows) {
    Row cells;
    for (const std::string& value : row.values) cells.cells.emplace_back(value);
    if (!row.reason.empty()) {
      cells.cells.emplace_back("illegal [" + std::to_string(reasons.number(row.reason)) + "]",
                               Tone::caution);
    } else {
      cells.cells.emplace_back(text_of(row.step_time.value));
      cells.cells.emplace_back(significant(row.tokens_per_second_per_gpu.value));
      cells.cells.emplace_back(percent(row.mfu.value));
      cells.cells.emplace_back(text_of(row.peak_memory.value));
      cells.cells.emplace_back(to_string(row.fits), tone_of(row.fits));
      if (row.speedup) cells.cells.emplace_back(times(row.speedup->value));
    }
    table.rows.push_back(std::move(cells));
  }
  document.add(std::move(table));
  for (std::size_t i = 0; i < reasons.texts.size(); ++i) {
    document.add(Paragraph{"[" + std::to_string(i + 1) + "] " + reasons.texts[i], Tone::plain, 4});
  }
  return document;
}

std::string to_csv(const Sensitivity& s) {
  std::string out = "kind,name,saved_s,saved_fraction,step_at_no_cost_s,share_of_variance\n";
  const auto line = [&](const char* kind, const std::string& name, Seconds saved,
                        const std::string& rest) {
    out += std::string(kind) + ',' + csv_field(name) + ',' + csv_number(saved.si()) + ',' +
           csv_number(saved / s.step_time.value) + ',' + rest + '\n';
  };
  for (const PartSensitivity& part : s.parts) {
    line(part.family ? "family" : "part", part.name, part.saved, csv_number(part.limit.si()) + ',');
  }
  for (const InputSensitivity& input : s.inputs) {
    line("input", input.id, input.saved, ',' + csv_number(input.spread));
  }
  return out;
}

std::string to_csv(const Sweep& s) {
  std::string out;
  for (const SweepAxis& axis : s.axes) out += csv_field(axis.path) + ',';
  out +=
      "step_time_s,step_time_low_s,step_time_high_s,tokens_per_second_per_gpu,"
      "tokens_per_second_per_gpu_low,tokens_per_second_per_gpu_high,mfu,mfu_low,mfu_high,"
      "peak_memory_B,peak_memory_low_B,peak_memory_high_B,fits,speedup,speedup_low,speedup_high,"
      "reason\n";
  for (const SweepRow& row : s.rows) {
    std::string line;
    for (const std::string& value : row.values)
      line += (line.empty() ? "" : ",") + csv_field(value);
    if (!row.reason.empty()) {
      line += std::string(17, ',') + csv_field(row.reason);
    } else {
      append(line, row.step_time);
      append(line, row.tokens_per_second_per_gpu);
      append(line, row.mfu);
      append(line, row.peak_memory);
      line += std::string(",") + to_string(row.fits);
      if (row.speedup) {
        append(line, *row.speedup);
      } else {
        line += ",,,";
      }
      line += ',';
    }
    out += line + '\n';
  }
  return out;
}

}  // namespace hysim::report
