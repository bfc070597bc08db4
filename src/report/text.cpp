// Text views. Warnings are not part of them: the command line writes them to stderr.
#include <algorithm>

#include "hysim/report.h"
#include "report/view_parts.h"
#include "report/views.h"

namespace hysim::report {

void add_warnings(Document& document, const std::vector<Warning>& warnings) {
  add_warnings(document, texts_of(warnings));
}

void add_warnings(Document& document, const std::vector<std::string>& warnings) {
  if (warnings.empty()) return;
  document.add(Heading{"Warnings"});
  document.add(Bullets{warnings});
}

void add_notes(Document& document, const std::vector<std::string>& notes) {
  std::vector<Block> blocks;
  for (const std::string& note : notes) blocks.emplace_back(Paragraph{note, Tone::faint});
  document.blocks.insert(document.blocks.begin() + (document.blocks.empty() ? 0 : 1),
                         blocks.begin(), blocks.end());
}

std::vector<Warning> all_warnings(const Comparison& c) {
  std::vector<Warning> result;
  const auto add = [&](const Warning& warning) {
    if (std::find(result.begin(), result.end(), warning) == result.end()) {
      result.push_back(warning);
    }
  };
  for (const auto& warning : c.warnings) add(warning);
  const std::vector<std::string> names = column_names(c.variants);
  for (std::size_t v = 0; v < c.variants.size(); ++v) {
    for (const auto& warning : c.variants[v].warnings) {
      const bool everywhere =
          std::all_of(c.variants.begin(), c.variants.end(), [&](const Prediction& p) {
            return std::find(p.warnings.begin(), p.warnings.end(), warning) != p.warnings.end();
          });
      add(everywhere ? warning
                     : Warning{warning.id, names[v] + ": " + warning.message, warning.source});
    }
  }
  return result;
}

}  // namespace hysim::report

namespace hysim {

std::string to_text(const Prediction& prediction, const TextStyle& style) {
  return report::render_text(report::prediction_document(prediction), style);
}

std::string to_text(const Comparison& comparison, const TextStyle& style) {
  return report::render_text(report::comparison_document(comparison), style);
}

}  // namespace hysim
