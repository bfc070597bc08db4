// Where the commands find documents: what is bundled, folders of $HYSIM_PATH, files of --profile,
// and files that a scenario names by path.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/node.h"
#include "hysim/predict.h"
#include "hysim/resources.h"

namespace hysim::cli {

/// One kind of document.
struct DocumentKind {
  std::string_view plural;    // "gpus": as in `hysim list gpus`
  std::string_view singular;  // "gpu"
  std::string_view folder;    // "hw_profiles/gpus"
  std::string_view schema;    // "hysim.gpu/1"; "" for a model's config.json
};
const std::vector<DocumentKind>& document_kinds();

/// The kind of a document by its "schema", or as a model's config.json; null when it is neither.
const DocumentKind* kind_of(const config::Node& document);

/// Names of the documents of a kind, sorted.
std::vector<std::string> names_of(const Resources& resources, const DocumentKind& kind);
std::string path_of(const DocumentKind& kind, std::string_view name);

/// A folder that holds models/, scenarios/ and hw_profiles/.
Resources folder_resources(const std::string& root);

/// Bundled documents, under the folders of $HYSIM_PATH (the first wins), under the documents of
/// `profiles` (the last wins). Adds a warning for a part of $HYSIM_PATH that is no folder.
Resources command_resources(const std::vector<std::string>& profiles,
                            std::vector<std::string>& warnings);

/// Puts what `command_resources` warned of before the other warnings of an answer.
void add_resource_warnings(const std::vector<std::string>& texts, std::vector<Warning>& warnings);

/// SCENARIO: a bundled name or a file.
ScenarioText scenario_text(const Resources& resources, const std::string& argument);

/// `resources` and the files that the scenarios and the --set values name by a path ending in
/// ".json". A path in a scenario is looked up in the scenario's folder, then in the current one;
/// a path in a --set the other way round.
Resources with_local_files(const Resources& resources, const std::vector<ScenarioText>& scenarios,
                           const std::vector<SetText>& sets);

/// Names of the scenario's variants, in order; empty when it has none or is faulty.
std::vector<std::string> variant_names(const ScenarioText& scenario);

}  // namespace hysim::cli
