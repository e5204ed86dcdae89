// tilewright plan, as a user runs it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "cli/run_tool.hpp"
#include "support/temporary_directory.hpp"

namespace tilewright::testing {
namespace {

using nlohmann::json;

// A public architecture (Qwen3-30B-A3B's expert layer), reduced to the fields that matter.
constexpr const char* kConfig = R"({
  "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_act": "silu", "hidden_size": 2048,
  "moe_intermediate_size": 768, "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 48,
  "norm_topk_prob": true, "decoder_sparse_step": 1, "mlp_only_layers": []
})";

std::int64_t sum_of_bytes(const json& buffers) {
  std::int64_t sum = 0;
  for (const json& buffer : buffers) sum += buffer.at("bytes").get<std::int64_t>();
  return sum;
}

void expect_complete(const json& plan) {
  for (const char* field :
       {"gemm", "tokens", "rows_per_expert", "active_experts", "weight_bytes", "chosen", "rejected"}) {
    ASSERT_TRUE(plan.contains(field)) << field << " is missing in\n" << plan.dump(2);
  }
  const json& chosen = plan["chosen"];
  for (const char* field : {"tile_m", "tile_n", "tile_k", "stages"}) EXPECT_GT(chosen["schedule"][field], 0) << field;
  EXPECT_GT(chosen["predicted_us"], 0.0);
  EXPECT_FALSE(chosen["bound"].get<std::string>().empty());
  const json& memory = chosen["shared_memory"];
  EXPECT_EQ(sum_of_bytes(memory["buffers"]), memory["total"].get<std::int64_t>());
  EXPECT_LE(memory["total"], memory["limit"]);
}

TEST(Plan, GivesBothGemmsOfAModelInJson) {
  const ToolRun run = tilewright("plan --device rtx-pro-6000-server --model glm-5 --tokens 512 --ep 8 --format json");
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_TRUE(run.err.empty()) << run.err;
  const json document = run.json();
  EXPECT_EQ(document["schema"], "tilewright.plan/1");
  EXPECT_EQ(document["device"]["name"], "rtx-pro-6000-server");
  EXPECT_EQ(document["device"]["arch"], "sm_120");
  EXPECT_EQ(document["device"]["smem_per_block"], 101376);
  EXPECT_EQ(document["device"]["sm_count"], 188);
  ASSERT_EQ(document["plans"].size(), 2U);
  EXPECT_EQ(document["plans"][0]["gemm"], "gemm1");
  EXPECT_EQ(document["plans"][1]["gemm"], "gemm2");
  for (const json& plan : document["plans"]) {
    expect_complete(plan);
    EXPECT_EQ(plan["tokens"], 512);
    EXPECT_EQ(plan["active_experts"], 32);  // 512 tokens * 8 of 256: every one of the rank's 32 experts has rows
    EXPECT_NEAR(plan["rows_per_expert"].get<double>(), 512.0 * 8 / 256, 1e-9);
  }
  // NVFP4 is 9 bits a weight; GEMM1 has 2 I = 4096 rows of H = 6144.
  EXPECT_EQ(document["plans"][0]["weight_bytes"], 32LL * 4096 * 6144 * 9 / 16);
}

TEST(Plan, AnswersWhyNotForATile) {
  const TemporaryDirectory folder;
  const std::string config = folder.write("config.json", kConfig);
  const ToolRun run = tilewright("plan --device gb10 --config " + config + " --tokens 1,16,256 --why-not 128x256x128");
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_NE(run.out.find("128x256x128"), std::string::npos) << run.out;
  EXPECT_TRUE(run.err.empty()) << run.err;
}

TEST(Plan, PlansOneGroupedGemmForAnArchitecture) {
  const ToolRun run =
      tilewright("plan --arch sm_120 --groups 32 --rows 16 --n 4096 --k 6144 --precision w4a4 --format json");
  EXPECT_EQ(run.exit, 0) << run.err;
  const json document = run.json();
  ASSERT_EQ(document["plans"].size(), 1U);
  expect_complete(document["plans"][0]);
  EXPECT_EQ(document["plans"][0]["rows_per_expert"], 16.0);
}

TEST(Plan, ListsEveryLegalCandidateOfEachGemmOnRequest) {
  const std::string question = "plan --device rtx-pro-6000-server --model glm-5 --tokens 512 --ep 8 --all";
  const ToolRun run = tilewright(question + " --format json");
  EXPECT_EQ(run.exit, 0) << run.err;
  const json document = run.json();
  ASSERT_EQ(document["plans"].size(), 2U);
  for (const json& plan : document["plans"]) {
    const json& candidates = plan["candidates"];
    ASSERT_GT(candidates.size(), 12U);  // more than one for each tile
    EXPECT_EQ(candidates[0], plan["chosen"]);
    for (const json& candidate : candidates) {
      EXPECT_LE(candidate["shared_memory"]["total"], candidate["shared_memory"]["limit"]);
      EXPECT_EQ(sum_of_bytes(candidate["shared_memory"]["buffers"]), candidate["shared_memory"]["total"]);
      EXPECT_GT(candidate["predicted_us"], 0.0);
      EXPECT_FALSE(candidate["bound"].get<std::string>().empty());
      for (const json& rejection : plan["rejected"]) EXPECT_NE(rejection["schedule"], candidate["schedule"]);
    }
  }
  const std::string text = tilewright(question).out;
  const std::string count = std::to_string(document["plans"][0]["candidates"].size());
  EXPECT_NE(text.find(count + " legal candidates, best first"), std::string::npos) << text;
}

