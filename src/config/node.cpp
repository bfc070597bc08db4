// The JSON value: construction, members, equality. No text and no policy here.
#include "config/node.h"

#include <algorithm>

namespace hysim::config {

Node Node::null(Position p) {
  Node node;
  node.position_ = std::move(p);
  return node;
}

Node Node::boolean(bool v, Position p) {
  Node node = null(std::move(p));
  node.value_ = v;
  return node;
}

Node Node::integer(std::int64_t v, Position p) {
  Node node = null(std::move(p));
  node.value_ = v;
  return node;
}

Node Node::number(double v, Position p) {
  Node node = null(std::move(p));
  node.value_ = v;
  return node;
}

Node Node::string(std::string v, Position p) {
  Node node = null(std::move(p));
  node.value_ = std::move(v);
  return node;
}

Node Node::array(Array v, Position p) {
  Node node = null(std::move(p));
  node.value_ = std::move(v);
  return node;
}

Node Node::object(Object v, Position p) {
  Node node = null(std::move(p));
  node.value_ = std::move(v);
  return node;
}

double Node::as_number() const {
  return is_integer() ? static_cast<double>(as_integer()) : std::get<double>(value_);
}

const Node* Node::find(std::string_view key) const {
  if (!is_object()) return nullptr;
  for (const Member& member : as_object()) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

Node* Node::find(std::string_view key) {
  return const_cast<Node*>(static_cast<const Node*>(this)->find(key));
}

void Node::set(std::string_view key, Node value) {
  if (Node* const there = find(key)) {
    *there = std::move(value);
  } else {
    as_object().emplace_back(std::string(key), std::move(value));
  }
}

void Node::erase(std::string_view key) {
  Object& members = as_object();
  const auto at = std::find_if(members.begin(), members.end(),
                               [key](const Member& member) { return member.first == key; });
  if (at != members.end()) members.erase(at);
}

std::string_view Node::kind_name() const {
  if (is_null()) return "null";
  if (is_boolean()) return "a boolean";
  if (is_integer()) return "an integer";
  if (is_number()) return "a number";
  if (is_string()) return "a string";
  if (is_array()) return "an array";
  return "an object";
}

bool operator==(const Node& a, const Node& b) {
  if (a.value_.index() != b.value_.index()) return false;
  if (!a.is_object()) return a.value_ == b.value_;
  const Node::Object& left = a.as_object();
  const Node::Object& right = b.as_object();
  if (left.size() != right.size()) return false;
  for (std::size_t i = 0; i < left.size(); ++i) {
    // Mostly the order agrees, which spares the search.
    const Node* other = right[i].first == left[i].first ? &right[i].second : b.find(left[i].first);
    if (other == nullptr || !(left[i].second == *other)) return false;
  }
  return true;
}

}  // namespace hysim::config
