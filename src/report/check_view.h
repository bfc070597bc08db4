// Views of what `hysim check` understood (hysim.check/1).
#pragma once

#include <string>

#include "config/node.h"
#include "hysim/check.h"
#include "hysim/errors.h"
#include "report/document.h"

namespace hysim::report {

Document check_document(const ScenarioCheck& check);
Document check_document(const ClusterCheck& check);

/// What was understood, for check_json.
config::Node check_node(const ScenarioCheck& check);
config::Node check_node(const ClusterCheck& check);

/// The document of one file: its kind ("scenario", "gpu"), name and what was understood.
std::string check_json(const std::string& kind, const std::string& file, const std::string& name,
                       config::Node understood);

/// The same of a file with faults, which has none of these.
std::string faults_json(const std::string& file, const std::vector<Diagnostic>& faults);

/// "0-7", "0, 8, ..., 504"
std::string ranks_text(const std::vector<std::int64_t>& ranks);

}  // namespace hysim::report
