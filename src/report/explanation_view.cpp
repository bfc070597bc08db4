// An explanation as people read it: the number, what it is made of, and where that was read. Uses
// of one law share its formulas and differ in a table.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "config/formula.h"
#include "report/catalog_parts.h"
#include "report/explanation.h"
#include "report/format.h"
#include "units/text.h"

namespace hysim::report {

namespace {

constexpr int kDigits = 5;

Scale scale_of(double value, std::string_view unit) {
  const double size = std::abs(value);
  if (unit == "s") return report::scale_of(Seconds(value));
  if (unit == "B") return report::scale_of(Bytes(value));
  if (unit == "B/s") return {"GB/s", 1e9};
  if (unit == "flop/s") return {"TFLOPS", 1e12};
  if (unit == "1/s") return {"MHz", 1e6};
  if (unit == "flop") {
    if (size >= 1e12) return {"Tflop", 1e12};
    return size >= 1e6 ? Scale{"Mflop", 1e6} : Scale{"flop", 1.0};
  }
  return kPlain;
}

std::string value_text(const FormulaLine& line) {
  const bool count =
      line.unit == "1" && line.value == std::floor(line.value) && std::abs(line.value) < 1e7;
  return count ? significant(line.value, 7)
               : quantity(line.value, scale_of(line.value, line.unit), kDigits);
}

std::string range_text(const FormulaLine& line) {
  return line.low < line.high
             ? range(line.low, line.value, line.high, scale_of(line.value, line.unit), 3)
             : "";
}

/// "formula # meaning"
std::string with_meaning(const std::string& formula, const std::string& meaning) {
  return meaning.empty() ? formula : formula + "  # " + meaning;
}

/// Whether a line stands in a document, and not in the tables of counts and formulas.
bool is_read(const FormulaLine& line) { return line.source && line.source->kind != "counted"; }

/// "src/ops/linear.cpp from workload.seq_len 1M, ..."
std::string counted_where(const FormulaLine& line) {
  if (!line.source) return "";
  return line.source->document + (line.counted_from.empty() ? "" : " from " + line.counted_from);
}

/// "# on the tensor pipe: 2 * m * n * k" of an input; its use says the rest.
std::string count_text(const FormulaLine& line, const std::string& use) {
  const bool said = line.counted.empty() || line.counted == use;
  return "# " + line.meaning + (said ? "" : ": " + line.counted);
}

/// A symbol without the number of its card.
std::string base_of(const FormulaLine& line, const Sheet& sheet) {
  if (line.card < 0 || sheet.cards.size() < 2) return line.symbol;
  const std::string suffix = "_" + std::to_string(line.card + 1);
  return line.symbol.ends_with(suffix) ? line.symbol.substr(0, line.symbol.size() - suffix.size())
                                       : line.symbol;
}

/// The uses of one law: cards whose formulas are the same.
struct Uses {
  std::vector<int> cards;
  std::vector<std::vector<const FormulaLine*>> lines;  // of each card
};

std::vector<const FormulaLine*> lines_of(const Sheet& sheet, int card) {
  std::vector<const FormulaLine*> lines;
  for (const FormulaLine& line : sheet.lines) {
    if (line.card == card) lines.push_back(&line);
  }
  return lines;
}

std::map<std::string, std::string> bases_of(const Sheet& sheet) {
  std::map<std::string, std::string> bases;
  for (const FormulaLine& line : sheet.lines) bases[line.symbol] = base_of(line, sheet);
  return bases;
}

std::string without_numbers(const std::string& formula,
                            const std::map<std::string, std::string>& bases) {
  return config::renamed(formula, [&](std::string_view symbol) {
    const auto found = bases.find(std::string(symbol));
    return found == bases.end() ? std::string(symbol) : found->second;
  });
}

std::vector<Uses> uses_of(const Sheet& sheet) {
  const auto bases = bases_of(sheet);
  std::vector<Uses> uses;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < sheet.cards.size(); ++i) {
    const int card = static_cast<int>(i);
    const auto lines = lines_of(sheet, card);
    std::string text = sheet.cards[i].title;
    for (const FormulaLine* line : lines) {
      text += '\n' + bases.at(line->symbol) + '=' + without_numbers(line->formula, bases);
      if (line->counted != sheet.cards[i].use) text += '#' + line->counted;
    }
    const auto known = std::find(texts.begin(), texts.end(), text);
    const auto index = static_cast<std::size_t>(known - texts.begin());
    if (known == texts.end()) {
      texts.push_back(text);
      uses.emplace_back();
    }
    uses[index].cards.push_back(card);
    uses[index].lines.push_back(lines);
  }
  return uses;
}

Table formula_table() {
  Table table;
  table.columns = {{"", Align::left}, {"", Align::left, true}, {"", Align::right}};
  table.show_titles = false;
  return table;
}

/// How the leaf is made of tasks: its last line first.
void add_formulas(Document& document, const Sheet& sheet) {
  document.add(Heading{"Formula"});
  Table table = formula_table();
  for (auto line = sheet.lines.rbegin(); line != sheet.lines.rend(); ++line) {
    if (line->card >= 0 || is_read(*line)) continue;
    table.rows.push_back(
        Row{{line->symbol,
             line->formula.empty() ? count_text(*line, "") + "; " + counted_where(*line)
                                   : with_meaning("= " + line->formula, line->meaning),
             value_text(*line)}});
  }
  document.add(std::move(table));
}

/// What every use of a law is for, with the sizes its counts are made of.
void add_uses(Document& document, const Sheet& sheet, const Uses& uses) {
  Bullets bullets;
  for (const int card : uses.cards) {
    const std::string& use = sheet.cards[static_cast<std::size_t>(card)].use;
    if (use.empty()) continue;
    bullets.items.push_back(uses.cards.size() == 1 ? use
                                                   : "_" + std::to_string(card + 1) + ": " + use);
  }
  if (!bullets.items.empty()) document.add(std::move(bullets));
}

/// Where a law's numbers were counted, and from which settings.
void add_counted(Document& document, const Uses& uses) {
  std::vector<std::string> places;
  for (const auto& lines : uses.lines) {
    for (const FormulaLine* line : lines) {
      if (!line->source || is_read(*line)) continue;
      std::string place = "counted by " + counted_where(*line);
      if (std::find(places.begin(), places.end(), place) == places.end()) {
        places.push_back(std::move(place));
      }
    }
  }
  if (!places.empty()) document.add(Bullets{std::move(places)});
}

void add_law(Document& document, const Sheet& sheet, const Uses& uses) {
  const FormulaCard& card = sheet.cards[static_cast<std::size_t>(uses.cards.front())];
  const bool one = uses.cards.size() == 1;
  std::string title = card.title;
  if (!one) title += " (" + std::to_string(uses.cards.size()) + " uses)";
  document.add(Heading{title});
  document.add(
      Paragraph{card.where + (card.leaves_out.empty() ? "" : "; leaves out: " + card.leaves_out)});
  add_uses(document, sheet, uses);
  const auto bases = bases_of(sheet);
  Table table = formula_table();
  for (const FormulaLine* line : uses.lines.front()) {
    if (is_read(*line)) continue;
    const std::string formula = one ? line->formula : without_numbers(line->formula, bases);
    table.rows.push_back(Row{{one ? line->symbol : bases.at(line->symbol),
                              formula.empty() ? count_text(*line, card.use)
                                              : with_meaning("= " + formula, line->meaning),
                              one ? value_text(*line) : ""}});
  }
  document.add(std::move(table));
  add_counted(document, uses);
  if (one) return;

  Table numbers;
  numbers.columns.push_back({"use", Align::left});
  for (const FormulaLine* line : uses.lines.front()) {
    if (!is_read(*line)) numbers.columns.push_back({bases.at(line->symbol), Align::right});
  }
  for (std::size_t i = 0; i < uses.cards.size(); ++i) {
    Row row{{"_" + std::to_string(uses.cards[i] + 1)}};
    for (const FormulaLine* line : uses.lines[i]) {
      if (!is_read(*line)) row.cells.emplace_back(value_text(*line));
    }
    numbers.rows.push_back(std::move(row));
  }
  document.add(std::move(numbers));
}

std::string kind_text(const InputSource& source) {
  std::string text = source.kind;
  if (!source.measured_on.empty()) text += " on " + source.measured_on;
  return text;
}

/// Inputs by the document they were read from.
void add_inputs(Document& document, const Sheet& sheet) {
  std::vector<std::string> documents;
  for (const FormulaLine& line : sheet.lines) {
    if (!is_read(line)) continue;
    if (std::find(documents.begin(), documents.end(), line.source->document) == documents.end()) {
      documents.push_back(line.source->document);
    }
  }
  SourceList sources;
  for (const std::string& name : documents) {
    document.add(Heading{"Inputs from " + name});
    Table table;
    table.columns = {{"symbol", Align::left},
                     {"value", Align::right},
                     {"range", Align::left},
                     {"where, what, on what evidence", Align::left, true}};
    for (const FormulaLine& line : sheet.lines) {
      if (!is_read(line) || line.source->document != name) continue;
      std::string from = line.source->pointer;
      if (!line.meaning.empty()) from += (from.empty() ? "" : ": ") + line.meaning;
      from += "; " + kind_text(*line.source);
      if (!line.source->text.empty()) {
        from += " [" + std::to_string(sources.number(line.source->text)) + "]";
      }
      table.rows.push_back(Row{{line.symbol, value_text(line), range_text(line), from}});
    }
    document.add(std::move(table));
  }
  sources.add_to(document);
}

std::string answer(const LeafExplanation& leaf) {
  std::string text = leaf.leaf.path + ": " + with_range(leaf.leaf.time);
  if (leaf.leaf.path == "step") return text;
  text += ", " + percent(leaf.share) + " of the step";
  if (leaf.leaf.kind == TimeKind::overlapped) text += "'s length but hidden";
  if (!leaf.leaf.bound_by.empty()) text += ", bound by " + leaf.leaf.bound_by;
  return text;
}

std::string of_what(const Prediction& p) {
  std::string text = p.scenario;
  if (!p.variant.empty()) text += ", " + p.variant;
  return text + ": " + text_of(p.step_time.value) + " a step on " + std::to_string(p.gpus) + " x " +
         p.gpu;
}

const FormulaLine* find(const Sheet& sheet, std::string_view symbol) {
  for (const FormulaLine& line : sheet.lines) {
    if (line.symbol == symbol) return &line;
  }
  return nullptr;
}

/// The formula that binds: of max(a, b) the larger one's, of a single symbol its own.
const FormulaLine* binding(const Sheet& sheet, const FormulaLine* line) {
  for (;;) {
    const FormulaLine* next = nullptr;
    const bool chooses = line->formula.starts_with("max(");
    const auto symbols = config::symbols_of(line->formula);
    if (!chooses && !(symbols.size() == 1 && line->formula == symbols.front())) return line;
    for (const std::string& symbol : symbols) {
      const FormulaLine* const candidate = find(sheet, symbol);
      if (candidate == nullptr || candidate->value != line->value) continue;
      next = candidate;
    }
    if (next == nullptr || next->formula.empty()) return line;
    line = next;
  }
}

/// The longest of the cards the leaf's own formula adds up, and what binds it.
std::string longest_card(const LeafExplanation& leaf) {
  const Sheet& sheet = leaf.sheet;
  const FormulaLine* longest = nullptr;
  for (const std::string& symbol : config::symbols_of(sheet.lines.back().formula)) {
    const FormulaLine* const line = find(sheet, symbol);
    if (line == nullptr || line->card < 0 || line->unit != "s") continue;
    if (longest == nullptr || line->value > longest->value) longest = line;
  }
  if (longest == nullptr) return "";
  const FormulaLine* const binds = binding(sheet, longest);
  std::string text = sheet.cards[static_cast<std::size_t>(longest->card)].title + ": ";
  text += longest->symbol + " = " + value_text(*longest);
  if (!binds->formula.empty()) text += " = " + binds->formula;
  if (sheet.cards.size() > 1) text += " (longest of " + std::to_string(sheet.cards.size()) + ")";
  return text;
}

/// "measured: clock, ...; assumed: l2_hit_gather"; of many inputs how many of each kind.
std::string rests_on(const Sheet& sheet) {
  constexpr std::size_t kMany = 10;
  std::vector<std::pair<std::string, std::string>> kinds;
  std::map<std::string, std::size_t> counts;
  std::size_t inputs = 0;
  for (const FormulaLine& line : sheet.lines) {
    if (!is_read(line) || line.source->kind == "setting" || line.source->pointer.empty()) continue;
    const std::string kind = kind_text(*line.source);
    auto known = std::find_if(kinds.begin(), kinds.end(),
                              [&](const auto& entry) { return entry.first == kind; });
    if (known == kinds.end()) known = kinds.insert(kinds.end(), {kind, ""});
    known->second += (known->second.empty() ? "" : ", ") + line.symbol;
    ++counts[kind];
    ++inputs;
  }
  std::string text;
  for (const auto& [kind, symbols] : kinds) {
    text += text.empty() ? "" : "; ";
    text += inputs > kMany ? std::to_string(counts[kind]) + " " + kind : kind + ": " + symbols;
  }
  if (inputs > kMany) text = std::to_string(inputs) + " inputs: " + text;
  return text;
}

constexpr std::size_t kLongFormula = 160;

void add_brief(Document& document, const LeafExplanation& leaf) {
  document.add(Heading{answer(leaf)});
  Bullets lines;
  if (!leaf.sheet.lines.empty()) {
    const FormulaLine& last = leaf.sheet.lines.back();
    std::string formula = last.formula;
    if (formula.size() > kLongFormula) {
      formula = "micro_batches * (" + std::to_string(config::symbols_of(formula).size() - 1) +
                " kernels)";
    }
    lines.items.push_back(last.symbol + " = " + formula);
    const std::string longest = longest_card(leaf);
    if (!longest.empty()) lines.items.push_back(longest);
    const std::string evidence = rests_on(leaf.sheet);
    if (!evidence.empty()) lines.items.push_back("rests on " + evidence);
  }
  document.add(std::move(lines));
}

}  // namespace

Document leaf_document(const Explanation& explanation, const LeafExplanation& leaf) {
  Document document;
  document.add(Paragraph{answer(leaf), Tone::strong});
  document.add(Paragraph{of_what(explanation.prediction)});
  if (!leaf.notes.empty()) document.add(Bullets{leaf.notes});
  if (leaf.sheet.lines.empty()) return document;
  add_formulas(document, leaf.sheet);
  for (const Uses& uses : uses_of(leaf.sheet)) add_law(document, leaf.sheet, uses);
  add_inputs(document, leaf.sheet);
  return document;
}

Document leaves_document(const Explanation& explanation, const std::vector<LeafExplanation>& leaves,
                         std::size_t most, const std::vector<std::string>& notes) {
  Document document;
  document.add(Paragraph{of_what(explanation.prediction), Tone::strong});
  for (const std::string& note : notes) document.add(Paragraph{note});
  for (std::size_t i = 0; i < std::min(most, leaves.size()); ++i) add_brief(document, leaves[i]);
  return document;
}

}  // namespace hysim::report
