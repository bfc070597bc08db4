// A JSON value that remembers where it was written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace hysim::config {

/// Position of a value's first character; line and column start at 1.
struct Position {
  std::shared_ptr<const std::string> file;
  int line = 0;
  int column = 0;
};

class Node {
 public:
  using Array = std::vector<Node>;
  using Member = std::pair<std::string, Node>;
  using Object = std::vector<Member>;  // in file order, keys unique

  Node() = default;
  static Node null(Position p = {});
  static Node boolean(bool v, Position p = {});
  static Node integer(std::int64_t v, Position p = {});
  static Node number(double v, Position p = {});
  static Node string(std::string v, Position p = {});
  static Node array(Array v = {}, Position p = {});
  static Node object(Object v = {}, Position p = {});

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_boolean() const { return std::holds_alternative<bool>(value_); }
  bool is_integer() const { return std::holds_alternative<std::int64_t>(value_); }
  bool is_number() const { return is_integer() || std::holds_alternative<double>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }

  /// Each accessor requires the matching is_...().
  bool as_boolean() const { return std::get<bool>(value_); }
  std::int64_t as_integer() const { return std::get<std::int64_t>(value_); }
  double as_number() const;
  const std::string& as_string() const { return std::get<std::string>(value_); }
  const Array& as_array() const { return std::get<Array>(value_); }
  Array& as_array() { return std::get<Array>(value_); }
  const Object& as_object() const { return std::get<Object>(value_); }
  Object& as_object() { return std::get<Object>(value_); }

  /// The member named `key` of an object, or null.
  const Node* find(std::string_view key) const;
  Node* find(std::string_view key);
  /// Sets or adds a member of an object.
  void set(std::string_view key, Node value);
  /// Removes a member of an object if it is there.
  void erase(std::string_view key);

  const Position& position() const { return position_; }
  /// "a string", "an integer", ...; for messages.
  std::string_view kind_name() const;

  /// Same value; positions and the order of object members do not count.
  friend bool operator==(const Node& a, const Node& b);

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> value_;
  Position position_;
};

/// Parses one JSON document. Throws InputError on a syntax error, duplicate key, invalid UTF-8,
/// number out of range, nesting deeper than 64 or text larger than 64 MB.
Node parse(std::string_view text, std::string_view file);

/// Compact JSON text (indent < 0) or indented; shortest round-trip numbers.
std::string to_text(const Node& node, int indent = -1);

/// RFC 7396 merge patch, in place. Positions of patched values are the patch's.
void merge_patch(Node& target, const Node& patch);

/// The value at a dotted path ("kernels.topk") or JSON pointer ("/kernels/topk"), or null.
const Node* find_path(const Node& root, std::string_view path);
/// Sets the value at such a path, making objects on the way; null takes a member out, as in a
/// merge patch. Throws std::invalid_argument when the path crosses something that is no object.
void set_path(Node& root, std::string_view path, Node value);

}  // namespace hysim::config
