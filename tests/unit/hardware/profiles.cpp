#include "unit/hardware/profiles.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

#include "test_paths.h"

namespace hysim::hardware {

Resources bundled_profiles() {
  const std::filesystem::path root = std::filesystem::path(HYSIM_TEST_DATA).parent_path();
  std::map<std::string, std::string> documents;
  for (const auto& entry : std::filesystem::directory_iterator(root / "hw_profiles/gpus")) {
    std::ifstream file(entry.path());
    std::ostringstream text;
    text << file.rdbuf();
    documents["hw_profiles/gpus/" + entry.path().filename().string()] = text.str();
  }
  return memory_resources(std::move(documents));
}

std::vector<std::string> gpu_names() {
  std::vector<std::string> names;
  for (const std::string& path : bundled_profiles().list("hw_profiles/gpus")) {
    names.push_back(std::filesystem::path(path).stem().string());
  }
  return names;
}

std::string profile_text(std::string_view name) {
  return bundled_profiles().read("hw_profiles/gpus/" + std::string(name) + ".json").value();
}

}  // namespace hysim::hardware
