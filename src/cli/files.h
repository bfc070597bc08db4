// Reading and writing files and the standard streams.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hysim::cli {

inline constexpr std::size_t kMaxFileSize = 64U << 20U;

/// Whether an argument names a file rather than something bundled: it contains '/' or ends in
/// ".json".
bool names_file(std::string_view argument);

/// The last part of a path without ".json".
std::string stem_of(std::string_view path);

bool file_exists(const std::string& path);

/// Throws InputError when there is no such file, it is a folder, cannot be read, or is larger
/// than kMaxFileSize.
std::string read_file(const std::string& path);

/// Writes the file whole or not at all: a temporary in the same folder is renamed. A device or
/// pipe is written directly. Throws WriteError.
void write_file(const std::string& path, std::string_view text);

/// A closed pipe is no error. Throws WriteError for anything else.
void write_stdout(std::string_view text);
/// Never fails; control characters are shown as '?'.
void write_stderr_line(std::string_view text);

}  // namespace hysim::cli
