#include "config/named.h"

#include "config/reader.h"
#include "config/words.h"
#include "hysim/errors.h"

namespace hysim::config {

namespace {
constexpr std::string_view kSuffix = ".json";

/// The known name meant by `wanted`, or all that begin with it ("h20" is "h20-96" or another).
std::string suggestion(std::string_view wanted, const std::vector<std::string>& known) {
  std::string names;
  if (const std::string near = nearest(wanted, known); !near.empty()) {
    names = in_quotes(near);
  } else if (!wanted.empty()) {
    for (const std::string& name : known) {
      if (name.starts_with(wanted)) names += (names.empty() ? "" : " or ") + in_quotes(name);
    }
  }
  return names.empty() ? names : "; did you mean " + names + "?";
}
}  // namespace

std::vector<std::string> names_in(const Resources& resources, std::string_view folder) {
  std::vector<std::string> names;
  for (const std::string& path : resources.list(folder)) {
    if (!path.ends_with(kSuffix) || path.size() <= folder.size() + 1 + kSuffix.size()) continue;
    names.push_back(
        path.substr(folder.size() + 1, path.size() - folder.size() - 1 - kSuffix.size()));
  }
  return names;
}

std::string named_path(std::string_view folder, std::string_view name) {
  if (name.ends_with(kSuffix)) return std::string(name);
  return std::string(folder) + "/" + std::string(name) + std::string(kSuffix);
}

NamedDocument load_named(const Resources& resources, std::string_view folder, std::string_view what,
                         std::string_view name, std::string_view hint) {
  const bool is_path = name.ends_with(kSuffix);
  const std::string path = named_path(folder, name);
  if (auto text = resources.read(path)) {
    const std::size_t folder_end = path.rfind('/') + 1;  // npos + 1 is 0
    return {std::move(*text), resources.describe(path),
            path.substr(folder_end, path.size() - folder_end - kSuffix.size())};
  }
  std::string message =
      (is_path ? "no such file: " : "no " + std::string(what) + " named ") + in_quotes(name);
  if (!is_path) {
    message += suggestion(name, names_in(resources, folder));
    if (!hint.empty()) message += " (" + std::string(hint) + ")";
  }
  throw InputError({Diagnostic{is_path ? path : std::string(folder), 0, 0, "", message}});
}

}  // namespace hysim::config
