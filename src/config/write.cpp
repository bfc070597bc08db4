// Writes a Node as JSON text: member order kept, numbers in the shortest form that reads back the
// same. What JSON cannot say is replaced so that the text is always valid: a non-finite number
// becomes null, a byte that is no UTF-8 becomes U+FFFD.
#include <array>
#include <charconv>
#include <cmath>

#include "config/node.h"

namespace hysim::config {

namespace {

/// Length of the well-formed UTF-8 sequence at `at` (Unicode table 3-7), 0 when there is none.
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
  };
  const auto tail = [&](std::size_t i) { return byte(i) >= 0x80U && byte(i) <= 0xBFU; };
  const unsigned lead = byte(0);
  if (lead < 0x80U) return 1;
  if (lead >= 0xC2U && lead <= 0xDFU) return tail(1) ? 2 : 0;
  if (lead >= 0xE0U && lead <= 0xEFU) {
    const unsigned low = lead == 0xE0U ? 0xA0U : 0x80U;
    const unsigned high = lead == 0xEDU ? 0x9FU : 0xBFU;  // no surrogates
    return byte(1) >= low && byte(1) <= high && tail(2) ? 3 : 0;
  }
  if (lead >= 0xF0U && lead <= 0xF4U) {
    const unsigned low = lead == 0xF0U ? 0x90U : 0x80U;
    const unsigned high = lead == 0xF4U ? 0x8FU : 0xBFU;
    return byte(1) >= low && byte(1) <= high && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

void write_string(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x80U) {
      switch (c) {
        case '"':
          out += "\\\"";
          break;
        case '\\':
          out += "\\\\";
          break;
        case '\b':
          out += "\\b";
          break;
        case '\f':
          out += "\\f";
          break;
        case '\n':
          out += "\\n";
          break;
        case '\r':
          out += "\\r";
          break;
        case '\t':
          out += "\\t";
          break;
        default:
          if (code < 0x20U || code == 0x7FU) {
            out += "\\u00";
            out += kHex[code >> 4U];
            out += kHex[code & 0xFU];
          } else {
            out += c;
          }
      }
      ++at;
    } else if (const std::size_t length = utf8_length(text, at); length > 0) {
      out.append(text, at, length);
      at += length;
    } else {
      out += "\xEF\xBF\xBD";  // U+FFFD
      ++at;
    }
  }
  out += '"';
}

void write_number(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  std::array<char, 32> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  const std::string_view digits(buffer.data(),
                                static_cast<std::size_t>(result.ptr - buffer.data()));
  out += digits;
  // "2.0", not "2": what was no integer does not become one.
  if (digits.find_first_of(".e") == std::string_view::npos) out += ".0";
}

class Writer {
 public:
  explicit Writer(int indent) : indent_(indent) {}

  std::string take() { return std::move(out_); }

  void value(const Node& node) {
    if (node.is_null()) {
      out_ += "null";
    } else if (node.is_boolean()) {
      out_ += node.as_boolean() ? "true" : "false";
    } else if (node.is_integer()) {
      out_ += std::to_string(node.as_integer());
    } else if (node.is_number()) {
      write_number(out_, node.as_number());
    } else if (node.is_string()) {
      write_string(out_, node.as_string());
    } else if (node.is_array()) {
      array(node.as_array());
    } else {
      object(node.as_object());
    }
  }

 private:
  void array(const Node::Array& items) {
    if (items.empty()) {
      out_ += "[]";
      return;
    }
    out_ += '[';
    ++depth_;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += ',';
      line();
      value(items[i]);
    }
    --depth_;
    line();
    out_ += ']';
  }

  void object(const Node::Object& members) {
    if (members.empty()) {
      out_ += "{}";
      return;
    }
    out_ += '{';
    ++depth_;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i > 0) out_ += ',';
      line();
      write_string(out_, members[i].first);
      out_ += indent_ < 0 ? ":" : ": ";
      value(members[i].second);
    }
    --depth_;
    line();
    out_ += '}';
  }

  void line() {
    if (indent_ < 0) return;
    out_ += '\n';
    out_.append(depth_ * static_cast<std::size_t>(indent_), ' ');
  }

  std::string out_;
  std::size_t depth_ = 0;
  int indent_;
};

}  // namespace

std::string to_text(const Node& node, int indent) {
  Writer writer(indent);
  writer.value(node);
  return writer.take();
}

}  // namespace hysim::config
