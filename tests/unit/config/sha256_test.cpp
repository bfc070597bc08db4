// SHA-256 against the examples of FIPS 180-4, and at every length of the padding.
#include "config/sha256.h"

#include <set>
#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace hysim::config {
namespace {

TEST(Sha256, HasTheDigestsOfTheStandard) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, CoversBytesAboveAsciiAndZeros) {
  EXPECT_EQ(sha256_hex(std::string(1, '\xBD')),
            "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b");
  EXPECT_EQ(sha256_hex(std::string(4, '\0')),
            "df3f619804a92fdb4057192dc43dd748ea778adc52bc498ce80524c014b81119");
}

TEST(Sha256, PadsAtEveryBlockBoundary) {
  // sha256sum of n times 'x'
  const std::pair<std::size_t, const char*> kKnown[] = {
      {54, "45f316e10b2c99abf374b22bda893cf3300d77263f1e272349ed414680522952"},
      {55, "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072"},
      {56, "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e"},
      {63, "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2"},
      {64, "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c"},
      {65, "9537c5fdf120482f7d58d25e9ed583f52c02b4e304ea814db1633ad565aed7e9"},
      {119, "000b48d4edf0fa7bee3c6236ecd2785baa5db4eeb8bb54341b029e0d9fa5fb0c"},
      {120, "13f05a0b594787f5ecd315edc96141bd3243203d1b7d4f0836f37308b276ba98"},
      {128, "24da1b81d0b16df6428eee73c69fcb2a93c76bc6df706f0c6670fe6bfe800464"},
  };
  for (const auto& [n, digest] : kKnown) EXPECT_EQ(sha256_hex(std::string(n, 'x')), digest) << n;
}

TEST(Sha256, TellsLengthsApart) {
  std::set<std::string> digests;
  for (std::size_t n = 0; n < 300; ++n) digests.insert(sha256_hex(std::string(n, '\0')));
  EXPECT_EQ(digests.size(), 300U);
}

}  // namespace
}  // namespace hysim::config
