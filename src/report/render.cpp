// Renders a document's blocks as terminal lines or as Markdown.
#include <algorithm>

#include "report/document.h"
#include "report/table.h"

namespace hysim::report {

namespace {

constexpr int kMinWidth = 40;

template <class... Fs>
struct Overload : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overload(Fs...) -> Overload<Fs...>;

std::string escaped(std::string_view raw) {
  const std::string text = printable(raw);
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    // '[' alone is a range and stays readable; "](" would make a link.
    const bool link = c == ']' && i + 1 < text.size() && text[i + 1] == '(';
    if (link || std::string_view("\\`*_<>|").find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

void append_markdown(const Table& table, std::string& out) {
  const auto line = [&](auto&& cell_text) {
    out += '|';
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const std::string text = cell_text(i);
      out += text.empty() ? " |" : " " + text + " |";
    }
    out += '\n';
  };
  line([&](std::size_t i) { return escaped(table.columns[i].title); });
  line([&](std::size_t i) {
    return std::string(table.columns[i].align == Align::right && i > 0 ? "---:" : "---");
  });
  for (const Row& row : table.rows) {
    line([&](std::size_t i) {
      if (i >= row.cells.size()) return std::string();
      std::string text = escaped(row.cells[i].text);
      if (row.rule_above && !text.empty()) text = "**" + text + "**";
      return text;
    });
  }
}

}  // namespace

std::string render_text(const Document& document, const TextStyle& style) {
  const int width = std::max(kMinWidth, style.width);
  std::string out;
  const Block* previous = nullptr;
  const auto line = [&](std::string_view text, Tone tone = Tone::plain) {
    out += painted(text, tone, style.color);
    out += '\n';
  };
  const auto space = [&] {
    if (previous != nullptr) out += '\n';
  };
  for (const Block& block : document.blocks) {
    std::visit(
        Overload{
            [&](const Heading& heading) {
              space();
              for (const auto& text : wrapped(printable(heading.text), width, 2)) {
                line(text, Tone::strong);
              }
            },
            [&](const Paragraph& paragraph) {
              for (const auto& text : wrapped(printable(paragraph.text), width, paragraph.hang)) {
                line(text, paragraph.tone);
              }
            },
            [&](const Bullets& bullets) {
              for (const auto& item : bullets.items) {
                for (const auto& text : wrapped("- " + printable(item), width, 2)) {
                  line(text);
                }
              }
            },
            [&](const Table& table) {
              if (previous != nullptr && !std::holds_alternative<Heading>(*previous)) space();
              for (const auto& text : layout(table, width, style.color)) {
                out += text;
                out += '\n';
              }
            },
        },
        block);
    previous = &block;
  }
  return out;
}

std::string render_markdown(const Document& document) {
  std::string out;
  for (const Block& block : document.blocks) {
    if (!out.empty()) out += '\n';
    std::visit(Overload{
                   [&](const Heading& heading) { out += "## " + escaped(heading.text) + "\n"; },
                   [&](const Paragraph& paragraph) {
                     const std::string text = escaped(paragraph.text);
                     out += paragraph.tone == Tone::strong ? "**" + text + "**\n" : text + "\n";
                   },
                   [&](const Bullets& bullets) {
                     for (const auto& item : bullets.items) out += "- " + escaped(item) + "\n";
                   },
                   [&](const Table& table) { append_markdown(table, out); },
               },
               block);
  }
  return out;
}

}  // namespace hysim::report
