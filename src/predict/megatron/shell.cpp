// Evaluates a launch script without running anything: assignments, arrays, quotes, expansions and
// integer arithmetic. What would need a shell (command substitution, conditions, loops) is listed.
// Wrong when a script redefines a variable in a function or reads its arguments elsewhere.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <utility>

#include "hysim/megatron.h"

namespace hysim {

namespace {

constexpr int kMaxDepth = 32;                 // bash -c inside bash -c, ${A:-${B:-...}}
constexpr std::size_t kMaxWords = 1U << 16U;  // arrays that double themselves end here
constexpr int kMaxTexts = 1000;               // bash -c that runs itself twice
constexpr std::size_t kMaxText = 16U << 20U;  // and texts
constexpr std::string_view kSettingMark = "hysim:";

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

[[noreturn]] void refuse(std::string_view path, int line, std::string message) {
  throw InputError({Diagnostic{std::string(path), line, 0, "", std::move(message)}});
}

/// "# hysim: PATH=VALUE" comments of a text that begins at `line`.
std::vector<MegatronArgument> settings_from(std::string_view text, std::string_view path,
                                            int line) {
  std::vector<MegatronArgument> settings;
  for (; !text.empty(); ++line) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    std::string_view comment = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
    while (!comment.empty() && blank(comment.front())) comment.remove_prefix(1);
    while (!comment.empty() && blank(comment.back())) comment.remove_suffix(1);
    if (!comment.starts_with('#')) continue;
    comment.remove_prefix(1);
    while (!comment.empty() && blank(comment.front())) comment.remove_prefix(1);
    const std::size_t equals = comment.find('=');
    if (!comment.starts_with(kSettingMark)) continue;
    if (equals == std::string_view::npos) {
      refuse(path, line, "a setting must be \"# hysim: PATH=VALUE\"");
    }
    std::string_view setting = comment.substr(kSettingMark.size(), equals - kSettingMark.size());
    while (!setting.empty() && blank(setting.front())) setting.remove_prefix(1);
    settings.push_back({std::string(setting),
                        {std::string(comment.substr(equals + 1))},
                        {},
                        std::string(path),
                        line});
  }
  return settings;
}

/// A word after expansion.
struct Word {
  std::string text;
  std::vector<std::string> missing;
  int line = 0;
  bool quoted = false;  // at least in part
};
using Words = std::vector<Word>;

struct Variable {
  Words words;  // one of a scalar
  bool array = false;
};
using Variables = std::map<std::string, Variable, std::less<>>;

class Evaluator {
 public:
  Evaluator(std::string_view path, const MegatronVariables& given) : path_(path) {
    for (const auto& [name, value] : given) {
      variables_[name] = {{Word{value, {}, 0, true}}, false};
      given_.push_back(name);
    }
  }

  void run(std::string_view text, int first_line, int depth);

  std::vector<Words> commands;
  std::vector<MegatronArgument> settings;
  std::vector<Diagnostic> not_evaluated;
  int unclosed = 0;  // the line of the script at which a quote begins that has no end; 0: none

  bool too_long() const { return too_long_; }

 private:
  friend class Scanner;

  bool is_given(std::string_view name) const {
    return std::find(given_.begin(), given_.end(), name) != given_.end();
  }
  void assign(const std::string& name, Variable value, bool append) {
    if (is_given(name)) return;
    if (!append) {
      variables_[name] = std::move(value);
      return;
    }
    Variable& old = variables_[name];
    if (value.array || old.array) {
      old.array = true;
      old.words.insert(old.words.end(), value.words.begin(), value.words.end());
      if (old.words.size() > kMaxWords) too_long_ = true;
    } else if (!value.words.empty()) {
      if (old.words.empty()) old.words.push_back({});
      old.words[0].text += value.words[0].text;
      old.words[0].missing.insert(old.words[0].missing.end(), value.words[0].missing.begin(),
                                  value.words[0].missing.end());
      if (old.words[0].text.size() > kMaxText) too_long_ = true;
    }
  }
  void list(int line, std::string message) {
    not_evaluated.push_back({std::string(path_), line, 0, "", std::move(message)});
  }

