// Holds the list of floors: reads every #include of src/ and include/hysim/.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "architecture/include_rules.h"

namespace hysim::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

const IncludeRules& rules() {
  static const IncludeRules value =
      parse_include_rules(read(fs::path(HYSIM_SOURCE_DIR) / "tests/architecture/floors.txt"));
  return value;
}

/// Path relative to the repository -> text, of every .h and .cpp below src/ and include/.
const std::map<std::string, std::string>& sources() {
  static const std::map<std::string, std::string> value = [] {
    std::map<std::string, std::string> files;
    const fs::path root = HYSIM_SOURCE_DIR;
    for (const char* folder : {"src", "include/hysim"}) {
      for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
        const auto extension = entry.path().extension();
        if (extension != ".h" && extension != ".cpp") continue;
        files[entry.path().lexically_relative(root).generic_string()] = read(entry.path());
      }
    }
    return files;
  }();
  return value;
}

TEST(Architecture, EveryIncludeIsAllowed) {
  ASSERT_GT(sources().size(), 5U);
  for (const auto& [path, text] : sources()) {
    for (const auto& violation : check_file(rules(), path, text)) ADD_FAILURE() << violation;
  }
}

TEST(Architecture, JsonLibraryStaysInFewSourcesAndNoHeader) {
  std::vector<std::string> users;
  for (const auto& [path, text] : sources()) {
    if (!includes_library(text, "nlohmann")) continue;
    users.push_back(path);
    EXPECT_FALSE(path.ends_with(".h")) << path;
  }
  EXPECT_LE(users.size(), 5U) << testing::PrintToString(users);
}

// The checker itself must be able to fail.

TEST(IncludeRules, UpwardIncludeIsNamedWithItsLine) {
  EXPECT_THAT(check_file(rules(), "src/model/x.cpp",
                         "#include \"model/x.h\"\n\n  # include  \"cost/kernel_time.h\" // why\n"),
              ElementsAre("src/model/x.cpp:3: model may not include cost (cost/kernel_time.h)"));
}

TEST(IncludeRules, WhatANamedFloorMayIncludeComesAlong) {
  EXPECT_THAT(check_file(rules(), "src/report/x.cpp",
                         "#include \"hysim/units.h\"\n#include \"topology/cluster.h\"\n"
                         "#include \"model/transformer.h\"\n#include \"config/node.h\"\n"),
              IsEmpty());
  EXPECT_FALSE(check_file(rules(), "src/cost/x.cpp", "#include \"topology/cluster.h\"").empty());
  EXPECT_FALSE(check_file(rules(), "src/ops/x.cpp", "#include \"hardware/gpu.h\"").empty());
}

TEST(IncludeRules, PublicHeadersBelongToAFloor) {
  EXPECT_THAT(check_file(rules(), "src/units/text.cpp", "#include <hysim/errors.h>"),
              ElementsAre("src/units/text.cpp:1: units may not include config (hysim/errors.h)"));
  EXPECT_FALSE(check_file(rules(), "include/hysim/new.h", "").empty());
  EXPECT_FALSE(check_file(rules(), "src/new_floor/x.h", "").empty());
  EXPECT_FALSE(check_file(rules(), "src/units/text.cpp", "#include \"text.h\"").empty());
}

TEST(IncludeRules, PublicHeadersShowNoOtherLibraryAndNoInnerHeader) {
  for (const char* line :
       {"#include <nlohmann/json.hpp>", "#include <fmt/format.h>", "#include <tbb/parallel_for.h>",
        "#include <CLI/CLI.hpp>", "#include \"config/node.h\""}) {
    EXPECT_EQ(check_file(rules(), "include/hysim/resources.h", line).size(), 1U) << line;
  }
}

TEST(IncludeRules, LibrariesStayOnTheirFloors) {
  EXPECT_THAT(check_file(rules(), "src/cost/x.cpp", "#include <nlohmann/json.hpp>"),
              ElementsAre("src/cost/x.cpp:1: cost may not include <nlohmann/json.hpp>"));
  EXPECT_THAT(check_file(rules(), "src/config/x.cpp", "#include <nlohmann/json.hpp>"), IsEmpty());
  EXPECT_FALSE(check_file(rules(), "src/predict/x.cpp", "#include <tbb/task_group.h>").empty());
}

TEST(IncludeRules, OnlyTheCommandLineTouchesTheOutside) {
  for (const char* line :
       {"#include <iostream>", "#include <filesystem>", "#include <thread>", "#include <chrono>",
        "#include <fstream>", "  const char* p = std::getenv(\"X\");", "std::cout << 1;"}) {
    EXPECT_EQ(check_file(rules(), "src/config/x.cpp", line).size(), 1U) << line;
    EXPECT_THAT(check_file(rules(), "src/cli/x.cpp", line), IsEmpty()) << line;
  }
  EXPECT_THAT(check_file(rules(), "src/config/x.cpp",
                         "// not std::getenv\nstd::snprintf(b, 9, \"a \\\" printf\");\n"),
              IsEmpty());
}

TEST(IncludeRules, UnknownLinesOfTheListAreRefused) {
  EXPECT_THROW(parse_include_rules("units config\n"), std::runtime_error);
  EXPECT_THROW(parse_include_rules("config: untis\n"), std::runtime_error);
  EXPECT_THROW(parse_include_rules("units:\nprivate x.h: units\n"), std::runtime_error);
}

}  // namespace
}  // namespace hysim::test
