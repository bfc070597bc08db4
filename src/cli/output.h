// Where a command's answer goes: text on stdout, or the one view that is asked for with '-', and
// files.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hysim/report.h"

namespace hysim::cli {

/// Values of --json, --csv and --md: "" is not asked for, "-" is stdout.
struct OutputOptions {
  std::string json;
  std::string csv;
  std::string markdown;
  std::string color = "auto";
  bool quiet = false;

  /// Whether stdout shows the text view.
  bool text_on_stdout() const { return json != "-" && csv != "-" && markdown != "-"; }
};

/// The views of one answer, made only when they are asked for. `csv` may be empty.
struct Views {
  std::function<std::string(const TextStyle&)> text;
  std::function<std::string()> json;
  std::function<std::string()> csv;
  std::function<std::string()> markdown;
};

/// Throws UsageError when two views go to the same place.
void check(const OutputOptions& options);

/// Writes files first, then stdout, then the warnings to stderr unless quiet. Throws WriteError.
void emit(const Views& views, const OutputOptions& options,
          const std::vector<std::string>& warnings);

/// Warnings of a command on stderr, unless quiet.
void warn(const std::vector<std::string>& warnings, const OutputOptions& options);

}  // namespace hysim::cli
