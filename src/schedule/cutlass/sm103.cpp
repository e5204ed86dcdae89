#include "schedule/cutlass/sm103.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "schedule/cutlass/answer.hpp"
#include "schedule/cutlass/elements.hpp"
#include "schedule/cutlass/sm100_checks.hpp"
#include "schedule/cutlass/sm100_storage.hpp"
#include "schedule/cutlass/tags.hpp"

namespace tilewright::schedule::cutlass {
namespace {

constexpr const char* kBuilder = "gemm/collective/builders/sm103_blockscaled_umma_builder.inl";
constexpr const char* kUmma = "cute/arch/mma_sm100_umma.hpp";
constexpr int kTileK = 768;
constexpr int kSchedulerStages = 3;

using Family = CutlassTagFamily;

bool ultra(const CutlassRequest& r) {
  return r.schedule.family == Family::ultra_vs16 || r.schedule.family == Family::ultra_vs32;
}

bool is_auto(const CutlassRequest& r) { return r.schedule.warps == CutlassWarps::automatic; }

bool two_sm(const CutlassRequest& r) {
  if (!is_auto(r)) return r.schedule.warps == CutlassWarps::two_sm;
  return r.cluster_m != 0 && r.cluster_m % 2 == 0;
}

bool prefetches(const CutlassRequest& r) { return r.schedule.tma_prefetch.value_or(!r.grouped); }

// find_vector_size of the tag: Auto has no place in its list and gets 32.
int tag_vector(const CutlassRequest& r) { return r.schedule.family == Family::ultra_vs16 ? 16 : 32; }

constexpr const char* kRows = "128 rows a CTA: 128 with a 1SM MMA, 256 with a 2SM one";
constexpr const char* kColumns = "128, 192 or 256 columns";

std::string mainloop_file(const CutlassRequest& r) {
  return r.grouped ? "gemm/collective/sm103_blockscaled_mma_array_warpspecialized.hpp"
                   : "gemm/collective/sm103_blockscaled_mma_warpspecialized.hpp";
}

std::optional<CutlassBuildError> check_mainloop(const CutlassRequest& r) {
  const bool fp4 = block_scaled(r.a) && bits(r.a) == 4 && bits(r.b) == 4;
  if (!fp4 || !(is_auto(r) || ultra(r))) {
    return no_builder("an UltraVs16 or UltraVs32 tag of SM103 with FP4 operands, or arch::Sm100 and its tags");
  }
  if (r.tile.k != kTileK) {
    return build_error("tile_k", "TileShape_K should 768 for MMA kernels", kBuilder, "768 in K");
  }
  if (r.tile.m != 128 && r.tile.m != 256) {
    return build_error("tile_m", "Invalid TileShape_M.", kBuilder, kRows);
  }
  if (r.tile.n % 64 != 0 || r.tile.n > 256) {
    return build_error("tile_n", "Invalid TileShape_N.", kBuilder, kColumns);
  }
  if (two_sm(r) && r.cluster_m % 2 == 1) {
    return build_error("cluster", "Cluster shape not divisible by MMA size",
                       "gemm/collective/builders/sm100_common.inl", "a cluster with an even M");
  }
  if (!two_sm(r) && r.tile.m == 256) {
    return build_error("tile_m", "MMA M-mode size should be 128 for 1 CTA cluster MMA.", kUmma, kRows);
  }
  if (tag_vector(r) == 32 && r.a == CutlassOperand::nvfp4) {
    return build_error("vector_size",
                       "Vector size can only be 4x mode (VS=16) or 2x mode (VS=32) for MMA. 2x mode only supports "
                       "float_e2m1_t for a/b types and ue8m0_t for sf type",
                       kUmma, "an UltraVs16 tag: Auto takes the scales for vectors of 32");
  }
  if (r.stages.rule == CutlassStageRule::explicit_count) {
    return build_error("stage_count", "Index out of range", kBuilder,
                       "StageCountAutoCarveout: one StageCount does not name both kinds of stages");
  }
  if (r.tile.n == 64) {
    return build_error("tile_n", "Cta N should be one of 128/192/256", mainloop_file(r), kColumns);
  }
  if (two_sm(r) && r.tile.m == 128) {
    return build_error("tile_m", "TMA requires CTA_Tile and SLayout top-level size equivalence.",
                       "cute/atom/copy_traits_sm90_tma.hpp", kRows);
  }
  return std::nullopt;
}

// The operands' tiles of one stage in one CTA's shared memory. A's and B's rows lie in 128 B each, a third of K; both
// CTAs of a pair hold all of B's scale factors, in blocks of 128 columns. The scale stages hold a quarter of K (vectors
// of 16) or half (of 32): 1,536 B for 128 rows either way.
struct Operands {
  std::int64_t a = 0;
  std::int64_t b = 0;
  std::int64_t sfa = 0;
  std::int64_t sfb = 0;

