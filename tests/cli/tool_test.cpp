// What every verb has in common.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "cli/run_tool.hpp"

namespace tilewright::testing {
namespace {

std::vector<std::string> verbs() {
  // The verbs as the tool itself lists them, so that a new one is covered without a change here.
  const std::string error = tilewright("no-such-verb").err;
  const std::string marker = "the verbs are ";
  std::string list = error.substr(error.find(marker) + marker.size());
  list.erase(list.find_last_not_of('\n') + 1);
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t comma = std::min(list.find(", ", begin), list.size());
    names.push_back(list.substr(begin, comma - begin));
    begin = comma + 2;
  }
  return names;
}

TEST(Tool, WithoutAVerbPrintsHelpOnStderrAndExitsWithUsage) {
  const ToolRun run = tilewright("");
  EXPECT_EQ(run.exit, 2);
  EXPECT_TRUE(run.out.empty());
  EXPECT_NE(run.err.find("Usage: tilewright"), std::string::npos) << run.err;
}

TEST(Tool, AnUnknownVerbIsOneLineThatListsTheVerbs) {
  const ToolRun run = tilewright("launch");
  EXPECT_EQ(run.exit, 2);
  EXPECT_EQ(run.error_lines(), 1) << run.err;
  EXPECT_NE(run.err.find("launch"), std::string::npos);
  EXPECT_NE(run.err.find("plan"), std::string::npos);
}

TEST(Tool, VersionGoesToStdout) {
  const ToolRun run = tilewright("--version");
  EXPECT_EQ(run.exit, 0);
  EXPECT_EQ(run.out, "tilewright " TILEWRIGHT_VERSION "\n");
}

TEST(Tool, HelpListsExactlyTheVerbsThatExist) {
  const ToolRun run = tilewright("--help");
  EXPECT_EQ(run.exit, 0);
  ASSERT_FALSE(verbs().empty());
  for (const std::string& verb : verbs()) EXPECT_NE(run.out.find("\n  " + verb + " "), std::string::npos) << verb;
}

TEST(Tool, EveryVerbHasHelpWithAnExample) {
  for (const std::string& verb : verbs()) {
    const ToolRun run = tilewright(verb + " --help");
    EXPECT_EQ(run.exit, 0) << verb;
    EXPECT_TRUE(run.err.empty()) << verb;
    EXPECT_NE(run.out.find("Examples:\n  tilewright " + verb), std::string::npos) << run.out;
    EXPECT_NE(run.out.find("--format"), std::string::npos) << verb;
  }
}

TEST(Tool, HelpFitsOn120Columns) {
  for (const std::string& verb : verbs()) {
    const std::string text = tilewright(verb + " --help").out;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      EXPECT_LE(end - begin, 120U) << verb << ": " << text.substr(begin, end - begin);
      begin = end + 1;
    }
  }
}

TEST(Tool, EveryVerbRefusesAnUnknownFormatAndAnUnknownOption) {
  for (const std::string& verb : verbs()) {
    for (const std::string mistake : {"--format xml", "--no-such-option"}) {
      const ToolRun run = tilewright(verb + " " + mistake);
      EXPECT_EQ(run.exit, 2) << verb << " " << mistake;
      EXPECT_EQ(run.error_lines(), 1) << run.err;
      EXPECT_NE(run.err.find("tilewright " + verb + ": error: "), std::string::npos) << run.err;
      EXPECT_TRUE(run.out.empty()) << run.out;
    }
  }
}

TEST(Tool, OnlyVerbsWithAPageHaveHtmlAndTheOthersSayWhichTheyAre) {
  for (const std::string& verb : verbs()) {
    const bool page = verb == "plan" || verb == "bench" || verb == "regret";
    const std::string help = tilewright(verb + " --help").out;
    EXPECT_EQ(help.find("html") != std::string::npos, page) << verb;
    // A page of plan or bench needs a model, one of regret this GPU; the others have none.
    const ToolRun run = tilewright(verb + (verb == "regret" ? " --device h200" : "") + " --format html");
    EXPECT_EQ(run.exit, 2) << verb;
    EXPECT_EQ(run.err.find("'html' is a format of plan, bench and regret, not of " + verb) == std::string::npos, page)
        << run.err;
    EXPECT_EQ(run.error_lines(), 1) << run.err;
    EXPECT_TRUE(run.out.empty()) << run.out;
  }
}

TEST(Tool, AFullDiskIsAnErrorNotSilence) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const ToolRun run = tilewright("info --format json >/dev/full");
  EXPECT_EQ(run.exit, 1);
  EXPECT_NE(run.err.find("stdout"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace tilewright::testing
