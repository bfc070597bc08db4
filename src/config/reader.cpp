// Reads JSON objects key by key and turns every fault into a sentence that says what was found and
// what would be right.
#include "config/reader.h"

#include <algorithm>
#include <limits>
#include <set>

#include "config/words.h"
#include "units/text.h"

namespace hysim::config {

namespace {

constexpr std::size_t kMaxListed = 16;     // keys or words listed in a message
constexpr std::size_t kMaxCompared = 100;  // bytes of a word compared by edit distance

/// `the string "eight"`, `the integer 5`, `an array`.
std::string found(const Node& node) {
  if (node.is_string()) return "the string " + in_quotes(node.as_string());
  if (node.is_integer()) return "the integer " + to_text(node);
  if (node.is_number()) return "the number " + to_text(node);
  if (node.is_boolean()) return node.as_boolean() ? "true" : "false";
  return std::string(node.kind_name());
}

/// The last step of a pointer, in quotes; "the document" for the whole.
std::string name_of(const std::string& pointer) {
  if (pointer.empty()) return "the document";
  std::string name;
  const std::string_view step = std::string_view(pointer).substr(pointer.rfind('/') + 1);
  for (std::size_t i = 0; i < step.size(); ++i) {
    if (step[i] == '~' && i + 1 < step.size()) {
      name += step[++i] == '0' ? '~' : '/';
    } else {
      name += step[i];
    }
  }
  return in_quotes(name);
}

std::string limits(std::int64_t low, std::int64_t high) {
  const bool has_low = low != std::numeric_limits<std::int64_t>::min();
  const bool has_high = high != std::numeric_limits<std::int64_t>::max();
  if (has_low && has_high) return " from " + std::to_string(low) + " to " + std::to_string(high);
  if (has_low) return " of at least " + std::to_string(low);
  if (has_high) return " of at most " + std::to_string(high);
  return {};
}

std::string limits(double low, double high) {
  const auto word = [](double v) {
    std::string text = to_text(Node::number(v));
    if (text.size() > 2 && text.substr(text.size() - 2) == ".0") text.resize(text.size() - 2);
    return text;
  };
  const bool has_low = low > std::numeric_limits<double>::lowest();
  const bool has_high = high < std::numeric_limits<double>::max();
  if (has_low && has_high) return " from " + word(low) + " to " + word(high);
  if (has_low) return " of at least " + word(low);
  if (has_high) return " of at most " + word(high);
  return {};
}

template <class Words>
std::string listed(const Words& words) {
  std::string out;
  for (const auto& word : words) {
    if (!out.empty()) out += ", ";
    out += in_quotes(word);
  }
  return out;
}

bool in_range(const Node& node, std::int64_t low, std::int64_t high) {
  return node.is_integer() && node.as_integer() >= low && node.as_integer() <= high;
}

std::string lower(std::string_view word) {
  std::string out(word);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

/// Damerau-Levenshtein distance, adjacent transpositions only (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U);
      now[j] = std::min({change, last[j] + 1, now[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        now[j] = std::min(now[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

/// Why a text is no amount of bytes, when there is something particular to say.
std::string bytes_hint(std::string_view text) {
  const std::size_t digits = text.find_last_of("0123456789.");
  const std::string_view rest =
      digits == std::string_view::npos ? std::string_view() : text.substr(digits + 1);
  const std::size_t letter = rest.find_first_not_of(' ');
  if (letter == std::string_view::npos) {
    return digits == std::string_view::npos ? "" : "; the unit is missing";
  }
  const std::string_view unit = rest.substr(letter);
  constexpr std::string_view kPrefixes = "kKMGTPE";
  if (unit.size() == 1 && kPrefixes.find(unit.front()) != std::string_view::npos) {
    const std::string prefix(1, unit.front() == 'k' ? 'K' : unit.front());
    return "; a bare \"" + std::string(unit) + "\" is ambiguous: write " + prefix + "B (power of " +
           "1000) or " + prefix + "iB (power of 1024)";
  }
  if (units::parse_unit(unit)) return "; " + in_quotes(unit) + " is no unit of bytes";
  return {};
}

}  // namespace

// Faults

void Faults::add(const Node& at, std::string pointer, std::string message) {
  const Position& position = at.position();
  diagnostics_.push_back({position.file ? *position.file : std::string(), position.line,
                          position.column, std::move(pointer), std::move(message)});
}

void Faults::throw_if_any() const {
  if (diagnostics_.empty()) return;
  std::vector<Diagnostic> sorted = diagnostics_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic& a, const Diagnostic& b) {
    if (a.file != b.file) return a.file < b.file;
    return a.line != b.line ? a.line < b.line : a.column < b.column;
  });
  std::set<std::string> told;
  std::erase_if(sorted, [&](const Diagnostic& d) { return !told.insert(d.text()).second; });
  throw InputError(std::move(sorted));
}

// Reader

Reader::Reader(const Node& node, std::string pointer, Faults& faults)
    : node_(&node), pointer_(std::move(pointer)), faults_(&faults) {
  if (!node.is_object()) {
    faults.add(node, pointer_, name_of(pointer_) + " must be an object, found " + found(node));
  }
}

bool Reader::has(std::string_view key) const { return node_->find(key) != nullptr; }

void Reader::ignore(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
}

const Node* Reader::raw(std::string_view key) {
  ignore(key);
  return node_->find(key);
}

void Reader::fault(std::string_view key, std::string message) {
  const Node* const at = node_->find(key);
  faults_->add(at != nullptr ? *at : *node_,
               at != nullptr ? child_pointer(pointer_, key) : pointer_, std::move(message));
}

std::int64_t Reader::integer(std::string_view key, std::int64_t fallback, std::int64_t low,
                             std::int64_t high) {
  const Node* const at = raw(key);
  if (at == nullptr) return fallback;
  if (in_range(*at, low, high)) return at->as_integer();
  fault(key, in_quotes(key) + " must be an integer" + limits(low, high) + ", found " + found(*at));
  return fallback;
}

double Reader::number(std::string_view key, double fallback, double low, double high) {
  const Node* const at = raw(key);
  if (at == nullptr) return fallback;
  if (at->is_number() && at->as_number() >= low && at->as_number() <= high) {
    return at->as_number();
  }
  fault(key, in_quotes(key) + " must be a number" + limits(low, high) + ", found " + found(*at));
  return fallback;
}

bool Reader::boolean(std::string_view key, bool fallback) {
  const Node* const at = raw(key);
  if (at == nullptr) return fallback;
  if (at->is_boolean()) return at->as_boolean();
  fault(key, in_quotes(key) + " must be true or false, found " + found(*at));
  return fallback;
}

std::string Reader::string(std::string_view key, std::string_view fallback) {
  const Node* const at = raw(key);
  if (at == nullptr) return std::string(fallback);
  if (at->is_string()) return at->as_string();
  fault(key, in_quotes(key) + " must be a string, found " + found(*at));
  return std::string(fallback);
}

std::int64_t Reader::token_count(std::string_view key, std::int64_t fallback, std::int64_t low,
                                 std::int64_t high) {
  const Node* const at = raw(key);
  if (at == nullptr) return fallback;
  std::optional<std::int64_t> count;
  if (at->is_integer()) count = at->as_integer();
  if (at->is_string()) count = units::parse_token_count(at->as_string());
  if (count && *count >= low && *count <= high) return *count;
  std::string meaning;
  if (count && at->is_string()) meaning = " (" + std::to_string(*count) + ")";
  fault(key, in_quotes(key) + " must be a number of tokens" + limits(low, high) +
                 R"(, written like 131072, "128K" or "1M" (K = 2^10, M = 2^20), found )" +
                 found(*at) + meaning);
  return fallback;
}

Bytes Reader::bytes(std::string_view key, Bytes fallback) {
  const Node* const at = raw(key);
  if (at == nullptr) return fallback;
  if (at->is_integer() && at->as_integer() >= 0) return Bytes(at->as_number());
  if (at->is_string()) {
    if (const auto value = units::parse_bytes(at->as_string())) return *value;
  }
  fault(key,
        in_quotes(key) +
            R"( must be a whole number of bytes or a text with a unit such as "1 GiB", found )" +
            found(*at) + (at->is_string() ? bytes_hint(at->as_string()) : std::string()));
  return fallback;
}

std::vector<std::int64_t> Reader::integers(std::string_view key, std::int64_t low,
                                           std::int64_t high) {
  const Node* const at = raw(key);
  if (at == nullptr) return {};
  const std::string must =
      in_quotes(key) + " must be an array of integers" + limits(low, high) + ", found ";
  if (!at->is_array()) {
    fault(key, must + found(*at));
    return {};
  }
  std::vector<std::int64_t> values;
  const Node::Array& items = at->as_array();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (in_range(items[i], low, high)) {
      values.push_back(items[i].as_integer());
    } else {
      faults_->add(items[i], child_pointer(child_pointer(pointer_, key), std::to_string(i)),
                   must + found(items[i]) + " in it");
    }
  }
  return values;
}

const Node* Reader::required(std::string_view key) {
  const Node* const at = raw(key);
  if (at == nullptr && node_->is_object()) fault(key, "missing key " + in_quotes(key));
  return at;
}

std::int64_t Reader::required_integer(std::string_view key, std::int64_t low, std::int64_t high) {
  if (raw(key) != nullptr) return integer(key, low, low, high);
  if (node_->is_object()) {
    fault(key, "missing key " + in_quotes(key) + ", an integer" + limits(low, high));
  }
  return low;
}

std::string Reader::required_string(std::string_view key) {
  if (raw(key) != nullptr) return string(key, "");
  if (node_->is_object()) fault(key, "missing key " + in_quotes(key) + ", a string");
  return {};
}

Reader Reader::object(std::string_view key) {
  if (const Node* const at = raw(key)) return Reader(*at, child_pointer(pointer_, key), *faults_);
  // Faults in what is absent are reported where it is absent.
  auto empty = std::make_shared<const Node>(Node::object({}, node_->position()));
  Reader reader(*empty, child_pointer(pointer_, key), *faults_);
  reader.absent_ = std::move(empty);
  return reader;
}

void Reader::finish() {
  if (!node_->is_object()) return;
  for (const Node::Member& member : node_->as_object()) {
    const std::string& key = member.first;
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    std::string message = "unknown key " + in_quotes(key);
    if (const std::string near = nearest(key, known_); !near.empty()) {
      message += "; did you mean " + in_quotes(near) + "?";
    } else if (known_.empty()) {
      message += "; no key is allowed here";
    } else if (known_.size() <= kMaxListed) {
      message += "; expected " + listed(known_);
    }
    fault(key, std::move(message));
  }
}

std::optional<std::size_t> Reader::word_index(std::string_view key,
                                              const std::vector<std::string_view>& words) {
  const Node* const at = raw(key);
  if (at == nullptr) return std::nullopt;
  if (at->is_string()) {
    const auto word = std::find(words.begin(), words.end(), at->as_string());
    if (word != words.end()) return static_cast<std::size_t>(word - words.begin());
  }
  std::string message = in_quotes(key) + (words.size() == 1 ? " must be " : " must be one of ") +
                        listed(words) + ", found " + found(*at);
  if (at->is_string()) {
    const std::string near = nearest(at->as_string(), {words.begin(), words.end()});
    if (!near.empty()) message += "; did you mean " + in_quotes(near) + "?";
  }
  fault(key, std::move(message));
  return std::nullopt;
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.size() > kMaxCompared) return {};
  const std::string wanted = lower(word);
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kMaxCompared) continue;
    const std::size_t distance = edit_distance(wanted, lower(candidate));
    // Short words: something must be in common.
    if (distance >= std::max(word.size(), candidate.size())) continue;
    if (distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
  }
  return std::string(best);
}

}  // namespace hysim::config
