// RFC 7396 merge patches, and values addressed by dotted path or JSON pointer (RFC 6901).
#include <charconv>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "config/node.h"
#include "config/words.h"

namespace hysim::config {

namespace {

struct Path {
  std::vector<std::string> steps;
  bool is_pointer = false;
};

/// "~1" is '/', "~0" is '~'; nothing when another character follows a '~'.
std::optional<std::string> unescape(std::string_view step) {
  std::string plain;
  for (std::size_t i = 0; i < step.size(); ++i) {
    if (step[i] != '~') {
      plain += step[i];
    } else if (i + 1 < step.size() && (step[i + 1] == '0' || step[i + 1] == '1')) {
      plain += step[++i] == '0' ? '~' : '/';
    } else {
      return std::nullopt;
    }
  }
  return plain;
}

/// The steps of a path; nothing when it is malformed. "" is the whole document.
std::optional<Path> split(std::string_view text) {
  Path path;
  if (text.empty()) return path;
  path.is_pointer = text.front() == '/';
  const char separator = path.is_pointer ? '/' : '.';
  if (path.is_pointer) text.remove_prefix(1);
  while (true) {
    const std::size_t end = text.find(separator);
    const std::string_view step = text.substr(0, end);
    if (path.is_pointer) {
      auto plain = unescape(step);
      if (!plain) return std::nullopt;
      path.steps.push_back(*std::move(plain));
    } else {
      if (step.empty()) return std::nullopt;
      path.steps.emplace_back(step);
    }
    if (end == std::string_view::npos) return path;
    text.remove_prefix(end + 1);
  }
}

/// An array index as RFC 6901 writes it: digits without leading zero.
std::optional<std::size_t> array_index(std::string_view step) {
  if (step.empty() || (step.size() > 1 && step.front() == '0')) return std::nullopt;
  std::size_t index = 0;
  const char* const end = step.data() + step.size();
  const auto result = std::from_chars(step.data(), end, index);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return index;
}

/// `AnyNode`: Node or const Node, an array; null when there is no such element.
template <class AnyNode>
AnyNode* element(AnyNode& array, std::string_view step) {
  const auto index = array_index(step);
  return index && *index < array.as_array().size() ? &array.as_array()[*index] : nullptr;
}

[[noreturn]] void refuse(std::string_view path, std::string_view step, const std::string& why) {
  throw std::invalid_argument("cannot set " + in_quotes(path) + ": " + in_quotes(step) + " " + why);
}

}  // namespace

void merge_patch(Node& target, const Node& patch) {
  if (!patch.is_object()) {
    target = patch;
    return;
  }
  if (!target.is_object()) target = Node::object({}, patch.position());
  for (const Node::Member& member : patch.as_object()) {
    if (member.second.is_null()) {
      target.erase(member.first);
      continue;
    }
    if (target.find(member.first) == nullptr) {
      target.set(member.first, Node::null(member.second.position()));
    }
    merge_patch(*target.find(member.first), member.second);
  }
}

const Node* find_path(const Node& root, std::string_view path) {
  const auto parts = split(path);
  if (!parts) return nullptr;
  const Node* at = &root;
  for (const std::string& step : parts->steps) {
    if (at->is_array() && parts->is_pointer) {
      at = element(*at, step);
    } else {
      at = at->find(step);
    }
    if (at == nullptr) return nullptr;
  }
  return at;
}

void set_path(Node& root, std::string_view path, Node value) {
  const auto parts = split(path);
  if (!parts) refuse(path, path, "is neither a dotted path nor a JSON pointer");
  if (parts->steps.empty()) {
    root = std::move(value);
    return;
  }

  // Refuse before anything is changed.
  const Node* known = &root;
  for (std::size_t i = 0; known != nullptr && i < parts->steps.size(); ++i) {
    const std::string& step = parts->steps[i];
    if (known->is_array() && parts->is_pointer) {
      known = element(*known, step);
      if (known == nullptr) refuse(path, step, "is no index of an element that is there");
    } else if (known->is_object()) {
      known = known->find(step);
    } else {
      refuse(path, step,
             "would be a member of " + std::string(known->kind_name()) + ", which has no members");
    }
  }

  Node* at = &root;
  for (std::size_t i = 0; i < parts->steps.size(); ++i) {
    const std::string& step = parts->steps[i];
    if (at->is_array()) {
      at = element(*at, step);
    } else if (value.is_null() && i + 1 == parts->steps.size()) {
      at->erase(step);
      return;
    } else {
      if (at->find(step) == nullptr) at->set(step, Node::object({}, value.position()));
      at = at->find(step);
    }
  }
  *at = std::move(value);
}

}  // namespace hysim::config
