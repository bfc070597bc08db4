// JSON text to Nodes: where each value was written, and what is said of text that is no JSON.
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "config/node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hysim/errors.h"

namespace hysim::config {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::vector<Diagnostic> faults_of(std::string_view text) {
  try {
    parse(text, "t.json");
  } catch (const InputError& error) {
    return error.diagnostics();
  }
  ADD_FAILURE() << "was accepted: " << text;
  return {};
}

/// The one fault of `text` as "line:column pointer".
void expect_fault(std::string_view text, const std::string& place, const std::string& message) {
  const auto faults = faults_of(text);
  ASSERT_EQ(faults.size(), 1U) << text;
  const Diagnostic& fault = faults.front();
  EXPECT_EQ(fault.file, "t.json");
  EXPECT_EQ(std::to_string(fault.line) + ":" + std::to_string(fault.column), place)
      << text << "\n"
      << fault.message;
  EXPECT_THAT(fault.message, HasSubstr(message)) << text;
}

std::string place(const Node& node) {
  const Position& p = node.position();
  return std::to_string(p.line) + ":" + std::to_string(p.column);
}

TEST(Parse, ReadsEveryKindOfValue) {
  const Node root = parse(R"({"n": null, "t": true, "f": false, "i": -7, "d": 2.5, "s": "x",
                             "a": [1, 2], "o": {"k": 1}})",
                          "t.json");
  ASSERT_TRUE(root.is_object());
  EXPECT_TRUE(root.find("n")->is_null());
  EXPECT_TRUE(root.find("t")->as_boolean());
  EXPECT_FALSE(root.find("f")->as_boolean());
  EXPECT_EQ(root.find("i")->as_integer(), -7);
  EXPECT_EQ(root.find("d")->as_number(), 2.5);
  EXPECT_EQ(root.find("s")->as_string(), "x");
  EXPECT_EQ(root.find("a")->as_array().size(), 2U);
  EXPECT_EQ(root.find("o")->find("k")->as_integer(), 1);
  EXPECT_EQ(root.find("absent"), nullptr);
}

TEST(Parse, KeepsTheOrderOfMembers) {
  const Node root = parse(R"({"b": 1, "a": 2, "c": 3})", "t.json");
  std::string order;
  for (const auto& member : root.as_object()) order += member.first;
  EXPECT_EQ(order, "bac");
}

