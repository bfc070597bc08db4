// The views of a prediction and of a comparison as documents, and their samples as CSV.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "hysim/prediction.h"
#include "hysim/whatif.h"
#include "report/document.h"

namespace hysim::report {

/// `notes` stand below the answer.
Document prediction_document(const Prediction& prediction,
                             const std::vector<std::string>& notes = {});
Document comparison_document(const Comparison& comparison,
                             const std::vector<std::string>& notes = {});

Document sensitivity_document(const Sensitivity& result);
Document breakeven_document(const Breakeven& result);
Document sweep_document(const Sweep& result);

/// Adds the warnings as a section; text views leave them to stderr, files keep them.
void add_warnings(Document& document, const std::vector<Warning>& warnings);
void add_warnings(Document& document, const std::vector<std::string>& warnings);
/// Puts `notes` below the answer, the first block.
void add_notes(Document& document, const std::vector<std::string>& notes);

/// Warnings of the comparison and of its variants, each once; a variant's under its name.
std::vector<Warning> all_warnings(const Comparison& comparison);

/// Which variant a speedup's side is: by the name of the variant or "scenario:variant".
std::size_t variant_index(const std::string& name, const std::vector<Prediction>& variants,
                          std::size_t fallback);

/// RFC 4180 with a header line: one row a breakdown leaf, times in seconds.
std::string to_csv(const Prediction& prediction);
std::string to_csv(const Comparison& comparison);
/// One row a part and an input; one row a combination.
std::string to_csv(const Sensitivity& result);
std::string to_csv(const Sweep& result);

}  // namespace hysim::report
