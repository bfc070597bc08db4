// The documents compiled into the library, as Resources.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/embedded_files.h"
#include "hysim/resources.h"

namespace hysim {

namespace {

using config::EmbeddedFile;

const EmbeddedFile* begin() { return config::kEmbeddedFiles; }
const EmbeddedFile* end() { return config::kEmbeddedFiles + config::kEmbeddedFileCount; }

/// The first file whose path is not before `path`.
const EmbeddedFile* lower_bound(std::string_view path) {
  return std::lower_bound(begin(), end(), path, [](const EmbeddedFile& file, std::string_view p) {
    return std::string_view(file.path) < p;
  });
}

}  // namespace

Resources embedded_resources() {
  Resources resources;
  resources.read = [](std::string_view path) -> std::optional<std::string> {
    const EmbeddedFile* const at = lower_bound(path);
    if (at == end() || path != at->path) return std::nullopt;
    return std::string(at->text);
  };
  resources.list = [](std::string_view folder) {
    std::string prefix(folder);
    if (!prefix.empty() && prefix.back() != '/') prefix += '/';
    std::vector<std::string> paths;
    for (const EmbeddedFile* at = lower_bound(prefix); at != end(); ++at) {
      const std::string_view path(at->path);
      if (path.substr(0, prefix.size()) != prefix) break;
      if (path.find('/', prefix.size()) == std::string_view::npos) paths.emplace_back(path);
    }
    return paths;
  };
  resources.describe = [](std::string_view path) { return "bundled:" + std::string(path); };
  return resources;
}

}  // namespace hysim
