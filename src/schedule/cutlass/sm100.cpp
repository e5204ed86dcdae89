#include "schedule/cutlass/sm100.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "schedule/cutlass/answer.hpp"
#include "schedule/cutlass/elements.hpp"
#include "schedule/cutlass/sm100_checks.hpp"
#include "schedule/cutlass/sm100_storage.hpp"
#include "schedule/cutlass/tags.hpp"

namespace tilewright::schedule::cutlass {
namespace {

constexpr const char* kDenseBuilder = "gemm/collective/builders/sm100_umma_builder.inl";
constexpr const char* kScaledBuilder = "gemm/collective/builders/sm100_blockscaled_umma_builder.inl";
constexpr const char* kCarveout = "gemm/collective/builders/sm100_pipeline_carveout.inl";

const char* builder_file(const CutlassRequest& r) { return block_scaled(r.a) ? kScaledBuilder : kDenseBuilder; }

const char* mainloop_file(const CutlassRequest& r) {
  if (block_scaled(r.a)) {
    return r.grouped ? "gemm/collective/sm100_blockscaled_mma_array_warpspecialized.hpp"
                     : "gemm/collective/sm100_blockscaled_mma_warpspecialized.hpp";
  }
  return r.grouped ? "gemm/collective/sm100_mma_array_warpspecialized.hpp"
                   : "gemm/collective/sm100_mma_warpspecialized.hpp";
}

const char* kernel_file(const CutlassRequest& r) {
  return r.grouped ? "gemm/kernel/sm100_gemm_array_tma_warpspecialized.hpp"
                   : "gemm/kernel/sm100_gemm_tma_warpspecialized.hpp";
}

// The operands' tiles in one CTA's shared memory.
struct Operands {
  std::int64_t a = 0;
  std::int64_t b = 0;
  std::int64_t sfa = 0;
  std::int64_t sfb = 0;

