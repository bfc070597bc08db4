#include "cli/resources.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include "cli/files.h"
#include "config/reader.h"
#include "config/words.h"
#include "hysim/errors.h"

namespace hysim::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kSuffix = ".json";

/// Neither absolute nor leading out of the folder.
bool stays_inside(std::string_view path) {
  if (path.empty() || path.front() == '/') return false;
  for (const auto& part : fs::path(path)) {
    if (part == "..") return false;
  }
  return true;
}

bool is_file(const fs::path& path) {
  std::error_code failed;
  return fs::exists(path, failed) && !fs::is_directory(path, failed);
}

std::string string_at(const config::Node& node, std::string_view key) {
  const config::Node* const value = node.find(key);
  return value != nullptr && value->is_string() ? value->as_string() : "";
}

/// A model's config.json has no name of its own: that of the file, or of its folder when the file
/// is called config.json.
std::string model_name(const config::Node& document, const std::string& path) {
  std::string own = string_at(document, "name");
  if (!own.empty()) return own;
  std::string stem = stem_of(path);
  if (stem == "config") {
    std::error_code failed;
    const fs::path folder = fs::absolute(path, failed).lexically_normal().parent_path();
    if (!failed && folder.has_filename()) stem = folder.filename().string();
  }
  return stem;
}

Resources profile_resources(const std::vector<std::string>& profiles) {
  std::map<std::string, std::string> documents;
  std::map<std::string, std::string> origins;
  for (const std::string& path : profiles) {
    std::string text = read_file(path);
    const config::Node document = config::parse(text, path);
    const DocumentKind* const kind = kind_of(document);
    if (kind == nullptr || kind->singular == "scenario") {
      const std::string schema = string_at(document, "schema");
      throw InputError({Diagnostic{
          path, 0, 0, schema.empty() ? "" : "/schema",
          (schema.empty() ? "has no \"schema\"" : "is of schema " + config::in_quotes(schema)) +
              std::string("; --profile takes hysim.gpu/1, hysim.cluster/1, hysim.stack/1, "
                          "hysim.kernels/1 or a "
                          "model's config.json")}});
    }
    const std::string name =
        kind->schema.empty() ? model_name(document, path) : string_at(document, "name");
    if (name.empty() || name.find('/') != std::string::npos) {
      throw InputError({Diagnostic{path, 0, 0, "", "needs a \"name\" without '/'"}});
    }
    const std::string place = path_of(*kind, name);
    documents[place] = std::move(text);
    origins[place] = path;
  }
  Resources resources = memory_resources(std::move(documents));
  resources.describe = [origins = std::move(origins)](std::string_view path) {
    const auto at = origins.find(std::string(path));
    return at == origins.end() ? std::string(path) : at->second;
  };
  return resources;
}

/// Every string of the document that ends in ".json".
void collect_paths(const config::Node& node, std::set<std::string>& paths) {
  if (node.is_string() && std::string_view(node.as_string()).ends_with(kSuffix)) {
    paths.insert(node.as_string());
  } else if (node.is_array()) {
    for (const auto& item : node.as_array()) collect_paths(item, paths);
  } else if (node.is_object()) {
    for (const auto& member : node.as_object()) collect_paths(member.second, paths);
  }
}

std::set<std::string> paths_in(const ScenarioText& scenario) {
  std::set<std::string> paths;
  try {
    collect_paths(config::parse(scenario.text, scenario.path), paths);
  } catch (const InputError&) {
    paths.clear();  // the prediction reports it
  }
  return paths;
}

std::set<std::string> paths_in(const SetText& set) {
  std::set<std::string> paths;
  const std::size_t equals = set.find('=');
  if (equals == std::string::npos) return paths;
  const std::string value = set.substr(equals + 1);
  try {
    collect_paths(config::parse(value, "--set"), paths);
  } catch (const InputError&) {
    if (std::string_view(value).ends_with(kSuffix)) paths.insert(value);  // a bare string
  }
  return paths;
}

fs::path folder_of(const ScenarioText& scenario) {
  return is_file(scenario.path) ? fs::path(scenario.path).parent_path() : fs::path();
}

/// The first of the folders in which `path` is a file; "" when there is none.
std::string find_in(const std::vector<fs::path>& folders, const std::string& path) {
  for (const fs::path& folder : folders) {
    const fs::path candidate = folder / path;  // an absolute path stays as it is
    if (is_file(candidate)) return candidate.lexically_normal().string();
  }
  return "";
}

}  // namespace

const std::vector<DocumentKind>& document_kinds() {
  static const std::vector<DocumentKind> kinds = {
      {"models", "model", "models", ""},
      {"gpus", "gpu", "hw_profiles/gpus", "hysim.gpu/1"},
      {"clusters", "cluster", "hw_profiles/clusters", "hysim.cluster/1"},
      {"stacks", "stack", "hw_profiles/stacks", "hysim.stack/1"},
      {"kernels", "kernels", "hw_profiles/kernels", "hysim.kernels/1"},
      {"scenarios", "scenario", "scenarios", "hysim.scenario/1"}};
  return kinds;
}

const DocumentKind* kind_of(const config::Node& document) {
  if (!document.is_object()) return nullptr;
  const std::string schema = string_at(document, "schema");
  for (const DocumentKind& kind : document_kinds()) {
    if (!schema.empty() && schema == kind.schema) return &kind;
  }
  if (schema.empty() && document.find("model_type") != nullptr) return &document_kinds().front();
  return nullptr;
}