TEST(Plan, SaysOfATileThatNoStackLaunchesWhatItNeedsWithTwoToFourStages) {
  const std::string question = "plan --device rtx-pro-6000-server --model glm-5 --tokens 512 --ep 8 --why-not ";
  for (const char* tile : {"128x256x128:2", "128x256x128:3"}) {
    const ToolRun run = tilewright(question + tile);
    EXPECT_EQ(run.exit, 0) << run.err;
    EXPECT_NE(run.out.find(std::string(tile) + "? legal with "), std::string::npos) << run.out;
  }
  const std::string over = tilewright(question + "128x256x128:4").out;
  EXPECT_NE(over.find("128x256x128:4? 128x256x128 with 4 stages needs "), std::string::npos) << over;
}

TEST(Plan, ARejectedScheduleSaysWhatItNeedsAndWhatTheLimitIs) {
  const ToolRun run =
      tilewright("plan --arch sm_120 --groups 32 --rows 256 --n 4096 --k 6144 --precision w4a4 --format json");
  const json document = run.json();
  const json& rejected = document["plans"][0]["rejected"];
  ASSERT_FALSE(rejected.empty());
  for (const json& rejection : rejected) {
    for (const char* field : {"schedule", "code", "needs", "limit", "message", "nearest"}) {
      ASSERT_TRUE(rejection.contains(field)) << field << " is missing in\n" << rejection.dump(2);
    }
    EXPECT_NE(rejection["needs"], rejection["limit"]) << rejection.dump();
  }
}

TEST(Plan, ListsMultiplyOut) {
  const ToolRun run =
      tilewright("plan --device h200 --model qwen3-30b-a3b --tokens 1..64x8 --tp 1,2 --precision w4a16 --format json");
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_EQ(run.json()["plans"].size(), 3U * 2U * 2U);  // 1, 8, 64 tokens; two degrees; two GEMMs
}

TEST(Plan, TheSameQuestionHasTheSameAnswer) {
  const std::string question = "plan --device b200 --model qwen3-30b-a3b --tokens 1,64 --format json";
  EXPECT_EQ(tilewright(question).out, tilewright(question).out);
}

TEST(Plan, EveryFormatPrints) {
  for (const std::string format : {"text", "md", "csv", "json", "html"}) {
    const ToolRun run = tilewright("plan --device h200 --model qwen3-30b-a3b --tokens 16 --format " + format);
    EXPECT_EQ(run.exit, 0) << format << ": " << run.err;
    EXPECT_FALSE(run.out.empty()) << format;
    EXPECT_TRUE(run.err.empty()) << format << ": " << run.err;
  }
}

struct Mistake {
  const char* arguments;
  int exit;
  const char* names;  // what the error line must name
};

void PrintTo(const Mistake& mistake, std::ostream* out) { *out << "plan " << mistake.arguments; }

class PlanMistakes : public ::testing::TestWithParam<Mistake> {};

TEST_P(PlanMistakes, AreOneLineThatNamesTheCause) {
  const ToolRun run = tilewright(std::string("plan ") + GetParam().arguments);
  EXPECT_EQ(run.exit, GetParam().exit) << run.err;
  EXPECT_TRUE(run.out.empty()) << run.out;
  EXPECT_EQ(run.error_lines(), 1) << run.err;
  EXPECT_NE(run.err.find(GetParam().names), std::string::npos) << run.err;
}

INSTANTIATE_TEST_SUITE_P(
    All, PlanMistakes,
    ::testing::Values(Mistake{"--model glm-5 --tokens 8", 2, "no device"},
                      Mistake{"--device h200 --arch sm_90 --model glm-5 --tokens 8", 2, "both"},
                      Mistake{"--device rtx-9090 --model glm-5 --tokens 8", 1, "rtx-9090"},
                      Mistake{"--arch sm_77 --model glm-5 --tokens 8", 1, "sm_77"},
                      Mistake{"--device h200 --model no-such-model --tokens 8", 1, "no-such-model"},
                      Mistake{"--device h200 --model no/such/config.json --tokens 8", 1, "no/such/config.json"},
                      Mistake{"--device h200 --model glm-5", 2, "--tokens"},
                      Mistake{"--device h200 --model glm-5 --tokens many", 2, "many"},
                      Mistake{"--device h200 --model glm-5 --tokens 0", 2, "0"}, Mistake{"--device h200", 2, "--model"},
                      Mistake{"--device h200 --groups 8 --rows 4 --n 64", 2, "--k"},
                      Mistake{"--device h200 --groups 8 --rows 4 --n 64 --k 64 --model glm-5 --tokens 8", 2,
                              "two ways"},
                      Mistake{"--device h200 --model glm-5 --tokens 8 --precision w8a8", 2, "w8a8"},
                      Mistake{"--device h200 --model glm-5 --tokens 8 --why-not huge", 2, "huge"},
                      Mistake{"--device h200 --model gpt-oss-120b --tokens 8 --tp 8", 2, "360"},
                      Mistake{"--device h200 --model glm-5 --tokens 8 --bogus", 2, "--bogus"}));

