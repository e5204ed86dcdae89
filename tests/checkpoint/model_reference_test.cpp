// Public config.json files and a table of what they mean, where that reference data is present.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tilewright/model.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const fs::path kReference = TILEWRIGHT_REFERENCE_DATA;

class ModelReference : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(kReference / "models.json")) GTEST_SKIP() << "no reference data at " << kReference;
    std::ifstream(kReference / "models.json") >> table_;
    for (const auto& entry : fs::directory_iterator(kReference / "configs")) {
      const std::string name = entry.path().filename().string();
      (name.find("hf_quant_config.json") == std::string::npos ? configs_ : quantization_configs_)
          .push_back(entry.path());
    }
  }

  Json table_;
  std::vector<fs::path> configs_;
  std::vector<fs::path> quantization_configs_;
};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// The table's row for a file such as nvidia--GLM-5-NVFP4_config.json: the longest name that the model's begins with.
const Json* row_of(const Json& table, const fs::path& config) {
  std::string model = lower(config.filename().string());
  model = model.substr(model.find("--") + 2);
  model.resize(model.rfind("_config.json"));
  if (model.rfind("nvidia-", 0) == 0) model.erase(0, 7);
  const Json* best = nullptr;
  std::size_t longest = 0;
  for (const Json& row : table) {
    const std::string name = lower(row["name"]);
    const bool matches = model == name || model.rfind(name + "-", 0) == 0;
    if (matches && name.size() > longest) {
      best = &row;
      longest = name.size();
    }
  }
  return best;
}

std::string scoring_name(const Routing& routing) {
  std::string name;
  switch (routing.scoring) {
    case Scoring::softmax: name = "softmax"; break;
    case Scoring::softmax_topk: name = "softmax_topk"; break;
    case Scoring::sigmoid: name = "sigmoid"; break;
    case Scoring::sqrtsoftplus: name = "sqrtsoftplus"; break;
    case Scoring::sigmoid_on_input: name = "sigmoid_on_input"; break;
  }
  return routing.selection_bias ? name + "+bias" : name;
}

/// The table calls Step's own SwiGLU silu_gated_clamped and tells the difference in a note.
std::string activation_name(const Activation& activation) {
  return activation.kind == ActivationKind::swiglu_step ? "silu_gated_clamped" : to_string(activation.kind);
}

void expect_row(const ModelFacts& facts, const Json& row, const std::string& where) {
  SCOPED_TRACE(where);
  const auto integer = [&](const char* key) { return row[key].is_null() ? 0 : row[key].get<int>(); };
  EXPECT_EQ(facts.hidden, integer("expert_input_size"));
  EXPECT_EQ(facts.intermediate, integer("moe_intermediate_size"));
  EXPECT_EQ(facts.experts, integer("num_experts"));
  EXPECT_EQ(facts.shared_experts, integer("num_shared_experts"));
  EXPECT_EQ(facts.moe_layers, integer("num_moe_layers"));
  EXPECT_EQ(facts.total_layers, integer("total_layers"));
  EXPECT_EQ(facts.routing.top_k, integer("top_k"));
  EXPECT_EQ(facts.routing.groups, integer("n_group"));
  EXPECT_EQ(facts.routing.top_groups, integer("topk_group"));
  EXPECT_EQ(facts.routing.renormalize, row["norm_topk_prob"].get<bool>());
  EXPECT_FLOAT_EQ(facts.routing.scaling_factor, row["routed_scaling_factor"].get<float>());
  EXPECT_EQ(scoring_name(facts.routing), row["scoring"].get<std::string>());
  EXPECT_EQ(activation_name(facts.activation), row["activation"].get<std::string>());
  EXPECT_EQ(facts.activation.gated(), row["gated"].get<bool>());
  EXPECT_FLOAT_EQ(facts.activation.limit, row["swiglu_limit"].is_null() ? 0.0F : row["swiglu_limit"].get<float>());
}

TEST_F(ModelReference, EveryConfigIsAnExpertLayerOrSaysInOneLineWhyNot) {
  int supported = 0;
  for (const fs::path& path : configs_) {
    const auto facts = read_model_config(path.string());
    if (facts) {
      ++supported;
      continue;
    }
    EXPECT_EQ(facts.error().code, ErrorCode::unsupported) << facts.error().message();
    EXPECT_EQ(facts.error().message().find('\n'), std::string::npos) << facts.error().message();
    const std::string& cause = facts.error().cause;
    EXPECT_TRUE(cause.find("dense model") != std::string::npos || cause.find("situ") != std::string::npos) << cause;
  }
  EXPECT_GE(supported, 47);
  for (const fs::path& path : quantization_configs_) {
    const auto facts = read_model_config(path.string());
    ASSERT_FALSE(facts) << path;
    EXPECT_NE(facts.error().cause.find("hf_quant_config.json"), std::string::npos) << facts.error().message();
  }
  EXPECT_EQ(configs_.size() + quantization_configs_.size(), 113U);
}

TEST_F(ModelReference, EveryConfigAgreesWithTheTableFieldByField) {
  int compared = 0;
  for (const fs::path& path : configs_) {
    const Json* row = row_of(table_, path);
    if (row == nullptr || (*row)["activation"] == "situ_gated") continue;
    const auto facts = read_model_config(path.string());
    ASSERT_TRUE(facts) << facts.error().message();
    expect_row(*facts, *row, path.filename().string());
    ++compared;
  }
  EXPECT_GE(compared, 55);
}

TEST_F(ModelReference, EveryNvfp4CheckpointSaysSo) {
  for (const fs::path& path : configs_) {
    const std::string name = path.filename().string();
    const auto facts = read_model_config(path.string());
    if (!facts || name.find("-NVFP4") == std::string::npos) continue;
    const bool weight_only =
        name.find("Qwen3.6-35B") != std::string::npos || name.find("Lightning") != std::string::npos;
    EXPECT_EQ(facts->format, weight_only ? WeightFormat::nvfp4_weight_only : WeightFormat::nvfp4) << name;
  }
}

TEST_F(ModelReference, TheKnownModelsAgreeWithTheTableFieldByField) {
  for (const Json& row : table_) {
    if (row["activation"] == "situ_gated") continue;
    const auto facts = find_model(row["name"]);
    ASSERT_TRUE(facts) << facts.error().message();
    expect_row(*facts, row, row["name"]);
    EXPECT_EQ(facts->source, row["source"].get<std::string>());
  }
}

TEST_F(ModelReference, EveryPublishersNameFindsItsModel) {
  for (const fs::path& path : configs_) {
    const Json* row = row_of(table_, path);
    if (row == nullptr || (*row)["activation"] == "situ_gated") continue;
    const std::string name = path.filename().string();
    const auto facts = find_model(name.substr(0, name.rfind("_config.json")));
    ASSERT_TRUE(facts) << facts.error().message();
    EXPECT_EQ(facts->name, lower((*row)["name"])) << name;
  }
}

}  // namespace
}  // namespace tilewright
