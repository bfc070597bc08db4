// What belongs to no question: schemas and the version.
#include <cstddef>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "golden/program.h"

namespace hysim::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(SchemaCommand, PrintsASchemaAlone) {
  const Program program;
  const Outcome outcome = program.run("schema scenario");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_EQ(json::parse(outcome.out).at("title"), "hysim.scenario/1");
  EXPECT_EQ(program.run("schema hysim.scenario/1").out, outcome.out);
  EXPECT_EQ(program.run("schema --json scenario").out, outcome.out);
  program.run("schema scenario --json out.json");
  EXPECT_EQ(program.folder().read("out.json"), outcome.out);
}

TEST(SchemaCommand, ListsAll) {
  const Program program;
  EXPECT_THAT(program.run("schema").out, testing::ContainsRegex("prediction +hysim.prediction/1"));
  EXPECT_GE(json::parse(program.run("schema --json -").out).at("schemas").size(), 10U);
}

TEST(SchemaCommand, NamesTheNearest) {
  const Program program;
  const Outcome outcome = program.run("schema predicton");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, HasSubstr("did you mean \"prediction\"?"));
}

/// The hashes are those of the files, by coreutils.
TEST(Version, NamesTheBuildAndItsData) {
  const Program program;
  const json version = json::parse(program.run("--version --json").out);
  EXPECT_EQ(version.at("schema"), "hysim.version/1");
  EXPECT_THAT(version.at("commit").get<std::string>(),
              testing::MatchesRegex("unknown|[0-9a-f]{40}(-dirty)?"));
  EXPECT_THAT(version.at("compiler").get<std::string>(), testing::MatchesRegex("(gcc|clang) .+"));
  const Outcome sums = program.shell(
      "cd '" HYSIM_TEST_DATA
      "/..' && LC_ALL=C; export LC_ALL; sha256sum hw_profiles/*/*.json models/*.json "
      "scenarios/*.json; sha256sum hw_profiles/*/*.json models/*.json scenarios/*.json | "
      "sha256sum | sed 's/ .*/ all/'");
  ASSERT_EQ(sums.code, 0);
  std::istringstream lines(sums.out);
  std::size_t files = 0;
  for (std::string hash, path; lines >> hash >> path;) {
    if (path == "all") {
      EXPECT_EQ(version.at("bundled").at("sha256"), hash);
    } else {
      EXPECT_EQ(version.at("bundled").at("files").at(path), hash) << path;
      ++files;
    }
  }
  EXPECT_EQ(version.at("bundled").at("files").size(), files);
  EXPECT_GT(files, 50U);
}

}  // namespace
}  // namespace hysim::test
