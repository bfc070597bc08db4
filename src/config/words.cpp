// What messages and pointers need of a text; knows no documents.
#include "config/words.h"

#include "config/node.h"

namespace hysim::config {

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kMaxShown = 40;
  const bool cut = text.size() > kMaxShown;
  if (cut) {
    std::size_t end = kMaxShown;  // not inside a UTF-8 sequence
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
    text = text.substr(0, end);
  }
  std::string out = to_text(Node::string(std::string(text)));
  if (cut) out.insert(out.size() - 1, "...");
  return out;
}

std::string child_pointer(std::string_view pointer, std::string_view key) {
  std::string out(pointer);
  out += '/';
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace hysim::config
