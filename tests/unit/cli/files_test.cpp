// Reading with good messages; writing whole or not at all.
#include "cli/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/errors.h"
#include "hysim/errors.h"
#include "unit/cli/temporary_folder.h"

namespace hysim::cli {
namespace {

namespace fs = std::filesystem;

std::string read_error(const std::string& path) {
  try {
    read_file(path);
  } catch (const InputError& error) {
    return error.diagnostics().at(0).message;
  }
  return "";
}

TEST(NamesFile, IsAPathOrEndsInJson) {
  EXPECT_TRUE(names_file("./x"));
  EXPECT_TRUE(names_file("x.json"));
  EXPECT_TRUE(names_file("a/b"));
  EXPECT_FALSE(names_file("glm-5.1-1m-h20-512"));
}

TEST(StemOf, DropsFoldersAndSuffix) {
  EXPECT_EQ(stem_of("a/b/glm-5.1.json"), "glm-5.1");
  EXPECT_EQ(stem_of("glm-5.1"), "glm-5.1");
  EXPECT_EQ(stem_of(".json"), ".json");
}

TEST(ReadFile, SaysWhatIsWrong) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(read_file(folder.write("a", "text\n")), "text\n");
  EXPECT_EQ(read_error(folder.path("none")), "no such file");
  EXPECT_EQ(read_error(folder.path(".")), "is a folder, not a file");
  const std::string big = folder.write("big", "");
  fs::resize_file(big, kMaxFileSize + 1);
  EXPECT_EQ(read_error(big), "is larger than 64 MB");
  if (::geteuid() != 0) {
    const std::string closed = folder.write("closed", "x");
    fs::permissions(closed, fs::perms::none);
    EXPECT_THAT(read_error(closed), testing::StartsWith("cannot be read: "));
  }
}

TEST(WriteFile, ReplacesAndLeavesNothingBehind) {
  const test::TemporaryFolder folder;
  write_file(folder.path("out"), "one");
  EXPECT_EQ(folder.read("out"), "one");
  fs::permissions(folder.path("out"), fs::perms::owner_read | fs::perms::owner_write);
  write_file(folder.path("out"), "two");
  EXPECT_EQ(folder.read("out"), "two");
  EXPECT_EQ(fs::status(folder.path("out")).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(WriteFile, NewFilesFollowTheMask) {
  const test::TemporaryFolder folder;
  const mode_t before = ::umask(022);
  write_file(folder.path("out"), "x");
  ::umask(before);
  struct stat status {};
  ASSERT_EQ(::stat(folder.path("out").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0644U);
}

TEST(WriteFile, KeepsLinks) {
  const test::TemporaryFolder folder;
  folder.write("target", "old");
  fs::create_symlink("target", folder.path("link"));
  write_file(folder.path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(folder.path("link")));
  EXPECT_EQ(folder.read("target"), "new");
}

TEST(WriteFile, RefusesFoldersAndMissingFolders) {
  const test::TemporaryFolder folder;
  EXPECT_THROW(write_file(folder.path("."), "x"), WriteError);
  EXPECT_THROW(write_file(folder.path("none/out"), "x"), WriteError);
  EXPECT_EQ(folder.entries(), 0U);
}

TEST(WriteFile, AFullDiskLeavesTheOldFile) {
  EXPECT_THROW(write_file("/dev/full", "x"), WriteError);
  EXPECT_NO_THROW(write_file("/dev/null", "x"));
}

}  // namespace
}  // namespace hysim::cli
