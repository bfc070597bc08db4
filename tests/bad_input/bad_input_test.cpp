// Every faulty file of this folder through the program: exit code, streams, and what is said where.
// expected.json has one entry a file:
//   file       the faulty file. A scenario is predicted; the others are named by good.json, which
//              has no fault: a model, GPU or kernel by --profile, a cluster or stack by --set.
//              One of megatron/ is imported.
//   command    "predict", or of megatron/ "import", unless given
//   arguments  put after the file
//   case       names the entry where several use one file
//   faults     one line of standard error each: the file (the entry's unless given), line:column
//              (none: the whole document or an option), JSON pointer, and what the message holds
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

#include "test_paths.h"
#include "unit/cli/temporary_folder.h"

namespace hysim::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::IsEmpty;

const char* const kFolder = HYSIM_TEST_DATA "/bad_input";

struct Fault {
  std::string place;  // "file:line:column (/pointer): "
  std::vector<std::string> says;
};

struct Case {
  std::string name;
  std::string command;
  std::vector<std::string> arguments;
  std::string file;
  std::vector<Fault> faults;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.file; }

std::string text_of(const json& node, const char* key) { return node.value(key, std::string()); }

Fault read_fault(const json& node, const std::string& file) {
  Fault fault;
  fault.place = node.value("file", file);
  if (node.contains("at")) fault.place += ":" + text_of(node, "at");
  if (node.contains("pointer")) fault.place += " (" + text_of(node, "pointer") + ")";
  fault.place += ": ";
  fault.says = node.at("says").get<std::vector<std::string>>();
  return fault;
}

/// How the program is made to read the file.
std::vector<std::string> arguments_for(const std::string& file) {
  const std::string folder = fs::path(file).parent_path().string();
  const std::string stem = fs::path(file).stem().string();
  if (folder == "models") return {"good.json", "--profile", file, "--set", "model=" + stem};
  if (folder == "gpus") {
    return {"good.json", "--profile", file, "--set", "cluster=" + stem + ":64x8"};
  }
  if (folder == "clusters") return {"good.json", "--set", "cluster=" + file};
  if (folder == "kernels") return {"good.json", "--profile", file, "--set", "kernels.topk=mine"};
  if (folder == "megatron") return {"megatron", file, "--cluster", "h100-sxm-80:1x8"};
  if (folder == "stacks") return {"good.json", "--set", "training.stack=" + file};
  return {file};
}

Case read_case(const json& node) {
  Case c;
  c.file = text_of(node, "file");
  const bool imported = fs::path(c.file).parent_path() == "megatron";
  c.command = node.value("command", imported ? "import" : "predict");
  c.arguments = arguments_for(c.file);
  for (const json& argument : node.value("arguments", json::array())) {
    c.arguments.push_back(argument.get<std::string>());
  }
  for (const json& fault : node.at("faults")) c.faults.push_back(read_fault(fault, c.file));
  c.name = node.value("case", c.file);
  for (char& letter : c.name) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  }
  return c;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> value = [] {
    std::vector<Case> list;
    std::ifstream in(std::string(kFolder) + "/expected.json");
    for (const json& node : json::parse(in)) list.push_back(read_case(node));
    return list;
  }();
  return value;
}

struct Outcome {
  int code = -1;
  std::string out;
  std::vector<std::string> errors;  // lines of standard error
};

class Program {
 public:
  Outcome run(const std::string& command, const std::vector<std::string>& arguments) const {
    std::string line = "cd '" + std::string(kFolder) + "' && unset HYSIM_PATH NO_COLOR && '" +
                       HYSIM_BINARY + "' " + command;
    for (const std::string& argument : arguments) line += " '" + argument + "'";
    line += " --json '" + folder_.path("out.json") + "' >'" + folder_.path("out") + "' 2>'" +
            folder_.path("err") + "'";
    const int status = std::system(line.c_str());
    Outcome outcome;
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    outcome.out = folder_.read("out");
    std::istringstream lines(folder_.read("err"));
    for (std::string text; std::getline(lines, text);) outcome.errors.push_back(text);
    return outcome;
  }
  /// Whether an output, or a part of one, is there.
  bool wrote_output() const { return folder_.entries() != 2; }  // beyond the two streams

