// Where documents come from: folders, profiles, and files that a scenario names.
#include "cli/resources.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hysim/errors.h"
#include "unit/cli/temporary_folder.h"

namespace hysim::cli {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

const char* const kGpu = R"({"schema": "hysim.gpu/1", "name": "mine"})";

/// Sets $HYSIM_PATH for one test.
class SearchPath {
 public:
  explicit SearchPath(const std::string& value) { ::setenv("HYSIM_PATH", value.c_str(), 1); }
  ~SearchPath() { ::unsetenv("HYSIM_PATH"); }
  SearchPath(const SearchPath&) = delete;
  SearchPath& operator=(const SearchPath&) = delete;
};

std::string profile_error(const std::string& path) {
  std::vector<std::string> warnings;
  try {
    command_resources({path}, warnings);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(FolderResources, ReadsAndLists) {
  const test::TemporaryFolder folder;
  folder.write("models/b.json", "{}");
  folder.write("models/a.json", "[]");
  folder.write("models/deeper/c.json", "{}");
  folder.write("secret.json", "no");
  const Resources resources = folder_resources(folder.path("."));
  EXPECT_EQ(resources.read("models/a.json"), "[]");
  EXPECT_EQ(resources.read("models/none.json"), std::nullopt);
  EXPECT_EQ(resources.read("models"), std::nullopt);
  EXPECT_THAT(resources.list("models"), ElementsAre("models/a.json", "models/b.json"));
  EXPECT_THAT(resources.list("none"), IsEmpty());
}

TEST(FolderResources, StaysInside) {
  const test::TemporaryFolder folder;
  folder.write("outside.json", "no");
  folder.write("root/models/a.json", "{}");
  const Resources resources = folder_resources(folder.path("root"));
  EXPECT_EQ(resources.read("models/../../outside.json"), std::nullopt);
  EXPECT_EQ(resources.read(folder.path("outside.json")), std::nullopt);
  EXPECT_THAT(resources.list(".."), IsEmpty());
}

TEST(CommandResources, FoldersOfThePathComeFirst) {
  const test::TemporaryFolder folder;
  folder.write("one/models/mine.json", "1");
  folder.write("two/models/mine.json", "2");
  folder.write("two/models/glm-5.1.json", "changed");
  const SearchPath path(folder.path("one") + "::" + folder.path("two") + ":" + folder.path("none"));
  std::vector<std::string> warnings;
  const Resources resources = command_resources({}, warnings);
  EXPECT_EQ(resources.read("models/mine.json"), "1");
  EXPECT_EQ(resources.read("models/glm-5.1.json"), "changed");
  EXPECT_THAT(warnings, ElementsAre("HYSIM_PATH: " + folder.path("none") + " is no folder"));
  EXPECT_THAT(names_of(resources, document_kinds()[0]), Contains("deepseek-v3"));
}

TEST(CommandResources, ProfilesAreAddedUnderTheirNames) {
  const test::TemporaryFolder folder;
  std::vector<std::string> warnings;
  const std::string gpu = folder.write("x.json", kGpu);
  const std::string model = folder.write("my-model/config.json", R"({"model_type": "llama"})");
  const std::string named = folder.write("y.json", R"({"model_type": "llama", "name": "named"})");
  const Resources resources = command_resources({gpu, model, named}, warnings);
  EXPECT_EQ(resources.read("hw_profiles/gpus/mine.json"), kGpu);
  EXPECT_EQ(resources.describe("hw_profiles/gpus/mine.json"), gpu);
  EXPECT_TRUE(resources.read("models/my-model.json").has_value());
  EXPECT_TRUE(resources.read("models/named.json").has_value());
}

TEST(CommandResources, RefusesOtherProfiles) {
  const test::TemporaryFolder folder;
  EXPECT_THAT(profile_error(folder.write("a.json", "{}")), testing::HasSubstr("no \"schema\""));
  EXPECT_THAT(profile_error(folder.write("b.json", R"({"schema": "hysim.scenario/1"})")),
              testing::HasSubstr("hysim.scenario/1"));
  EXPECT_THAT(profile_error(folder.write("c.json", R"({"schema": "hysim.gpu/1"})")),
              testing::HasSubstr("needs a \"name\""));
  EXPECT_THAT(profile_error(folder.write("d.json", R"({"schema": "hysim.gpu/1", "name": "../x"})")),
              testing::HasSubstr("needs a \"name\""));
  EXPECT_THAT(profile_error(folder.write("e.json", "{")), testing::HasSubstr("e.json:1:"));
  EXPECT_THAT(profile_error(folder.path("none.json")), testing::HasSubstr("no such file"));
}

TEST(KindOf, KnowsSchemasAndConfigs) {
  const auto kind = [](const char* text) {
    const DocumentKind* const found = kind_of(config::parse(text, "x"));
    return found == nullptr ? std::string() : std::string(found->plural);
  };
  EXPECT_EQ(kind(R"({"schema": "hysim.gpu/1"})"), "gpus");
  EXPECT_EQ(kind(R"({"schema": "hysim.cluster/1"})"), "clusters");
  EXPECT_EQ(kind(R"({"schema": "hysim.stack/1"})"), "stacks");
  EXPECT_EQ(kind(R"({"schema": "hysim.scenario/1"})"), "scenarios");
  EXPECT_EQ(kind(R"({"model_type": "llama"})"), "models");
  EXPECT_EQ(kind(R"({"schema": "hysim.gpu/2"})"), "");
  EXPECT_EQ(kind("[]"), "");
}

TEST(LocalFiles, StandBesideTheScenario) {
  const test::TemporaryFolder folder;
  folder.write("job/config.json", "beside");
  const ScenarioText scenario{
      R"({"model": "config.json", "variants": {"v": {"cluster": "c.json"}}})",
      folder.write("job/scenario.json", "")};
  folder.write("job/c.json", "nested");
  const Resources resources = with_local_files(memory_resources({}), {scenario}, {});
  EXPECT_EQ(resources.read("config.json"), "beside");
  EXPECT_EQ(resources.describe("config.json"), folder.path("job/config.json"));
  EXPECT_EQ(resources.read("c.json"), "nested");
}

TEST(LocalFiles, OnlyWhatIsNamed) {
  const test::TemporaryFolder folder;
  folder.write("job/models/mine.json", "local");
  const Resources bundled = memory_resources({{"models/mine.json", "bundled"}});
  const ScenarioText plain{R"({"model": "mine"})", folder.write("job/scenario.json", "")};
  EXPECT_EQ(with_local_files(bundled, {plain}, {}).read("models/mine.json"), "bundled");
  const ScenarioText named{R"({"model": "models/mine.json"})", plain.path};
  EXPECT_EQ(with_local_files(bundled, {named}, {}).read("models/mine.json"), "local");
}

TEST(LocalFiles, AbsolutePathsAndSets) {
  const test::TemporaryFolder folder;
  const std::string model = folder.write("elsewhere/config.json", "there");
  const ScenarioText scenario{"{}", folder.write("job/scenario.json", "")};
  folder.write("job/near.json", "near");
  const Resources resources =
      with_local_files(memory_resources({}), {scenario},
                       {"model=" + model, "new:cluster=near.json", "a.b={\"x\": \"near.json\"}"});
  EXPECT_EQ(resources.read(model), "there");
  EXPECT_EQ(resources.read("near.json"), "near");
}

TEST(LocalFiles, OnePathCannotBeTwoFiles) {
  const test::TemporaryFolder folder;
  folder.write("a/config.json", "1");
  folder.write("b/config.json", "2");
  const std::string text = R"({"model": "./config.json"})";
  const ScenarioText a{text, folder.write("a/scenario.json", text)};
  const ScenarioText b{text, folder.write("b/scenario.json", text)};
  EXPECT_THROW(with_local_files(memory_resources({}), {a, b}, {}), InputError);
  EXPECT_NO_THROW(with_local_files(memory_resources({}), {a, a}, {}));
}

TEST(LocalFiles, AFaultyScenarioNamesNone) {
  const ScenarioText broken{"{", "broken.json"};
  EXPECT_NO_THROW(with_local_files(memory_resources({}), {broken}, {"no-equals-sign"}));
  EXPECT_THAT(variant_names(broken), IsEmpty());
}

TEST(VariantNames, AreInOrder) {
  EXPECT_THAT(variant_names({R"({"variants": {"b": {}, "a": []}})", "x"}), ElementsAre("b", "a"));
  EXPECT_THAT(variant_names({"{}", "x"}), IsEmpty());
}

}  // namespace
}  // namespace hysim::cli
