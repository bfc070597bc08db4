#include "cli/output.h"

#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "cli/errors.h"
#include "cli/files.h"

namespace hysim::cli {

namespace {

bool wants_color(const std::string& color) {
  if (color == "always") return true;
  if (color == "never") return false;
  const char* const no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* const terminal = std::getenv("TERM");
  if (terminal != nullptr && std::string_view(terminal) == "dumb") return false;
  return ::isatty(STDOUT_FILENO) == 1;
}

}  // namespace

void check(const OutputOptions& options) {
  const std::array<std::pair<const char*, const std::string*>, 3> targets = {
      {{"--json", &options.json}, {"--csv", &options.csv}, {"--md", &options.markdown}}};
  for (std::size_t i = 0; i < targets.size(); ++i) {
    for (std::size_t k = i + 1; k < targets.size(); ++k) {
      if (targets[i].second->empty() || *targets[i].second != *targets[k].second) continue;
      const std::string where = *targets[i].second == "-" ? "standard output" : *targets[i].second;
      throw UsageError(std::string(targets[i].first) + " and " + targets[k].first +
                       " cannot both go to " + where);
    }
  }
}

void warn(const std::vector<std::string>& warnings, const OutputOptions& options) {
  if (options.quiet) return;
  for (const std::string& warning : warnings) write_stderr_line("hysim: warning: " + warning);
}

void emit(const Views& views, const OutputOptions& options,
          const std::vector<std::string>& warnings) {
  std::string on_stdout;
  const auto place = [&](const std::string& target, const std::function<std::string()>& view) {
    if (target.empty()) return;
    if (target == "-") {
      on_stdout = view();
    } else {
      write_file(target, view());
    }
  };
  place(options.json, views.json);
  place(options.csv, views.csv);
  place(options.markdown, views.markdown);
  if (options.text_on_stdout()) on_stdout = views.text({80, wants_color(options.color)});
  write_stdout(on_stdout);
  warn(warnings, options);
}

}  // namespace hysim::cli
