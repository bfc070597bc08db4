// Where named documents (GPU profiles, models, clusters, scenarios) come from.
// The core library touches no filesystem: it asks a Resources for text by relative path.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hysim {

/// A read-only tree of text documents addressed by '/'-separated relative path,
/// for example "models/glm-5.1.json".
struct Resources {
  /// The document's text, or nothing when there is no such document.
  std::function<std::optional<std::string>(std::string_view path)> read;
  /// Paths of the documents directly inside `folder`, sorted.
  std::function<std::vector<std::string>(std::string_view folder)> list;
  /// Where `path` comes from, as shown in messages ("bundled:models/glm-5.1.json").
  std::function<std::string(std::string_view path)> describe;
};

/// The documents compiled into the library.
Resources embedded_resources();

/// Documents held in memory: path to text.
Resources memory_resources(std::map<std::string, std::string> documents);

/// Looks in `first`, then in `second`; listings are merged.
Resources overlay(Resources first, Resources second);

}  // namespace hysim