TEST(Parse, TellsIntegersFromOtherNumbers) {
  const auto is_integer = [](std::string_view text) { return parse(text, "").is_integer(); };
  EXPECT_TRUE(is_integer("4"));
  EXPECT_TRUE(is_integer("-0"));
  EXPECT_TRUE(is_integer("9223372036854775807"));
  EXPECT_TRUE(is_integer("-9223372036854775808"));
  EXPECT_FALSE(is_integer("4.0"));
  EXPECT_FALSE(is_integer("4e0"));
  EXPECT_FALSE(is_integer("9223372036854775808.0"));
  EXPECT_EQ(parse("9223372036854775807", "").as_integer(),
            std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse("-9223372036854775808", "").as_integer(),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(parse("1e19", "").as_number(), 1e19);
  EXPECT_EQ(parse("1e-999", "").as_number(), 0.0);
}

TEST(Parse, DecodesEscapes) {
  EXPECT_EQ(parse(R"("\"\\\/\b\f\n\r\t")", "").as_string(), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(parse(R"("\u0041\u00e9\u20ac\ud83d\ude00")", "").as_string(),
            "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(parse(R"("a\u0000b")", "").as_string(), std::string("a\0b", 3));
}

TEST(ParsePosition, IsTheFirstCharacterOfEachValue) {
  const Node root = parse(
      "{\n"
      "  \"a\": 12,\n"
      "  \"bb\": [ true, -3.5e2,\n"
      "    \"x\\\"y\\\\\", null ,false],\n"
      "\t\"c\":{\"d\":\"\"},\"e\":0}\n",
      "dir/t.json");
  EXPECT_EQ(place(root), "1:1");
  EXPECT_EQ(*root.position().file, "dir/t.json");
  EXPECT_EQ(place(*root.find("a")), "2:8");
  const Node& b = *root.find("bb");
  EXPECT_EQ(place(b), "3:9");
  EXPECT_EQ(place(b.as_array()[0]), "3:11");
  EXPECT_EQ(place(b.as_array()[1]), "3:17");
  EXPECT_EQ(place(b.as_array()[2]), "4:5");
  EXPECT_EQ(b.as_array()[2].as_string(), "x\"y\\");
  EXPECT_EQ(place(b.as_array()[3]), "4:15");
  EXPECT_EQ(place(b.as_array()[4]), "4:21");
  EXPECT_EQ(place(*root.find("c")), "5:6");
  EXPECT_EQ(place(*root.find("c")->find("d")), "5:11");
  EXPECT_EQ(place(*root.find("e")), "5:19");
}

TEST(ParsePosition, HoldsForADocumentThatIsOneValue) {
  EXPECT_EQ(place(parse("42", "")), "1:1");
  EXPECT_EQ(place(parse("\n  42", "")), "2:3");
  EXPECT_EQ(place(parse("\r\n -4.5 ", "")), "2:2");
  EXPECT_EQ(place(parse("  \"a\"", "")), "1:3");
  EXPECT_EQ(place(parse(" true", "")), "1:2");
}

TEST(ParsePosition, CountsCharactersNotBytes) {
  const Node root = parse("{\"\xC3\xA9\": \"\xE2\x82\xAC\", \"b\": 1}", "t.json");
  EXPECT_EQ(place(*root.find("b")), "1:17");
}

TEST(ParsePosition, LeavesOutAByteOrderMark) {
  const Node root = parse("\xEF\xBB\xBF[1]", "t.json");
  EXPECT_EQ(place(root), "1:1");
  EXPECT_EQ(place(root.as_array()[0]), "1:2");
}

/// Writes a random document and where each of its values begins.
class RandomText {
 public:
  explicit RandomText(unsigned seed) : random_(seed) {}

  std::string text;
  std::vector<std::string> places;  // in the order the values begin

  void value(int depth) {
    space();
    places.push_back(std::to_string(line_) + ":" + std::to_string(column_));
    switch (pick(depth < 5 ? 9 : 7)) {
      case 0:
        put("null");
        break;
      case 1:
        put("true");
        break;
      case 2:
        put("false");
        break;
      case 3:
        put(std::to_string(pick(2'000'000) - 1'000'000));
        break;
      case 4:
        put("-0.5e+3");
        break;
      case 5:
        string();
        break;
      case 6:
        put("1e1");
        break;
      case 7: {
        put("[");
        for (int i = 0, n = pick(5); i < n; ++i) {
          if (i > 0) put(",");
          value(depth + 1);
        }
        space();
        put("]");
        break;
      }
      default: {
        put("{");
        for (int i = 0, n = pick(5); i < n; ++i) {
          if (i > 0) put(",");
          space();
          put("\"" + std::to_string(i) + "\\\"\"");
          space();
          put(":");
          value(depth + 1);
        }
        space();
        put("}");
      }
    }
    space();
  }

 private:
  int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  void string() {
    static const std::vector<std::string> kPieces = {
        "a", "\\\"", "\\\\", "\\n", "1", "[", "\xC3\xA9", "\\u0041", " ", ",", "\xF0\x9F\x98\x80"};
    put("\"");
    for (int i = 0, n = pick(8); i < n; ++i) {
      put(kPieces[static_cast<std::size_t>(pick(static_cast<int>(kPieces.size())))]);
    }
    put("\"");
  }

  void space() {
    static const std::vector<std::string> kSpaces = {"", "", "", " ", "\t", "\n", "\r\n"};
    put(kSpaces[static_cast<std::size_t>(pick(static_cast<int>(kSpaces.size())))]);
  }

  void put(const std::string& piece) {
    for (const char c : piece) {
      if (c == '\n') {
        ++line_;
        column_ = 1;
      } else if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) {
        ++column_;
      }
    }
    text += piece;
  }

  std::mt19937 random_;
  int line_ = 1;
  int column_ = 1;
};

void collect_places(const Node& node, std::vector<std::string>& out) {
  out.push_back(place(node));
  if (node.is_array()) {
    for (const Node& item : node.as_array()) collect_places(item, out);
  }
  if (node.is_object()) {
    for (const auto& member : node.as_object()) collect_places(member.second, out);
  }
}

TEST(ParsePosition, IsRightInRandomDocuments) {
  std::size_t values = 0;
  for (unsigned seed = 0; seed < 5000; ++seed) {
    RandomText random(seed);
    random.value(0);
    std::vector<std::string> places;
    collect_places(parse(random.text, "r.json"), places);
    ASSERT_EQ(places, random.places) << random.text;
    values += places.size();
  }
  EXPECT_GT(values, 4000U);
}

TEST(ParseFault, NamesTheOffendingPlace) {
  expect_fault("[1,]", "1:4", "a comma after the last element is not allowed");
  expect_fault("{\"a\": 1,\n}", "2:1", "a comma after the last element is not allowed");
  expect_fault("{\"a\" 1}", "1:6", "unexpected number literal; expected ':'");
  expect_fault("{\"a\": 1 \"b\": 2}", "1:9", "unexpected string literal; expected ',' or '}'");
  expect_fault("[1 2]", "1:4", "unexpected number literal; expected ',' or ']'");
  expect_fault("[1 true]", "1:4", "unexpected true literal");
  expect_fault("{a: 1}", "1:2", "expected string literal");
  expect_fault("{1: 1}", "1:2", "unexpected number literal; expected string literal");
  expect_fault("[1}", "1:3", "unexpected '}'");
  expect_fault("[", "1:2", "unexpected end of input");
  expect_fault("{\"a\":\n", "2:1", "unexpected end of input");
  expect_fault("]", "1:1", "unexpected ']'");
}

TEST(ParseFault, NamesCommonMistakes) {
  expect_fault("// note\n{}", "1:1", "comments are not allowed");
  expect_fault("{} # note", "1:4", "comments are not allowed");
  expect_fault("{'a': 1}", "1:2", "strings take double quotes");
  expect_fault("[NaN]", "1:2", "NaN and Infinity are not JSON");
  expect_fault("[-Infinity]", "1:3", "NaN and Infinity are not JSON");
  expect_fault("[01]", "1:2", "no leading zeros");
  expect_fault("[True]", "1:2", "found \"True\"");
  expect_fault("[nulx]", "1:2", "found \"nulx\"");
  expect_fault("{} {}", "1:4", "expected end of input");
  expect_fault("1 1", "1:3", "expected end of input");
}

TEST(ParseFault, NamesBadNumbers) {
  for (const std::string_view text : {"[+1]", "[.5]", "[1.]", "[1e]", "[-]", "[0x10]", "[1_0]",
                                      "[1e+]", "[--1]", "[00]", "[-01]"}) {
    EXPECT_EQ(faults_of(text).size(), 1U) << text;
  }
}

TEST(ParseFault, NamesNumbersOutOfRange) {
  expect_fault("[1,\n 1e999]", "2:2", "number \"1e999\" is out of range");
  expect_fault("{\"a\": -1e999}", "1:7", "number \"-1e999\" is out of range");
  expect_fault("[9223372036854775808]", "1:2", "integer \"9223372036854775808\" is out of range");
  expect_fault("[-9223372036854775809]", "1:2", "integer \"-9223372036854775809\" is out of range");
  expect_fault("99999999999999999999999", "1:1", "is out of range");
  EXPECT_EQ(faults_of("{\"a\": [0, 1e999]}").front().pointer, "/a/1");
}

TEST(ParseFault, NamesBadStrings) {
  expect_fault("[\"a\nb\"]", "1:4", "control character");
  expect_fault("\"abc", "1:5", "missing closing quote");
  expect_fault(R"(["\x"])", "1:4", "forbidden character after backslash");
  expect_fault(R"(["\ud800"])", "1:9", "surrogate");
  expect_fault(R"(["\ud800\u0041"])", "1:14", "surrogate");
  expect_fault(R"(["\udc00"])", "1:8", "surrogate");
  expect_fault(R"(["\u12g4"])", "1:7", "4 hex digits");
}

TEST(ParseFault, RefusesWhatIsNotUtf8) {
  for (const std::string_view bytes :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC2", "\xC2\x41", "\xE0\x80\x80", "\xE0\x9F\xBF",
        "\xED\xA0\x80", "\xED\xBF\xBF", "\xE2\x82", "\xF0\x80\x80\x80", "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80", "\xFE", "\xFF"}) {
    const std::string text = "[\"" + std::string(bytes) + "\"]";
    const auto faults = faults_of(text);
    ASSERT_EQ(faults.size(), 1U);
    EXPECT_THAT(faults[0].message, HasSubstr("UTF-8"));
    const std::string key = "{\"" + std::string(bytes) + "\": 1}";
    EXPECT_EQ(faults_of(key).size(), 1U);
    EXPECT_EQ(faults_of(bytes).size(), 1U);
  }
}

