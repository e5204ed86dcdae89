// What CUTLASS's collective builders would choose for a kernel, byte for byte, without CUTLASS and without a GPU.
//
// A CutlassRequest says what a user hands to the builders: architecture, operand types, tile, schedule tag, epilogue.
// The oracle follows the builders' rules (CUTLASS include/cutlass/gemm/collective/builders and
// include/cutlass/epilogue/collective/builders) and answers with the resolved schedule, the stages, the epilogue tile,
// every member of the kernel's SharedStorage, and the verdict against the device's limit; or with the static assertion
// that stops the build. What it has no compiled evidence for is `unsupported`: it never guesses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tilewright/arch.hpp"
#include "tilewright/result.hpp"

namespace tilewright {

/// Releases whose builders differ in what is modelled here, oldest first. `v4_5` is commit b46b16d, FlashInfer's pin.
enum class CutlassVersion : std::uint8_t { v4_2_1, v4_4_1, v4_4_2, v4_5_0, v4_7_0 };

/// Operand types of the mainloop: value format and block scale together, as the builders take them.
enum class CutlassOperand : std::uint8_t { nvfp4, mxfp4, mxfp8, fp8, bf16, fp16 };

/// Element type of C or D. `none` is void.
enum class CutlassElement : std::uint8_t { none, e2m1, e4m3, e5m2, f16, bf16, f32 };

/// Auto, or how the warps of a kernel share the work. The `Sm` ones are SM100's and SM103's.
enum class CutlassWarps : std::uint8_t { automatic, tma_warp_specialized, cooperative, pingpong, one_sm, two_sm };

/// Instruction family that a schedule tag names besides the warps; `none` where it names none.
enum class CutlassTagFamily : std::uint8_t {
  none,
  fp8_fast_accum,
  block_scaled,
  nvf4,
  mxf4,
  mxf8f6f4,
  ultra_vs16,
  ultra_vs32
};

/// A mainloop schedule tag, e.g. KernelPtrArrayTmaWarpSpecialized2SmNvf4Sm100.
struct CutlassSchedule {
  CutlassWarps warps = CutlassWarps::automatic;
  CutlassTagFamily family = CutlassTagFamily::none;
  bool ptr_array = false;
  std::optional<Arch> tag_arch;           ///< the tag's own Sm suffix where it has one: Sm100, Sm103, Sm120
  std::optional<int> scheduler_stages;    ///< SM120 array tags: ...CooperativeSm120<S>
  std::optional<bool> tma_prefetch = {};  ///< SM103 tags: ...Sm103TmaPrefetch or ...Sm103DisablePrefetch, or neither

  bool operator==(const CutlassSchedule&) const = default;
};

/// An epilogue schedule tag.
enum class CutlassEpilogueWarps : std::uint8_t { automatic, tma, tma_cooperative, tma_pingpong, no_smem };
struct CutlassEpilogueSchedule {
  CutlassEpilogueWarps warps = CutlassEpilogueWarps::automatic;
  bool ptr_array = false;
  int sm = 0;  ///< SM100 and SM103 tags: 1 or 2; 0 where the tag names none

  bool operator==(const CutlassEpilogueSchedule&) const = default;
};

/// What the epilogue computes, as far as it changes the storage.
enum class CutlassFusion : std::uint8_t {
  linear_combination,  ///< D = alpha * acc + beta * C
  finalize,            ///< TensorRT-LLM's and FlashInfer's: bias, router weight, scatter-add; D is void for the builder
  scale_factor_d       ///< D in NVFP4 with its scales (example 79d: LinCombBlockScaleFactor)
};

enum class CutlassStageRule : std::uint8_t {
  carveout,       ///< StageCountAutoCarveout<sizeof(CollectiveEpilogue::SharedStorage)>, or of `carveout_bytes`
  automatic,      ///< StageCountAuto: no carve-out
  explicit_count  ///< StageCount<N>
};

struct CutlassStages {
  CutlassStageRule rule = CutlassStageRule::carveout;
  int count = 0;                               ///< of explicit_count
  std::optional<std::int64_t> carveout_bytes;  ///< of carveout, where it is not the epilogue's size

  bool operator==(const CutlassStages&) const = default;
};

struct CutlassTile {
  int m = 0;
  int n = 0;
  int k = 0;

  bool operator==(const CutlassTile&) const = default;
};

struct CutlassRequest {
  Arch arch = Arch::sm_120;
  CutlassVersion version = CutlassVersion::v4_7_0;
  bool grouped = false;
  CutlassOperand a = CutlassOperand::nvfp4;
  CutlassOperand b = CutlassOperand::nvfp4;
  CutlassElement c = CutlassElement::none;
  CutlassElement d = CutlassElement::bf16;
  CutlassTile tile;   ///< elements, as given to the builder: of the MMA, both CTAs of a 2SM pair together
  int cluster_m = 1;  ///< 0: a dynamic cluster
  int cluster_n = 1;
  CutlassSchedule schedule;
  CutlassEpilogueSchedule epilogue_schedule;
  CutlassFusion fusion = CutlassFusion::linear_combination;
  bool swap_ab = false;  ///< C and D are column-major
  CutlassStages stages;
  std::optional<int> epilogue_tile_m;  ///< both given, or EpilogueTileAuto
  std::optional<int> epilogue_tile_n;

