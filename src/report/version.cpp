#include "report/version.h"

#include <cstddef>

#include "config/embedded_files.h"
#include "config/node.h"
#include "config/sha256.h"
#include "config/version.h"

namespace hysim::report {

namespace {

using config::Node;

#if defined(__clang__)
constexpr std::string_view kCompiler = "clang " __clang_version__;
#else
constexpr std::string_view kCompiler = "gcc " __VERSION__;
#endif

/// Profiles, models and scenarios, which predictions depend on.
bool is_data(std::string_view path) { return !path.starts_with("schemas/"); }

}  // namespace

std::string version_json(std::string_view commit) {
  Node files = Node::object();
  std::string lines;  // as `sha256sum` prints them
  for (std::size_t i = 0; i < config::kEmbeddedFileCount; ++i) {
    const config::EmbeddedFile& file = config::kEmbeddedFiles[i];
    if (!is_data(file.path)) continue;
    const std::string hash = config::sha256_hex(file.text);
    files.set(file.path, Node::string(hash));
    lines += hash + "  " + file.path + "\n";
  }
  const Node document =
      Node::object({{"schema", Node::string("hysim.version/1")},
                    {"name", Node::string("hysim")},
                    {"version", Node::string(std::string(config::kVersion))},
                    {"commit", Node::string(std::string(commit))},
                    {"compiler", Node::string(std::string(kCompiler))},
                    {"bundled", Node::object({{"sha256", Node::string(config::sha256_hex(lines))},
                                              {"files", std::move(files)}})}});
  return config::to_text(document, 2) + "\n";
}

}  // namespace hysim::report
