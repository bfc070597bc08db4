#include "cli/megatron_yaml.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

namespace hysim::cli {

namespace {

constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxArguments = 1U << 16U;  // aliases can name a node many times

// Sections that are about the container and the job, not about the model.
constexpr std::array kOther = std::to_array<std::string_view>(
    {"ENV_VARS", "DEPENDENCIES", "HOOKS", "ENV", "env_vars", "BEFORE_SCRIPT", "AFTER_SCRIPT"});

class YamlReader {
 public:
  YamlReader(std::string_view path, const MegatronVariables& variables)
      : path_(path), variables_(variables) {}

  void read(const YAML::Node& node, int depth) {
    if (depth > kMaxDepth) refuse(node, "is nested deeper than 64");
    std::set<std::string> keys;
    for (const auto& member : node) {
      if (run_.arguments.size() > kMaxArguments) refuse(node, "has too many arguments");
      const std::string key = member.first.IsScalar() ? member.first.Scalar() : "";
      const YAML::Node& value = member.second;
      if (!member.first.IsScalar()) refuse(member.first, "a key must be a text");
      if (!keys.insert(key).second) refuse(member.first, "the key " + key + " is given twice");
      if (std::find(kOther.begin(), kOther.end(), key) != kOther.end()) {
        run_.not_evaluated.push_back(
            at(member.first, "section " + key + " holds no arguments and is not read"));
      } else if (value.IsMap() && key.starts_with("--")) {
        refuse(value, key + " must be a text, a number or a list of them, found a map");
      } else if (value.IsMap()) {
        read(value, depth + 1);
      } else {
        add(key, member.first, value);
      }
    }
  }

  MegatronRun take() { return std::move(run_); }

 private:
  Diagnostic at(const YAML::Node& node, std::string message) const {
    const YAML::Mark mark = node.Mark();
    return {path_, mark.line + 1, mark.column + 1, "", std::move(message)};
  }
  [[noreturn]] void refuse(const YAML::Node& node, std::string message) const {
    throw InputError({at(node, std::move(message))});
  }

  void add(std::string key, const YAML::Node& at_key, const YAML::Node& value) {
    while (key.starts_with('-')) key.erase(0, 1);
    std::replace(key.begin(), key.end(), '_', '-');
    MegatronArgument argument;
    argument.name = std::move(key);
    argument.file = path_;
    argument.line = at_key.Mark().line + 1;
    if (value.IsScalar()) {
      add_value(value, argument);
    } else if (value.IsSequence()) {
      for (const YAML::Node& element : value) {
        if (!element.IsScalar()) {
          run_.not_evaluated.push_back(
              at(element, "a value of " + argument.name + " is neither a text nor a number"));
          continue;
        }
        add_value(element, argument);
      }
    } else {
      argument.values.emplace_back("null");
    }
    run_.arguments.push_back(std::move(argument));
  }

  void add_value(const YAML::Node& value, MegatronArgument& argument) {
    argument.values.push_back(expand_variables(value.Scalar(), variables_, argument.missing));
  }

  std::string path_;
  const MegatronVariables& variables_;
  MegatronRun run_;
};

}  // namespace

MegatronRun read_megatron_yaml(const std::string& text, std::string_view path,
                               const MegatronVariables& variables) {
  YAML::Node root;
  try {
    root = YAML::Load(text);
  } catch (const YAML::Exception& error) {
    throw InputError({Diagnostic{std::string(path), error.mark.line + 1, error.mark.column + 1, "",
                                 "is no YAML: " + error.msg}});
  }
  if (!root.IsMap()) {
    throw InputError({Diagnostic{std::string(path), 1, 0, "", "must be a map of arguments"}});
  }
  YamlReader reader(path, variables);
  try {
    reader.read(root, 0);
  } catch (const YAML::Exception& error) {
    throw InputError({Diagnostic{std::string(path), error.mark.line + 1, error.mark.column + 1, "",
                                 "cannot be read: " + error.msg}});
  }
  MegatronRun run = reader.take();
  run.settings = megatron_settings(text, path);
  return run;
}

}  // namespace hysim::cli