std::vector<std::string> names_of(const Resources& resources, const DocumentKind& kind) {
  std::vector<std::string> names;
  for (const std::string& path : resources.list(kind.folder)) {
    if (std::string_view(path).ends_with(kSuffix)) names.push_back(stem_of(path));
  }
  std::sort(names.begin(), names.end());  // "a" before "a.1", which their paths are not
  return names;
}

std::string path_of(const DocumentKind& kind, std::string_view name) {
  return std::string(kind.folder) + "/" + std::string(name) + std::string(kSuffix);
}

Resources folder_resources(const std::string& root) {
  const auto base = std::make_shared<const fs::path>(root);
  Resources resources;
  resources.read = [base](std::string_view path) -> std::optional<std::string> {
    if (!stays_inside(path) || !is_file(*base / path)) return std::nullopt;
    return read_file((*base / path).string());
  };
  resources.list = [base](std::string_view folder) {
    std::vector<std::string> paths;
    std::error_code failed;
    if (!folder.empty() && !stays_inside(folder)) return paths;
    for (fs::directory_iterator at(*base / folder, failed), end; !failed && at != end;
         at.increment(failed)) {
      if (is_file(at->path())) {
        paths.push_back((fs::path(folder) / at->path().filename()).generic_string());
      }
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  };
  resources.describe = [base](std::string_view path) { return (*base / path).string(); };
  return resources;
}

Resources command_resources(const std::vector<std::string>& profiles,
                            std::vector<std::string>& warnings) {
  Resources resources = embedded_resources();
  if (const char* const variable = std::getenv("HYSIM_PATH")) {
    std::vector<std::string> folders;
    std::string_view rest = variable;
    while (!rest.empty()) {
      const std::size_t colon = std::min(rest.find(':'), rest.size());
      if (colon > 0) folders.emplace_back(rest.substr(0, colon));
      rest.remove_prefix(std::min(colon + 1, rest.size()));
    }
    for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder) {
      std::error_code failed;
      if (!fs::is_directory(*folder, failed)) {
        warnings.push_back("HYSIM_PATH: " + *folder + " is no folder");
        continue;
      }
      resources = overlay(folder_resources(*folder), std::move(resources));
    }
  }
  if (!profiles.empty()) {
    resources = overlay(profile_resources(profiles), std::move(resources));
  }
  return resources;
}

void add_resource_warnings(const std::vector<std::string>& texts, std::vector<Warning>& warnings) {
  std::vector<Warning> first;
  for (const std::string& text : texts) first.push_back({"resources", text, ""});
  warnings.insert(warnings.begin(), first.begin(), first.end());
}

ScenarioText scenario_text(const Resources& resources, const std::string& argument) {
  if (!names_file(argument)) return load_scenario(resources, argument);
  if (!file_exists(argument)) {
    std::string message = "no such file";
    const std::vector<std::string> names = names_of(
        resources,
        *kind_of(config::Node::object({{"schema", config::Node::string("hysim.scenario/1")}})));
    const std::string near = config::nearest(stem_of(argument), names);
    if (!near.empty()) {
      message += "; did you mean the bundled scenario " + config::in_quotes(near) + "?";
    }
    throw InputError({Diagnostic{argument, 0, 0, "", message}});
  }
  return {read_file(argument), argument};
}

Resources with_local_files(const Resources& resources, const std::vector<ScenarioText>& scenarios,
                           const std::vector<SetText>& sets) {
  const auto files = std::make_shared<std::map<std::string, std::string, std::less<>>>();
  std::vector<fs::path> after_current = {fs::path()};
  for (const ScenarioText& scenario : scenarios) {
    const fs::path folder = folder_of(scenario);
    after_current.push_back(folder);
    for (const std::string& path : paths_in(scenario)) {
      const std::string found = find_in({folder, fs::path()}, path);
      if (found.empty()) continue;
      const auto [at, added] = files->emplace(path, found);
      if (!added && at->second != found) {
        throw InputError(
            {Diagnostic{scenario.path, 0, 0, "",
                        config::in_quotes(path) + " is " + found + " here and " + at->second +
                            " in the other scenario; write one of them as an absolute path"}});
      }
    }
  }
  for (const SetText& set : sets) {
    for (const std::string& path : paths_in(set)) {
      const std::string found = find_in(after_current, path);
      if (!found.empty()) (*files)[path] = found;
    }
  }
  if (files->empty()) return resources;

  Resources result = resources;
  result.read = [files, base = resources.read](std::string_view path) {
    const auto at = files->find(path);
    return at == files->end() ? base(path) : std::optional<std::string>(read_file(at->second));
  };
  result.describe = [files, base = resources.describe](std::string_view path) {
    const auto at = files->find(path);
    return at == files->end() ? base(path) : at->second;
  };
  return result;
}

std::vector<std::string> variant_names(const ScenarioText& scenario) {
  std::vector<std::string> names;
  try {
    const config::Node document = config::parse(scenario.text, scenario.path);
    const config::Node* const variants = document.is_object() ? document.find("variants") : nullptr;
    if (variants != nullptr && variants->is_object()) {
      for (const auto& member : variants->as_object()) names.push_back(member.first);
    }
  } catch (const InputError&) {
    names.clear();  // the prediction reports it
  }
  return names;
}

}  // namespace hysim::cli
