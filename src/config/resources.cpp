// Documents held in memory, and one set of documents laid over another.
#include "hysim/resources.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

namespace hysim {

namespace {

/// Whether `path` names a document directly inside `folder` ("" is the top).
bool directly_inside(std::string_view path, std::string_view folder) {
  if (!folder.empty()) {
    if (path.size() <= folder.size() + 1 || path.substr(0, folder.size()) != folder ||
        path[folder.size()] != '/') {
      return false;
    }
    path.remove_prefix(folder.size() + 1);
  }
  return !path.empty() && path.find('/') == std::string_view::npos;
}

}  // namespace

Resources memory_resources(std::map<std::string, std::string> documents) {
  using Documents = std::map<std::string, std::string, std::less<>>;
  const auto shared = std::make_shared<const Documents>(std::make_move_iterator(documents.begin()),
                                                        std::make_move_iterator(documents.end()));

  Resources resources;
  resources.read = [shared](std::string_view path) -> std::optional<std::string> {
    const auto at = shared->find(path);
    if (at == shared->end()) return std::nullopt;
    return at->second;
  };
  resources.list = [shared](std::string_view folder) {
    if (!folder.empty() && folder.back() == '/') folder.remove_suffix(1);
    std::vector<std::string> paths;
    for (const auto& document : *shared) {
      if (directly_inside(document.first, folder)) paths.push_back(document.first);
    }
    return paths;
  };
  resources.describe = [](std::string_view path) { return "memory:" + std::string(path); };
  return resources;
}

Resources overlay(Resources first, Resources second) {
  const auto shared =
      std::make_shared<const std::pair<Resources, Resources>>(std::move(first), std::move(second));

  Resources resources;
  resources.read = [shared](std::string_view path) {
    auto text = shared->first.read(path);
    return text ? text : shared->second.read(path);
  };
  resources.list = [shared](std::string_view folder) {
    const std::vector<std::string> upper = shared->first.list(folder);
    const std::vector<std::string> lower = shared->second.list(folder);
    std::vector<std::string> both;
    std::set_union(upper.begin(), upper.end(), lower.begin(), lower.end(),
                   std::back_inserter(both));
    return both;
  };
  resources.describe = [shared](std::string_view path) {
    return shared->first.read(path) ? shared->first.describe(path) : shared->second.describe(path);
  };
  return resources;
}

}  // namespace hysim
