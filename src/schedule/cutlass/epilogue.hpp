// The storage of CUTLASS's TMA epilogues, shared by SM90, SM100, SM103 and SM120 once each builder has chosen the
// epilogue tile and its stages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schedule/cutlass/struct_layout.hpp"

namespace tilewright::schedule::cutlass {

/// What an epilogue builder chooses.
struct EpilogueChoice {
  int cta_m = 0;  ///< of one CTA: half the MMA tile's in a 2SM pair
  int cta_n = 0;
  int tile_m = 0;
  int tile_n = 0;
  int contiguous_n = 0;  ///< columns of a tile that lie side by side in D; 0: all
  int stages_c = 0;
  int stages_d = 0;
  bool reuse_c = false;                  ///< C and D share their buffers
  int tensormaps = 0;                    ///< TMA descriptors kept in shared memory: grouped kernels only
  StructLayout fusion = plain_fusion();  ///< FusionCallbacks::SharedStorage

  /// LinearCombination: an empty struct, which is one byte as a member.
  static StructLayout plain_fusion();
  /// Adds Sm90RowBroadcast's copy of a bias row, or nothing (one byte) where the bias runs along the other side.
  static StructLayout bias_row(int cta_n, int element_bytes);
  /// Finalize: what runs along N is kept as a row, the bias (16-bit, as the output), or, where C and D are
  /// column-major, the router's weights (fp32).
  static StructLayout finalize_row(bool swap_ab, int cta_n);
};

/// The epilogue as the kernel's SharedStorage holds it.
struct Epilogue {
  EpilogueChoice choice;
  std::string policy;           ///< "Sm90PtrArrayTmaWarpSpecialized<3,2,4,true,false,2>"
  StructLayout tensors;         ///< CollectiveEpilogue::TensorStorage: smem_C, smem_D (or both in one), fusion
  std::int64_t load_bytes = 0;  ///< its load pipeline's barriers: 16 B a stage of C
  std::int64_t tensormap_bytes = 0;
  std::int64_t storage_bytes = 0;  ///< sizeof(CollectiveEpilogue::SharedStorage): the automatic carve-out
};

/// EpiTiles of a choice: epilogue tiles in the CTA's tile.
int epilogue_tiles(const EpilogueChoice& choice);

/// Alignment of a C or D buffer by its swizzle: 1,024 B where the tile's contiguous extent is a multiple of 128 B, 512
/// of 64, 256 of 32, 128 of 16 (cutlass/detail/layout.hpp, alignment_for_swizzle); nothing where it is no multiple of
/// 16 B, for which there is no layout atom (`epilogue_extent`).
std::optional<std::int64_t> swizzle_alignment(std::int64_t contiguous_bytes);

/// The storage that follows. C's and D's element types, their order (swap_ab: column-major) and whether the kernel is
/// grouped are the request's; a void D keeps its buffer, in 16-bit elements of the fusion's auxiliary output. Nothing
/// where a buffer has no layout atom. `policy` is left empty.
std::optional<Epilogue> tma_epilogue(const CutlassRequest& request, const EpilogueChoice& choice);

}  // namespace tilewright::schedule::cutlass
