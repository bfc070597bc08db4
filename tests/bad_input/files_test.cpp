// Inputs that are no texts to keep in a folder: directories, devices, files too large or empty, and
// switches that change nothing.
#include <ostream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "golden/program.h"

namespace hysim::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

struct Case {
  const char* name;
  const char* before;  // makes the files, in a shell
  const char* arguments;
  const char* says;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.arguments; }

constexpr Case kCases[] = {
    {"FolderAsScenario", "mkdir x.json", "predict x.json", "x.json: is a folder, not a file"},
    {"FolderAsProfile", "mkdir x.json", "predict glm-5.1-1m-h20-512 --profile x.json",
     "x.json: is a folder, not a file"},
    {"FolderToShow", "mkdir x.json", "show x.json", "x.json: is a folder, not a file"},
    {"HugeScenario", "truncate -s 65M x.json", "predict x.json", "x.json: is larger than 64 MB"},
    {"HugeProfile", "truncate -s 65M x.json", "predict glm-5.1-1m-h20-512 --profile x.json",
     "x.json: is larger than 64 MB"},
    {"EndlessDevice", "true", "predict /dev/zero", "/dev/zero: is larger than 64 MB"},
    {"EmptyScenario", ": > x.json", "compare x.json", "x.json: the text is empty"},
    {"EmptyProfile", ": > x.json", "predict glm-5.1-1m-h20-512 --profile x.json",
     "x.json: the text is empty"},
    {"EmptyDevice", "true", "predict /dev/null", "/dev/null: the text is empty"},
    {"SetThatChangesNothing", "true", "predict glm-5.1-1m-h20-512 --set parallelism.cp=64",
     "--set parallelism.cp=64: "},
    {"SetOfAnotherVariantOnly", "true",
     "predict glm-5.1-1m-h20-512 --variant hyscale --set hyscale:kernels.selection_replay=true",
     "--set hyscale:kernels.selection_replay=true: "},
};

class UnusualInput : public testing::TestWithParam<Case> {};

TEST_P(UnusualInput, IsRefused) {
  const Case& c = GetParam();
  const Program program;
  ASSERT_EQ(program.shell(c.before).code, 0);
  const Outcome outcome = program.run(std::string(c.arguments) + " --json out.json");
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, HasSubstr(std::string("hysim: error: ") + c.says));
  EXPECT_EQ(program.shell("test ! -e out.json").code, 0);
}

INSTANTIATE_TEST_SUITE_P(Files, UnusualInput, testing::ValuesIn(kCases),
                         [](const auto& given) { return std::string(given.param.name); });

}  // namespace
}  // namespace hysim::test
