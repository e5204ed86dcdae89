// What the name of a kernel tells about it.
//
// A CUTLASS 3.x kernel carries its whole configuration in its symbol: device_kernel<GemmUniversal<problem shape,
// CollectiveMma<policy, tile, ...>, CollectiveEpilogue<policy, tiles, ...>, scheduler>>. The symbol is demangled into a
// tree and the fields are read by their position in CUTLASS's templates (include/cutlass/gemm and
// include/cutlass/epilogue). The dynamic shared memory does not stand in a binary; it follows from the type, by the
// oracle of cutlass.hpp. TensorRT-LLM's and FlashInfer's launcher names and CUTLASS-library names are decoded too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "tilewright/cutlass.hpp"
#include "tilewright/result.hpp"

namespace tilewright {

enum class KernelFamily : std::uint8_t {
  cutlass_gemm,      ///< cutlass::device_kernel of a 3.x GemmUniversal
  cutlass_launcher,  ///< tma_warp_specialized_generic_moe_gemm_kernelLauncher_...: the host side of one
  cutlass_library,   ///< cutlass3x_sm120_bstensorop_...: CUTLASS's library and profiler
  other              ///< not a CUTLASS 3.x GEMM
};
const char* to_string(KernelFamily family);  ///< "cutlass_gemm", ...

/// The configuration that a name states. Texts are the field's short words ("nvfp4", "bf16", "s8", "void"), or the type
/// as C++ writes it where there is none. Numbers that the name does not state are 0.
struct CutlassKernelName {
  Arch arch = Arch::sm_90;  ///< whose builders made it: SM121 kernels are sm_120's
  bool grouped = false;
  std::string a;
  std::string b;
  std::string c;
  std::string d;
  CutlassTile tile;   ///< of the MMA, in elements: both CTAs of a 2SM pair together
  int cluster_m = 0;  ///< 0: dynamic
  int cluster_n = 0;
  std::string policy;                            ///< "MainloopSm120ArrayTmaWarpSpecializedBlockScaled"
  std::string schedule;                          ///< its schedule tag, where the policy has one
  CutlassWarps warps = CutlassWarps::automatic;  ///< automatic: not stated
  int stages = 0;                                ///< 0: not stated; the builder's carve-out rule chooses
  int scale_stages = 0;                          ///< SM103's second pipeline
  int scheduler_stages = 0;                      ///< of SM10x's and SM120's policies
  int accumulator_stages = 0;                    ///< of SM10x's policies
  std::string epilogue;                          ///< "Sm90PtrArrayTmaWarpSpecialized"
  int epilogue_tile_m = 0;
  int epilogue_tile_n = 0;
  int stages_c = 0;
  int stages_d = 0;
  std::string fusion;     ///< "LinearCombination", "ScaledAccPerColBiasPerRowScaleScatter", "Sm90TreeVisitor"
  bool finalize = false;  ///< the fused MoE finalize: router weight and scatter-add
  bool swap_ab = false;   ///< C and D are column-major
  std::string scheduler;  ///< the tile scheduler's tag, empty for the default one
  std::optional<bool> policy_has_arch;  ///< of SM100: the policy names its architecture, as since CUTLASS 4.5
  /// The same for the oracle, with the stage count and the epilogue tile that the name states. `unsupported` with the
  /// reason where the oracle does not cover the kernel.
  Result<CutlassRequest> request = fail(ErrorCode::unsupported, "not read");
};

struct KernelName {
  KernelFamily family = KernelFamily::other;
  std::string text;  ///< the function as C++ writes it, without parameters and shortened; the symbol where it is none
  std::string note;  ///< why a mangled symbol could not be read; empty otherwise
  std::optional<CutlassKernelName> cutlass;  ///< of every family but `other`
};

/// Longest `text`, in characters.
inline constexpr std::size_t kKernelTextLimit = 240;

/// What a symbol tells; of any bytes, at any length. Never fails: what cannot be read is `other`. All texts are
/// printable ASCII, with '?' for other bytes.
KernelName decode_kernel_name(const std::string& symbol);

/// The kernel's shared memory from the stage counts of its name, by resolve_cutlass. `unsupported` where the oracle
/// does not cover the kernel, where its answer disagrees with what the name states (another release of CUTLASS, or one
/// changed by hand), or where releases disagree about the total.
Result<CutlassKernel> cutlass_storage(const CutlassKernelName& name);

}  // namespace tilewright
