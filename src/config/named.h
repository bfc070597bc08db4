// Finding a document by name in its folder of Resources.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hysim/resources.h"

namespace hysim::config {

struct NamedDocument {
  std::string text;
  std::string path;  // as shown in messages
  std::string name;  // as asked for; of a path the file's name without folder and ".json"
};

/// `<folder>/<name>.json`, or the document at path `name` when it ends in ".json". Throws
/// InputError 'no `what` named "..."; did you mean "..."?' with `hint` appended.
NamedDocument load_named(const Resources& resources, std::string_view folder, std::string_view what,
                         std::string_view name, std::string_view hint);

/// Where `load_named` looks for `name`.
std::string named_path(std::string_view folder, std::string_view name);

/// Names of the documents of a folder, sorted.
std::vector<std::string> names_in(const Resources& resources, std::string_view folder);

}  // namespace hysim::config
