#include "tilewright/device.hpp"

#include <gtest/gtest.h>

#include <set>

#include "schedule/problems.hpp"

namespace tilewright {
namespace {

TEST(Arch, GivesEverySm12xTheSameSharedMemoryAndSm9xAndSm10xTheLarger) {
  for (const Arch arch : {Arch::sm_120, Arch::sm_121}) EXPECT_EQ(smem_per_block(arch), 101376);
  for (const Arch arch : {Arch::sm_90, Arch::sm_100, Arch::sm_103, Arch::sm_110})
    EXPECT_EQ(smem_per_block(arch), 232448);
}

TEST(Arch, IsFoundByTargetAndByComputeCapability) {
  for (const char* name : {"sm_120", "SM120", "sm120", "sm_120a", "sm_120f", "compute_120f", "12.0", "120"}) {
    const auto arch = find_arch(name);
    ASSERT_TRUE(arch) << name;
    EXPECT_EQ(*arch, Arch::sm_120) << name;
  }
  EXPECT_EQ(find_arch("sm_90a").value(), Arch::sm_90);
  EXPECT_EQ(find_arch("12.1").value(), Arch::sm_121);
  EXPECT_EQ(find_arch("cpu").value(), Arch::cpu);
}

TEST(Arch, RefusesAnUnknownComputeCapabilityInsteadOfRoundingIt) {
  for (const auto& [major, minor] :
       {std::pair(12, 2), std::pair(12, 3), std::pair(10, 1), std::pair(8, 9), std::pair(13, 0)}) {
    const auto arch = arch_of(major, minor);
    ASSERT_FALSE(arch) << major << "." << minor;
    EXPECT_EQ(arch.error().code, ErrorCode::unsupported);
    EXPECT_NE(arch.error().message().find(std::to_string(major) + "." + std::to_string(minor)), std::string::npos);
  }
  EXPECT_EQ(arch_of(10, 3).value(), Arch::sm_103);
  for (const char* name : {"sm_122", "sm_89", "12", "sm_", "", "a", "sm_120x", "1.20", "sm_12.00"}) {
    EXPECT_FALSE(find_arch(name)) << name;
  }
}

TEST(Device, HasTheLimitsOfItsArchitecture) {
  std::set<std::string> names;
  for (const Device& device : known_devices()) {
    EXPECT_TRUE(names.insert(device.name).second) << device.name << " twice";
    EXPECT_EQ(device.smem_per_block, smem_per_block(device.arch)) << device.name;
    // One block's limit and what is reserved for it are the whole SM.
    EXPECT_EQ(device.smem_per_block + device.smem_reserved, device.smem_per_sm) << device.name;
    EXPECT_LE(device.dram_read_GBps, device.dram_GBps) << device.name;
    EXPECT_GT(device.dram_read_GBps, 0.8 * device.dram_GBps) << device.name;
    EXPECT_GT(device.mma_share, 0.4) << device.name;
    EXPECT_LE(device.mma_share, 1.0) << device.name;
  }
  EXPECT_EQ(names.size(), 11U);
}

// Dense TFLOP/s by data sheet, or measured where the data sheet gives none (hardware tables named in devices.cpp).
TEST(Device, HasThePublishedPeaks) {
  const auto fp4 = [](const char* name) {
    const Device device = schedule_tests::device(name);
    return device.peak_tflops(device.flop_per_clk.fp4);
  };
  const Device h200 = schedule_tests::device("h200");
  EXPECT_NEAR(h200.peak_tflops(h200.flop_per_clk.bf16), 989.0, 1.0);
  EXPECT_NEAR(h200.peak_tflops(h200.flop_per_clk.fp8), 1979.0, 1.0);
  EXPECT_EQ(h200.flop_per_clk.fp4, 0);
  EXPECT_NEAR(fp4("b200"), 9000.0, 50.0);
  EXPECT_NEAR(fp4("b300"), 14000.0, 100.0);
  EXPECT_NEAR(fp4("rtx-pro-6000-server"), 1871.0, 1.0);
  EXPECT_NEAR(fp4("rtx-pro-6000-workstation"), 2015.0, 1.0);
  EXPECT_NEAR(fp4("rtx-pro-6000-max-q"), 1755.0, 2.0);
  EXPECT_NEAR(fp4("rtx-5090"), 1676.0, 1.0);
  EXPECT_NEAR(fp4("rtx-5080"), 900.0, 1.0);
  EXPECT_NEAR(fp4("gb10"), 500.0, 1.0);
  EXPECT_NEAR(fp4("thor"), 1035.0, 4.0);
}

TEST(Device, IsFoundWhateverTheSpelling) {
  for (const char* name :
       {"rtx-pro-6000-server", "RTX PRO 6000 Server", "rtx_pro_6000_server", "NVIDIA RTX-PRO-6000-SERVER"}) {
    const auto device = find_device(name);
    ASSERT_TRUE(device) << name;
    EXPECT_EQ(device->name, "rtx-pro-6000-server");
  }
  EXPECT_EQ(find_device("DGX Spark").value().name, "gb10");
  EXPECT_EQ(find_device("GeForce RTX 5090").value().name, "rtx-5090");
}

TEST(Device, ListsTheNearestOnesForAnUnknownName) {
  const auto edition = find_device("rtx-pro-6000");
  ASSERT_FALSE(edition);
  EXPECT_EQ(edition.error().code, ErrorCode::not_found);
  for (const char* name : {"rtx-pro-6000-server", "rtx-pro-6000-workstation", "rtx-pro-6000-max-q"}) {
    EXPECT_NE(edition.error().message().find(name), std::string::npos) << edition.error().message();
  }
  const auto typo = find_device("h20O");
  ASSERT_FALSE(typo);
  EXPECT_NE(typo.error().message().find("h200"), std::string::npos) << typo.error().message();
}

TEST(Device, SaysWhichOneItAssumesForAnArchitecture) {
  const auto device = default_device(Arch::sm_120);
  ASSERT_TRUE(device);
  EXPECT_EQ(device->arch, Arch::sm_120);
  EXPECT_NE(device->note.find("rtx-pro-6000-server"), std::string::npos);
  EXPECT_TRUE(find_device("rtx-pro-6000-server").value().note.empty());
  for (const Arch arch : {Arch::sm_90, Arch::sm_100, Arch::sm_103, Arch::sm_110, Arch::sm_121}) {
    ASSERT_TRUE(default_device(arch));
    EXPECT_EQ(default_device(arch)->arch, arch);
  }
  EXPECT_FALSE(default_device(Arch::cpu));
}

TEST(Device, OfACpuNeedsEveryMeasurement) {
  EXPECT_EQ(schedule_tests::cpu().smem_per_block, 1 << 20);
  EXPECT_EQ(schedule_tests::cpu().sm_count, 2);
  CpuFacts facts = schedule_tests::cpu().cpu;
  facts.macs_w4a16 = 0;
  const auto device = cpu_device(facts);
  ASSERT_FALSE(device);
  EXPECT_NE(device.error().message().find("macs_w4a16"), std::string::npos);
}

}  // namespace
}  // namespace tilewright
