// The reader's answers, and its sentences: what was found and what would be right.
#include "config/reader.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace hysim::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

/// Each fault as "(/pointer): message".
std::vector<std::string> sentences(const Faults& faults) {
  std::vector<std::string> out;
  try {
    faults.throw_if_any();
  } catch (const InputError& error) {
    for (const Diagnostic& fault : error.diagnostics()) {
      out.push_back("(" + fault.pointer + "): " + fault.message);
    }
  }
  return out;
}

class Read : public testing::Test {
 protected:
  Reader of(std::string_view text) {
    node_ = parse(text, "f.json");
    return Reader(node_, "", faults_);
  }
  std::vector<std::string> said() const { return sentences(faults_); }

  Node node_;
  Faults faults_;
};

TEST_F(Read, AnswersWhatIsThere) {
  Reader reader = of(R"({"i": 8, "d": 2.5, "n": 3, "b": true, "s": "x", "t": "128K", "u": 7,
                         "by": "1 GiB", "by2": 5, "l": [1, 2], "w": "two", "o": {"i": 9}})");
  EXPECT_EQ(reader.integer("i", 1, 1, 4096), 8);
  EXPECT_EQ(reader.number("d", 0, 0, 10), 2.5);
  EXPECT_EQ(reader.number("n", 0, 0, 10), 3.0);
  EXPECT_TRUE(reader.boolean("b", false));
  EXPECT_EQ(reader.string("s", ""), "x");
  EXPECT_EQ(reader.token_count("t", 0, 1, kMax), 131072);
  EXPECT_EQ(reader.token_count("u", 0, 1, kMax), 7);
  EXPECT_EQ(reader.bytes("by", Bytes(0)), Bytes(1073741824.0));
  EXPECT_EQ(reader.bytes("by2", Bytes(0)), Bytes(5.0));
  EXPECT_THAT(reader.integers("l", 0, 10), ElementsAre(1, 2));
  EXPECT_EQ(reader.choice<int>("w", 0, {{"one", 1}, {"two", 2}}), 2);
  EXPECT_TRUE(reader.has("o"));
  Reader inner = reader.object("o");
  EXPECT_EQ(inner.pointer(), "/o");
  EXPECT_EQ(inner.required_integer("i", 0, 10), 9);
  inner.finish();
  reader.finish();
  EXPECT_THAT(said(), ElementsAre());
}

TEST_F(Read, FallsBackWhereAKeyIsAbsent) {
  Reader reader = of("{}");
  EXPECT_EQ(reader.integer("a", 7, 0, 1), 7);  // the fallback need not be in range
  EXPECT_EQ(reader.number("a", 1.5, 0, 1), 1.5);
  EXPECT_TRUE(reader.boolean("a", true));
  EXPECT_EQ(reader.string("a", "x"), "x");
  EXPECT_EQ(reader.token_count("a", 3, 0, 1), 3);
  EXPECT_EQ(reader.bytes("a", Bytes(4)), Bytes(4.0));
  EXPECT_TRUE(reader.integers("a", 0, 1).empty());
  EXPECT_EQ(reader.choice<int>("a", 5, {{"one", 1}}), 5);
  EXPECT_EQ(reader.raw("a"), nullptr);
  EXPECT_FALSE(reader.has("a"));
  reader.object("o").finish();
  EXPECT_THAT(said(), ElementsAre());
}

TEST_F(Read, SaysWhatAnIntegerMustBe) {
  Reader reader = of(R"({"tp": "eight", "b": 4.0, "c": 0, "d": 4097, "e": null, "f": [1], "g": {},
                         "h": true, "i": -1, "j": 5})");
  EXPECT_EQ(reader.integer("tp", 3, 1, 4096), 3);
  EXPECT_EQ(reader.integer("b", 3, 1, 4096), 3);
  EXPECT_EQ(reader.integer("c", 3, 1, 4096), 3);
  EXPECT_EQ(reader.integer("d", 3, 1, 4096), 3);
  reader.integer("e", 3, kMin, kMax);
  reader.integer("f", 3, kMin, kMax);
  reader.integer("g", 3, kMin, kMax);
  reader.integer("h", 3, kMin, kMax);
  reader.integer("i", 3, 0, kMax);
  reader.integer("j", 3, kMin, 4);
  EXPECT_THAT(
      said(),
      ElementsAre(R"((/tp): "tp" must be an integer from 1 to 4096, found the string "eight")",
                  R"((/b): "b" must be an integer from 1 to 4096, found the number 4.0)",
                  R"((/c): "c" must be an integer from 1 to 4096, found the integer 0)",
                  R"((/d): "d" must be an integer from 1 to 4096, found the integer 4097)",
                  R"((/e): "e" must be an integer, found null)",
                  R"((/f): "f" must be an integer, found an array)",
                  R"((/g): "g" must be an integer, found an object)",
                  R"((/h): "h" must be an integer, found true)",
                  R"((/i): "i" must be an integer of at least 0, found the integer -1)",
                  R"((/j): "j" must be an integer of at most 4, found the integer 5)"));
}