  [[nodiscard]] std::int64_t bytes() const { return a + b + sfa + sfb; }
};

// A 2SM MMA halves A's rows and B's columns between its CTAs; both CTAs hold all of B's scale factors, in blocks of 128
// columns.
Operands operands(const CutlassRequest& r, bool two_sm) {
  const int ctas = two_sm ? 2 : 1;
  const bool unpacked = unpacks_to_bytes(r);
  const std::int64_t m = r.tile.m / ctas;
  Operands o;
  o.a = bytes_of(m * r.tile.k, unpacked ? 8 : bits(r.a));
  o.b = bytes_of(static_cast<std::int64_t>(r.tile.n / ctas) * r.tile.k, unpacked ? 8 : bits(r.b));
  if (block_scaled(r.a)) {
    o.sfa = m * r.tile.k / scale_vector(r.a);
    o.sfb = align_up(r.tile.n, 128) * r.tile.k / scale_vector(r.b);
  }
  return o;
}

// Stages of the accumulator in tensor memory: 128 rows of 512 columns.
int accumulator_stages(const CutlassRequest& r, bool two_sm) {
  constexpr int kColumns = 512;
  if (block_scaled(r.a)) return r.tile.n == 256 ? 1 : 2;
  const int cta_m = two_sm ? r.tile.m / 2 : r.tile.m;
  const int stages = cta_m == 64 && !two_sm ? kColumns / r.tile.n * 2 : 128 * kColumns / (cta_m * r.tile.n);
  return std::min(4, stages);
}

StructLayout mainloop_tensors(const Operands& o, int stages) {
  StructLayout layout;
  layout.aligned(128);
  layout.member("smem_A", o.a * stages, 16).member("smem_B", o.b * stages, 16);
  if (o.sfa > 0) layout.member("smem_SFA", o.sfa * stages, 16).member("smem_SFB", o.sfb * stages, 16);
  return layout;
}

// The barrier pair that a stage's budget holds: rounded up to 128 B in the block-scaled builder since 4.4.
std::int64_t stage_barriers(const CutlassRequest& r) {
  const bool rounded = block_scaled(r.a) && r.version >= CutlassVersion::v4_4_1;
  return rounded ? align_up(kBarrierPairBytes, 128) : kBarrierPairBytes;
}

void note_mma(CutlassKernel& kernel, bool two_sm) {
  const CutlassRequest& r = kernel.request;
  std::string rule = "the tag says so";
  if (r.schedule.warps == CutlassWarps::automatic) {
    rule = block_scaled(r.a) ? "2SM where the cluster is static with an even M and the tile has 256 rows"
                             : "2SM where the cluster is static with an even M and 128 divides the tile's rows";
  }
  const char* const file =
      block_scaled(r.a) ? "gemm/collective/builders/sm1xx_common.inl" : "gemm/collective/builders/sm100_common.inl";
  kernel.warps = two_sm ? CutlassWarps::two_sm : CutlassWarps::one_sm;
  kernel.steps.push_back({"mainloop schedule", tag_name(r.schedule), two_sm ? "a 2SM MMA" : "a 1SM MMA", rule, file});
  if (!block_scaled(r.a)) return;
  kernel.steps.push_back(
      {"instruction", fmt::format("{} x {}", to_string(r.a), to_string(r.b)),
       unpacks_to_bytes(r) ? "MXF8F6F4: operands of a byte" : "MXF4NVF4: packed 4-bit operands",
       fmt::format("scale vectors of {}; {}", scale_vector(r.a),
                   r.schedule.family == CutlassTagFamily::none ? "by the operands' bits" : "the tag says so"),
       file});
}

std::string policy_name(const CutlassRequest& r, const CutlassKernel& kernel, const Sm100Mainloop& m) {
  return fmt::format("MainloopSm100{}TmaUmmaWarpSpecialized{}<{},{},{},{}{}>", r.grouped ? "Array" : "",
                     block_scaled(r.a) ? "BlockScaled" : "", kernel.stages, m.scheduler_stages, m.accumulator_stages,
                     cluster_tuple(r), policy_arch(r));
}

// The stage count of the request, or what the capacity holds after the kernel's and the epilogue's share.
void choose_stages(CutlassKernel& kernel, const Operands& o, std::int64_t kernel_bytes, std::int64_t carveout) {
  const CutlassRequest& r = kernel.request;
  if (r.stages.rule == CutlassStageRule::explicit_count) {
    kernel.stages = r.stages.count;
    kernel.steps.push_back({"stages", fmt::format("StageCount<{}>", r.stages.count), std::to_string(r.stages.count),
                            "the request says so", builder_file(r)});
    return;
  }
  const std::int64_t stage = o.bytes() + stage_barriers(r);
  const std::int64_t room = kernel.limit - kernel_bytes - carveout;
  kernel.stages = static_cast<int>(room / stage);
  kernel.steps.push_back({"stages", fmt::format("StageCountAutoCarveout<{}>", carveout), std::to_string(kernel.stages),
                          fmt::format("({} - {} for the kernel - {} carved out) / {} a stage", kernel.limit,
                                      kernel_bytes, carveout, stage),
                          builder_file(r)});
}

void reserve_stages(CutlassKernel& kernel, const Operands& o) {
  reserve(kernel.storage, "tensors.mainloop.smem_A", o.a * kernel.stages);
  reserve(kernel.storage, "tensors.mainloop.smem_B", o.b * kernel.stages);
  reserve(kernel.storage, "tensors.mainloop.smem_SFA", o.sfa * kernel.stages);
  reserve(kernel.storage, "tensors.mainloop.smem_SFB", o.sfb * kernel.stages);
  reserve(kernel.storage, "pipelines.mainloop", stage_barriers(kernel.request) * kernel.stages);
}

// The kernel's parts that do not depend on the stage count.
Sm100Mainloop mainloop_parts(CutlassKernel& kernel, bool two_sm) {
  const CutlassRequest& r = kernel.request;
  Sm100Mainloop m;
  m.accumulator_stages = accumulator_stages(r, two_sm);
  m.scheduler_stages = r.grouped ? 8 : 2;
  m.tensormaps = block_scaled(r.a) ? 4 : 2;
  kernel.steps.push_back(
      {"accumulator and scheduler stages", fmt::format("{} columns", r.tile.n),
       fmt::format("{} and {}", m.accumulator_stages, m.scheduler_stages),
       block_scaled(r.a)
           ? "accumulators of 256 columns overlap, others take two stages; 8 scheduler stages where grouped"
           : "as many as tensor memory holds, at most 4; 8 scheduler stages where grouped",
       builder_file(r)});
  return m;
}

void fill(CutlassKernel& kernel, const Sm100Epilogue& epilogue, bool two_sm) {
  const CutlassRequest& r = kernel.request;
  const Operands o = operands(r, two_sm);
  Sm100Mainloop m = mainloop_parts(kernel, two_sm);
  std::vector<CutlassStorage> kernel_only;
  const std::int64_t kernel_bytes = reserve_sm100_kernel(kernel_only, r, m);
  kernel.steps.push_back(
      {"kernel's own storage", r.grouped ? "grouped" : "dense", fmt::format("{} B", kernel_bytes),
       r.grouped ? "barriers, scheduler responses and tensor maps" : "barriers and scheduler responses", kCarveout});
  const std::int64_t carveout = carveout_bytes(r, epilogue.epilogue.storage_bytes);
  choose_stages(kernel, o, kernel_bytes, carveout);
  kernel.policy = policy_name(r, kernel, m);
  kernel.schedule = fmt::format("Kernel{}TmaWarpSpecialized{}Sm100<{},{}>", r.grouped ? "PtrArray" : "",
                                block_scaled(r.a) ? "BlockScaled" : "", m.scheduler_stages, m.accumulator_stages);
  if (kernel.stages < 1) {
    kernel.error = no_stage_fits(builder_file(r), block_scaled(r.a));
    return;
  }
  if (kernel.stages < 2 && !block_scaled(r.a)) {
    kernel.error = build_error("stages_below_2", "Specialization requires Stages set to value 1 or more.",
                               mainloop_file(r), "a smaller tile, or a smaller epilogue");
    return;
  }
  m.tensors = mainloop_tensors(o, kernel.stages);
  m.barriers = kBarrierPairBytes * kernel.stages;
  kernel.mainloop_bytes = m.tensors.size();
  kernel.epilogue_bytes = epilogue.epilogue.tensors.size();
  kernel.storage = sm100_storage(r, m, epilogue);
  kernel.total = kernel.storage.back().offset + kernel.storage.back().bytes;
  if (r.stages.rule != CutlassStageRule::explicit_count) {
    reserve_stages(kernel, o);
    reserve_sm100_kernel(kernel.storage, r, m);
    reserve_sm100_carveout(kernel.storage, carveout);
    kernel.reserved_bytes = reserved_bytes(kernel.storage);
  }
  check_capacity(kernel, kernel_file(r));
}

}  // namespace

Result<CutlassKernel> resolve_sm100(const CutlassRequest& request) {
  CutlassKernel kernel = start(request);
  TILEWRIGHT_TRY(check_sm10x_coverage(request));
  const Sm100Epilogue epilogue = choose_sm100_epilogue(kernel);
  if (!kernel.error) kernel.error = check_sm100_mainloop(request);
  if (!kernel.error) kernel.error = check_sm10x_epilogue_groups(request);
  if (kernel.error) return kernel;
  TILEWRIGHT_TRY(check_sm10x_epilogue_tile(request, epilogue.epilogue.choice, epilogue.no_smem));
  const bool two_sm = sm100_two_sm(request);
  note_mma(kernel, two_sm);
  fill(kernel, epilogue, two_sm);
  return kernel;
}

}  // namespace tilewright::schedule::cutlass
