#include "tilewright/activation.hpp"

#include <limits>

#include <gtest/gtest.h>

#include "tilewright/precision.hpp"

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

TEST(Activation, AKindWithAClampNeedsAFiniteLimitAboveZero) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const ActivationKind kind : kAll) {
    EXPECT_TRUE(check(Activation{kind, 7.0F})) << to_string(kind);
    for (const float limit : {0.0F, -1.0F, infinity, infinity - infinity}) {
      EXPECT_EQ(check(Activation{kind, limit}).has_value(), !Activation{kind}.has_limit()) << to_string(kind) << limit;
    }
  }
}

TEST(Precision, EveryNameReadsBackAndAnUnknownOneListsThem) {
  for (const Precision precision : {Precision::w4a16, Precision::w4a4}) {
    EXPECT_EQ(parse_precision(to_string(precision)).value(), precision);
  }
  const auto unknown = parse_precision("w4a2");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(unknown.error().message().find("w4a16 or w4a4"), std::string::npos);
}

}  // namespace
}  // namespace tilewright
