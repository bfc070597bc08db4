// Keys of a Hugging Face config: several names for one thing, and null means absent.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "config/reader.h"

namespace hysim::model {

class Keys {
 public:
  using Names = std::initializer_list<std::string_view>;

  /// `node` must outlive this.
  Keys(const config::Node& node, std::string pointer, config::Faults& faults);

  /// Present and not null.
  bool given(std::string_view key) const;
  /// The first name that is given, or "". Names that are given with other values are faults.
  std::string_view find(Names names);
  /// The value, or null when it is not given.
  const config::Node* value(std::string_view key) const;

  std::int64_t required(Names names, std::int64_t low, std::int64_t high);
  std::int64_t optional(Names names, std::int64_t fallback, std::int64_t low, std::int64_t high);
  bool boolean(Names names, bool fallback);
  std::string string(std::string_view key, std::string_view fallback);

  /// Records a fault at `key` (or at the object when `key` is absent).
  void fault(std::string_view key, std::string message) { reader_.fault(key, std::move(message)); }
  /// Records a fault at element `index` of the list `key`.
  void fault(std::string_view key, std::size_t index, std::string message);

 private:
  config::Reader reader_;
};

}  // namespace hysim::model
