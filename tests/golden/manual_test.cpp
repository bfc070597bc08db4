// The manual page and the shells' completion name every command and option that --help names.
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "golden/program.h"

namespace hysim::test {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// "--json", "--set", ...: options at the beginning of a line of --help.
std::set<std::string> options_in(const std::string& help) {
  std::set<std::string> options;
  const std::regex option("\n  (?:-[a-z],)?(--[a-z-]+)");
  for (std::sregex_iterator at(help.begin(), help.end(), option), end; at != end; ++at) {
    options.insert((*at)[1]);
  }
  return options;
}

/// The page as a reader sees it, without the breaks of lines.
std::string page_text(const Program& program) {
  std::string page = program.run("__man").out;
  for (const char* escape : {"\\fB", "\\fI", "\\fR"}) {
    for (auto at = page.find(escape); at != std::string::npos; at = page.find(escape)) {
      page.erase(at, 3);
    }
  }
  for (auto at = page.find("\\-"); at != std::string::npos; at = page.find("\\-")) {
    page.erase(at, 1);
  }
  return page;
}

std::vector<std::string> completions(const Program& program, const std::string& words) {
  return lines_of(program.run("__complete " + words).out);
}

TEST(Manual, HasEveryCommandAndOption) {
  const Program program;
  const std::string page = page_text(program);
  const std::vector<std::string> commands = completions(program, "''");
  EXPECT_GE(commands.size(), 6U);
  const std::string help = program.run("--help").out;
  for (const std::string& command : commands) {
    EXPECT_THAT(help, HasSubstr("\n  " + command + " "));
    const auto begin = page.find("\n.SS hysim " + command + " ");
    ASSERT_NE(begin, std::string::npos) << command;
    const std::string section = page.substr(begin, page.find("\n.S", begin + 1) - begin);
    const std::set<std::string> options = options_in(program.run(command + " --help").out);
    EXPECT_FALSE(options.empty()) << command;
    for (const std::string& option : options) {
      EXPECT_THAT(section, testing::ContainsRegex("\n(-[a-z], )?" + option + "[ \n]")) << command;
      EXPECT_THAT(completions(program, command + " --"), Contains(option)) << command;
    }
  }
}

TEST(Manual, IsFormattedWithoutAWarning) {
  const Program program;
  if (program.shell("command -v groff").code != 0) GTEST_SKIP() << "groff is not installed";
  const Outcome outcome = program.shell("\"$HYSIM\" __man | groff -ww -man -Tutf8 -rLL=80n");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(outcome.out, HasSubstr("separated by colons"));
}

TEST(Completion, KnowsWhatMayFollow) {
  const Program program;
  EXPECT_THAT(completions(program, "pred"), ElementsAre("predict"));
  EXPECT_THAT(completions(program, "predict glm-5.1-1m"), Contains("glm-5.1-1m-h20-512"));
  EXPECT_THAT(completions(program, "compare"), ElementsAre("compare"));
  EXPECT_THAT(completions(program, "predict glm-5.1-1m-h20-512 --variant hy"),
              ElementsAre("hyscale"));
  EXPECT_THAT(completions(program, "predict glm-5.1-1m-h20-512 --variant=hy"),
              ElementsAre("--variant=hyscale"));
  EXPECT_THAT(completions(program, "list cl"), ElementsAre("clusters"));
  EXPECT_THAT(completions(program, "show h20"), Contains("h20-96"));
  EXPECT_THAT(completions(program, "schema pred"), ElementsAre("prediction"));
  EXPECT_THAT(completions(program, "predict --color a"), ElementsAre("auto", "always"));
  EXPECT_THAT(completions(program, "predict --set kernels.topk"), ElementsAre("kernels.topk="));
  EXPECT_THAT(completions(program, "predict --json out"), ElementsAre(":files"));
  EXPECT_THAT(completions(program, "predict no-such-scenario --variant ''"), IsEmpty());
  EXPECT_THAT(completions(program, "nothing x"), IsEmpty());
  EXPECT_THAT(completions(program, "predict -q --co"), Each(StartsWith("--co")));
}

/// Bash completes a line as it would at the prompt.
TEST(Completion, WorksInBash) {
  const Program program;
  program.folder().write("complete.sh", R"(
source <("$HYSIM" completion bash)
hysim() { "$HYSIM" "$@"; }
compopt() { :; }  # needs a completion that readline has begun
complete_words() {
  COMP_WORDS=("$@")
  COMP_CWORD=$(($# - 1))
  _hysim
  printf '%s ' "${COMPREPLY[@]}"
}
complete -p hysim
complete_words hysim com
complete_words hysim predict glm-5.1-1m-h20-512 --variant = hys
complete_words hysim compare ./comp
)");
  const Outcome outcome = program.shell("bash complete.sh");
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_EQ(outcome.out, "complete -F _hysim hysim\ncompare completion hyscale ./complete.sh ");
}

TEST(Completion, IsPrintedForThreeShells) {
  const Program program;
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Outcome outcome = program.run(std::string("completion ") + shell);
    EXPECT_EQ(outcome.code, 0);
    EXPECT_THAT(outcome.out, HasSubstr("__complete"));
    if (program.shell(std::string("command -v ") + shell).code != 0) continue;
    const Outcome parsed =
        program.shell("\"$HYSIM\" completion " + std::string(shell) + " | " + shell + " -n");
    EXPECT_EQ(parsed.code, 0) << shell << ": " << parsed.err;
  }
  EXPECT_EQ(program.run("completion tcsh").code, 2);
  EXPECT_THAT(program.run("--help").out, Not(HasSubstr("__")));
}

}  // namespace
}  // namespace hysim::test
