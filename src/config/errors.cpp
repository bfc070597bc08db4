// Puts faults of a document into words; what is unknown of a place is left out.
#include "hysim/errors.h"

#include <utility>

namespace hysim {

namespace {

std::string joined(const std::vector<Diagnostic>& diagnostics) {
  if (diagnostics.empty()) return "invalid input";
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!text.empty()) text += '\n';
    text += diagnostic.text();
  }
  return text;
}

}  // namespace

std::string Diagnostic::text() const {
  std::string place = file;
  if (line > 0) {
    place += place.empty() ? "line " : ":";
    place += std::to_string(line);
    if (column > 0) {
      place += file.empty() ? ", column " : ":";
      place += std::to_string(column);
    }
  }
  if (!pointer.empty()) {
    if (!place.empty()) place += ' ';
    place += '(' + pointer + ')';
  }
  return place.empty() ? message : place + ": " + message;
}

InputError::InputError(std::vector<Diagnostic> diagnostics)
    : std::runtime_error(joined(diagnostics)), diagnostics_(std::move(diagnostics)) {}

}  // namespace hysim
