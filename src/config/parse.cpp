// Parses JSON text into Nodes. Syntax is nlohmann's strict RFC 8259 parser; positions come from
// counting what it has consumed and looking back to the token's first character.
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "config/node.h"
#include "config/words.h"
#include "hysim/errors.h"

namespace hysim::config {

namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxSize = 64'000'000;
constexpr std::size_t kMaxFaults = 100;  // of one document

/// Input iterator that publishes how far it has come.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, const char** progress) : at_(at), progress_(progress) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    *progress_ = at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) {
    return a.at_ == b.at_;
  }
  friend bool operator!=(const CountingIterator& a, const CountingIterator& b) { return !(a == b); }

 private:
  const char* at_;
  const char** progress_;
};

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool in_number(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

/// Builds Nodes from the parser's events.
class Builder {
 public:
  Builder(std::string_view text, std::string_view file)
      : text_(text), file_(std::make_shared<const std::string>(file)), progress_(text.data()) {
    if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
      cursor_ = kByteOrderMark.size();
    }
  }

  Node run() {
    if (text_.size() > kMaxSize) {
      document_fault("the text has " + std::to_string(text_.size()) +
                     " bytes; at most 64 MB are read");
    } else if (text_.find_first_not_of(" \t\r\n", cursor_) == std::string_view::npos) {
      document_fault("the text is empty; expected a JSON value");
    } else if (const auto zero = text_.find('\0'); zero != std::string_view::npos) {
      // nlohmann would take it for the end of the text.
      fault(position(zero), {}, "a zero byte; JSON text is UTF-8 and has none");
    } else {
      Json::sax_parse(CountingIterator(text_.data(), &progress_),
                      CountingIterator(text_.data() + text_.size(), &progress_), this);
    }
    if (!faults_.empty()) throw InputError(std::move(faults_));
    return std::move(root_);
  }

  // The parser's events. The names and signatures are nlohmann's.
  bool null() { return add(Node::null(position(consumed() - 4))); }
  bool boolean(bool v) { return add(Node::boolean(v, position(consumed() - (v ? 4 : 5)))); }
  bool number_integer(Json::number_integer_t v) {
    return add(Node::integer(v, position(number_begin())));
  }
  bool number_unsigned(Json::number_unsigned_t v) {
    const Position at = position(number_begin());
    constexpr auto kMax =
        static_cast<Json::number_unsigned_t>(std::numeric_limits<std::int64_t>::max());
    if (v > kMax && !integer_fault(at)) return false;
    return add(Node::integer(v > kMax ? 0 : static_cast<std::int64_t>(v), at));
  }
  bool number_float(Json::number_float_t v, const Json::string_t& written) {
    const Position at = position(number_begin());
    if (written.find_first_of(".eE") == std::string::npos && !integer_fault(at)) return false;
    return add(Node::number(v, at));
  }
  bool string(Json::string_t& v) {
    return add(Node::string(std::move(v), position(string_begin())));
  }
  bool binary(Json::binary_t& /*v*/) { return false; }  // JSON text has none
  bool start_object(std::size_t /*size*/) { return open(Node::object({}, here())); }
  bool start_array(std::size_t /*size*/) { return open(Node::array({}, here())); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(Json::string_t& v) {
    Frame& frame = stack_.back();
    frame.key = v;
    const Position at = position(string_begin());
    const auto [first, is_new] = frame.lines.try_emplace(std::move(v), at.line);
    if (is_new) return true;
    return fault(at, pointer(),
                 "key " + in_quotes(frame.key) + " is given twice; first on line " +
                     std::to_string(first->second));
  }

  bool parse_error(std::size_t read, const std::string& token,
                   const nlohmann::detail::exception& error) {
    constexpr int kNumberOverflow = 406;
    if (error.id == kNumberOverflow) {
      const std::size_t begin = number_begin();
      fault(position(begin), value_pointer(),
            "number " + shown(begin) + " is out of range; expected one below 1.8e308");
      return false;
    }
    // "... syntax error while parsing value - unexpected ']'; expected '[', '{', or a literal", or
    // "... syntax error while parsing value - invalid literal; last read: 'x'".
    std::string reason = error.what();
    reason.erase(0, reason.find("syntax error "));
    const std::string last_read = "; last read: '" + token + "'";
    reword(reason, last_read, "");
    const bool is_token = reason.find(" - unexpected ") != std::string::npos;
    const bool is_word = reason.find(" - invalid literal") != std::string::npos;
    const bool is_encoding = reason.find("ill-formed UTF-8") != std::string::npos;
    reword(reason, " - ", ": ");

    reword(reason, "; expected '[', '{', or a literal", "; expected a value");
    reword(reason, "; expected ']'", "; expected ',' or ']'");
    reword(reason, "; expected '}'", "; expected ',' or '}'");

    // `read` counts the end of the text as one character.
    const std::size_t offending = std::min(read == 0 ? 0 : read - 1, text_.size());
    const std::size_t begin = is_token      ? token_begin(read)
                              : is_word     ? word_begin(offending)
                              : is_encoding ? sequence_begin(offending)
                                            : offending;
    if (!is_token) reason += "; found " + shown(begin);
    fault(position(begin), pointer(), reason + hint(begin));
    return false;
  }

 private:
  /// An array or object being read.
  struct Frame {
    Node node;
    std::string key;                             // of the member being read
    std::unordered_map<std::string, int> lines;  // of the keys read
  };

  /// Replaces the first `from` in `text`, if it is there.
  static void reword(std::string& text, std::string_view from, std::string_view to) {
    if (const auto at = text.find(from); at != std::string::npos) {
      text.replace(at, from.size(), to);
    }
  }

  std::size_t consumed() const { return static_cast<std::size_t>(progress_ - text_.data()); }

  /// The parser has read one character beyond a number unless the text ends with it.
  std::size_t number_begin() const {
    std::size_t begin = consumed();
    if (begin > 0 && !in_number(text_[begin - 1])) --begin;
    while (begin > 0 && in_number(text_[begin - 1])) --begin;
    return begin;
  }

  /// The opening quote of the string just consumed: quotes inside have an odd number of
  /// backslashes before them, and the opening one follows none.
  std::size_t string_begin() const {
    std::size_t begin = consumed() - 1;
    while (begin > 0) {
      --begin;
      if (text_[begin] != '"') continue;
      std::size_t backslashes = 0;
      while (backslashes < begin && text_[begin - 1 - backslashes] == '\\') ++backslashes;
      if (backslashes % 2 == 0) break;
    }
    return begin;
  }

  /// Begin of the whole token that stands where it must not; `read` as in parse_error.
  std::size_t token_begin(std::size_t read) const {
    if (read > text_.size()) return text_.size();
    const char last = text_[read - 1];
    if (last == '"') return string_begin();
    if (in_number(last) && !is_letter(last)) return number_begin();
    return word_begin(read - 1);
  }

  /// Begin of the letters that end at `at`.
  std::size_t word_begin(std::size_t at) const {
    std::size_t begin = at;
    while (begin > 0 && is_letter(text_[begin - 1])) --begin;
    return begin;
  }

  /// Begin of the UTF-8 sequence that the byte at `at` does not continue; `at` when there is none.
  std::size_t sequence_begin(std::size_t at) const {
    std::size_t begin = at;
    while (begin > 0 && at - begin < 3 && is_continuation(text_[begin - 1])) --begin;
    if (begin == 0) return at;
    const auto lead = static_cast<unsigned char>(text_[begin - 1]);
    const std::size_t length = lead >= 0xF0U ? 4 : lead >= 0xE0U ? 3 : lead >= 0xC0U ? 2 : 1;
    return at - begin + 1 < length ? begin - 1 : at;
  }

  /// What stands at `at`, quoted.
  std::string shown(std::size_t at) const {
    if (at >= text_.size()) return "the end of the text";
    std::size_t end = at;
    while (end < text_.size() && (in_number(text_[end]) || is_letter(text_[end]))) ++end;
    if (end == at) ++end;
    while (end < text_.size() && is_continuation(text_[end])) ++end;
    return in_quotes(text_.substr(at, end - at));
  }

  /// What a frequent mistake is called.
  std::string hint(std::size_t at) const {
    if (at >= text_.size()) return {};
    std::size_t before = at;
    while (before > 0 && is_space(text_[before - 1])) --before;
    const char previous = before > 0 ? text_[before - 1] : '\0';
    const char c = text_[at];
    if ((c == ']' || c == '}') && previous == ',') {
      return " (a comma after the last element is not allowed)";
    }
    if (c == '/' || c == '#') return " (comments are not allowed)";
    if (c == '\'') return " (strings take double quotes)";
    if (c == 'N' || c == 'I') return " (NaN and Infinity are not JSON)";
    if (c == '0' && at + 1 < text_.size() && text_[at + 1] >= '0' && text_[at + 1] <= '9') {
      return " (a number has no leading zeros)";
    }
    return {};
  }

  /// Position of the byte at `offset`; columns count characters. Offsets asked for never
  /// decrease, so the text is counted once.
  Position position(std::size_t offset) {
    for (; cursor_ < offset; ++cursor_) {
      if (text_[cursor_] == '\n') {
        ++line_;
        column_ = 1;
      } else if (!is_continuation(text_[cursor_])) {
        ++column_;
      }
    }
    return {file_, line_, column_};
  }

  Position here() { return position(consumed() - 1); }

  /// Pointer to the value being read.
  std::string value_pointer() const {
    std::string out;
    for (const Frame& frame : stack_) {
      out = child_pointer(
          out, frame.node.is_array() ? std::to_string(frame.node.as_array().size()) : frame.key);
    }
    return out;
  }

  /// Pointer to the innermost array or object being read.
  std::string pointer() const {
    const std::string out = value_pointer();
    const std::size_t last = out.rfind('/');
    return last == std::string::npos ? out : out.substr(0, last);
  }

  bool add(Node value) {
    if (stack_.empty()) {
      root_ = std::move(value);
      return true;
    }
    Frame& frame = stack_.back();
    if (frame.node.is_array()) {
      frame.node.as_array().push_back(std::move(value));
    } else {
      frame.node.as_object().emplace_back(std::move(frame.key), std::move(value));
    }
    return true;
  }

  bool open(Node node) {
    if (stack_.size() == kMaxDepth) {
      fault(node.position(), {},
            "nesting deeper than " + std::to_string(kMaxDepth) + " arrays and objects");
      return false;
    }
    stack_.push_back({std::move(node), {}, {}});
    return true;
  }

  bool close() {
    Node done = std::move(stack_.back().node);
    stack_.pop_back();
    return add(std::move(done));
  }

  /// Records a fault; false when there are so many that reading should end.
  bool fault(const Position& at, std::string pointer, std::string message) {
    faults_.push_back({*file_, at.line, at.column, std::move(pointer), std::move(message)});
    return faults_.size() < kMaxFaults;
  }

  void document_fault(std::string message) {
    faults_.push_back({*file_, 0, 0, {}, std::move(message)});
  }

  bool integer_fault(const Position& at) {
    return fault(at, value_pointer(),
                 "integer " + shown(number_begin()) +
                     " is out of range; expected one from -9223372036854775808 to "
                     "9223372036854775807, or a fraction or exponent");
  }

  std::string_view text_;
  std::shared_ptr<const std::string> file_;
  const char* progress_;

  std::size_t cursor_ = 0;  // lines and columns are counted up to here
  int line_ = 1;
  int column_ = 1;

  std::vector<Frame> stack_;
  Node root_;
  std::vector<Diagnostic> faults_;
};

}  // namespace

Node parse(std::string_view text, std::string_view file) { return Builder(text, file).run(); }

}  // namespace hysim::config
