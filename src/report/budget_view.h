// Days, GPU-hours, energy and cost of a number of tokens.
#pragma once

#include <cstddef>

#include "report/document.h"

namespace hysim::report {

/// One section, empty where no budget was asked for. Of several variants also what the candidate
/// saves.
void add_budget(Document& document, const Prediction& prediction);
void add_budget(Document& document, const std::vector<Prediction>& variants, std::size_t baseline,
                std::size_t candidate);

/// "50B", "1.5T": decimal, as budgets of tokens are given.
std::string token_budget_text(double tokens);

}  // namespace hysim::report