  std::string_view path_;
  Variables variables_;
  std::vector<std::string> given_;
  bool too_long_ = false;
  int texts_ = 0;
};

/// Integer arithmetic of $((...)): + - * / %, parentheses, numbers, variables.
class Arithmetic {
 public:
  Arithmetic(std::string_view text, const Variables& variables)
      : text_(text), variables_(variables) {}

  std::optional<std::int64_t> value() {
    const auto result = sum(0);
    skip();
    return at_ == text_.size() ? result : std::nullopt;
  }

 private:
  using Value = std::optional<std::int64_t>;

  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  Value sum(int depth) {
    Value left = product(depth);
    while (left) {
      const bool minus = !take('+');
      if (minus && !take('-')) break;
      const Value right = product(depth);
      std::int64_t result = 0;
      if (!right || (minus ? __builtin_sub_overflow(*left, *right, &result)
                           : __builtin_add_overflow(*left, *right, &result))) {
        return std::nullopt;
      }
      left = result;
    }
    return left;
  }
  Value product(int depth) {
    Value left = factor(depth);
    while (left) {
      const char op = take('*') ? '*' : take('/') ? '/' : take('%') ? '%' : '\0';
      if (op == '\0') break;
      const Value right = factor(depth);
      std::int64_t result = 0;
      if (!right || (op != '*' && *right <= 0) ||
          (op == '*' && __builtin_mul_overflow(*left, *right, &result))) {
        return std::nullopt;
      }
      left = op == '*' ? result : op == '/' ? *left / *right : *left % *right;
    }
    return left;
  }
  Value factor(int depth) {
    if (depth > kMaxDepth) return std::nullopt;
    if (take('(')) {
      const Value inner = sum(depth + 1);
      return take(')') ? inner : std::nullopt;
    }
    skip();
    const bool braces = text_.substr(at_, 2) == "${";
    if (braces) {
      at_ += 2;
    } else if (take('$')) {
      skip();
    }
    if (at_ < text_.size() && starts_name(text_[at_])) {
      const std::size_t begin = at_;
      while (at_ < text_.size() && in_name(text_[at_])) ++at_;
      const auto found = variables_.find(text_.substr(begin, at_ - begin));
      if (braces && !take('}')) return std::nullopt;
      if (found == variables_.end() || found->second.words.size() != 1) return std::nullopt;
      return number(found->second.words[0].text);
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return number(text_.substr(begin, at_ - begin));
  }
  static Value number(std::string_view digits) {
    std::int64_t result = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), result);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) {
      return std::nullopt;
    }
    return result;
  }

  std::string_view text_;
  const Variables& variables_;
  std::size_t at_ = 0;
};

/// Reads the words and statements of one text.
class Scanner {
 public:
  Scanner(Evaluator& evaluator, std::string_view text, int line, int depth)
      : evaluator_(evaluator), text_(text), line_(line), depth_(depth) {}

  void statements();
  /// All of the text as one quoted word, as inside double quotes.
  Word quoted_text() {
    Word word;
    word.line = line_;
    while (!end()) quoted_char(word);
    return word;
  }

 private:
  bool end() const { return at_ >= text_.size() || evaluator_.too_long_; }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  char next() {
    const char c = text_[at_++];
    if (c == '\n') ++line_;
    return c;
  }
  bool looking_at(std::string_view what) const { return text_.substr(at_, what.size()) == what; }

  void skip_blanks();
  void comment();
  void statement();
  bool assignment(Words& before);
  Words array_words();
  /// Adds the word that begins here, split where an unquoted expansion has blanks.
  void word(Words& words);
  void quoted_char(Word& word);
  void single_quotes(Word& word);
  /// Of the quote that began at `line`.
  void close_quote(int line);
  /// What a '$' stands for; an unquoted one may make several words.
  void expansion(Words& words, Word& word, bool quoted);
  void braces(Words& words, Word& word, bool quoted);
  void insert(const Variable& variable, Words& words, Word& word, bool quoted);
  void miss(Word& word, std::string_view name, std::string_view written);
  /// The text up to the `close` that matches an opening already read.
  std::string_view nested(char open, char close);
  void heredoc();

