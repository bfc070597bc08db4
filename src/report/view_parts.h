// What the views of a prediction and of a comparison have in common: facts of the scenario, words
// for fitting, names of variants, columns of times that add up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "report/document.h"
#include "report/format.h"
#include "report/groups.h"

namespace hysim::report {

inline constexpr double kFoldBelow = 0.0005;  // of the step: smaller rows go to "Other"
inline constexpr const char* kUnfit = "does not fit";
inline constexpr const char* kEvidenceLabels[] = {"this GPU", "other GPUs", "datasheets",
                                                  "assumed"};

/// A row of one cell a variant.
Row row_of(std::string label, const std::vector<Prediction>& variants,
           const std::function<Cell(const Prediction&)>& cell, int indent = 0);

/// Model, GPUs, tokens, layout: what all variants share goes to `shared` (two columns), what tells
/// them apart to `apart` (one column a variant).
void add_facts(const std::vector<Prediction>& variants, Table& shared, Table& apart);

/// Where the nominal step reads as an end of its range (which is widened to it where it lies outside
/// of the draws' percentiles): which one, in words; else "".
std::string nominal_end(const Ranged<Seconds>& step);
/// What the ranges are: "[10th, 90th percentile] of 200 draws, seed 1", and of which variants the
/// nominal step is an end.
std::string draws_text(const std::vector<Prediction>& variants);

Tone tone_of(Fit fit);
std::string fits_text(Fit fit);
/// "132.4 GB of 102.6 GB"
std::string against_capacity(const Memory& memory);
/// "1.98 TB of 512 GB a node"; without the second where the cluster does not state it.
std::string host_memory(const Memory& memory);

/// Names of the variants, or of their scenarios, or both: what tells them apart.
std::vector<std::string> column_names(const std::vector<Prediction>& variants);

/// How the times of one table are written: a unit and a number of decimals with which 0.05 % of
/// the shortest step is visible.
struct TimeUnit {
  Scale scale{"s", 1.0};
  int decimals = 2;
};
TimeUnit time_unit(const std::vector<Prediction>& variants);

/// One column of cells, and what they add up to.
struct TimeColumn {
  std::vector<std::string> cells;
  std::vector<std::int64_t> counts;  // in last decimals; empty when the numbers are too large
  std::string sum;
};
TimeColumn time_column(const std::vector<Seconds>& times, const TimeUnit& unit);
std::vector<Seconds> column_of(const GroupTable& table, std::size_t variant);

/// Evidence in whole percent, adding up to 100; in the order of kEvidenceLabels.
std::vector<std::string> evidence_cells(const EvidenceShares& evidence);

/// Sections.
void add_hidden_time(Document& document, const std::vector<Prediction>& variants);
void add_conventions(Document& document, const std::vector<Prediction>& variants);
void add_assumptions(Document& document, const std::vector<Prediction>& variants);

}  // namespace hysim::report
