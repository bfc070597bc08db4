#include "report/table.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

namespace hysim::report {

namespace {

constexpr int kGap = 2;            // blanks between columns
constexpr int kTitleWidth = 14;    // a title wraps rather than widen its column beyond this
constexpr int kMinTextWidth = 16;  // a wrapped column does not get narrower

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

/// The first `count` code points.
std::string_view head(std::string_view text, int count) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (!is_continuation(text[at]) && count-- == 0) break;
    ++at;
  }
  return text.substr(0, at);
}

std::string_view tail(std::string_view text, int count) {
  const int skip = std::max(0, display_width(text) - count);
  return text.substr(head(text, skip).size());
}

std::string blanks(int count) {
  return std::string(static_cast<std::size_t>(std::max(0, count)), ' ');
}

std::string padded(std::string_view text, int width, Align align) {
  const std::string fill = blanks(width - display_width(text));
  return align == Align::left ? std::string(text) + fill : fill + std::string(text);
}

/// Splits after every character of `stops` (kept) or at blanks (dropped).
std::vector<std::string> pieces_of(std::string_view text, std::string_view stops) {
  std::vector<std::string> pieces;
  std::string piece;
  for (const char c : text) {
    if (c == ' ') {
      if (!piece.empty()) pieces.push_back(piece + " ");
      piece.clear();
      continue;
    }
    piece += c;
    if (stops.find(c) != std::string_view::npos) {
      pieces.push_back(std::move(piece));
      piece.clear();
    }
  }
  if (!piece.empty()) pieces.push_back(std::move(piece));
  return pieces;
}

std::string without_trailing_blanks(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

int cell_width(const Row& row, std::size_t column) {
  if (column >= row.cells.size()) return 0;
  return display_width(row.cells[column].text) + (column == 0 ? row.indent : 0);
}

/// Titles shortened to `width`, told apart by a number where shortening made them equal.
std::vector<std::vector<std::string>> title_lines(const std::vector<Column>& columns,
                                                  const std::vector<int>& widths) {
  std::vector<std::vector<std::string>> titles;
  std::set<std::vector<std::string>> seen;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    auto lines = wrapped_title(columns[i].title, widths[i]);
    for (int number = 2; !columns[i].title.empty() && !seen.insert(lines).second; ++number) {
      const std::string mark = "#" + std::to_string(number);
      const int room = std::max(0, widths[i] - display_width(mark));
      lines.back() = shortened(lines.back(), room) + mark;
    }
    titles.push_back(std::move(lines));
  }
  return titles;
}

/// Whether a title of this width needs no shortening.
bool wraps_whole(std::string_view title, int width) {
  const auto letters = [](std::string_view text) {
    return std::count_if(text.begin(), text.end(), [](char c) { return c != ' '; });
  };
  std::ptrdiff_t shown = 0;
  for (const std::string& line : wrapped_title(title, width)) shown += letters(line);
  return shown == letters(title) && title.find("..") == std::string_view::npos;
}

/// Widths of the columns of one table that is `width` characters wide.
std::vector<int> column_widths(const Table& table, int width) {
  std::vector<int> contents;
  int with_titles = 0;  // width of the table with every title on one line
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    int content = 0;
    for (const Row& row : table.rows) content = std::max(content, cell_width(row, i));
    contents.push_back(content);
    with_titles += std::max(content, display_width(table.columns[i].title)) + (i > 0 ? kGap : 0);
  }
  std::vector<int> widths;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    int content = contents[i];
    if (table.show_titles && with_titles <= width) {
      content = std::max(content, display_width(table.columns[i].title));
    } else if (table.show_titles) {
      const int title = display_width(table.columns[i].title);
      const int cap = std::max(content, kTitleWidth);
      if (title <= cap) {
        content = std::max(content, title);
      } else {
        while (content < cap && !wraps_whole(table.columns[i].title, content)) ++content;
      }
    }
    widths.push_back(content);
  }
  const int room = table.columns.size() > 1 && table.columns[0].wrap ? width / 3 : width / 2;
  if (!widths.empty() && widths.size() > 1) {
    int others = 0;
    for (std::size_t i = 1; i < widths.size(); ++i) others += widths[i] + kGap;
    widths[0] = std::min(widths[0], std::max(room, width - others));
    for (std::size_t i = 1; i < widths.size(); ++i) {
      if (!table.columns[i].wrap) widths[i] = std::min(widths[i], width - widths[0] - kGap);
    }
    // Wrapped columns share what the others leave.
    int wrapping = 0;
    int fixed = widths[0];
    for (std::size_t i = 1; i < widths.size(); ++i) {
      if (table.columns[i].wrap) {
        ++wrapping;
      } else {
        fixed += widths[i] + kGap;
      }
    }
    for (std::size_t i = 1; i < widths.size() && wrapping > 0; ++i) {
      if (!table.columns[i].wrap) continue;
      const int share = std::max(kMinTextWidth, (width - fixed) / wrapping - kGap);
      widths[i] = std::min({widths[i], share, std::max(1, width - widths[0] - kGap)});
      fixed += widths[i] + kGap;
      --wrapping;
    }
  } else if (!widths.empty()) {
    widths[0] = std::min(widths[0], width);
  }
  return widths;
}

