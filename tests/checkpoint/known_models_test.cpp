#include <set>

#include <gtest/gtest.h>

#include "tilewright/model.hpp"

namespace tilewright {
namespace {

TEST(KnownModels, HasAFullRowForEachName) {
  std::set<std::string> names;
  for (const ModelFacts& facts : known_models()) {
    EXPECT_TRUE(names.insert(facts.name).second) << facts.name << " stands twice";
    EXPECT_EQ(facts.hidden % 16, 0) << facts.name;
    EXPECT_EQ(facts.intermediate % 16, 0) << facts.name;
    EXPECT_GE(facts.experts, facts.routing.top_k) << facts.name;
    EXPECT_GE(facts.total_layers, facts.moe_layers) << facts.name;
    EXPECT_TRUE(check(facts.activation)) << facts.name;
    EXPECT_EQ(facts.source.rfind("https://", 0), 0U) << facts.name;
  }
  EXPECT_GE(names.size(), 46U);
}

TEST(FindModel, TakesANameInAnySpelling) {
  for (const char* name :
       {"glm-5", "GLM-5", "zai-org/GLM-5", "nvidia/GLM-5-NVFP4", "zai-org/GLM-5-FP8", "models--zai-org--GLM-5"}) {
    const auto facts = find_model(name);
    ASSERT_TRUE(facts) << facts.error().message();
    EXPECT_EQ(facts->name, "glm-5") << name;
  }
  EXPECT_EQ(find_model("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4")->name, "nemotron-3-nano-30b-a3b");
  EXPECT_EQ(find_model("meta-llama/Llama-4-Maverick-17B-128E-Instruct")->name, "llama-4-maverick");
  EXPECT_EQ(find_model("Qwen/Qwen3-30B-A3B-Instruct-2507")->name, "qwen3-30b-a3b");
  EXPECT_EQ(find_model("nvidia/Qwen3.5-397B-A17B-NVFP4")->name, "qwen3.5-397b-a17b");
}

TEST(FindModel, KeepsModelsThatDifferApart) {
  EXPECT_EQ(find_model("glm-4.5-air")->experts, 128);
  EXPECT_EQ(find_model("glm-4.5")->experts, 160);
  EXPECT_EQ(find_model("glm-5.1")->name, "glm-5.1");
}

TEST(FindModel, ListsTheNearestNamesOfAnUnknownOne) {
  const auto facts = find_model("qwen3-30b-a4b");
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().code, ErrorCode::not_found);
  EXPECT_NE(facts.error().cause.find("qwen3-30b-a4b"), std::string::npos);
  EXPECT_NE(facts.error().remedy.find("qwen3-30b-a3b"), std::string::npos) << facts.error().message();
}

TEST(FindModel, SaysWhyAKnownModelIsNotSupported) {
  const auto facts = find_model("moonshotai/Kimi-K3");
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().code, ErrorCode::unsupported);
  EXPECT_NE(facts.error().cause.find("situ"), std::string::npos) << facts.error().message();
}

}  // namespace
}  // namespace tilewright
