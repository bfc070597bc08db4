// JSON text from Nodes: numbers read back the same, strings are escaped, nlohmann agrees.
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include <nlohmann/json.hpp>

#include "config/node.h"
#include "gtest/gtest.h"

namespace hysim::config {
namespace {

using Peer = nlohmann::ordered_json;

TEST(ToText, WritesEveryKindOfValueCompactly) {
  const std::string text =
      R"({"n":null,"t":true,"f":false,"i":-7,"d":2.5,"s":"x","a":[1,[],{}],"o":{"k":1}})";
  EXPECT_EQ(to_text(parse(text, "")), text);
}

TEST(ToText, Indents) {
  EXPECT_EQ(to_text(parse(R"({"a":[1,2],"b":{},"c":{"d":[]}})", ""), 2),
            "{\n"
            "  \"a\": [\n"
            "    1,\n"
            "    2\n"
            "  ],\n"
            "  \"b\": {},\n"
            "  \"c\": {\n"
            "    \"d\": []\n"
            "  }\n"
            "}");
  EXPECT_EQ(to_text(parse("[1]", ""), 0), "[\n1\n]");
}

TEST(ToText, WritesTheShortestNumberThatReadsBack) {
  EXPECT_EQ(to_text(Node::number(0.1)), "0.1");
  EXPECT_EQ(to_text(Node::number(1e300)), "1e+300");
  EXPECT_EQ(to_text(Node::number(5e-324)), "5e-324");
  EXPECT_EQ(to_text(Node::number(1.7976931348623157e308)), "1.7976931348623157e+308");
  EXPECT_EQ(to_text(Node::integer(std::numeric_limits<std::int64_t>::min())),
            "-9223372036854775808");
}

TEST(ToText, KeepsWhetherANumberIsAnInteger) {
  EXPECT_EQ(to_text(Node::number(2.0)), "2.0");
  EXPECT_EQ(to_text(Node::number(-0.0)), "-0.0");
  EXPECT_EQ(to_text(Node::integer(2)), "2");
}

TEST(ToText, WritesNullForWhatJsonCannotSay) {
  EXPECT_EQ(to_text(Node::number(std::numeric_limits<double>::infinity())), "null");
  EXPECT_EQ(to_text(Node::number(std::nan(""))), "null");
}

TEST(ToText, EscapesStrings) {
  EXPECT_EQ(to_text(Node::string("\"\\/\b\f\n\r\t\x01\x7f")), R"("\"\\/\b\f\n\r\t\u0001\u007f")");
  EXPECT_EQ(to_text(Node::string("\xC3\xA9\xF0\x9F\x98\x80")), "\"\xC3\xA9\xF0\x9F\x98\x80\"");
  EXPECT_EQ(to_text(Node::object({{"a\"b", Node::null()}})), R"({"a\"b":null})");
}

TEST(ToText, ReplacesBytesThatAreNoUtf8) {
  EXPECT_EQ(to_text(Node::string("a\xFF"
                                 "b")),
            "\"a\xEF\xBF\xBD"
            "b\"");
  for (const std::string_view bad : {"\x80", "\xC0\x80", "\xE2\x82", "\xED\xA0\x80",
                                     "\xF4\x90\x80\x80", "\xF0\x80\x80\x80", "\xE0\x80\x80"}) {
    const std::string text = to_text(Node::string(std::string(bad)));
    EXPECT_NO_THROW(parse(text, "")) << text;
    EXPECT_NE(text.find("\xEF\xBF\xBD"), std::string::npos);
  }
}

TEST(ToText, RoundTripsRandomBitPatternsOfDoubles) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 50'000; ++i) {
    const std::uint64_t bits = random();
    double value = 0.0;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    const Node back = parse(to_text(Node::number(value)), "");
    ASSERT_FALSE(back.is_integer());
    const double again = back.as_number();
    ASSERT_EQ(std::memcmp(&again, &value, sizeof value), 0) << value;
  }
}

class RandomNode {
 public:
  explicit RandomNode(unsigned seed) : random_(seed) {}

