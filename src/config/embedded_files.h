// The bundled documents, compiled in by the build (cmake/HysimEmbed.cmake), sorted by path.
#pragma once

#include <cstddef>
#include <string_view>

namespace hysim::config {

struct EmbeddedFile {
  const char* path;  // relative to the repository: "models/glm-5.1.json"
  std::string_view text;
};

extern const EmbeddedFile kEmbeddedFiles[];
extern const std::size_t kEmbeddedFileCount;

}  // namespace hysim::config
