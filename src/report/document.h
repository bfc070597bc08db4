// A view as blocks (headings, paragraphs, lists, tables) that terminal text and Markdown render.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hysim/report.h"

namespace hysim::report {

/// How a piece of text stands out when the style has colors; it never carries meaning alone.
enum class Tone { plain, strong, faint, good, caution, bad };

struct Heading {
  std::string text;
};

/// Wrapped to the width; lines after the first are indented by `hang`.
struct Paragraph {
  std::string text;
  Tone tone = Tone::plain;
  int hang = 2;
};

struct Bullets {
  std::vector<std::string> items;
};

struct Cell {
  Cell() = default;
  Cell(std::string text_, Tone tone_ = Tone::plain) : text(std::move(text_)), tone(tone_) {}
  Cell(const char* text_) : text(text_) {}

  std::string text;
  Tone tone = Tone::plain;
};

enum class Align { left, right };

struct Column {
  std::string title;
  Align align = Align::right;
  bool wrap = false;  // left-aligned text that may take several lines
};

/// `cells` may be shorter than the columns; the rest is empty.
struct Row {
  std::vector<Cell> cells;
  int indent = 0;           // of the first cell
  bool rule_above = false;  // a line that separates a sum
};

/// The first column names the rows and is repeated when the others need several tables.
struct Table {
  std::vector<Column> columns;
  std::vector<Row> rows;
  bool show_titles = true;
};

using Block = std::variant<Heading, Paragraph, Bullets, Table>;

struct Document {
  std::vector<Block> blocks;

  template <class B>
  void add(B block) {
    blocks.emplace_back(std::move(block));
  }
};

/// Lines no longer than style.width (at least 40), each ended by a newline. Control characters
/// of the content are shown as '?'.
std::string render_text(const Document& document, const TextStyle& style);
std::string render_markdown(const Document& document);

}  // namespace hysim::report