  bool operator==(const CutlassRequest&) const = default;
};

// Names as the command line and JSON have them: "4.7.0", "nvfp4", "void", "cooperative", "plain". An unknown one is
// `invalid_argument` with the known ones.
const char* to_string(CutlassVersion version);
const char* to_string(CutlassOperand operand);
const char* to_string(CutlassElement element);
const char* to_string(CutlassWarps warps);
const char* to_string(CutlassFusion fusion);
Result<CutlassVersion> parse_cutlass_version(const std::string& name);
Result<CutlassOperand> parse_cutlass_operand(const std::string& name);
Result<CutlassElement> parse_cutlass_element(const std::string& name);
Result<CutlassFusion> parse_cutlass_fusion(const std::string& name);

/// One decision of the builders, in the order in which they take them.
struct CutlassStep {
  std::string what;       ///< "mainloop schedule"
  std::string requested;  ///< "KernelScheduleAuto"
  std::string resolved;   ///< "KernelPtrArrayTmaWarpSpecializedCooperativeBlockScaledSm120<3>"
  std::string rule;       ///< why, in one line
  std::string file;       ///< where CUTLASS decides it: "gemm/collective/builders/sm120_blockscaled_mma_builder.inl"
};

/// One member of the kernel's SharedStorage, or the padding before the next one. Bytes of all members sum to the total,
/// `reserved` to reserved_bytes. A member of no bytes is something that the builder reserved and the struct does not
/// have. Under StageCount<N> nothing is reserved: the builder takes N as it is.
struct CutlassStorage {
  std::string name;  ///< "tensors.mainloop.smem_A", "tensors.epilogue.smem_C", "pipelines.mainloop", "padding"
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  std::int64_t reserved = 0;  ///< what the builder's stage count set aside for it
};

/// A static assertion, or a failed lookup, that stops the compilation.
struct CutlassBuildError {
  std::string rule;     ///< stable code: "stages_below_2", "tile_m", "no_builder", "cluster", "vector_size", ...
  std::string message;  ///< CUTLASS's own words
  std::string file;     ///< where it is asserted
  std::string remedy;   ///< what to change
  bool in_kernel_body = false;  ///< the types build and have a size; the kernel's body does not compile
};

/// The kernel that CUTLASS would build.
struct CutlassKernel {
  CutlassRequest request;
  std::vector<CutlassStep> steps;
  std::string policy;    ///< "MainloopSm120ArrayTmaWarpSpecializedBlockScaled<4,3,tuple<C<1>,C<1>,C<1>>,...>"
  std::string schedule;  ///< the resolved tag
  CutlassWarps warps = CutlassWarps::cooperative;  ///< never automatic
  int stages = 0;
  int scale_stages = 0;  ///< SM103's second pipeline, of the scale factors; 0 elsewhere
  int epilogue_tile_m = 0;
  int epilogue_tile_n = 0;
  int stages_c = 0;
  int stages_d = 0;
  std::int64_t mainloop_bytes = 0;  ///< sizeof(CollectiveMainloop::TensorStorage)
  std::int64_t epilogue_bytes = 0;  ///< sizeof(CollectiveEpilogue::TensorStorage)
  std::vector<CutlassStorage> storage;
  std::int64_t reserved_bytes = 0;         ///< what the builder believed that the kernel needs
  std::int64_t total = 0;                  ///< sizeof(GemmKernel::SharedStorage): what the launch asks for
  std::int64_t limit = 0;                  ///< the device's, a block
  std::optional<CutlassBuildError> error;  ///< empty: it builds. Sizes are filled where the types have them

  [[nodiscard]] bool builds() const { return !error.has_value(); }
  [[nodiscard]] bool fits() const { return total <= limit; }
  [[nodiscard]] std::int64_t over_bytes() const { return total > limit ? total - limit : 0; }
};

/// A change of the request that makes it build and fit, by rising cost.
struct CutlassRemedy {
  std::string change;      ///< "StageCount<2>", "ElementC = void", "EpilogueTile 64x16", "swap A and B"
  CutlassRequest request;  ///< the request with the change
  int stages = 0;
  std::int64_t total = 0;
  bool fits = false;
  std::string cost;  ///< what is given up, in a few words
};

/// What CUTLASS builds. `unsupported` where no compiled evidence covers the request, with what is covered.
Result<CutlassKernel> resolve_cutlass(const CutlassRequest& request);

/// Changes for a kernel that does not build or does not fit; empty for one that does.
Result<std::vector<CutlassRemedy>> cutlass_remedies(const CutlassKernel& kernel);

}  // namespace tilewright
