#include "tilewright/activation.hpp"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

constexpr ActivationKind kAll[] = {ActivationKind::silu_gated,      ActivationKind::silu_gated_clamped,
                                   ActivationKind::swiglu_step,     ActivationKind::swiglu_oai,
                                   ActivationKind::gelu_tanh_gated, ActivationKind::relu2};

TEST(Activation, EveryNameReadsBack) {
  for (const ActivationKind kind : kAll) EXPECT_EQ(parse_activation(to_string(kind)).value(), kind);
}

TEST(Activation, AnUnknownNameListsTheKnownOnes) {
  const auto kind = parse_activation("swish");
  ASSERT_FALSE(kind);
  EXPECT_EQ(kind.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(kind.error().cause.find("swish"), std::string::npos);
  for (const ActivationKind known : kAll) {
    EXPECT_NE(kind.error().remedy.find(to_string(known)), std::string::npos) << to_string(known);
  }
}

TEST(Activation, OnlyRelu2HasNoGate) {
  for (const ActivationKind kind : kAll) {
    EXPECT_EQ((Activation{kind, 0.0F}).gated(), kind != ActivationKind::relu2) << to_string(kind);
  }
}

}  // namespace
}  // namespace tilewright
