// The schemas of the documents hysim reads and writes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hysim {

struct DocumentSchema {
  std::string name;         // "prediction"
  std::string title;        // "hysim.prediction/1": what such a document has under "schema"
  std::string description;  // one sentence
  std::string text;         // JSON Schema, draft 2020-12; refers to nothing outside itself
};

/// Names of the documents that have a schema, sorted.
std::vector<std::string> schema_names();

/// The schema of a document by its name ("prediction") or title ("hysim.prediction/1"). Throws
/// InputError that names the nearest known one.
DocumentSchema document_schema(std::string_view name);

}  // namespace hysim