  Evaluator& evaluator_;
  std::string_view text_;
  std::size_t at_ = 0;
  int line_;
  int depth_;
  int conditional_ = 0;                                 // if, for, while and case around
  bool tested_ = false;                                 // the last command was a test
  bool guarded_ = false;                                // by a test and && or ||
  std::vector<std::pair<std::string, bool>> heredocs_;  // whose bodies begin at the next line
};

void Scanner::skip_blanks() {
  while (!end()) {
    if (peek() == ' ' || peek() == '\t' || peek() == '\r') {
      next();
    } else if (peek() == '\\' && (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n'))) {
      while (next() != '\n') {
      }
    } else {
      return;
    }
  }
}

void Scanner::comment() {
  const std::size_t begin = at_;
  const int line = line_;
  while (!end() && peek() != '\n') next();
  for (MegatronArgument& setting :
       settings_from(text_.substr(begin, at_ - begin), evaluator_.path_, line)) {
    evaluator_.settings.push_back(std::move(setting));
  }
}

std::string_view Scanner::nested(char open, char close) {
  const std::size_t begin = at_;
  int depth = 1;
  while (!end()) {
    const char c = next();
    if (c == '\\' && !end()) {
      next();
    } else if (c == '\'' && open != '{') {
      while (!end() && next() != '\'') {
      }
    } else if (c == open) {
      ++depth;
    } else if (c == close && --depth == 0) {
      return text_.substr(begin, at_ - begin - 1);
    }
  }
  return text_.substr(begin);
}

void Scanner::miss(Word& word, std::string_view name, std::string_view written) {
  word.missing.emplace_back(name);
  word.text += written;
}

void Scanner::insert(const Variable& variable, Words& words, Word& word, bool quoted) {
  for (std::size_t i = 0; i < variable.words.size(); ++i) {
    const Word& value = variable.words[i];
    if (i > 0) {  // elements of an array are words of their own
      words.push_back(std::exchange(word, {}));
      word.line = line_;
    }
    word.missing.insert(word.missing.end(), value.missing.begin(), value.missing.end());
    if (variable.array && value.line > 0) word.line = value.line;
    if (quoted || variable.array) {
      word.text += value.text;
      word.quoted = word.quoted || quoted || value.quoted;
      if (words.size() > kMaxWords || word.text.size() > kMaxText) evaluator_.too_long_ = true;
      continue;
    }
    // Of a text that is split, the parts that still have a '$' are those that miss something.
    const std::vector<std::string> missing = word.missing;
    const auto unresolved = [](const Word& part) {
      return part.text.find_first_of("$`") != std::string::npos;
    };
    for (const char c : value.text) {
      if (std::isspace(static_cast<unsigned char>(c)) == 0) {
        word.text += c;
      } else if (!word.text.empty()) {
        if (!unresolved(word)) word.missing.clear();
        words.push_back(std::exchange(word, {}));
        word.line = line_;
        word.missing = missing;
      }
    }
    if (!unresolved(word)) word.missing.clear();
    if (words.size() > kMaxWords || word.text.size() > kMaxText) evaluator_.too_long_ = true;
  }
}

void Scanner::braces(Words& words, Word& word, bool quoted) {
  const std::string_view inside = nested('{', '}');
  std::size_t length = 0;
  while (length < inside.size() && in_name(inside[length])) ++length;
  const std::string name(inside.substr(0, length));
  std::string_view rest = inside.substr(length);
  const std::string written = "${" + std::string(inside) + "}";
  if (rest == "[@]" || rest == "[*]") rest = {};
  const auto found = evaluator_.variables_.find(name);
  const bool set = found != evaluator_.variables_.end();
  if (name.empty()) {
    evaluator_.list(line_, written + " is not evaluated");
    miss(word, written, written);
  } else if (rest.empty()) {
    if (set) {
      insert(found->second, words, word, quoted);
    } else {
      miss(word, name, written);
    }
  } else if (rest.starts_with(":-") || rest.starts_with("-") || rest.starts_with(":=") ||
             rest.starts_with("=")) {
    const bool colon = rest.front() == ':';
    const bool empty =
        set && (found->second.words.empty() ||
                (found->second.words.size() == 1 && found->second.words[0].text.empty()));
    if (set && !(colon && empty)) {
      insert(found->second, words, word, quoted);
      return;
    }
    std::string_view fallback = rest.substr(colon ? 2 : 1);
    if (fallback.size() >= 2 && fallback.front() == '"' && fallback.back() == '"') {
      fallback = fallback.substr(1, fallback.size() - 2);
    }
    if (depth_ >= kMaxDepth) {
      miss(word, name, written);
      return;
    }
    Scanner inner(evaluator_, fallback, line_, depth_ + 1);
    const Word value = inner.quoted_text();
    insert({{value}, false}, words, word, quoted);
    if (rest.find('=') != std::string_view::npos && rest.find('=') < 2) {
      evaluator_.assign(name, {{value}, false}, false);
    }
  } else if (rest.starts_with(":+") || rest.starts_with("+")) {
    if (!set) return;
    Scanner inner(evaluator_, rest.substr(rest.front() == ':' ? 2 : 1), line_, depth_ + 1);
    insert({{inner.quoted_text()}, false}, words, word, quoted);
  } else {
    evaluator_.list(line_, written + " is not evaluated");
    miss(word, written, written);
  }
}

void Scanner::expansion(Words& words, Word& word, bool quoted) {
  next();  // '$'
  if (looking_at("((")) {
    at_ += 2;
    const std::string_view inside = nested('(', ')');
    if (peek() == ')') next();
    const auto value = Arithmetic(inside, evaluator_.variables_).value();
    const std::string written = "$((" + std::string(inside) + "))";
    if (value) {
      word.text += std::to_string(*value);
    } else {
      evaluator_.list(line_, written +
                                 " cannot be evaluated: a variable is not set, or it is no "
                                 "integer arithmetic");
      miss(word, written, written);
    }
  } else if (peek() == '(') {
    next();
    const int line = line_;
    const std::string written = "$(" + std::string(nested('(', ')')) + ")";
    evaluator_.list(line, written + " is a command: it is not run");
    miss(word, written, written);
  } else if (peek() == '{') {
    next();
    braces(words, word, quoted);
  } else if (starts_name(peek())) {
    const std::size_t begin = at_;
    while (!end() && in_name(peek())) next();
    const std::string_view name = text_.substr(begin, at_ - begin);
    const auto found = evaluator_.variables_.find(name);
    if (found == evaluator_.variables_.end()) {
      miss(word, name, "$" + std::string(name));
    } else {
      insert(found->second, words, word, quoted);
    }
  } else if (!end() && (std::isdigit(static_cast<unsigned char>(peek())) != 0 ||
                        std::string_view("@*#?!$-").find(peek()) != std::string_view::npos)) {
    const std::string name(1, next());
    const auto found = evaluator_.variables_.find(name);
    if (found == evaluator_.variables_.end()) {
      miss(word, name, "$" + name);
    } else {
      insert(found->second, words, word, quoted);
    }
  } else {
    word.text += '$';
  }
}

void Scanner::quoted_char(Word& word) {
  if (peek() == '$') {
    Words none;
    expansion(none, word, true);
    // "${ARRAY[@]}" inside a text: the words of the array, joined.
    std::string joined;
    for (Word& part : none) joined += part.text + " ";
    word.text = joined + word.text;
  } else if (peek() == '`') {
    next();
    const std::size_t begin = at_;
    while (!end() && peek() != '`') next();
    const std::string written = "`" + std::string(text_.substr(begin, at_ - begin)) + "`";
    if (!end()) next();
    evaluator_.list(line_, written + " is a command: it is not run");
    miss(word, written, written);
  } else if (peek() == '\\' && peek(1) != '\0' &&
             std::string_view("$`\"\\\n").find(peek(1)) != std::string_view::npos) {
    next();
    const char c = next();
    if (c != '\n') word.text += c;
  } else {
    word.text += next();
  }
}

void Scanner::single_quotes(Word& word) {
  const int line = line_;
  next();
  while (!end() && peek() != '\'') word.text += next();
  close_quote(line);
}

void Scanner::close_quote(int line) {
  if (!end()) {
    next();
  } else if (depth_ == 0 && evaluator_.unclosed == 0) {
    evaluator_.unclosed = line;
  }
}

void Scanner::word(Words& words) {
  Word word;
  word.line = line_;
  const std::size_t before = words.size();
  bool any_quotes = false;
  while (!end()) {
    const char c = peek();
    if (std::string_view(" \t\r\n;|&()<>").find(c) != std::string_view::npos) break;
    if (c == '\'') {
      any_quotes = true;
      single_quotes(word);
    } else if (c == '"') {
      any_quotes = true;
      const int line = line_;
      next();
      // "${ARRAY[@]}" alone keeps the words of the array apart.
      if (looking_at("${")) {
        expansion(words, word, true);
      }
      while (!end() && peek() != '"') quoted_char(word);
      close_quote(line);
    } else if (c == '\\' && peek(1) == '\n') {
      break;
    } else if (c == '\\' && peek(1) != '\0') {
      next();
      word.text += next();
    } else if (c == '$') {
      expansion(words, word, false);
    } else if (c == '`') {
      quoted_char(word);
    } else {
      word.text += next();
    }
  }
  word.quoted = word.quoted || any_quotes;
  if (!word.text.empty() || (any_quotes && words.size() == before))
    words.push_back(std::move(word));
}

Words Scanner::array_words() {
  Words words;
  next();  // '('
  while (!end()) {
    skip_blanks();
    if (peek() == ')') {
      next();
      break;
    }
    if (peek() == '\n') {
      next();
    } else if (peek() == '#') {
      comment();
    } else {
      const std::size_t begin = at_;
      word(words);
      if (at_ == begin && !end()) next();  // an operator that has no place here
    }
  }
  return words;
}

bool Scanner::assignment(Words& before) {
  if (!starts_name(peek()) || !before.empty()) return false;
  std::size_t length = 0;
  while (in_name(peek(length))) ++length;
  const bool append = peek(length) == '+' && peek(length + 1) == '=';
  if (!append && peek(length) != '=') return false;
  const std::string name(text_.substr(at_, length));
  const int line = line_;
  at_ += length + (append ? 2 : 1);
  Variable value;
  if (peek() == '(') {
    value.array = true;
    value.words = array_words();
  } else {
    // An assignment does not split its value into words.
    Word joined;
    joined.line = line_;
    Words words;
    word(words);
    for (std::size_t i = 0; i < words.size(); ++i) {
      joined.text += (i == 0 ? "" : " ") + words[i].text;
      joined.missing.insert(joined.missing.end(), words[i].missing.begin(), words[i].missing.end());
    }
    value.words.push_back(std::move(joined));
  }
  if (conditional_ > 0 || guarded_) {
    if (!evaluator_.is_given(name)) {
      evaluator_.list(line, "the value of " + name +
                                " in a conditional part of the script is not taken; give it as a "
                                "variable if it applies");
    }
    return true;
  }
  evaluator_.assign(name, std::move(value), append);
  return true;
}

void Scanner::heredoc() {
  for (const auto& [mark, tabs] : heredocs_) {
    while (!end()) {
      const std::size_t begin = at_;
      while (!end() && peek() != '\n') next();
      std::string_view line = text_.substr(begin, at_ - begin);
      if (!end()) next();
      while (tabs && line.starts_with('\t')) line.remove_prefix(1);
      if (line == mark) break;
    }
  }
  heredocs_.clear();
}

void Scanner::statement() {
  Words words;
  while (!end()) {
    skip_blanks();
    if (end()) break;
    const char c = peek();
    if (c == '\n' || c == ';' || c == '|' || c == '&') break;
    if (c == '#') {
      comment();
      break;
    }
    if (c == '<' || c == '>') {
      const bool here = looking_at("<<") && !looking_at("<<<");
      while (!end() && (peek() == '<' || peek() == '>' || peek() == '&')) next();
      const bool tabs = here && peek() == '-';
      if (tabs) next();
      skip_blanks();
      Words target;
      word(target);
      if (here && !target.empty()) heredocs_.emplace_back(target[0].text, tabs);
      continue;
    }
    if (c == '(' || c == ')') {
      next();  // subshells and the () of functions: their statements are read all the same
      break;
    }
    if (assignment(words)) continue;
    const std::size_t begin = at_;
    word(words);
    if (at_ == begin && !end()) next();
    // "2>log": the number belongs to the redirection.
    if (!words.empty() && (peek() == '>' || peek() == '<') && !words.back().quoted &&
        words.back().text.find_first_not_of("0123456789") == std::string::npos &&
        text_[at_ - 1] != ' ') {
      words.pop_back();
      continue;
    }
    if (words.size() == 1 && !words[0].quoted) {
      const std::string& first = words[0].text;
      if (first == "export" || first == "local" || first == "declare" || first == "readonly" ||
          first == "set" || first == "{" || first == "}" || first == "then" || first == "else" ||
          first == "do") {
        words.clear();
      } else if (first == "if" || first == "for" || first == "while" || first == "until" ||
                 first == "case") {
        ++conditional_;
      } else if (first == "fi" || first == "done" || first == "esac") {
        conditional_ = std::max(0, conditional_ - 1);
        words.clear();
      }
    }
    if (words.size() > kMaxWords) evaluator_.too_long_ = true;
  }
  if (words.empty()) return;
  const std::string& first = words[0].text;
  if (first == "if" || first == "for" || first == "while" || first == "until" || first == "case" ||
      first == "elif" || first == "[" || first == "[[" || first == "test") {
    tested_ = true;
    return;  // conditions
  }
  if (conditional_ > 0 || guarded_) {
    for (const Word& w : words) {
      if (!w.text.starts_with("--")) continue;
      evaluator_.list(words[0].line,
                      "a command in a conditional part of the script is not read: " + first);
      return;
    }
    return;
  }
  // bash -c "..." and eval "...": the text is a script of its own.
  const bool shell = first == "eval" || first.ends_with("bash") || first.ends_with("sh");
  for (std::size_t i = 1; i < words.size(); ++i) {
    const bool nested_script =
        (words[i - 1].text == "-c" || words[i - 1].text == "-lc" || first == "eval") &&
        words[i].text.find(' ') != std::string::npos;
    if (!nested_script ||
        (!shell && words[i - 1].text == "-c" && first.find("srun") == std::string::npos)) {
      continue;
    }
    if (depth_ >= kMaxDepth) return;
    const std::size_t before = evaluator_.commands.size();
    evaluator_.run(words[i].text, words[i].line, depth_ + 1);
    // Options of srun say how many nodes there are.
    if (evaluator_.commands.size() > before && first.find("srun") != std::string::npos) {
      Words& inner = evaluator_.commands[before];
      inner.insert(inner.begin(), words.begin(),
                   words.begin() + static_cast<std::ptrdiff_t>(i - 1));
    }
    return;
  }
  if (first == "eval") words.erase(words.begin());
  if (!words.empty()) evaluator_.commands.push_back(std::move(words));
}

void Scanner::statements() {
  while (!end()) {
    const std::size_t begin = at_;
    skip_blanks();
    if (end()) break;
    const char c = peek();
    if (c == '\n' || c == ';') {
      guarded_ = false;
      next();
      if (c == '\n') heredoc();
    } else if (looking_at("&&") || looking_at("||")) {
      guarded_ = guarded_ || tested_;
      at_ += 2;
    } else if (c == '|' || c == '&') {
      next();
    } else {
      tested_ = false;
      statement();
    }
    if (at_ == begin) next();
  }
}

void Evaluator::run(std::string_view text, int first_line, int depth) {
  if (++texts_ > kMaxTexts) too_long_ = true;
  Scanner(*this, text, first_line, depth).statements();
}

bool is_option(const Word& word) { return word.text.size() > 2 && word.text.starts_with("--"); }

/// Whether a command passes arguments to a Python program.
bool launches(const Words& words) {
  bool python = false;
  bool options = false;
  for (const Word& word : words) {
    python = python || word.text.ends_with(".py") || word.text == "torchrun" ||
             word.text.find("torch.distributed") != std::string::npos;
    options = options || is_option(word);
  }
  return (python && options) || is_option(words.front());
}

bool trains(const Words& words) {
  for (const Word& word : words) {
    for (const std::string_view name : {"--micro-batch-size", "--num-layers", "--seq-length",
                                        "--global-batch-size", "--hidden-size"}) {
      if (word.text == name || word.text.starts_with(std::string(name) + "=")) return true;
    }
  }
  return false;
}

/// A word that ends the options before it.
bool is_program(std::string_view word) {
  return word.starts_with("python") || word == "torchrun" || word == "bash" || word == "sh";
}

std::vector<MegatronArgument> arguments_of(const Words& words, std::string_view path,
                                           std::vector<Diagnostic>& not_evaluated) {
  std::vector<MegatronArgument> arguments;
  bool launching = true;  // before the Python program
  for (const Word& word : words) {
    if (is_option(word)) {
      MegatronArgument argument;
      argument.file = path;
      argument.line = word.line;
      argument.missing = word.missing;
      const std::size_t equals = word.text.find('=');
      argument.name = word.text.substr(2, equals == std::string::npos ? equals : equals - 2);
      std::replace(argument.name.begin(), argument.name.end(), '_', '-');
      if (equals != std::string::npos) argument.values.push_back(word.text.substr(equals + 1));
      arguments.push_back(std::move(argument));
    } else if (!word.missing.empty() && word.text.starts_with('$')) {
      // "$EXTRA_ARGS" alone may hold more arguments.
      const bool positional = word.text == "$@" || word.text == "$*";  // what the caller adds
      if (!positional && !arguments.empty() && arguments.back().values.empty()) {
        arguments.back().values.push_back(word.text);
        arguments.back().missing = word.missing;
      } else {
        not_evaluated.push_back({std::string(path), word.line, 0, "",
                                 word.text + " is not set: arguments it may hold are not read"});
      }
    } else if (word.text.ends_with(".py") || (launching && is_program(word.text))) {
      launching = launching && !word.text.ends_with(".py");
      arguments.push_back({"", {}, {}, std::string(path), word.line});  // ends the launcher's part
    } else if (!arguments.empty() && !arguments.back().name.empty()) {
      arguments.back().values.push_back(word.text);
      arguments.back().missing.insert(arguments.back().missing.end(), word.missing.begin(),
                                      word.missing.end());
    }
  }
  std::erase_if(arguments, [](const MegatronArgument& a) { return a.name.empty(); });
  return arguments;
}

}  // namespace

