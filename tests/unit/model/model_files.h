// Bundled model files as a Resources, read from the source tree; and JSON with one key changed.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/node.h"
#include "hysim/resources.h"
#include "model/transformer.h"
#include "test_paths.h"

namespace hysim::test {

inline std::optional<std::string> read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

/// Documents under the repository's root, the folder above tests/.
inline Resources source_tree() {
  const auto root = std::filesystem::path(HYSIM_TEST_DATA).parent_path();
  Resources resources;
  resources.read = [root](std::string_view path) { return read_text(root / path); };
  resources.list = [root](std::string_view folder) {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(root / folder)) {
      paths.push_back(std::string(folder) + "/" + entry.path().filename().string());
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  };
  resources.describe = [](std::string_view path) { return std::string(path); };
  return resources;
}

/// Names of all bundled models.
inline std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const std::string& path : source_tree().list("models")) {
    names.push_back(std::filesystem::path(path).stem().string());
  }
  return names;
}

inline model::Transformer bundled(std::string_view name) {
  return model::load_transformer(source_tree(), name);
}

/// The config of a bundled model, to change and parse again.
inline config::Node bundled_config(const std::string& name) {
  const std::string path = "models/" + name + ".json";
  return config::parse(source_tree().read(path).value(), path);
}

inline model::Transformer parsed(const config::Node& node) {
  return model::parse_transformer(config::to_text(node, 2), "config.json", "test");
}

}  // namespace hysim::test
