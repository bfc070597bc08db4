#include "predict/megatron/pattern.h"

#include <cctype>
#include <charconv>
#include <utility>

namespace hysim::predictor {

namespace {

constexpr std::size_t kMaxElements = 1U << 16U;
constexpr int kMaxDepth = 16;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}
  bool end() {
    skip();
    return at_ == text_.size();
  }
  char peek() { return end() ? '\0' : text_[at_]; }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  std::optional<std::int64_t> number() {
    skip();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    std::int64_t value = 0;
    const auto [last, error] = std::from_chars(text_.data() + begin, text_.data() + at_, value);
    if (begin == at_ || error != std::errc()) return std::nullopt;
    return value;
  }

 private:
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  std::string_view text_;
  std::size_t at_ = 0;
};

using Bits = std::optional<std::vector<bool>>;

/// `items`, `count` times; nothing when that is too much.
template <class Items>
std::optional<Items> repeated(const Items& items, std::int64_t count) {
  if (count < 0 || (count > 0 && items.size() > kMaxElements / static_cast<std::size_t>(count))) {
    return std::nullopt;
  }
  Items result;
  for (std::int64_t i = 0; i < count; ++i) result.insert(result.end(), items.begin(), items.end());
  return result;
}

Bits list_sum(Cursor& cursor, int depth);

Bits list_literal(Cursor& cursor) {
  std::vector<bool> bits;
  while (cursor.peek() != ']') {
    const auto value = cursor.number();
    if (!value || *value > 1 || bits.size() > kMaxElements) return std::nullopt;
    bits.push_back(*value == 1);
    if (!cursor.take(',')) break;
  }
  return cursor.take(']') ? Bits(std::move(bits)) : std::nullopt;
}

Bits list_term(Cursor& cursor, int depth) {
  Bits bits;
  if (cursor.take('(')) {
    if (depth > kMaxDepth) return std::nullopt;
    bits = list_sum(cursor, depth + 1);
    if (!cursor.take(')')) return std::nullopt;
  } else if (cursor.take('[')) {
    bits = list_literal(cursor);
  }
  while (bits && cursor.take('*')) {
    const auto count = cursor.number();
    bits = count ? repeated(*bits, *count) : std::nullopt;
  }
  return bits;
}

Bits list_sum(Cursor& cursor, int depth) {
  Bits bits = list_term(cursor, depth);
  while (bits && cursor.take('+')) {
    const Bits more = list_term(cursor, depth);
    if (!more || bits->size() + more->size() > kMaxElements) return std::nullopt;
    bits->insert(bits->end(), more->begin(), more->end());
  }
  return bits;
}

/// The text with "x*3" and "(..)*3" written out; ',' and blanks separate and mean nothing.
std::optional<std::string> unfolded(Cursor& cursor, int depth) {
  std::string result;
  while (!cursor.end() && cursor.peek() != ')') {
    std::string part;
    if (cursor.take('(')) {
      if (depth > kMaxDepth) return std::nullopt;
      const auto inside = unfolded(cursor, depth + 1);
      if (!inside || !cursor.take(')')) return std::nullopt;
      part = *inside;
    } else if (cursor.take(',')) {
      continue;
    } else {
      part = std::string(1, cursor.peek());
      if (std::string_view("EtmL|").find(part[0]) == std::string_view::npos) return std::nullopt;
      cursor.take(part[0]);
    }
    if (cursor.take('*')) {
      const auto count = cursor.number();
      const auto times = count ? repeated(part, *count) : std::nullopt;
      if (!times) return std::nullopt;
      part = *times;
    }
    if (result.size() + part.size() > kMaxElements) return std::nullopt;
    result += part;
  }
  return result;
}

}  // namespace

std::optional<std::vector<bool>> parse_layer_frequency(std::string_view text, std::int64_t layers) {
  Cursor cursor(text);
  if (is_digit(cursor.peek())) {
    const auto frequency = cursor.number();
    if (!frequency || *frequency < 1 || !cursor.end()) return std::nullopt;
    std::vector<bool> bits;
    for (std::int64_t i = 0; i < layers; ++i) bits.push_back(i % *frequency == 0);
    return bits;
  }
  Bits bits = list_sum(cursor, 0);
  if (!bits || !cursor.end() || static_cast<std::int64_t>(bits->size()) != layers) {
    return std::nullopt;
  }
  return bits;
}

std::optional<MegatronLayout> parse_pipeline_layout(std::string_view text) {
  Cursor cursor(text);
  const auto letters = unfolded(cursor, 0);
  if (!letters || !cursor.end() || !letters->starts_with('E') || !letters->ends_with('L')) {
    return std::nullopt;
  }
  MegatronLayout layout{{0}, {0}};
  for (const char letter : *letters) {
    if (letter == '|') {
      layout.layers.push_back(0);
      layout.mtp.push_back(0);
    } else if (letter == 't') {
      ++layout.layers.back();
    } else if (letter == 'm') {
      ++layout.mtp.back();
    }
  }
  return layout;
}

std::string pipeline_layout_text(const MegatronLayout& layout) {
  const auto times = [](char letter, std::int64_t count) {
    if (count == 0) return std::string();
    return std::string(1, letter) + (count == 1 ? "" : "*" + std::to_string(count));
  };
  std::string text = "E";
  for (std::size_t i = 0; i < layout.layers.size(); ++i) {
    if (i > 0) text += '|';
    text += times('t', layout.layers[i]);
    if (layout.mtp[i] > 0) text += (layout.layers[i] > 0 ? "," : "") + times('m', layout.mtp[i]);
  }
  // "t*9L" would read as 9L to a human; Megatron takes the comma.
  return text + (is_digit(text.back()) ? ",L" : "L");
}

}  // namespace hysim::predictor
