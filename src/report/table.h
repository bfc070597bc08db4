// Lays a table out in columns of characters: aligns, wraps titles, shortens names, and splits a
// table that is too wide into several. Width is counted in code points: wrong for wide scripts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/document.h"

namespace hysim::report {

/// Number of code points.
int display_width(std::string_view text);

/// `text` with control characters and malformed bytes replaced by '?'.
std::string printable(std::string_view text);

/// At most `width` code points: the middle is replaced by "..".
std::string shortened(std::string_view text, int width);

/// Breaks at blanks, and inside words that are longer than a line.
std::vector<std::string> wrapped(std::string_view text, int width, int hang = 0);

/// Breaks a title at blanks and after '-', '_', '/', '.', ':' and ','.
std::vector<std::string> wrapped_title(std::string_view title, int width);

/// `text` between escape sequences for the tone; unchanged without colors.
std::string painted(std::string_view text, Tone tone, bool color);

/// The lines of a table, without trailing blanks.
std::vector<std::string> layout(const Table& table, int width, bool color);

}  // namespace hysim::report