std::string MegatronArgument::text() const {
  std::string text = "--" + name;
  for (const std::string& value : values) text += " " + value;
  return text;
}

std::vector<MegatronArgument> megatron_settings(std::string_view text, std::string_view path) {
  return settings_from(text, path, 1);
}

std::string expand_variables(std::string_view text, const MegatronVariables& variables,
                             std::vector<std::string>& missing) {
  Evaluator evaluator("", variables);
  Word word = Scanner(evaluator, text, 1, 0).quoted_text();
  missing.insert(missing.end(), word.missing.begin(), word.missing.end());
  return std::move(word.text);
}

MegatronRun read_megatron_script(std::string_view text, std::string_view path,
                                 const MegatronVariables& variables) {
  Evaluator evaluator(path, variables);
  evaluator.run(text, 1, 0);
  if (evaluator.too_long()) refuse(path, 0, "expands to more than can be read");
  if (evaluator.unclosed > 0) {
    refuse(path, evaluator.unclosed, "the quote that begins here has no end");
  }

  std::vector<const Words*> launches_found;
  for (const Words& words : evaluator.commands) {
    if (launches(words)) launches_found.push_back(&words);
  }
  std::vector<const Words*> training;
  for (const Words* words : launches_found) {
    if (trains(*words)) training.push_back(words);
  }
  // A text of arguments only: each line is a command to a shell.
  const bool bare = !launches_found.empty() &&
                    std::all_of(launches_found.begin(), launches_found.end(),
                                [](const Words* words) { return is_option(words->front()); });
  Words words;
  if (bare) {
    for (const Words* line : launches_found) words.insert(words.end(), line->begin(), line->end());
  } else if (training.size() == 1) {
    words = *training.front();
  } else if (training.empty()) {
    refuse(path, 0,
           "no command passes Megatron arguments such as --num-layers to a Python program; a "
           "variable or a condition may hide it");
  } else {
    refuse(path, training[1]->front().line,
           "a second command trains as well; the first is at line " +
               std::to_string(training[0]->front().line) + ": keep the one to import");
  }
  MegatronRun run;
  run.arguments = arguments_of(words, path, evaluator.not_evaluated);
  run.settings = std::move(evaluator.settings);
  run.not_evaluated = std::move(evaluator.not_evaluated);
  return run;
}

}  // namespace hysim
