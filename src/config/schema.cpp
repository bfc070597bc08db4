// Schemas are files of schemas/ that refer to each other by file name; what is handed out holds
// copies of all it refers to, under "$defs".
#include "hysim/schema.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "config/named.h"
#include "config/node.h"
#include "config/reader.h"
#include "config/words.h"
#include "hysim/errors.h"
#include "hysim/resources.h"

namespace hysim {

namespace {

using config::Node;

constexpr std::string_view kFolder = "schemas";
constexpr std::string_view kShared = "common";  // definitions only, no document
constexpr std::string_view kSuffix = ".json";
constexpr std::string_view kDefinitions = "#/$defs/";

Node read_schema(std::string_view name) {
  const std::string path = config::named_path(kFolder, name);
  const auto text = embedded_resources().read(path);
  if (!text) throw std::logic_error("no schema file " + path);
  return config::parse(*text, path);
}

/// What a "$ref" points to: definition `definition` of schema file `file`; "" is the whole file.
struct Target {
  std::string file;
  std::string definition;
};

/// `file`: where `reference` is written.
Target parse_reference(std::string_view reference, std::string_view file) {
  const std::size_t hash = std::min(reference.find('#'), reference.size());
  std::string_view other = reference.substr(0, hash);
  const std::string_view fragment = reference.substr(hash);
  if (other.ends_with(kSuffix)) other.remove_suffix(kSuffix.size());
  Target target{std::string(other.empty() ? file : other), ""};
  if (fragment.starts_with(kDefinitions)) {
    target.definition = fragment.substr(kDefinitions.size());
  } else if (!fragment.empty()) {
    throw std::logic_error("schema " + std::string(file) + ": \"$ref\" to " +
                           std::string(reference));
  }
  return target;
}

/// Gathers definitions from all files into one document.
class Bundler {
 public:
  explicit Bundler(std::string_view root) : root_(root) {}

  Node run() {
    Node document = read_schema(root_);
    document.erase("$defs");
    rewrite(document, root_);
    if (!definitions_.as_object().empty()) document.set("$defs", std::move(definitions_));
    return document;
  }

 private:
  /// The name of a definition in the bundle: its own if the root document has it, else after its
  /// file.
  std::string name_of(const Target& target) const {
    if (target.file == root_) return target.definition;
    return target.definition.empty() ? target.file : target.file + "." + target.definition;
  }

  /// References below `node`, which is written in `file`, become references into the bundle.
  void rewrite(Node& node, const std::string& file) {
    if (node.is_array()) {
      for (Node& item : node.as_array()) rewrite(item, file);
    }
    if (!node.is_object()) return;
    for (auto& [key, value] : node.as_object()) {
      if (key != "$ref" || !value.is_string()) {
        rewrite(value, file);
        continue;
      }
      const Target target = parse_reference(value.as_string(), file);
      include(target);
      value = Node::string(std::string(kDefinitions) + name_of(target));
    }
  }

  void include(const Target& target) {
    const std::string name = name_of(target);
    if (!included_.insert(name).second) return;
    Node document = read_schema(target.file);
    Node definition = document;
    if (!target.definition.empty()) {
      const Node* const found = config::find_path(document, "/$defs/" + target.definition);
      if (found == nullptr) throw std::logic_error("no schema definition " + name);
      definition = *found;
    }
    for (const char* const key : {"$schema", "$defs"}) definition.erase(key);
    definitions_.set(name, Node::null());  // keeps its place before what it refers to
    rewrite(definition, target.file);
    definitions_.set(name, std::move(definition));
  }

  std::string root_;
  Node definitions_ = Node::object();
  std::set<std::string> included_;
};

std::string string_at(const Node& node, std::string_view key) {
  const Node* const value = node.find(key);
  return value != nullptr && value->is_string() ? value->as_string() : "";
}

[[noreturn]] void refuse(std::string_view name) {
  std::vector<std::string> known = schema_names();
  const std::size_t count = known.size();
  for (std::size_t i = 0; i < count; ++i)
    known.push_back(string_at(read_schema(known[i]), "title"));
  const std::string near = config::nearest(name, known);
  throw InputError({Diagnostic{
      "", 0, 0, "",
      "no document named " + config::in_quotes(name) + "; " +
          (near.empty() ? "see hysim schema" : "did you mean " + config::in_quotes(near) + "?")}});
}

}  // namespace

std::vector<std::string> schema_names() {
  std::vector<std::string> names = config::names_in(embedded_resources(), kFolder);
  std::erase(names, std::string(kShared));
  return names;
}

DocumentSchema document_schema(std::string_view name) {
  for (const std::string& candidate : schema_names()) {
    const Node source = read_schema(candidate);
    const std::string title = string_at(source, "title");
    if (candidate != name && title != name) continue;
    return {candidate, title, string_at(source, "description"),
            config::to_text(Bundler(candidate).run(), 2) + "\n"};
  }
  refuse(name);
}

}  // namespace hysim
