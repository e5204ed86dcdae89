// What holds for every kernel that the oracle resolves, on every architecture.
#include <rapidcheck.h>

#include <algorithm>

#include "schedule/cutlass/oracle_table.hpp"

namespace tilewright::cutlass_tests {
namespace {

CutlassRequest any_request() {
  using rc::gen::element;
  CutlassRequest request;
  request.arch = *element(Arch::sm_90, Arch::sm_100, Arch::sm_103, Arch::sm_120, Arch::sm_121);
  request.version = *element(CutlassVersion::v4_2_1, CutlassVersion::v4_4_1, CutlassVersion::v4_4_2,
                             CutlassVersion::v4_5_0, CutlassVersion::v4_7_0);
  request.grouped = *rc::gen::arbitrary<bool>();
  request.a = *element(CutlassOperand::nvfp4, CutlassOperand::mxfp4, CutlassOperand::mxfp8, CutlassOperand::fp8,
                       CutlassOperand::bf16);
  const bool mixed = *rc::gen::weightedElement<bool>({{5, false}, {1, true}});
  request.b = mixed ? *element(CutlassOperand::mxfp8, CutlassOperand::mxfp4) : request.a;
  const auto outputs = [] {
    return element(CutlassElement::none, CutlassElement::e2m1, CutlassElement::e4m3, CutlassElement::f16,
                   CutlassElement::bf16, CutlassElement::f32);
  };
  request.c = *outputs();
  request.d = *outputs();
  request.tile = {*element(64, 128, 256), *element(8, 16, 32, 64, 128, 256), *element(64, 128, 256, 512, 768)};
  request.cluster_m = *rc::gen::weightedElement<int>({{4, 1}, {2, 2}, {1, 0}});
  request.cluster_n = request.cluster_m == 0 ? 0 : 1;
  request.fusion = *element(CutlassFusion::linear_combination, CutlassFusion::linear_combination,
                            CutlassFusion::finalize, CutlassFusion::scale_factor_d);
  request.swap_ab = *rc::gen::arbitrary<bool>();
  request.stages.rule =
      *element(CutlassStageRule::carveout, CutlassStageRule::automatic, CutlassStageRule::explicit_count);
  if (request.stages.rule == CutlassStageRule::explicit_count) request.stages.count = *rc::gen::inRange(2, 8);
  request.schedule.warps = *element(CutlassWarps::automatic, CutlassWarps::cooperative, CutlassWarps::pingpong,
                                    CutlassWarps::one_sm, CutlassWarps::two_sm);
  request.schedule.ptr_array = request.grouped && request.schedule.warps != CutlassWarps::automatic;
  return request;
}

bool has_storage(const CutlassKernel& kernel) { return kernel.builds() || kernel.error->in_kernel_body; }

// A kernel with the property, of a request that `change` has set right; most requests are of no kernel.
template <typename Change, typename Wanted>
CutlassKernel any_kernel(Change change, Wanted wanted) {
  constexpr int kDraws = 300;
  for (int draw = 0; draw < kDraws; ++draw) {
    CutlassRequest request = any_request();
    change(request);
    const auto kernel = resolve_cutlass(request);
    if (kernel && wanted(*kernel)) return *kernel;
  }
  RC_DISCARD("no kernel in 300 requests");
}

void unchanged(CutlassRequest& /*request*/) {}

void on_sm120(CutlassRequest& request) {
  request.arch = Arch::sm_120;
  request.cluster_m = request.cluster_n = 1;
  request.schedule = {};
}

TEST(CutlassProperties, EveryByteOfTheTotalHasAName) {
  EXPECT_TRUE(rc::check([] {
    const CutlassKernel kernel = any_kernel(unchanged, has_storage);
    std::int64_t end = 0;
    std::int64_t reserved = 0;
    for (const CutlassStorage& part : kernel.storage) {
      RC_ASSERT(part.offset == end);
      RC_ASSERT(part.bytes >= 0);
      RC_ASSERT(part.bytes > 0 || part.reserved > 0);
      end += part.bytes;
      reserved += part.reserved;
    }
    RC_ASSERT(end == kernel.total);
    RC_ASSERT(reserved == kernel.reserved_bytes);
    RC_ASSERT(kernel.mainloop_bytes + kernel.epilogue_bytes <= kernel.total);
  }));
}

// alignas of smem_A, and with it of the whole, where TMA writes a swizzle of 128 B.
TEST(CutlassProperties, Sm120TotalsAreWholeKibibytes) {
  EXPECT_TRUE(rc::check([] {
    const CutlassKernel kernel = any_kernel(on_sm120, has_storage);
    RC_ASSERT(kernel.total % 1024 == 0);
    for (const CutlassStorage& part : kernel.storage) {
      if (part.name == "tensors.mainloop.smem_A" || part.name == "tensors.mainloop.smem_B") {
        RC_ASSERT(part.offset % 1024 == 0);
      }
    }
  }));
}

TEST(CutlassProperties, TheStagesThatAutoChoosesGiveTheSameKernelWhenStated) {
  EXPECT_TRUE(rc::check([] {
    const CutlassKernel automatic =
        any_kernel([](CutlassRequest& request) { request.stages = {}; },
                   [](const CutlassKernel& kernel) { return kernel.builds() && kernel.scale_stages == 0; });
    const auto stated = resolve_cutlass(with_stages(automatic.request, automatic.stages));
    RC_ASSERT(stated.has_value());
    RC_ASSERT(stated->policy == automatic.policy);
    RC_ASSERT(stated->total == automatic.total);
    RC_ASSERT(stated->reserved_bytes == 0);
  }));
}

TEST(CutlassProperties, ADenseSm120KernelOfAsManyStagesIsNeverLarger) {
  EXPECT_TRUE(rc::check([] {
    const CutlassKernel grouped = any_kernel(
        [](CutlassRequest& request) {
          on_sm120(request);
          request.grouped = true;
          if (request.fusion == CutlassFusion::finalize) request.fusion = CutlassFusion::linear_combination;
        },
        [](const CutlassKernel& kernel) { return has_storage(kernel); });
    CutlassRequest request = with_stages(grouped.request, grouped.stages);
    request.grouped = false;
    const auto dense = resolve_cutlass(request);
    RC_ASSERT(dense.has_value());
    RC_ASSERT(dense->total <= grouped.total);
  }));
}

TEST(CutlassProperties, Sm121IsSm120) {
  EXPECT_TRUE(rc::check([] {
    CutlassRequest request = any_request();
    request.arch = Arch::sm_120;
    const auto sm120 = resolve_cutlass(request);
    request.arch = Arch::sm_121;
    const auto sm121 = resolve_cutlass(request);
    RC_ASSERT(sm120.has_value() == sm121.has_value());
    if (sm120) {
      RC_ASSERT(sm120->policy == sm121->policy);
      RC_ASSERT(sm120->total == sm121->total);
    }
  }));
}

TEST(CutlassProperties, WhatARemedyPromisesIsWhatItsRequestResolvesTo) {
  EXPECT_TRUE(rc::check([] {
    const CutlassKernel kernel =
        any_kernel(unchanged, [](const CutlassKernel& each) { return !each.builds() || !each.fits(); });
    const auto remedies = cutlass_remedies(kernel);
    RC_ASSERT(remedies.has_value());
    bool all_fit = true;
    for (const CutlassRemedy& remedy : *remedies) {
      const auto mended = resolve_cutlass(remedy.request);
      RC_ASSERT(mended && mended->builds());
      RC_ASSERT(mended->total == remedy.total);
      RC_ASSERT(mended->stages == remedy.stages);
      RC_ASSERT(mended->fits() == remedy.fits);
      RC_ASSERT(all_fit || !remedy.fits);  // those that fit stand first
      all_fit = remedy.fits;
    }
  }));
}

}  // namespace
}  // namespace tilewright::cutlass_tests