TEST(ParseFault, NamesDuplicateKeysAndTheirFirstLine) {
  const auto faults = faults_of("{\n\"a\": 1,\n\"o\": {\"b\": 1, \"b\": 2},\n\"a\": 3, \"a\": 4}");
  ASSERT_EQ(faults.size(), 3U);  // all at once
  EXPECT_EQ(faults[0].text(), "t.json:3:15 (/o): key \"b\" is given twice; first on line 3");
  EXPECT_EQ(faults[1].text(), "t.json:4:1: key \"a\" is given twice; first on line 2");
  EXPECT_EQ(faults[2].text(), "t.json:4:9: key \"a\" is given twice; first on line 2");
}

TEST(ParseFault, FindsKeysThatAreEqualOnceDecoded) {
  expect_fault(R"({"a": 1, "\u0061": 2})", "1:10", "key \"a\" is given twice");
}

TEST(ParseFault, LimitsNesting) {
  const std::string deepest = std::string(64, '[') + std::string(64, ']');
  EXPECT_TRUE(parse(deepest, "").is_array());
  expect_fault("[" + deepest + "]", "1:65", "nesting deeper than 64");
  expect_fault(std::string(1'000'000, '['), "1:65", "nesting deeper than 64");
  std::string objects;
  for (int i = 0; i < 65; ++i) objects += "{\"a\":";
  expect_fault(objects, "1:321", "nesting deeper than 64");
}

