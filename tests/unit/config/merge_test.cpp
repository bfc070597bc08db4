// Merge patches against the table in RFC 7396, appendix A; paths against RFC 6901, section 5.
#include <stdexcept>
#include <string>

#include "config/node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace hysim::config {
namespace {

struct Row {
  const char* original;
  const char* patch;
  const char* result;
};

class MergePatch : public testing::TestWithParam<Row> {};

TEST_P(MergePatch, DoesWhatTheAppendixSays) {
  Node target = parse(GetParam().original, "original");
  merge_patch(target, parse(GetParam().patch, "patch"));
  EXPECT_TRUE(target == parse(GetParam().result, "result")) << to_text(target);
}

INSTANTIATE_TEST_SUITE_P(
    Rfc7396, MergePatch,
    testing::Values(Row{R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
                    Row{R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
                    Row{R"({"a":"b"})", R"({"a":null})", R"({})"},
                    Row{R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
                    Row{R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
                    Row{R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
                    Row{R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
                    Row{R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
                    Row{R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
                    Row{R"({"a":"b"})", R"(["c"])", R"(["c"])"},
                    Row{R"({"a":"foo"})", R"(null)", R"(null)"},
                    Row{R"({"a":"foo"})", R"("bar")", R"("bar")"},
                    Row{R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
                    Row{R"([1,2])", R"({"a":"b","c":null})", R"({"a":"b"})"},
                    Row{R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"}));

TEST(MergePatchPosition, OfPatchedValuesIsThePatchs) {
  Node target = parse(R"({"a": {"b": 1, "c": 2}})", "original");
  merge_patch(target, parse("{\n\"a\": {\"b\": 3, \"d\": {\"e\": 4}}}", "patch"));
  const Node& a = *target.find("a");
  EXPECT_EQ(*a.position().file, "original");
  EXPECT_EQ(*a.find("c")->position().file, "original");
  EXPECT_EQ(*a.find("b")->position().file, "patch");
  EXPECT_EQ(a.find("b")->position().line, 2);
  EXPECT_EQ(*a.find("d")->position().file, "patch");
  EXPECT_EQ(a.find("d")->position().column, 20);
  EXPECT_EQ(*a.find("d")->find("e")->position().file, "patch");
}

// RFC 6901, section 5.
constexpr const char* kPointers =
    R"({"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5,
        "k\"l": 6, " ": 7, "m~n": 8, "x": {"y": {"z": 9}}, "d.e": 10})";

TEST(FindPath, FollowsJsonPointers) {
  const Node root = parse(kPointers, "");
  const auto at = [&](std::string_view path) {
    const Node* const node = find_path(root, path);
    return node == nullptr ? std::string("nothing") : to_text(*node);
  };
  EXPECT_EQ(find_path(root, ""), &root);
  EXPECT_EQ(at("/foo"), R"(["bar","baz"])");
  EXPECT_EQ(at("/foo/0"), R"("bar")");
  EXPECT_EQ(at("/foo/1"), R"("baz")");
  EXPECT_EQ(at("/"), "0");
  EXPECT_EQ(at("/a~1b"), "1");
  EXPECT_EQ(at("/c%d"), "2");
  EXPECT_EQ(at("/e^f"), "3");
  EXPECT_EQ(at("/g|h"), "4");
  EXPECT_EQ(at("/i\\j"), "5");
  EXPECT_EQ(at("/k\"l"), "6");
  EXPECT_EQ(at("/ "), "7");
  EXPECT_EQ(at("/m~0n"), "8");
  EXPECT_EQ(at("/x/y/z"), "9");
  EXPECT_EQ(at("/d.e"), "10");
  for (const std::string_view path :
       {"/foo/2", "/foo/00", "/foo/01", "/foo/-1", "/foo/-", "/foo/", "/foo/99999999999999999999",
        "/foo/1x", "/m~2n", "/m~n", "/~", "/x/y/z/w", "/nope", "//"}) {
    EXPECT_EQ(at(path), "nothing") << path;
  }
}

TEST(FindPath, FollowsDottedPaths) {
  const Node root = parse(kPointers, "");
  EXPECT_EQ(find_path(root, "x.y.z")->as_integer(), 9);
  EXPECT_EQ(find_path(root, "x.y"), root.find("x")->find("y"));
  EXPECT_EQ(find_path(root, "a/b")->as_integer(), 1);
  for (const std::string_view path :
       {".", "x.", ".x", "x..y", "d.e", "foo.0", "x.y.z.w", "nope", "nope.x"}) {
    EXPECT_EQ(find_path(root, path), nullptr) << path;
  }
}

TEST(SetPath, SetsAndMakesObjectsOnTheWay) {
  Node root = parse(R"({"a": {"b": 1}, "l": [1, {"m": 2}]})", "");
  set_path(root, "a.b", Node::integer(2));
  set_path(root, "a.c.d", Node::integer(3));
  set_path(root, "/e/f~1g", Node::integer(4));
  set_path(root, "/l/0", Node::integer(5));
  set_path(root, "/l/1/m", Node::integer(6));
  EXPECT_EQ(to_text(root), R"({"a":{"b":2,"c":{"d":3}},"l":[5,{"m":6}],"e":{"f/g":4}})");
  set_path(root, "", Node::integer(7));
  EXPECT_EQ(to_text(root), "7");
}

TEST(SetPath, NullTakesAMemberOut) {
  Node root = parse(R"({"a": {"b": 1, "c": 2}, "l": [1, 2]})", "");
  set_path(root, "a.b", Node::null());
  set_path(root, "a.d", Node::null());
  set_path(root, "/l/0", Node::null());
  EXPECT_EQ(to_text(root), R"({"a":{"c":2},"l":[null,2]})");
}

TEST(SetPath, RefusesWhatIsNoObjectAndChangesNothing) {
  const std::string text = R"({"a":1,"l":[1],"n":null})";
  for (const std::string_view path : {"a.b", "a.b.c", "l.0", "/l/1", "/l/-", "/l/x", "/l/0/b",
                                      "n.b", "new..b", "/new~2", ".", "x."}) {
    Node root = parse(text, "");
    EXPECT_THROW(set_path(root, path, Node::integer(2)), std::invalid_argument) << path;
    EXPECT_EQ(to_text(root), text) << path;
  }
}

TEST(SetPath, SaysWhatIsInTheWay) {
  Node root = parse(R"({"a": 1})", "");
  try {
    set_path(root, "a.b", Node::integer(2));
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(),
                 R"(cannot set "a.b": "b" would be a member of an integer, which has no members)");
  }
}

}  // namespace
}  // namespace hysim::config