  Node value(int depth) {
    switch (random_() % (depth < 5 ? 10U : 7U)) {
      case 0:
        return Node::null();
      case 1:
        return Node::boolean(random_() % 2 == 0);
      case 2:
        return Node::integer(static_cast<std::int64_t>(random_()));
      case 3:
        return Node::integer(static_cast<std::int64_t>(random_() % 100) - 50);
      case 4:
        return Node::number(std::ldexp(static_cast<double>(random_()), exponent()));
      case 5:
        return Node::number(static_cast<double>(random_() % 1000) / 8.0);
      case 6:
        return Node::string(text());
      case 7:
      case 8: {
        Node::Object members;
        for (auto n = random_() % 5; n > 0; --n) {
          members.emplace_back(text() + std::to_string(n), value(depth + 1));
        }
        return Node::object(std::move(members));
      }
      default: {
        Node::Array items;
        for (auto n = random_() % 5; n > 0; --n) items.push_back(value(depth + 1));
        return Node::array(std::move(items));
      }
    }
  }

 private:
  int exponent() { return static_cast<int>(random_() % 1000) - 500; }

  std::string text() {
    static const std::string kPieces[] = {"a",
                                          "\"",
                                          "\\",
                                          "/",
                                          "\n",
                                          std::string(1, '\0'),
                                          "\x7f",
                                          "\xC3\xA9",
                                          "\xE2\x82\xAC",
                                          "\xF0\x9F\x98\x80"};
    std::string out;
    for (auto n = random_() % 6; n > 0; --n) out += kPieces[random_() % std::size(kPieces)];
    return out;
  }

  std::mt19937_64 random_;
};

Peer peer(const Node& node) {
  if (node.is_null()) return nullptr;
  if (node.is_boolean()) return node.as_boolean();
  if (node.is_integer()) return node.as_integer();
  if (node.is_number()) return node.as_number();
  if (node.is_string()) return node.as_string();
  if (node.is_array()) {
    Peer out = Peer::array();
    for (const Node& item : node.as_array()) out.push_back(peer(item));
    return out;
  }
  Peer out = Peer::object();
  for (const auto& member : node.as_object()) out[member.first] = peer(member.second);
  return out;
}

TEST(ToText, AgreesWithAPeerOnRandomDocuments) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    const Node node = RandomNode(seed).value(0);
    const Peer wanted = peer(node);
    for (const int indent : {-1, 0, 3}) {
      const std::string text = to_text(node, indent);
      ASSERT_TRUE(parse(text, "") == node) << text;                 // ours reads ours
      ASSERT_EQ(Peer::parse(text), wanted) << text;                 // the peer reads ours
      ASSERT_TRUE(parse(wanted.dump(indent), "") == node) << text;  // ours reads the peer's
    }
  }
}

TEST(NodeEquality, IgnoresPositionsAndTheOrderOfMembers) {
  EXPECT_TRUE(parse(R"({"a": 1, "b": [2]})", "x") == parse("\n{\"b\":[2],\"a\":1}", "y"));
  EXPECT_FALSE(parse("[1,2]", "") == parse("[2,1]", ""));
  EXPECT_FALSE(parse(R"({"a": 1})", "") == parse(R"({"a": 2})", ""));
  EXPECT_FALSE(parse(R"({"a": 1})", "") == parse(R"({"b": 1})", ""));
  EXPECT_FALSE(parse(R"({"a": 1})", "") == parse(R"({"a": 1, "b": 1})", ""));
  EXPECT_FALSE(parse("1", "") == parse("1.0", ""));
  EXPECT_FALSE(parse("null", "") == parse("false", ""));
}

TEST(NodeMembers, AreSetReplacedAndErased) {
  Node node = Node::object();
  node.set("a", Node::integer(1));
  node.set("b", Node::integer(2));
  node.set("a", Node::integer(3));
  EXPECT_EQ(to_text(node), R"({"a":3,"b":2})");
  node.erase("a");
  node.erase("absent");
  EXPECT_EQ(to_text(node), R"({"b":2})");
  *node.find("b") = Node::string("x");
  EXPECT_EQ(to_text(node), R"({"b":"x"})");
  EXPECT_EQ(Node::array().find("a"), nullptr);
}

TEST(NodeKind, HasAName) {
  const auto kind = [](std::string_view text) { return std::string(parse(text, "").kind_name()); };
  EXPECT_EQ(kind("null"), "null");
  EXPECT_EQ(kind("true"), "a boolean");
  EXPECT_EQ(kind("1"), "an integer");
  EXPECT_EQ(kind("1.0"), "a number");
  EXPECT_EQ(kind("\"\""), "a string");
  EXPECT_EQ(kind("[]"), "an array");
  EXPECT_EQ(kind("{}"), "an object");
}

}  // namespace
}  // namespace hysim::config
