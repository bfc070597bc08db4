// Documents by path: held in memory, laid over one another, compiled in.
#include "hysim/resources.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "config/embedded_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace hysim {
namespace {

using testing::Contains;
using testing::ElementsAre;

Resources sample() {
  return memory_resources({{"models/b.json", "B"},
                           {"models/a.json", "A"},
                           {"models/deep/c.json", "C"},
                           {"models2/d.json", "D"},
                           {"models-e.json", "E"},
                           {"top.json", "T"}});
}

TEST(MemoryResources, ReadsByExactPath) {
  const Resources resources = sample();
  EXPECT_EQ(resources.read("models/a.json"), "A");
  EXPECT_EQ(resources.read("models/deep/c.json"), "C");
  EXPECT_EQ(resources.read("models/a"), std::nullopt);
  EXPECT_EQ(resources.read("models"), std::nullopt);
  EXPECT_EQ(resources.read(""), std::nullopt);
  EXPECT_EQ(resources.describe("models/a.json"), "memory:models/a.json");
}

TEST(MemoryResources, ListsOnlyWhatIsDirectlyInside) {
  const Resources resources = sample();
  EXPECT_THAT(resources.list("models"), ElementsAre("models/a.json", "models/b.json"));
  EXPECT_THAT(resources.list("models/"), ElementsAre("models/a.json", "models/b.json"));
  EXPECT_THAT(resources.list("models/deep"), ElementsAre("models/deep/c.json"));
  EXPECT_THAT(resources.list(""), ElementsAre("models-e.json", "top.json"));
  EXPECT_THAT(resources.list("model"), ElementsAre());
  EXPECT_THAT(resources.list("nope"), ElementsAre());
}

TEST(Overlay, LooksInTheFirstThenInTheSecond) {
  Resources first = memory_resources({{"models/a.json", "A1"}, {"models/x.json", "X1"}});
  first.describe = [](std::string_view path) { return "first:" + std::string(path); };
  const Resources both = overlay(first, sample());
  EXPECT_EQ(both.read("models/a.json"), "A1");
  EXPECT_EQ(both.read("models/b.json"), "B");
  EXPECT_EQ(both.read("models/x.json"), "X1");
  EXPECT_EQ(both.read("nope"), std::nullopt);
  EXPECT_THAT(both.list("models"), ElementsAre("models/a.json", "models/b.json", "models/x.json"));
  EXPECT_EQ(both.describe("models/a.json"), "first:models/a.json");
  EXPECT_EQ(both.describe("models/b.json"), "memory:models/b.json");
}

TEST(EmbeddedResources, HoldEveryEmbeddedFile) {
  const Resources resources = embedded_resources();
  for (std::size_t i = 0; i < config::kEmbeddedFileCount; ++i) {
    const config::EmbeddedFile& file = config::kEmbeddedFiles[i];
    const std::string path(file.path);
    EXPECT_EQ(resources.read(path), file.text) << path;
    EXPECT_EQ(resources.read(path + "x"), std::nullopt);
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash);
    EXPECT_THAT(resources.list(folder), Contains(path));
    EXPECT_THAT(resources.list(folder + (folder.empty() ? "" : "/")), Contains(path));
    EXPECT_EQ(resources.describe(path), "bundled:" + path);
    if (i > 0) {
      EXPECT_LT(std::string_view(config::kEmbeddedFiles[i - 1].path), path);
    }
  }
  EXPECT_EQ(resources.read("no/such.json"), std::nullopt);
  EXPECT_THAT(resources.list("no"), ElementsAre());
}

TEST(EmbeddedResources, ListsOnlyWhatIsDirectlyInside) {
  const Resources resources = embedded_resources();
  for (const char* folder : {"", "hw_profiles", "hw_profiles/gpus", "models", "scenarios"}) {
    const auto paths = resources.list(folder);
    EXPECT_TRUE(std::is_sorted(paths.begin(), paths.end()));
    const std::string prefix = *folder == '\0' ? "" : std::string(folder) + "/";
    for (const std::string& path : paths) {
      EXPECT_EQ(path.substr(0, prefix.size()), prefix);
      EXPECT_EQ(path.find('/', prefix.size()), std::string::npos) << path;
    }
  }
}

}  // namespace
}  // namespace hysim