TEST(ParseFault, LimitsSize) {
  const std::string large(64'000'001, ' ');
  const auto faults = faults_of(large);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_THAT(faults[0].message, AllOf(HasSubstr("64000001"), HasSubstr("64 MB")));
}

TEST(ParseFault, RefusesEmptyText) {
  for (const std::string_view text : {"", " ", "\n\t\r\n", "\xEF\xBB\xBF", "\xEF\xBB\xBF "}) {
    expect_fault(text, "0:0", "the text is empty");
  }
}

TEST(ParseFault, RefusesBadByteOrderMarks) {
  EXPECT_EQ(faults_of("\xEF\xBB").size(), 1U);
  EXPECT_EQ(faults_of("\xEF").size(), 1U);
  EXPECT_EQ(faults_of("\xFF\xFE[\x00").size(), 1U);
}

TEST(ParseFault, RefusesEmbeddedZeros) {
  expect_fault(std::string_view("[1]\0", 4), "1:4", "a zero byte");
  expect_fault(std::string_view("[1]\n\0garbage", 12), "2:1", "a zero byte");
  expect_fault(std::string_view("[\"\0\"]", 5), "1:3", "a zero byte");
}

TEST(ParseFault, StaysShortAndPrintableWhateverTheText) {
  const std::string key(10'000, 'k');
  const auto faults = faults_of("{\"" + key + "\": 1, \"" + key + "\": 2, \x01");
  for (const Diagnostic& fault : faults) {
    EXPECT_LT(fault.message.size(), 300U);
    for (const char c : fault.message) EXPECT_GE(static_cast<unsigned char>(c), 0x20U);
  }
  std::string many = "{";
  for (int i = 0; i < 10'000; ++i) many += "\"a\": 1, ";
  many += "\"a\": 1}";
  EXPECT_LE(faults_of(many).size(), 100U);
}

TEST(ParseFault, DamagedTextIsReadOrRefusedNeverMore) {
  const std::string whole =
      R"({"a": [1, -2.5e3, "x\u00e9\ud83d\ude00"], "b": {"c": null, "d": [true, false]}, "e": ""})";
  std::mt19937 random(7);
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = whole;
    for (auto n = random() % 3 + 1; n > 0; --n) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random() % 256);
          break;
        case 1:
          text.erase(at, random() % 5);
          break;
        case 2:
          text.insert(at, 1, "{}[]\",:\\/0-eu\xC3\xA9"[random() % 15]);
          break;
        default:
          text.resize(at);
          break;
      }
      if (text.empty()) text = " ";
    }
    try {
      parse(text, "t.json");
    } catch (const InputError& error) {
      ++refused;
      const Diagnostic& fault = error.diagnostics().front();
      EXPECT_LE(fault.column, static_cast<int>(text.size()) + 1);
      EXPECT_FALSE(fault.message.empty());
    }
  }
  EXPECT_GT(refused, 10'000);
}

}  // namespace
}  // namespace hysim::config
