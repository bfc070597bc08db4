// What became of every argument of an imported Megatron-LM run.
#pragma once

#include <string>
#include <vector>

#include "hysim/megatron.h"

namespace hysim::report {

/// hysim.import/1
std::string megatron_import_json(const MegatronImport& imported, const MegatronRun& run);

/// Lines for a terminal: what was taken, what is not modelled, unknown or not evaluated.
std::vector<std::string> megatron_import_lines(const MegatronImport& imported,
                                               const MegatronRun& run);

}  // namespace hysim::report
