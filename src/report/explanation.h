// The views of an explanation: a document of one leaf or of several, and hysim.explanation/1.
#pragma once

#include <string>
#include <vector>

#include "hysim/explain.h"
#include "report/document.h"

namespace hysim::report {

/// One leaf in full: formulas, cards, inputs and their sources.
Document leaf_document(const Explanation& explanation, const LeafExplanation& leaf);

/// The first `most` of `leaves`, each in a few lines; `notes` stand below the answer.
Document leaves_document(const Explanation& explanation, const std::vector<LeafExplanation>& leaves,
                         std::size_t most, const std::vector<std::string>& notes);

/// JSON text of kind hysim.explanation/1.
std::string explanation_json(const Explanation& explanation,
                             const std::vector<LeafExplanation>& leaves);

}  // namespace hysim::report
