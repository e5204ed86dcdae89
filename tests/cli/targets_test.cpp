#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "cli/run_tool.hpp"
#include "support/temporary_directory.hpp"

namespace tilewright::testing {
namespace {

std::set<std::string> names(const nlohmann::json& list) { return list.get<std::set<std::string>>(); }

TEST(TargetsVerb, SaysWhichTargetsOfADeviceHaveBlockScaledFp4) {
  const auto gb10 = tilewright("targets --device gb10 --format json").json();
  EXPECT_EQ(gb10["schema"], "tilewright.targets/1");
  EXPECT_EQ(gb10["device_cc"], "12.1");
  EXPECT_EQ(names(gb10["native_fp4"]), (std::set<std::string>{"121a", "120f", "121f"}));
  const auto card = tilewright("targets --device-cc 12.0 --format json").json();
  EXPECT_EQ(names(card["native_fp4"]), (std::set<std::string>{"120a", "120f"}));
  EXPECT_EQ(card["recommended"], "sm_120f");
  for (const auto& target : card["targets"]) {
    if (target["target"] == "sm_121") {
      EXPECT_FALSE(target["loads"]) << target;
    }
  }
}

TEST(TargetsVerb, ExitsWith4AndTheSuffixesThatAnInstructionNeedsWhereATargetCannotHoldIt) {
  const ToolRun refused = tilewright("targets --instr mma.block_scale --target sm_120");
  EXPECT_EQ(refused.exit, 4);
  EXPECT_NE(refused.out.find("it needs 120f or 120a"), std::string::npos) << refused.out;
  const ToolRun older = tilewright("targets --instr cvt.e2m1x2 --target sm_121");
  EXPECT_NE(older.out.find("it needs 120f, 121f or 121a"), std::string::npos) << older.out;
  const ToolRun accepted = tilewright("targets --instr cvt.e2m1x2 --target sm_121a --format json");
  EXPECT_EQ(accepted.exit, 0);
  EXPECT_TRUE(accepted.json()["accepted"]);
}

TEST(TargetsVerb, ListsTheWholeTableWithoutArguments) {
  const auto table = tilewright("targets --format json").json()["instructions"];
  EXPECT_GE(table.size(), 20U);
  const auto wgmma = std::find_if(table.begin(), table.end(), [](const auto& row) { return row["name"] == "wgmma"; });
  ASSERT_NE(wgmma, table.end());
  EXPECT_EQ((*wgmma)["targets"], nlohmann::json::array({"90a"}));
}

TEST(TargetsVerb, NamesWhatIsWrongWithAnArgument) {
  EXPECT_EQ(tilewright("targets --device-cc 12.7").exit, 2);
  EXPECT_EQ(tilewright("targets --instr fma.fp2").exit, 1);
  EXPECT_EQ(tilewright("targets --target sm_120").exit, 2);
  EXPECT_EQ(tilewright("targets --device h100 --device-cc 9.0").exit, 2);
  EXPECT_EQ(tilewright("targets --device-cc 12.7").error_lines(), 1);
}

// A folder with an nvcc and a ptxas that answer as a toolkit of that version does.
std::string fake_toolkit(const TemporaryDirectory& folder, const std::string& name, const std::string& nvcc,
                         const std::string& ptxas, const std::string& targets) {
  const std::filesystem::path bin = folder.path() / name / "bin";
  std::filesystem::create_directories(bin);
  const auto script = [&](const char* program, const std::string& release) {
    const std::string file = (bin / program).string();
    std::ofstream(file) << "#!/bin/sh\ncase $1 in\n--version) echo 'Cuda compilation tools, release x, V" + release +
                               "' ;;\n--list-gpu-code) echo '" + targets + "' | tr ' ' '\\n' ;;\nesac\n";
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  };
  script("nvcc", nvcc);
  script("ptxas", ptxas);
  return bin.string();
}

class Doctor : public ::testing::Test {
 protected:
  void SetUp() override { path_ = std::getenv("PATH"); }
  void TearDown() override {
    setenv("PATH", path_.c_str(), 1);
    unsetenv("CUDA_HOME");
  }

  TemporaryDirectory folder_;
  std::string path_;
};

const nlohmann::json* toolkit(const nlohmann::json& doctor, const std::string& nvcc) {
  for (const auto& row : doctor["toolkits"]) {
    if (row["nvcc"] == nvcc) return &row;
  }
  return nullptr;
}

bool finds(const nlohmann::json& doctor, const std::string& text) {
  return std::any_of(doctor["findings"].begin(), doctor["findings"].end(), [&](const auto& line) {
    return line.template get<std::string>().find(text) != std::string::npos;
  });
}

TEST_F(Doctor, SaysThatPathPicksAnNvccTooOldForFp4AlthoughANewerOneIsInstalled) {
  const std::string old_bin = fake_toolkit(folder_, "old", "11.5.119", "11.5.119", "sm_80 sm_86");
  const std::string new_bin = fake_toolkit(folder_, "new", "12.9.41", "12.9.41", "sm_80 sm_90 sm_100 sm_120");
  setenv("PATH", (old_bin + ":" + path_).c_str(), 1);
  setenv("CUDA_HOME", (folder_.path() / "new").c_str(), 1);
  const auto doctor = tilewright("info --doctor --format json").json()["doctor"];
  const auto* old_row = toolkit(doctor, old_bin + "/nvcc");
  const auto* new_row = toolkit(doctor, new_bin + "/nvcc");
  ASSERT_NE(old_row, nullptr);
  ASSERT_NE(new_row, nullptr);
  EXPECT_TRUE((*old_row)["chosen"]);
  EXPECT_EQ((*old_row)["targets"], nlohmann::json::array({"80", "86"}));
  EXPECT_FALSE((*new_row)["chosen"]);
  EXPECT_EQ((*new_row)["found"], "CUDA_HOME");
  EXPECT_EQ((*new_row)["targets"],
            nlohmann::json::array({"80", "90", "90a", "100", "100f", "100a", "120", "120f", "120a"}));
  EXPECT_TRUE(finds(doctor, "a newer toolkit is installed")) << doctor["findings"];
  EXPECT_TRUE(finds(doctor, "older than 12.8")) << doctor["findings"];
}

TEST_F(Doctor, SaysThatTwoToolkitsAreMixedWhereNvccAndPtxasDiffer) {
  const std::string bin = fake_toolkit(folder_, "mixed", "12.8.93", "12.4.131", "sm_80 sm_120");
  setenv("PATH", (bin + ":" + path_).c_str(), 1);
  const auto doctor = tilewright("info --doctor --format json").json()["doctor"];
  EXPECT_TRUE(finds(doctor, "two toolkits are mixed")) << doctor["findings"];
  EXPECT_EQ((*toolkit(doctor, bin + "/nvcc"))["targets"], nlohmann::json::array({"80", "120", "120a"}));
}

TEST_F(Doctor, TellsWhatThisBuildHoldsAndThatNoDriverAnswersWhereNoneDoes) {
  const auto doctor = tilewright("info --doctor --format json").json()["doctor"];
  EXPECT_EQ(doctor["build"]["backends"][0], "cpu");
  EXPECT_FALSE(doctor["build"]["runs_here"].empty());
  const bool answers = !doctor["driver"]["devices"].empty();
  EXPECT_NE(answers, doctor["driver"].contains("absent")) << doctor["driver"];
  const std::string text = tilewright("info --doctor").out;
  for (const char* heading : {"CUDA driver", "This build", "Findings"}) {
    EXPECT_NE(text.find(heading), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace tilewright::testing
