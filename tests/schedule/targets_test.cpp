#include "tilewright/targets.hpp"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

using Names = std::vector<std::string>;

std::vector<std::string> loading(ComputeCapability device) {
  std::vector<std::string> list;
  for (const CodeTarget& target : known_targets()) {
    if (loadable(target, device).loads) list.push_back(short_name(target));
  }
  return list;
}

bool loads(const std::string& image, ComputeCapability device) {
  return loadable(find_target(image).value(), device).loads;
}

TEST(Targets, MachineCodeRunsOnItsMajorVersionAFamilyOnItsMembersAndAnArchitectureTargetOnOneDevice) {
  EXPECT_EQ(loading({12, 0}), (Names{"120", "120f", "120a"}));
  EXPECT_EQ(loading({12, 1}), (Names{"120", "120f", "121", "121f", "121a"}));
  EXPECT_EQ(loading({10, 3}), (Names{"100", "100f", "103", "103f", "103a"}));
  EXPECT_EQ(loading({11, 0}), (Names{"110", "110f", "110a"}));
  EXPECT_EQ(loading({9, 0}), (Names{"90", "90a"}));
}

TEST(Targets, PtxOfABaseTargetRunsOnEveryLaterDeviceAndPtxWithASuffixIsBoundLikeMachineCode) {
  EXPECT_TRUE(loads("compute_80", {12, 1}));
  EXPECT_TRUE(loads("compute_120", {12, 1}));
  EXPECT_FALSE(loads("compute_121", {12, 0}));
  EXPECT_FALSE(loads("compute_90a", {10, 0}));
  EXPECT_FALSE(loads("compute_120a", {12, 1}));
  EXPECT_TRUE(loads("compute_120f", {12, 1}));
}

TEST(Targets, ALibraryOfSm121CodeOnA120DeviceIsSaidToHaveNoImageForIt) {
  // cutlass#2692: built with -arch=sm_121 for an sm_120 device.
  const Loadable verdict = loadable(find_target("sm_121").value(), {12, 0});
  EXPECT_FALSE(verdict.loads);
  EXPECT_NE(verdict.reason.find("image targets sm_121, device is 12.0"), std::string::npos);
}

TEST(Targets, NamesAreReadInEverySpellingAndPrintedInOne) {
  for (const char* spelling : {"sm_120f", "SM_120F", "sm120f", "120f", "12.0f"}) {
    EXPECT_EQ(to_string(find_target(spelling).value()), "sm_120f") << spelling;
  }
  EXPECT_EQ(to_string(find_target("compute_90a").value()), "compute_90a");
  EXPECT_EQ(to_string(find_compute_capability("12.1").value()), "12.1");
  EXPECT_EQ(to_string(find_compute_capability("sm_90").value()), "9.0");
}

TEST(Targets, OnesThatNoToolkitHasAreRefusedWithTheReason) {
  for (const char* name : {"sm_90f", "sm_89a", "sm_130", "sm_12", "sm_", "compute_", "x", "12.00"}) {
    const auto target = find_target(name);
    ASSERT_FALSE(target.has_value()) << name;
    EXPECT_EQ(target.error().code, ErrorCode::invalid_argument) << name;
  }
  for (const char* text : {"", "12", ".1", "12.x", "0.9", "12.0a", "1234", "12.2"}) {
    const auto capability = find_compute_capability(text);
    ASSERT_FALSE(capability.has_value()) << text;
    EXPECT_EQ(capability.error().code, ErrorCode::invalid_argument) << text;
  }
}

TEST(Targets, TheRecommendedOneLoadsOnItsDeviceAndHoldsItsNativeFp4Instructions) {
  const auto block_scale = find_instruction("mma.block_scale").value();
  for (const ComputeCapability device : {ComputeCapability{12, 0}, {12, 1}}) {
    const CodeTarget target = recommended_target(device);
    EXPECT_EQ(to_string(target), "sm_120f");
    EXPECT_TRUE(loadable(target, device).loads);
    EXPECT_TRUE(accepts(target, block_scale));
  }
  EXPECT_EQ(to_string(recommended_target({9, 0})), "sm_90a");
  EXPECT_EQ(to_string(recommended_target({8, 6})), "sm_86");
  EXPECT_EQ(nvcc_flags(recommended_target({12, 1})), "-gencode arch=compute_120f,code=sm_120f");
}

TEST(Instructions, TheBlockScaledMmaNeedsASuffixOnSm12xAndExistsNowhereElse) {
  // cases.md K10 and E: "121a, 120f, 121f" on 12.1, "120a, 120f" on 12.0, plain targets never.
  EXPECT_EQ(short_names(targets_with(find_instruction("mma.block_scale").value())),
            (Names{"120f", "120a", "121f", "121a"}));
  EXPECT_FALSE(accepts(find_target("sm_120").value(), find_instruction("cvt.e2m1x2").value()));
  EXPECT_EQ(short_names(targets_with(find_instruction("wgmma").value())), (Names{"90a"}));
  EXPECT_EQ(short_names(targets_with(find_instruction("cvt.rs.e2m1x4").value())), (Names{"100a", "103a"}));
}

TEST(Instructions, AreFoundByNameOrByTheStartOfTheirPtxForm) {
  EXPECT_EQ(find_instruction("cvt.rn.satfinite.e2m1x2").value().name, "cvt.e2m1x2");
  const auto unknown = find_instruction("fma.fp2");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().code, ErrorCode::not_found);
  EXPECT_NE(unknown.error().message().find("mma.block_scale"), std::string::npos);
}

}  // namespace
}  // namespace tilewright