void emit(const Table& table, const std::vector<std::size_t>& shown, const std::vector<int>& widths,
          bool color, std::vector<std::string>& out) {
  int total = 0;
  for (const std::size_t i : shown) total += widths[i] + (total > 0 ? kGap : 0);

  // Every cell is a column of lines; short ones stand at the top, titles at the bottom.
  struct Part {
    std::vector<std::string> lines;
    Tone tone = Tone::plain;
  };
  const auto write = [&](const std::vector<Part>& parts, bool bottom) {
    std::size_t height = 1;
    for (const Part& part : parts) height = std::max(height, part.lines.size());
    for (std::size_t y = 0; y < height; ++y) {
      std::string line;
      for (std::size_t c = 0; c < parts.size(); ++c) {
        const auto& lines = parts[c].lines;
        const std::size_t offset = bottom ? height - lines.size() : 0;
        const bool there = y >= offset && y - offset < lines.size();
        const std::string_view text = there ? std::string_view(lines[y - offset]) : "";
        const std::size_t i = shown[c];
        if (c > 0) line += blanks(kGap);
        // Blanks stay outside of the paint, so that they can be cut at the line's end.
        const std::string cell = padded(text, widths[i], table.columns[i].align);
        const std::size_t at = text.empty() ? 0 : cell.find(text);
        line += cell.substr(0, at);
        if (!text.empty()) line += painted(text, parts[c].tone, color);
        line += cell.substr(at + text.size());
      }
      out.push_back(without_trailing_blanks(std::move(line)));
    }
  };

  if (table.show_titles) {
    const auto titles = title_lines(table.columns, widths);
    std::vector<Part> parts;
    parts.reserve(shown.size());
    for (const std::size_t i : shown) parts.push_back({titles[i], Tone::strong});
    write(parts, true);
  }
  for (const Row& row : table.rows) {
    if (row.rule_above) out.push_back(std::string(static_cast<std::size_t>(total), '-'));
    std::vector<Part> parts;
    for (const std::size_t i : shown) {
      Part part;
      if (i < row.cells.size()) {
        part.tone = row.cells[i].tone;
        const std::string& text = row.cells[i].text;
        if (i == 0) {
          part.lines = table.columns[0].wrap
                           ? wrapped_title(text, widths[0] - row.indent)
                           : std::vector<std::string>{shortened(text, widths[0] - row.indent)};
          for (std::string& line : part.lines) line.insert(0, blanks(row.indent));
        } else if (table.columns[i].wrap) {
          part.lines = wrapped(text, widths[i]);
        } else {
          part.lines = {shortened(text, widths[i])};
        }
      }
      parts.push_back(std::move(part));
    }
    write(parts, false);
  }
}

Table made_printable(const Table& table) {
  Table result = table;
  for (Column& column : result.columns) column.title = printable(column.title);
  for (Row& row : result.rows) {
    if (row.cells.size() > result.columns.size()) row.cells.resize(result.columns.size());
    for (Cell& cell : row.cells) cell.text = printable(cell.text);
  }
  return result;
}

}  // namespace