TEST(Plan, AKThatIsNoMultipleOf16IsRejectedWithWhatIsLeftOver) {
  const ToolRun run = tilewright("plan --device h200 --groups 8 --rows 4 --n 64 --k 65 --format json");
  EXPECT_EQ(run.exit, 4);
  const json plan = run.json()["plans"][0];
  EXPECT_TRUE(plan["chosen"].is_null());
  EXPECT_EQ(plan["rejected"][0]["code"], "k_not_multiple_of_16");
}

TEST(Plan, APrecisionThatTheDeviceCannotRunExitsWithNotPossible) {
  const ToolRun run = tilewright("plan --device h200 --model qwen3-30b-a3b --tokens 8 --precision w4a4 --format json");
  EXPECT_EQ(run.exit, 4);
  EXPECT_TRUE(run.json()["plans"][0]["chosen"].is_null());
  EXPECT_EQ(run.json()["plans"][0]["rejected"][0]["code"], "no_fp4_mma");
}

TEST(Plan, TellsWhereTheTimeOfALayerOverEightGpusGoes) {
  const std::string arguments =
      "plan --device rtx-pro-6000-server --model glm-5 --tokens 512,1024 --gpus 8 --ep 8 --link pcie5";
  const json answer = tilewright(arguments + " --format json").json();
  EXPECT_EQ(answer["schema"], "tilewright.plan/1");
  EXPECT_EQ(answer["layers"].size(), 2U);
  ASSERT_EQ(answer["bottlenecks"].size(), 2U);
  for (const json& layer : answer["bottlenecks"]) {
    EXPECT_EQ(layer["bound"], "weights");
    EXPECT_LT(layer["communication_share"], 0.3);
    EXPECT_LT(layer["peak_share"], 0.1);
    EXPECT_EQ(layer["parts"].size(), 7U);
    EXPECT_FALSE(layer["changes"].empty());
  }
  for (const char* format : {"md", "csv"}) {
    EXPECT_NE(tilewright(arguments + " --format " + format).out.find("communication"), std::string::npos);
  }
  const std::string golden = std::string(TILEWRIGHT_TEST_DATA) + "/plan/bottleneck_ep8.txt";
  const std::string text = tilewright(arguments).out;
  if (std::getenv("TILEWRIGHT_UPDATE_GOLDEN") != nullptr) std::ofstream(golden, std::ios::binary) << text;
  std::ifstream in(golden, std::ios::binary);
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(in), {})) << golden;
}

TEST(Plan, CoversBatchesFromOneTokenToPrefillWhereGpusAreGivenAndTokensAreNot) {
  const json answer =
      tilewright("plan --model glm-5 --device rtx-pro-6000-server --gpus 8 --tp 8 --link nvlink4 --format json").json();
  ASSERT_EQ(answer["bottlenecks"].size(), 6U);
  EXPECT_EQ(answer["bottlenecks"][0]["tokens"], 1);
  EXPECT_EQ(answer["bottlenecks"][5]["tokens"], 16384);
  EXPECT_EQ(answer["bottlenecks"][0]["finding"].get<std::string>().rfind("1 token, 1.0 rows", 0), 0U);
  const std::string finding = answer["bottlenecks"][2]["finding"];
  EXPECT_NE(finding.find("16.0 rows an expert: bound by weights"), std::string::npos) << finding;
}

TEST(Plan, DividesTheExpertsWhereOnlyTheGpusAreGiven) {
  const json answer = tilewright("plan --device h200 --model qwen3-30b-a3b --tokens 64 --gpus 4 --format json").json();
  EXPECT_EQ(answer["link"]["name"], "nvlink4");
  EXPECT_EQ(answer["bottlenecks"][0]["ep"], 4);
  EXPECT_TRUE(answer["bottlenecks"][0]["usual_stack_us"].is_null());
}

TEST(Plan, RefusesGpusThatItsRanksDoNotAddUpTo) {
  const ToolRun run = tilewright("plan --device h200 --model glm-5 --tokens 64 --gpus 8 --tp 2 --ep 2");
  EXPECT_EQ(run.exit, 2);
  EXPECT_NE(run.err.find("take 4 GPUs, not 8"), std::string::npos) << run.err;
  EXPECT_EQ(tilewright("plan --device h200 --groups 8 --rows 4 --n 64 --k 64 --gpus 2").exit, 2);
  EXPECT_EQ(tilewright("plan --device cpu --model glm-5 --tokens 64 --gpus 2").exit, 2);
  EXPECT_EQ(tilewright("plan --device h200 --model glm-5 --tokens 64 --link token-ring").exit, 1);
  EXPECT_EQ(tilewright("plan --device b200 --model glm-5 --tokens 64 --gpus 8").exit, 4);
}

}  // namespace
}  // namespace tilewright::testing
