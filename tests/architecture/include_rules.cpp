#include "architecture/include_rules.h"

#include <cctype>
#include <optional>
#include <sstream>
#include <stdexcept>

namespace hysim::test {
namespace {

// The core touches no filesystem, clock, thread, environment or stdout; only the cli may.
const std::set<std::string_view> kCliHeaders = {"iostream", "fstream", "filesystem", "thread",
                                                "chrono",   "future",  "ctime",      "unistd.h"};
const std::set<std::string_view> kCliNames = {"getenv", "cout", "cerr", "printf", "puts", "fopen"};

struct Include {
  std::string target;
  bool quoted = false;
};

std::optional<Include> parse_include(std::string_view line) {
  const auto skip_blanks = [&] {
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  };
  skip_blanks();
  if (!line.starts_with('#')) return std::nullopt;
  line.remove_prefix(1);
  skip_blanks();
  if (!line.starts_with("include")) return std::nullopt;
  line.remove_prefix(7);
  skip_blanks();
  if (line.empty() || (line.front() != '"' && line.front() != '<')) return std::nullopt;
  const bool quoted = line.front() == '"';
  line.remove_prefix(1);
  return Include{std::string(line.substr(0, line.find(quoted ? '"' : '>'))), quoted};
}

template <class Visit>  // visit(number from 1, line)
void for_each_line(std::string_view text, Visit visit) {
  for (int number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    visit(number, text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

std::string first_component(std::string_view path) {
  return std::string(path.substr(0, path.find('/')));
}

/// Names in a line of code: no comments, no string literals.
std::set<std::string> names_in(std::string_view line) {
  std::set<std::string> names;
  std::string name;
  bool in_string = false;
  for (std::size_t i = 0; i <= line.size(); ++i) {
    const char c = i < line.size() ? line[i] : ' ';
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
      name += c;
      continue;
    }
    if (!name.empty()) names.insert(name);
    name.clear();
    if (c == '"') in_string = true;
    if (c == '/' && line.substr(i).starts_with("//")) break;
  }
  return names;
}

bool is_library(std::string_view target, std::string_view library) {
  return target.starts_with(library) &&
         (target.size() == library.size() || target[library.size()] == '/');
}

}  // namespace

IncludeRules parse_include_rules(std::string_view text) {
  IncludeRules rules;
  for_each_line(text, [&](int number, std::string_view line) {
    if (line.empty() || line.front() == '#') return;
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) {
      throw std::runtime_error("floors.txt:" + std::to_string(number) + ": no ':'");
    }
    std::istringstream head{std::string(line.substr(0, colon))};
    std::istringstream tail{std::string(line.substr(colon + 1))};
    std::string kind, subject, word;
    head >> kind >> subject;
    std::set<std::string> floors;
    while (tail >> word) {
      // A floor is named only below its own line, so every list is closed as soon as it is read.
      if (!rules.floors.contains(word)) {
        throw std::runtime_error("floors.txt:" + std::to_string(number) + ": no floor " + word +
                                 " above this line");
      }
      floors.insert(word);
    }
    if (kind == "public" && floors.size() == 1) {
      rules.public_headers[subject] = *floors.begin();
    } else if (kind == "library") {
      rules.libraries[subject] = floors;
    } else if (subject.empty()) {
      for (const auto& floor : std::set(floors)) floors.merge(std::set(rules.floors[floor]));
      rules.floors[kind] = floors;
    } else {
      throw std::runtime_error("floors.txt:" + std::to_string(number) + ": unknown line");
    }
  });
  return rules;
}

std::vector<std::string> check_file(const IncludeRules& rules, std::string_view path,
                                    std::string_view text) {
  constexpr std::string_view kPublicFolder = "include/hysim/";
  std::vector<std::string> violations;
  const auto report = [&](int line, const std::string& message) {
    violations.push_back(std::string(path) + ":" + std::to_string(line) + ": " + message);
  };
  /// The floor of "hysim/errors.h" or "config/node.h"; "" when there is none.
  const auto floor_of = [&](std::string_view target) -> std::string {
    if (target.starts_with("hysim/")) {
      const auto found = rules.public_headers.find(std::string(target.substr(6)));
      return found == rules.public_headers.end() ? "" : found->second;
    }
    const std::string folder = first_component(target);
    return folder != target && rules.floors.contains(folder) ? folder : "";
  };

  const bool is_public = path.starts_with(kPublicFolder);
  const std::string floor = floor_of(path.substr(path.find('/') + 1));
  if (floor.empty()) {
    report(1, "belongs to no floor of tests/architecture/floors.txt");
    return violations;
  }
  const auto& allowed = rules.floors.at(floor);

  for_each_line(text, [&](int number, std::string_view line) {
    const auto include = parse_include(line);
    if (!include) {
      if (floor == "cli") return;
      for (const auto& name : names_in(line)) {
        if (kCliNames.contains(name)) report(number, name + " outside src/cli");
      }
      return;
    }
    const std::string& target = include->target;
    if (include->quoted || target.starts_with("hysim/")) {
      const std::string other = floor_of(target);
      if (other.empty()) {
        report(number, target + " belongs to no floor of tests/architecture/floors.txt");
      } else if (other != floor && !allowed.contains(other)) {
        report(number, floor + " may not include " + other + " (" + target + ")");
      } else if (is_public && !target.starts_with("hysim/")) {
        report(number, "a public header may only include public headers (" + target + ")");
      }
      return;
    }
    if (floor != "cli" && kCliHeaders.contains(target)) {
      report(number, "<" + target + "> outside src/cli");
    }
    for (const auto& [library, floors] : rules.libraries) {
      if (!is_library(target, library)) continue;
      if (is_public) {
        report(number, "<" + target + "> in a public header");
      } else if (!floors.contains(floor)) {
        report(number, floor + " may not include <" + target + ">");
      }
    }
  });
  return violations;
}

bool includes_library(std::string_view text, std::string_view library) {
  bool found = false;
  for_each_line(text, [&](int, std::string_view line) {
    const auto include = parse_include(line);
    if (include && !include->quoted && is_library(include->target, library)) found = true;
  });
  return found;
}

}  // namespace hysim::test