  [[nodiscard]] std::int64_t scales() const { return sfa + sfb; }
  [[nodiscard]] std::int64_t all() const { return a + b + scales(); }
};

Operands operands(const CutlassRequest& r) {
  constexpr std::int64_t kRowBytes = 128;
  constexpr std::int64_t kScaleBlock = 1536;
  const int ctas = two_sm(r) ? 2 : 1;
  const std::int64_t m = r.tile.m / ctas;
  Operands o;
  o.a = m * kRowBytes;
  o.b = r.tile.n / ctas * kRowBytes;
  o.sfa = m / 128 * kScaleBlock;
  o.sfb = ceil_div(r.tile.n, 128) * kScaleBlock;
  return o;
}

// A count of no stages builds: an array of nothing takes its alignment of 16 B.
StructLayout mainloop_tensors(const Operands& o, int stages, int scale_stages) {
  const auto array = [](std::int64_t bytes) { return std::max<std::int64_t>(bytes, 16); };
  StructLayout layout;
  layout.aligned(128);
  layout.member("smem_A", array(o.a * stages), 16).member("smem_B", array(o.b * stages), 16);
  return layout.member("smem_SFA", o.sfa * scale_stages, 16).member("smem_SFB", o.sfb * scale_stages, 16);
}

void note_mma(CutlassKernel& kernel) {
  const CutlassRequest& r = kernel.request;
  kernel.warps = two_sm(r) ? CutlassWarps::two_sm : CutlassWarps::one_sm;
  kernel.steps.push_back({"mainloop schedule", tag_name(r.schedule), two_sm(r) ? "a 2SM MMA" : "a 1SM MMA",
                          is_auto(r) ? "2SM where the cluster is static with an even M" : "the tag says so", kBuilder});
  kernel.steps.push_back({"prefetch", tag_name(r.schedule), prefetches(r) ? "by TMA" : "none",
                          "the tag says so; else a dense one, and Auto, prefetches, and a PtrArray one does not",
                          "gemm/dispatch_policy.hpp"});
}

// Stages of A and B, and of the scale factors, which take what the former leave over.
void choose_stages(CutlassKernel& kernel, const Operands& o, std::int64_t kernel_bytes, std::int64_t carveout) {
  const std::int64_t room = kernel.limit - kernel_bytes - carveout;
  const std::int64_t stage = o.all() + 2 * kBarrierPairBytes;
  const std::int64_t scale_stage = o.scales() + kBarrierPairBytes;
  kernel.stages = static_cast<int>(room / stage);
  kernel.scale_stages = static_cast<int>(kernel.stages + (room - kernel.stages * stage) / scale_stage);
  kernel.steps.push_back({"stages", fmt::format("StageCountAutoCarveout<{}>", carveout), std::to_string(kernel.stages),
                          fmt::format("({} - {} for the kernel - {} carved out) / {} a stage with its scales",
                                      kernel.limit, kernel_bytes, carveout, stage),
                          kBuilder});
  kernel.steps.push_back({"scale stages", std::to_string(kernel.stages), std::to_string(kernel.scale_stages),
                          fmt::format("one for each stage, and one for every {} B that are left", scale_stage),
                          kBuilder});
}

void reserve_stages(CutlassKernel& kernel, const Operands& o) {
  reserve(kernel.storage, "tensors.mainloop.smem_A", o.a * kernel.stages);
  reserve(kernel.storage, "tensors.mainloop.smem_B", o.b * kernel.stages);
  reserve(kernel.storage, "tensors.mainloop.smem_SFA", o.sfa * kernel.scale_stages);
  reserve(kernel.storage, "tensors.mainloop.smem_SFB", o.sfb * kernel.scale_stages);
  reserve(kernel.storage, "pipelines.mainloop", kBarrierPairBytes * (kernel.stages + kernel.scale_stages));
}

void fill(CutlassKernel& kernel, const Sm100Epilogue& epilogue) {
  const CutlassRequest& r = kernel.request;
  const Operands o = operands(r);
  Sm100Mainloop m;
  m.accumulator_stages = r.tile.n == 256 ? 1 : 2;
  m.scheduler_stages = kSchedulerStages;
  m.tensormaps = 4;
  std::vector<CutlassStorage> kernel_only;
  const std::int64_t kernel_bytes = reserve_sm100_kernel(kernel_only, r, m);
  const std::int64_t carveout = carveout_bytes(r, epilogue.epilogue.storage_bytes);
  kernel.steps.push_back({"kernel's own storage", r.grouped ? "grouped" : "dense", fmt::format("{} B", kernel_bytes),
                          "barriers, scheduler responses and, where grouped, tensor maps", kBuilder});
  choose_stages(kernel, o, kernel_bytes, carveout);
  const char* const array = r.grouped ? "Array" : "";
  kernel.policy = fmt::format(
      "MainloopSm103{}TmaUmmaWarpSpecializedBlockScaled<{},{},{},{},{},(cutlass::sm103::detail::KernelPrefetchType){}"
      "{}>",
      array, kernel.stages, kernel.scale_stages, m.scheduler_stages, m.accumulator_stages, cluster_tuple(r),
      prefetches(r) ? 0 : 1, policy_arch(r));
  kernel.schedule = fmt::format("Kernel{}TmaWarpSpecializedBlockScaledSm103<{},{}>", r.grouped ? "PtrArray" : "",
                                m.scheduler_stages, m.accumulator_stages);
  m.tensors = mainloop_tensors(o, kernel.stages, kernel.scale_stages);
  m.barriers = kBarrierPairBytes * (kernel.stages + kernel.scale_stages);
  kernel.mainloop_bytes = m.tensors.size();
  kernel.epilogue_bytes = epilogue.epilogue.tensors.size();
  kernel.storage = sm100_storage(r, m, epilogue);
  kernel.total = kernel.storage.back().offset + kernel.storage.back().bytes;
  reserve_stages(kernel, o);
  reserve_sm100_kernel(kernel.storage, r, m);
  reserve_sm100_carveout(kernel.storage, carveout);
  kernel.reserved_bytes = reserved_bytes(kernel.storage);
  check_capacity(kernel, r.grouped ? "gemm/kernel/sm103_blockscaled_gemm_array_tma_warpspecialized.hpp"
                                   : "gemm/kernel/sm103_blockscaled_gemm_tma_warpspecialized.hpp");
}

}  // namespace

Result<CutlassKernel> resolve_sm103(const CutlassRequest& request) {
  TILEWRIGHT_TRY(check_sm10x_coverage(request));
  CutlassKernel kernel = start(request);
  const Sm100Epilogue epilogue = choose_sm100_epilogue(kernel);
  if (!kernel.error) kernel.error = check_mainloop(request);
  if (!kernel.error) kernel.error = check_sm10x_groups(request);
  if (!kernel.error) kernel.error = check_sm10x_epilogue_groups(request);
  if (kernel.error) return kernel;
  TILEWRIGHT_TRY(check_sm10x_epilogue_tile(request, epilogue.epilogue.choice, epilogue.no_smem));
  note_mma(kernel);
  fill(kernel, epilogue);
  return kernel;
}

}  // namespace tilewright::schedule::cutlass
