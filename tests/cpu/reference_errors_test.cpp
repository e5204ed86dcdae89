#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "cpu/layer_fixture.hpp"
#include "cpu/reference.hpp"

namespace tilewright::cpu {
namespace {

class ReferenceErrors : public testing::Test {
 protected:
  /// The layer is refused with `code` and a line that has each of `words`.
  void expect_refused(ErrorCode code, const std::vector<std::string>& words, Precision precision = Precision::w4a16) {
    std::vector<double> y(2 * 32);
    const auto status = reference_layer(layer, activation, precision, x.data(), routed, y.data());
    ASSERT_FALSE(status);
    const std::string message = status.error().message();
    EXPECT_EQ(status.error().code, code) << message;
    EXPECT_FALSE(status.error().remedy.empty()) << message;
    for (const std::string& word : words) EXPECT_NE(message.find(word), std::string::npos) << word << " in " << message;
  }

  Weights weights;
  ExpertWeights layer = weights.random_layer(32, 48, 3, true, true);
  Activation activation;
  std::vector<bf16> x = weights.random_rows(2, 32);
  RoutedTokens routed = routed_to(2, {0, 1, 2, 0}, {0.5F, 0.5F, 0.5F, 0.5F});
};

TEST_F(ReferenceErrors, AnIdOutOfRangeNamesTokenSlotAndId) {
  routed.ids[3] = 3;
  expect_refused(ErrorCode::invalid_argument, {"token 1 slot 1", "expert 3", "0 to 2"});
  routed.ids[3] = -2;
  expect_refused(ErrorCode::invalid_argument, {"token 1 slot 1", "expert -2"});
}

TEST_F(ReferenceErrors, TooFewIdsOrWeightsNameTheCounts) {
  routed.weights.pop_back();
  expect_refused(ErrorCode::mismatch, {"4 ids and 3 weights", "2 tokens x 2 slots"});
}

TEST_F(ReferenceErrors, AMatrixOfAnotherShapeNamesExpertAndMatrix) {
  layer.experts[1].down = weights.random_matrix(32, 64, 1.0F);
  expect_refused(ErrorCode::mismatch, {"expert 1 down", "32 x 64", "32 x 48"});
  layer.experts[1].gate = {};
  expect_refused(ErrorCode::mismatch, {"expert 1 gate", "0 x 0", "48 x 32"});
}

TEST_F(ReferenceErrors, ExpertsAreNamedByTheirGlobalId) {
  layer.first_expert = 4;
  layer.global_experts = 7;
  layer.experts[1].up = weights.random_matrix(16, 32, 1.0F);
  expect_refused(ErrorCode::mismatch, {"expert 5 up"});
}

TEST_F(ReferenceErrors, ASliceThatReachesPastTheLayerIsNamed) {
  layer.first_expert = 1;
  expect_refused(ErrorCode::mismatch, {"experts 1 to 3", "layer of 3"});
}

TEST_F(ReferenceErrors, AnActivationThatDoesNotFitTheWeightsIsNamed) {
  activation.kind = ActivationKind::relu2;
  expect_refused(ErrorCode::mismatch, {"relu2", "gated"});
  activation.kind = ActivationKind::swiglu_oai;
  expect_refused(ErrorCode::invalid_argument, {"swiglu_oai", "limit 0"});
}

TEST_F(ReferenceErrors, AnInputScaleThatIsNotPositiveNamesExpertAndMatrixUnderW4a4Only) {
  for (const float bad :
       {0.0F, -1.0F, 1e-40F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    layer.experts[2].up.input_scale = bad;
    expect_refused(ErrorCode::corrupt, {"expert 2 up", "w4a16"}, Precision::w4a4);
    std::vector<double> y(2 * 32);
    EXPECT_TRUE(reference_layer(layer, activation, Precision::w4a16, x.data(), routed, y.data()));
  }
}

TEST_F(ReferenceErrors, ALayersInputScaleThatIsNotPositiveIsNamedUnderW4a4) {
  layer.layer_input_scale = 1e-40F;  // of another rank's expert: every expert here is sound
  expect_refused(ErrorCode::corrupt, {"the layer has input scale", "w4a16"}, Precision::w4a4);
}

}  // namespace
}  // namespace tilewright::cpu
