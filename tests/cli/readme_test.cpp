// What README.md shows of the tool's output is what the tool prints.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cli/run_tool.hpp"

namespace tilewright::testing {
namespace {

struct Shown {
  std::string arguments;
  std::vector<std::string> lines;  ///< "..." stands for any lines
};

// The fenced blocks of the page that start with "$ tilewright plan".
std::vector<Shown> shown_plans(const std::string& page) {
  const std::string prompt = "$ tilewright ";
  std::ifstream in(page);
  std::vector<Shown> found;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("```", 0) == 0) {
      inside = false;
    } else if (line.rfind(prompt + "plan", 0) == 0) {
      found.push_back({line.substr(prompt.size()), {}});
      inside = true;
    } else if (inside) {
      found.back().lines.push_back(line);
    }
  }
  return found;
}

TEST(Readme, ShowsPlansAsTheToolPrintsThem) {
  const auto plans = shown_plans(TILEWRIGHT_SOURCE_DIR "/README.md");
  ASSERT_FALSE(plans.empty());
  for (const Shown& shown : plans) {
    const ToolRun run = tilewright(shown.arguments);
    ASSERT_EQ(run.exit, 0) << run.err;
    std::istringstream out(run.out);
    bool anything = false;  // after "...", lines may be left out
    for (const std::string& wanted : shown.lines) {
      if (wanted == "...") {
        anything = true;
        continue;
      }
      std::string line;
      do {
        ASSERT_TRUE(std::getline(out, line)) << "README.md shows a line that the tool does not print: " << wanted;
      } while (anything && line != wanted);
      EXPECT_EQ(line, wanted);
      anything = false;
    }
  }
}

}  // namespace
}  // namespace tilewright::testing