TEST_F(Read, SaysWhatOtherValuesMustBe) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Reader reader = of(R"({"a": 1.5, "b": "x", "c": -1, "d": 1, "e": 5})");
  EXPECT_EQ(reader.number("a", 0.5, 0, 1), 0.5);
  EXPECT_EQ(reader.number("b", 0.5, -kInfinity, kInfinity), 0.5);
  EXPECT_EQ(reader.number("c", 0.5, 0, kInfinity), 0.5);
  EXPECT_FALSE(reader.boolean("d", false));
  EXPECT_EQ(reader.string("e", "y"), "y");
  EXPECT_THAT(said(),
              ElementsAre(R"((/a): "a" must be a number from 0 to 1, found the number 1.5)",
                          R"((/b): "b" must be a number, found the string "x")",
                          R"((/c): "c" must be a number of at least 0, found the integer -1)",
                          R"((/d): "d" must be true or false, found the integer 1)",
                          R"((/e): "e" must be a string, found the integer 5)"));
}

TEST_F(Read, ExplainsTokenCounts) {
  Reader reader = of(R"({"a": "1G", "b": "2M", "c": 1.5})");
  EXPECT_EQ(reader.token_count("a", 5, 1, 1048576), 5);
  EXPECT_EQ(reader.token_count("b", 5, 1, 1048576), 5);
  EXPECT_EQ(reader.token_count("c", 5, 1, 1048576), 5);
  const std::string must =
      R"( must be a number of tokens from 1 to 1048576, written like 131072, "128K" or "1M" )"
      R"((K = 2^10, M = 2^20), found )";
  EXPECT_THAT(said(), ElementsAre(R"((/a): "a")" + must + R"(the string "1G")",
                                  R"((/b): "b")" + must + R"(the string "2M" (2097152))",
                                  R"((/c): "c")" + must + "the number 1.5"));
}

TEST_F(Read, ExplainsBytes) {
  Reader reader = of(R"({"a": "1G", "b": "1 k", "c": "1 GB/s", "d": "1024", "e": -1, "f": 1.5,
                         "g": "lots", "h": "1 Gi"})");
  for (const char* key : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
    EXPECT_EQ(reader.bytes(key, Bytes(5)), Bytes(5.0)) << key;
  }
  const std::string must =
      R"( must be a whole number of bytes or a text with a unit such as "1 GiB", found )";
  EXPECT_THAT(
      said(),
      ElementsAre(R"((/a): "a")" + must +
                      R"(the string "1G"; a bare "G" is ambiguous: write GB (power of )"
                      R"(1000) or GiB (power of 1024))",
                  R"((/b): "b")" + must +
                      R"(the string "1 k"; a bare "k" is ambiguous: write KB (power of )"
                      R"(1000) or KiB (power of 1024))",
                  R"((/c): "c")" + must + R"(the string "1 GB/s"; "GB/s" is no unit of bytes)",
                  R"((/d): "d")" + must + R"(the string "1024"; the unit is missing)",
                  R"((/e): "e")" + must + "the integer -1",
                  R"((/f): "f")" + must + "the number 1.5",
                  R"((/g): "g")" + must + R"(the string "lots")",
                  R"((/h): "h")" + must + R"(the string "1 Gi")"));
}

TEST_F(Read, NamesEachWrongElementOfAnArray) {
  Reader reader = of(R"({"l": [1, "x", 3, 99], "m": 5})");
  EXPECT_THAT(reader.integers("l", 1, 10), ElementsAre(1, 3));
  EXPECT_TRUE(reader.integers("m", 1, 10).empty());
  const std::string must = " must be an array of integers from 1 to 10, found ";
  EXPECT_THAT(said(), ElementsAre(R"((/l/1): "l")" + must + R"(the string "x" in it)",
                                  R"((/l/3): "l")" + must + "the integer 99 in it",
                                  R"((/m): "m")" + must + "the integer 5"));
}