 private:
  cli::test::TemporaryFolder folder_;
};

bool tells(const std::string& line, const Fault& fault) {
  const std::string begin = "hysim: error: " + fault.place;
  if (line.compare(0, begin.size(), begin) != 0) return false;
  return std::all_of(fault.says.begin(), fault.says.end(), [&](const std::string& text) {
    return line.find(text, begin.size()) != std::string::npos;
  });
}

class BadInput : public testing::TestWithParam<Case> {};

TEST_P(BadInput, IsRefusedWithItsPlace) {
  const Case& c = GetParam();
  const Program program;
  const Outcome outcome = program.run(c.command, c.arguments);
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_FALSE(program.wrote_output());
  ASSERT_FALSE(c.faults.empty());
  EXPECT_EQ(outcome.errors.size(), c.faults.size());
  std::vector<std::string> untold = outcome.errors;
  for (const Fault& fault : c.faults) {
    const auto line = std::find_if(untold.begin(), untold.end(), [&](const std::string& candidate) {
      return tells(candidate, fault);
    });
    if (line == untold.end()) {
      ADD_FAILURE() << "nothing is said of " << fault.place << testing::PrintToString(fault.says);
    } else {
      untold.erase(line);
    }
  }
  if (HasFailure()) {
    for (const std::string& line : outcome.errors) std::printf("stderr: %s\n", line.c_str());
  }
}

INSTANTIATE_TEST_SUITE_P(Files, BadInput, testing::ValuesIn(cases()),
                         [](const auto& given) { return given.param.name; });

TEST(BadInputFolder, TheFileWithoutFaultsIsAnswered) {
  const Program program;
  for (const char* command : {"predict", "compare"}) {
    const Outcome outcome = program.run(command, {"good.json", "--draws", "0"});
    EXPECT_EQ(outcome.code, 0) << testing::PrintToString(outcome.errors);
    EXPECT_TRUE(program.wrote_output());
  }
}

TEST(BadInputFolder, TheArgumentsWithoutFaultsAreImported) {
  const Program program;
  for (const char* file : {"good.sh", "good.yaml"}) {
    const Outcome outcome =
        program.run("import", {"megatron", file, "--cluster", "h100-sxm-80:1x8"});
    EXPECT_EQ(outcome.code, 0) << testing::PrintToString(outcome.errors);
    EXPECT_TRUE(program.wrote_output());
  }
}

TEST(BadInputFolder, EveryFileIsInTheTable) {
  std::set<std::string> known;
  for (const Case& c : cases()) known.insert(c.file);
  EXPECT_GE(cases().size(), 60U);
  int files = 0;
  for (const char* folder :
       {"scenarios", "models", "gpus", "clusters", "stacks", "kernels", "megatron"}) {
    for (const auto& entry : fs::directory_iterator(fs::path(kFolder) / folder)) {
      const std::string name = std::string(folder) + "/" + entry.path().filename().string();
      EXPECT_EQ(known.count(name), 1U) << name;
      ++files;
    }
  }
  EXPECT_GE(files, 60);
}

/// What is not named after "faults" would never be checked.
TEST(BadInputFolder, TheTableHasKnownKeysOnly) {
  std::ifstream in(std::string(kFolder) + "/expected.json");
  const std::set<std::string> of_case = {"file", "command", "arguments", "case", "faults"};
  const std::set<std::string> of_fault = {"file", "at", "pointer", "says"};
  for (const json& node : json::parse(in)) {
    for (const auto& [key, value] : node.items()) EXPECT_EQ(of_case.count(key), 1U) << key;
    for (const json& fault : node.at("faults")) {
      for (const auto& [key, value] : fault.items()) EXPECT_EQ(of_fault.count(key), 1U) << key;
      EXPECT_FALSE(fault.at("says").empty());
      for (const json& text : fault.at("says")) EXPECT_FALSE(text.get<std::string>().empty());
    }
  }
}

}  // namespace
}  // namespace hysim::test
