// What is thrown for bad input: every fault of a document at once, each with its place.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace hysim {

/// One fault in a document. `line` and `column` start at 1; 0 means the whole document.
struct Diagnostic {
  std::string file;
  int line = 0;
  int column = 0;
  std::string pointer;  // JSON pointer (RFC 6901); "" is the whole document
  std::string message;  // what was found and what would be right

  /// "file:line:column (/pointer): message"
  std::string text() const;
};

/// Thrown at the config boundary only. The command line exits with 3.
class InputError : public std::runtime_error {
 public:
  explicit InputError(std::vector<Diagnostic> diagnostics);
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace hysim