int display_width(std::string_view text) {
  return static_cast<int>(
      std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

std::string printable(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = byte < 0x80U ? 1 : byte >= 0xF0U ? 4 : byte >= 0xE0U ? 3 : 2;
    bool good = byte >= 0x20U && byte != 0x7FU && !(byte >= 0x80U && byte < 0xC2U) &&
                byte < 0xF5U && i + length <= text.size();
    for (std::size_t k = 1; good && k < length; ++k) good = is_continuation(text[i + k]);
    // C1 control characters: U+0080 to U+009F.
    if (good && byte == 0xC2U && static_cast<unsigned char>(text[i + 1]) < 0xA0U) good = false;
    if (good) {
      result.append(text.substr(i, length));
      i += length;
    } else {
      result += byte == '\t' || byte == '\n' ? ' ' : '?';
      ++i;
    }
  }
  return result;
}

std::string shortened(std::string_view text, int width) {
  if (display_width(text) <= width) return std::string(text);
  if (width <= 2) return std::string(head(text, std::max(0, width)));
  const int front = (width - 2 + 1) / 2;
  const int back = width - 2 - front;
  return std::string(head(text, front)) + ".." + std::string(tail(text, back));
}

std::vector<std::string> wrapped(std::string_view text, int width, int hang) {
  std::vector<std::string> lines;
  std::string line;
  bool empty = true;  // nothing but indentation so far
  const auto flush = [&] {
    lines.push_back(without_trailing_blanks(line));
    line = blanks(hang);
    empty = true;
  };
  std::size_t at = 0;
  while (at < text.size()) {
    // A run of blanks inside a line is kept: it separates a number from its range.
    const std::size_t word_at = text.find_first_not_of(' ', at);
    if (word_at == std::string_view::npos) break;
    const std::size_t end = std::min(text.find(' ', word_at), text.size());
    std::string_view word = text.substr(word_at, end - word_at);
    const int gap = empty ? 0 : static_cast<int>(word_at - at);
    at = end;
    if (!empty && display_width(line) + gap + display_width(word) > width) {
      flush();
    } else {
      line += blanks(gap);
    }
    while (display_width(line) + display_width(word) > width) {
      const std::string_view part = head(word, std::max(1, width - display_width(line)));
      line += part;
      word.remove_prefix(part.size());
      flush();
    }
    line += word;
    if (!word.empty()) empty = false;
  }
  if (!empty || lines.empty()) lines.push_back(without_trailing_blanks(line));
  return lines;
}

std::vector<std::string> wrapped_title(std::string_view title, int width) {
  if (display_width(title) <= width) return {std::string(title)};
  std::vector<std::string> lines;
  std::string line;
  for (const std::string& piece : pieces_of(title, "-_/.:,")) {
    const std::string bare = without_trailing_blanks(piece);
    if (!line.empty() && display_width(line) + display_width(bare) > width) {
      lines.push_back(without_trailing_blanks(line));
      line.clear();
    }
    line += display_width(bare) > width ? shortened(bare, width) : piece;
  }
  if (!line.empty()) lines.push_back(without_trailing_blanks(line));
  constexpr std::size_t kMaxLines = 3;
  if (lines.size() > kMaxLines) return {shortened(title, width)};
  return lines;
}

std::string painted(std::string_view text, Tone tone, bool color) {
  if (!color || tone == Tone::plain || text.empty()) return std::string(text);
  const char* start = "";
  switch (tone) {
    case Tone::plain:
      break;
    case Tone::strong:
      start = "\x1b[1m";
      break;
    case Tone::faint:
      start = "\x1b[2m";
      break;
    case Tone::good:
      start = "\x1b[32m";
      break;
    case Tone::caution:
      start = "\x1b[33m";
      break;
    case Tone::bad:
      start = "\x1b[31m";
      break;
  }
  return start + std::string(text) + "\x1b[0m";
}

std::vector<std::string> layout(const Table& original, int width, bool color) {
  const Table table = made_printable(original);
  std::vector<std::string> lines;
  if (table.columns.empty()) return lines;
  const std::vector<int> widths = column_widths(table, width);
  if (widths.size() == 1) {
    emit(table, {0}, widths, color, lines);
    return lines;
  }
  std::size_t next = 1;
  while (next < widths.size()) {
    std::vector<std::size_t> shown = {0};
    int used = widths[0];
    while (next < widths.size() && (shown.size() == 1 || used + kGap + widths[next] <= width)) {
      used += kGap + widths[next];
      shown.push_back(next++);
    }
    if (!lines.empty()) lines.emplace_back();
    emit(table, shown, widths, color, lines);
  }
  return lines;
}

}  // namespace hysim::report
