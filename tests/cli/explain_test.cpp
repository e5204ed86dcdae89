// tilewright explain --cutlass, as a user runs it.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "cli/run_tool.hpp"
#include "support/temporary_directory.hpp"

namespace tilewright::testing {
namespace {

using nlohmann::json;

const std::string kFailing = "explain --cutlass --arch sm_120 --grouped --tile 128x256x128 --epilogue finalize";

TEST(Explain, SaysThatTheReportedKernelDoesNotFitAndByHowMuch) {
  const ToolRun run = tilewright(kFailing + " --format json");
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_TRUE(run.err.empty()) << run.err;
  const json document = run.json();
  EXPECT_EQ(document["schema"], "tilewright.explain/1");
  for (const char* field : {"requested", "resolved", "storage", "reserved_bytes", "total", "limit", "fits",
                            "over_bytes", "remedies", "error", "steps"}) {
    EXPECT_TRUE(document.contains(field)) << field;
  }
  for (const char* field : {"policy", "schedule", "stages", "epilogue_tile", "stages_c", "stages_d"}) {
    EXPECT_TRUE(document["resolved"].contains(field)) << field;
  }
  EXPECT_EQ(document["total"], 102400);
  EXPECT_EQ(document["over_bytes"], 1024);
  EXPECT_EQ(document["fits"], false);
  EXPECT_EQ(document["resolved"]["stages"], 3);
  EXPECT_FALSE(document["remedies"].empty());
  for (const json& remedy : document["remedies"]) {
    EXPECT_EQ(remedy["fits"], true) << remedy.dump();
    EXPECT_LE(remedy["total"], 101376) << remedy.dump();
  }
}

TEST(Explain, PrintsTheGoldenFile) {
  std::ifstream golden(std::string(TILEWRIGHT_TEST_DATA) + "/cutlass/explain_overflow.txt", std::ios::binary);
  EXPECT_EQ(tilewright(kFailing).out, std::string(std::istreambuf_iterator<char>(golden), {}));
}

TEST(Explain, TakesADeviceAndFlashInfersNameOfTheTile) {
  const ToolRun run = tilewright(
      "explain --cutlass --device gb10 --grouped --tile CtaShape128x256x64B --epilogue finalize "
      "--format json");
  EXPECT_EQ(run.exit, 0) << run.err;
  const json document = run.json();
  EXPECT_EQ(document["requested"]["arch"], "sm_121");
  EXPECT_EQ(document["requested"]["tile"], "128x256x128");
  EXPECT_EQ(document["total"], 102400);
  EXPECT_EQ(document["flashinfer"]["candidate"], "CtaShape128x256x64B");
}

TEST(Explain, PrintsWhatTheDocumentationShows) {
  std::ifstream page(TILEWRIGHT_SOURCE_DIR "/docs/cutlass.md");
  const std::string text(std::istreambuf_iterator<char>(page), {});
  const std::string prompt = "$ tilewright ";
  const std::size_t begin = text.find(prompt);
  ASSERT_NE(begin, std::string::npos);
  const std::size_t end_of_command = text.find('\n', begin);
  const std::size_t end = text.find("```", end_of_command);
  const ToolRun run = tilewright(text.substr(begin + prompt.size(), end_of_command - begin - prompt.size()));
  EXPECT_EQ(run.out, text.substr(end_of_command + 1, end - end_of_command - 1));
}

struct Asked {
  const char* options;
  int stages;
  int total;
};

void PrintTo(const Asked& asked, std::ostream* out) { *out << asked.options; }

class ExplainOptions : public ::testing::TestWithParam<Asked> {};

TEST_P(ExplainOptions, ReachTheBuilder) {
  const ToolRun run =
      tilewright(std::string("explain --cutlass --arch sm_120 --grouped --format json ") + GetParam().options);
  ASSERT_EQ(run.exit, 0) << run.err;
  const json document = run.json();
  EXPECT_EQ(document["resolved"]["stages"], GetParam().stages);
  EXPECT_EQ(document["total"], GetParam().total);
}

// Compiled values: the table of SM120's grouped NVFP4 kernels, and its explicit stage counts.
INSTANTIATE_TEST_SUITE_P(
    All, ExplainOptions,
    ::testing::Values(Asked{"--tile 128x128x128", 4, 89088}, Asked{"--tile 128x256x128", 3, 98304},
                      Asked{"--tile 128x256x128 --epilogue finalize --swap-ab", 2, 74752},
                      Asked{"--tile 128x256x128 --epilogue finalize --c void", 3, 94208},
                      Asked{"--tile 128x256x128 --epilogue finalize --epilogue-tile 64x16", 3, 94208},
                      Asked{"--tile 128x256x128 --epilogue finalize --stages 2", 2, 74752},
                      Asked{"--tile 128x256x128 --epilogue finalize --stages carveout:18432", 2, 74752},
                      Asked{"--tile 128x256x128 --epilogue finalize --schedule pingpong", 3, 102400},
                      Asked{"--tile 256x128x128 --epilogue finalize --schedule cooperative", 3, 102400},
                      Asked{"--tile 128x128x128 --stages 5", 5, 107520},
                      Asked{"--tile 128x128x128 --stages no-carveout", 5, 107520},
                      Asked{"--tile 128x128x128 --epilogue scale-factor --schedule pingpong", 4, 87040},
                      Asked{"--tile 128x128x128 --c void", 4, 84992},
                      Asked{"--tile 128x128x128 --c void --out f32", 4, 93184},
                      Asked{"--tile 128x128x128 --dtype mxfp4", 4, 84992},
                      Asked{"--tile 128x128x128 --dtype mxfp4 --cutlass-version 4.4.1", 5, 102400},
                      Asked{"--tile 128x128x128 --dtype mxfp8xmxfp4", 2, 82944}));

TEST(Explain, PutsArchitecturesSideBySide) {
  const ToolRun run = tilewright(
      "explain --cutlass --compare sm_100,sm_120 --grouped --tile 128x256x128 --epilogue finalize --format json");
  EXPECT_EQ(run.exit, 0) << run.err;
  const json document = run.json();
  ASSERT_EQ(document["compare"].size(), 2U);
  EXPECT_EQ(document["compare"][0]["fits"], true);
  EXPECT_EQ(document["compare"][1]["fits"], false);
  EXPECT_FALSE(document["why"].empty());
}

TEST(Explain, EmitsTheFirstRemedyOrTheOneThatIsAskedFor) {
  const ToolRun first = tilewright(kFailing + " --emit");
  EXPECT_EQ(first.exit, 0) << first.err;
  EXPECT_NE(first.out.find("struct Gemm {"), std::string::npos) << first.out;
  const std::size_t remedies = tilewright(kFailing + " --format json").json()["remedies"].size();
  ASSERT_GE(remedies, 2U);
  const ToolRun second = tilewright(kFailing + " --emit --remedy 2");
  EXPECT_EQ(second.exit, 0) << second.err;
  EXPECT_NE(first.out, second.out);
  const ToolRun beyond = tilewright(kFailing + " --emit --remedy " + std::to_string(remedies + 1));
  EXPECT_EQ(beyond.exit, 2) << beyond.err;
  EXPECT_NE(beyond.err.find("there are " + std::to_string(remedies)), std::string::npos) << beyond.err;
}

TEST(Explain, ExplainsAKernelWithItsRemedy) {
  const json document = tilewright(kFailing + " --remedy 1 --format json").json();
  EXPECT_EQ(document["fits"], true);
  EXPECT_TRUE(document["remedies"].empty());
}

TEST(Explain, DoesNotCallAssumedWhatTheRemedyChanged) {
  const auto assumed = [](const json& document) {
    std::string parts;
    for (const json& each : document["defaults"]) parts += each["what"].get<std::string>() + " ";
    return parts;
  };
  EXPECT_EQ(assumed(tilewright(kFailing + " --format json").json()), "C schedule epilogue schedule ");
  EXPECT_EQ(assumed(tilewright(kFailing + " --remedy 2 --format json").json()), "schedule epilogue schedule ");
}

TEST(Explain, ABuildErrorIsAnAnswer) {
  const ToolRun run = tilewright("explain --cutlass --arch sm_90 --grouped --tile 128x128x128 --format json");
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_EQ(run.json()["error"]["rule"], "no_builder");
}

TEST(Explain, SaysByHowMuchAKernelExceedsACapacityThatItsBodyAsserts) {
  const ToolRun run = tilewright("explain --cutlass --arch sm_100 --tile 128x128x256 --stages 8 --schedule 1sm");
  for (const char* said : {"[smem_capacity]", "312,320 B of shared memory", "79,872 B over the 232,448 B of a block"}) {
    EXPECT_NE(run.out.find(said), std::string::npos) << run.out;
  }
}

TEST(Explain, FillsTheRowsOfABatch) {
  const TemporaryDirectory folder;
  const std::string rows =
      folder.write("rows.csv",
                   "arch,kind,dtypeA,dtypeB,sf,dtypeC,dtypeD,tileM,tileN,tileK,clusterM,clusterN,requested_schedule\n"
                   "sm120,grouped,nvfp4,nvfp4,ue4m3/16,bf16,bf16,128,128,128,1,1,Auto|epi=Auto\n"
                   "sm120,grouped,nvfp4,nvfp4,ue4m3/16,bf16,bf16,256,128,256,1,1,Auto|epi=Auto\n");
  const ToolRun run = tilewright("explain --cutlass --batch " + rows + " --format csv");
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_NE(run.out.find(",4,64x32,3,2,73728,12800,89088,101376,true,ok\n"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("101376,false,error: stages_below_2\n"), std::string::npos) << run.out;
}

TEST(Explain, EveryFormatPrints) {
  for (const std::string format : {"text", "md", "json", "dot"}) {
    const ToolRun run = tilewright(kFailing + " --format " + format);
    EXPECT_EQ(run.exit, 0) << format << ": " << run.err;
    EXPECT_FALSE(run.out.empty()) << format;
  }
}

struct Mistake {
  const char* arguments;
  int exit;
  const char* names;  // what the error line must name
};

void PrintTo(const Mistake& mistake, std::ostream* out) { *out << "explain " << mistake.arguments; }

class ExplainMistakes : public ::testing::TestWithParam<Mistake> {};

TEST_P(ExplainMistakes, AreOneLineThatNamesTheCause) {
  const ToolRun run = tilewright(std::string("explain ") + GetParam().arguments);
  EXPECT_EQ(run.exit, GetParam().exit) << run.err;
  EXPECT_TRUE(run.out.empty()) << run.out;
  EXPECT_EQ(run.error_lines(), 1) << run.err;
  EXPECT_NE(run.err.find(GetParam().names), std::string::npos) << run.err;
}

INSTANTIATE_TEST_SUITE_P(
    All, ExplainMistakes,
    ::testing::Values(Mistake{"--arch sm_120 --tile 128x128x128", 2, "plan --why-not"},
                      Mistake{"--cutlass", 2, "no architecture"}, Mistake{"--cutlass --arch sm_120", 2, "--tile"},
                      Mistake{"--cutlass --arch sm_120 --device gb10 --tile 128x128x128", 2, "both"},
                      Mistake{"--cutlass --arch sm_77 --tile 128x128x128", 1, "sm_77"},
                      Mistake{"--cutlass --device rtx-9090 --tile 128x128x128", 1, "rtx-9090"},
                      Mistake{"--cutlass --arch sm_120 --tile 128x128", 2, "128x128"},
                      Mistake{"--cutlass --arch sm_120 --tile 128x128x128x", 2, "128x128x128x"},
                      Mistake{"--cutlass --arch sm_120 --tile 128x-1x128", 2, "128x-1x128"},
                      Mistake{"--cutlass --arch sm_120 --tile 128x128x99999999999", 2, "99999999999"},
                      Mistake{"--cutlass --arch sm_120 --tile 128x128x128 --dtype int8", 2, "int8"},
                      Mistake{"--cutlass --arch sm_120 --tile 128x128x128 --cluster 2", 2, "--cluster"},
                      Mistake{"--cutlass --arch sm_120 --tile 128x128x128 --epilogue relu", 2, "relu"},
                      Mistake{"--cutlass --arch sm_120 --tile 128x128x128 --epilogue-tile 64", 2, "--epilogue-tile"},
                      Mistake{"--cutlass --arch sm_120 --tile 128x128x128 --schedule KernelTmaPingpong", 2,
                              "KernelTmaPingpong"},
                      Mistake{"--cutlass --arch sm_120 --tile 128x128x128 --stages many", 2, "many"},
                      Mistake{"--cutlass --arch sm_120 --tile 128x128x128 --cutlass-version 3.0", 2, "4.7.0"},
                      Mistake{"--cutlass --arch sm_120 --tile 128x128x128 --c int8", 2, "int8"},
                      Mistake{"--cutlass --arch sm_120 --tile 128x128x128 --format csv", 2, "--batch"},
                      Mistake{"--cutlass --arch sm_120 --tile 128x128x128 --format yaml", 2, "yaml"},
                      Mistake{"--cutlass --compare sm_120 --tile 128x128x128", 2, "two or more"},
                      Mistake{"--cutlass --compare sm_100,sm_120 --arch sm_90 --tile 128x128x128", 2, "--compare"},
                      Mistake{"--cutlass --compare sm_100,sm_120 --tile 128x128x128 --emit", 2, "--emit"},
                      Mistake{"--cutlass --arch sm_120 --grouped --tile 128x128x128 --remedy 1", 2, "fits"},
                      Mistake{"--cutlass --batch no/such/rows.csv", 1, "no/such/rows.csv"},
                      Mistake{"--cutlass --batch /", 1, "/ cannot be read"},
                      Mistake{"--cutlass --arch sm_110 --tile 128x128x128", 4, "sm_110"}));

}  // namespace
}  // namespace tilewright::testing
