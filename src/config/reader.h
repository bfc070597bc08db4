// Reads one JSON object key by key, knows its JSON pointer, and collects every fault instead of
// stopping at the first. Unknown keys are faults that name the nearest known key.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/node.h"
#include "hysim/errors.h"
#include "hysim/units.h"

namespace hysim::config {

/// Collects faults; `throw_if_any` ends a stage of reading. A fault found twice is told once.
class Faults {
 public:
  void add(const Node& at, std::string pointer, std::string message);
  void add(Diagnostic diagnostic) { diagnostics_.push_back(std::move(diagnostic)); }
  bool empty() const { return diagnostics_.empty(); }
  std::size_t count() const { return diagnostics_.size(); }
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  void throw_if_any() const;

 private:
  std::vector<Diagnostic> diagnostics_;
};

/// A word and the value it stands for.
template <class E>
struct Choice {
  std::string_view word;
  E value;
};

class Reader {
 public:
  /// `node` must outlive the reader. When it is no object, one fault is recorded and every
  /// lookup answers "absent".
  Reader(const Node& node, std::string pointer, Faults& faults);

  bool has(std::string_view key) const;
  /// The raw value, marked as read; null when absent.
  const Node* raw(std::string_view key);

  // Optional values: `fallback` when absent; a fault and `fallback` when wrong.
  std::int64_t integer(std::string_view key, std::int64_t fallback, std::int64_t low,
                       std::int64_t high);
  double number(std::string_view key, double fallback, double low, double high);
  bool boolean(std::string_view key, bool fallback);
  std::string string(std::string_view key, std::string_view fallback);
  /// An integer or a text with a binary suffix: 131072, "128K", "1M" (K = 2^10, M = 2^20).
  std::int64_t token_count(std::string_view key, std::int64_t fallback, std::int64_t low,
                           std::int64_t high);
  /// A number of bytes or a text with unit: "1 GiB".
  Bytes bytes(std::string_view key, Bytes fallback);
  std::vector<std::int64_t> integers(std::string_view key, std::int64_t low, std::int64_t high);

  template <class E>
  E choice(std::string_view key, E fallback, const std::vector<Choice<E>>& choices) {
    std::vector<std::string_view> words;
    words.reserve(choices.size());
    for (const auto& c : choices) words.push_back(c.word);
    const auto index = word_index(key, words);
    return index ? choices[*index].value : fallback;
  }

  // Required values: a fault when absent.
  std::int64_t required_integer(std::string_view key, std::int64_t low, std::int64_t high);
  std::string required_string(std::string_view key);
  const Node* required(std::string_view key);

  /// A reader of the object at `key`; of an empty object when absent.
  Reader object(std::string_view key);

  /// Records a fault at `key` (or at the object when `key` is absent).
  void fault(std::string_view key, std::string message);
  /// Marks a key as known without reading it.
  void ignore(std::string_view key);
  /// Every key not read so far is a fault: 'unknown key "tpo"; did you mean "tp"?'.
  void finish();

  const std::string& pointer() const { return pointer_; }
  const Node& node() const { return *node_; }
  Faults& faults() { return *faults_; }

 private:
  std::optional<std::size_t> word_index(std::string_view key,
                                        const std::vector<std::string_view>& words);

  const Node* node_;
  std::shared_ptr<const Node> absent_;  // what node_ points to when the object is absent
  std::string pointer_;
  Faults* faults_;
  std::vector<std::string> known_;  // keys asked for, there or not
};

/// The candidate closest to `word` by edit distance, or "" when none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace hysim::config
