// Reads the keys of a Hugging Face config under whichever of their names the file uses.
#include "model/keys.h"

#include <utility>

#include "config/words.h"

namespace hysim::model {

Keys::Keys(const config::Node& node, std::string pointer, config::Faults& faults)
    : reader_(node, std::move(pointer), faults) {}

bool Keys::given(std::string_view key) const { return value(key) != nullptr; }

const config::Node* Keys::value(std::string_view key) const {
  if (!reader_.node().is_object()) return nullptr;
  const config::Node* node = reader_.node().find(key);
  return node != nullptr && !node->is_null() ? node : nullptr;
}

std::string_view Keys::find(Names names) {
  std::string_view found;
  for (const std::string_view name : names) {
    if (!given(name)) continue;
    if (found.empty()) {
      found = name;
    } else if (!(*value(name) == *value(found))) {
      reader_.fault(name, config::in_quotes(name) + " differs from " + config::in_quotes(found) +
                              ", which is another name of the same thing");
    }
  }
  return found;
}

std::int64_t Keys::required(Names names, std::int64_t low, std::int64_t high) {
  const std::string_view name = find(names);
  return reader_.required_integer(name.empty() ? *names.begin() : name, low, high);
}

std::int64_t Keys::optional(Names names, std::int64_t fallback, std::int64_t low,
                            std::int64_t high) {
  const std::string_view name = find(names);
  return name.empty() ? fallback : reader_.integer(name, fallback, low, high);
}

bool Keys::boolean(Names names, bool fallback) {
  const std::string_view name = find(names);
  return name.empty() ? fallback : reader_.boolean(name, fallback);
}

std::string Keys::string(std::string_view key, std::string_view fallback) {
  return given(key) ? reader_.string(key, fallback) : std::string(fallback);
}

void Keys::fault(std::string_view key, std::size_t index, std::string message) {
  const std::string list = config::child_pointer(reader_.pointer(), key);
  reader_.faults().add(value(key)->as_array().at(index),
                       config::child_pointer(list, std::to_string(index)), std::move(message));
}

}  // namespace hysim::model