TEST_F(Read, OffersTheNearestWord) {
  Reader reader = of(R"({"a": "ful", "b": "zzzz", "c": 1, "d": "Full"})");
  const std::vector<Choice<int>> choices = {{"none", 0}, {"full", 1}, {"selective", 2}};
  for (const char* key : {"a", "b", "c", "d"}) EXPECT_EQ(reader.choice(key, 9, choices), 9) << key;
  EXPECT_EQ(reader.choice<int>("a", 9, {{"only", 1}}), 9);
  const std::string must = R"( must be one of "none", "full", "selective", found )";
  EXPECT_THAT(said(),
              ElementsAre(R"((/a): "a")" + must + R"(the string "ful"; did you mean "full"?)",
                          R"((/a): "a" must be "only", found the string "ful")",
                          R"((/b): "b")" + must + R"(the string "zzzz")",
                          R"((/c): "c")" + must + "the integer 1",
                          R"((/d): "d")" + must + R"(the string "Full"; did you mean "full"?)"));
}

TEST_F(Read, MissesRequiredKeys) {
  Reader reader = of(R"({"a": "x", "s": 1})");
  EXPECT_EQ(reader.required("k"), nullptr);
  EXPECT_EQ(reader.required("a"), node_.find("a"));
  EXPECT_EQ(reader.required_integer("i", 1, 8), 1);
  EXPECT_EQ(reader.required_integer("a", 1, 8), 1);
  EXPECT_EQ(reader.required_string("t"), "");
  EXPECT_EQ(reader.required_string("s"), "");
  EXPECT_THAT(
      said(),
      ElementsAre(R"((): missing key "k")", R"((): missing key "i", an integer from 1 to 8)",
                  R"((): missing key "t", a string)",
                  R"((/a): "a" must be an integer from 1 to 8, found the string "x")",
                  R"((/s): "s" must be a string, found the integer 1)"));
}

TEST_F(Read, FindsUnknownKeys) {
  Reader reader = of(R"({"tpo": 1, "unrelated": 2, "tp": 3, "ignored": {}})");
  reader.integer("tp", 1, 1, 8);
  reader.integer("pp", 1, 1, 8);
  reader.ignore("ignored");
  reader.finish();
  EXPECT_THAT(said(), ElementsAre(R"((/tpo): unknown key "tpo"; did you mean "tp"?)",
                                  R"((/unrelated): unknown key "unrelated"; expected "tp", "pp", )"
                                  R"("ignored")"));
}

TEST_F(Read, ListsOnlyFewKnownKeys) {
  Reader none = of(R"({"x": 1})");
  none.finish();
  EXPECT_THAT(said(), ElementsAre(R"((/x): unknown key "x"; no key is allowed here)"));
  faults_ = Faults();
  Reader many = of(R"({"unrelated": 1})");
  for (char c = 'a'; c <= 'z'; ++c) many.ignore(std::string(3, c));
  many.finish();
  EXPECT_THAT(said(), ElementsAre(R"((/unrelated): unknown key "unrelated")"));
}

TEST_F(Read, TakesAnythingButAnObjectForOneFault) {
  Reader reader = of(R"({"o": [1], "p": 5})");
  Reader inner = reader.object("o");
  EXPECT_EQ(inner.integer("a", 3, 0, 1), 3);
  EXPECT_EQ(inner.required_integer("b", 4, 5), 4);
  EXPECT_EQ(inner.required_string("c"), "");
  EXPECT_EQ(inner.required("d"), nullptr);
  inner.object("e").finish();
  inner.finish();
  EXPECT_THAT(said(), ElementsAre(R"((/o): "o" must be an object, found an array)"));
}

TEST_F(Read, NamesTheDocumentWhenItIsNoObject) {
  of("[]").finish();
  EXPECT_THAT(said(), ElementsAre("(): the document must be an object, found an array"));
}

TEST_F(Read, PlacesFaultsOfAnAbsentObjectWhereItIsAbsent) {
  Reader reader = of("\n {\"a\": 1}");
  Reader absent = reader.object("workload");
  const Reader copy = absent;  // must not dangle
  absent.required_integer("seq_len", 1, 8);
  EXPECT_TRUE(copy.node().is_object());
  try {
    faults_.throw_if_any();
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 R"(f.json:2:2 (/workload): missing key "seq_len", an integer from 1 to 8)");
  }
}

TEST_F(Read, EscapesPointers) {
  Reader reader = of(R"({"a/b": {"c~d": "x"}})");
  reader.object("a/b").integer("c~d", 1, 1, 2);
  reader.object("a/b").object("c~d");
  EXPECT_THAT(
      said(),
      ElementsAre(R"((/a~1b/c~0d): "c~d" must be an integer from 1 to 2, found the string "x")",
                  R"((/a~1b/c~0d): "c~d" must be an object, found the string "x")"));
}

TEST_F(Read, ShortensLongTexts) {
  Reader reader =
      of("{\"a\": \"" + std::string(39, 'x') + "\xC3\xA9" + std::string(99, 'y') + "\"}");
  reader.integer("a", 1, kMin, kMax);
  EXPECT_THAT(said(), ElementsAre("(/a): \"a\" must be an integer, found the string \"" +
                                  std::string(39, 'x') + "...\""));
}

TEST_F(Read, RecordsFaultsOfTheCaller) {
  Reader reader = of("\n{\"a\": 1}");
  reader.fault("a", "odd");
  reader.fault("b", "absent");
  try {
    faults_.throw_if_any();
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "f.json:2:1: absent\nf.json:2:7 (/a): odd");
  }
}

TEST(FaultsThrow, AllAtOnceInTheOrderOfTheDocument) {
  const Node node = parse("[1,\n2, 3]", "f.json");
  Faults faults;
  faults.throw_if_any();
  EXPECT_TRUE(faults.empty());
  faults.add(node.as_array()[2], "/2", "third");
  faults.add(node.as_array()[1], "/1", "second");
  faults.add(node.as_array()[0], "/0", "first");
  faults.add(node.as_array()[0], "/0", "first again");
  faults.add(Node::null(), "", "no place");
  EXPECT_FALSE(faults.empty());
  try {
    faults.throw_if_any();
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "no place\nf.json:1:2 (/0): first\nf.json:1:2 (/0): first again\n"
                 "f.json:2:1 (/1): second\nf.json:2:4 (/2): third");
  }
}

TEST(Nearest, IsWithinTwoEditsOrAThirdOfTheWord) {
  const std::vector<std::string> keys = {
      "tp", "pp", "cp", "micro_batch_size", "seq_len", "selection_replay"};
  EXPECT_EQ(nearest("tpo", keys), "tp");
  EXPECT_EQ(nearest("sec_len", keys), "seq_len");
  EXPECT_EQ(nearest("seqlen", keys), "seq_len");
  EXPECT_EQ(nearest("SEQ_LEN", keys), "seq_len");
  EXPECT_EQ(nearest("pt", keys), "tp");  // a transposition is one edit
  EXPECT_EQ(nearest("microbatchsize", keys), "micro_batch_size");
  EXPECT_EQ(nearest("selective_replay", keys), "selection_replay");
  EXPECT_EQ(nearest("replay", keys), "");
  EXPECT_EQ(nearest("zz", keys), "");  // two edits make anything of two letters
  EXPECT_EQ(nearest("x", keys), "");
  EXPECT_EQ(nearest("", keys), "");
  EXPECT_EQ(nearest("tp", {}), "");
  EXPECT_EQ(nearest(std::string(10'000'000, 'a'), keys), "");
}

TEST(Nearest, EndsAtTheThreshold) {
  EXPECT_EQ(nearest("abcdef", {"abcxyf"}), "abcxyf");           // two edits
  EXPECT_EQ(nearest("abcdef", {"abxyzf"}), "");                 // three
  EXPECT_EQ(nearest("abcdefghi", {"abcxyzghi"}), "abcxyzghi");  // three of nine letters
  EXPECT_EQ(nearest("abcdefghi", {"abcwxyzhi"}), "");           // four
}

TEST(Nearest, TakesTheClosestAndTheFirstOfEquals) {
  EXPECT_EQ(nearest("abcd", {"abxy", "abcx", "abcy"}), "abcx");
  EXPECT_EQ(nearest("abcd", {"abcy", "abcx"}), "abcy");
  EXPECT_EQ(nearest("ca", {"abc", "ac"}), "ac");
}

}  // namespace
}  // namespace hysim::config
