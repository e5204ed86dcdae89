#include "schedule/cutlass/epilogue.hpp"

#include <algorithm>

#include "schedule/cutlass/elements.hpp"

namespace tilewright::schedule::cutlass {
namespace {

constexpr std::int64_t kTensorMapBytes = 128;  // sizeof(cute::TmaDescriptor)
constexpr std::int64_t kBarrierPair = 16;      // a full and an empty ClusterBarrier

// The element that the buffers are declared with. A void D becomes the fusion's auxiliary output, which FlashInfer's
// and TensorRT-LLM's finalize sets to its 16-bit output type; a void C becomes D (sm90_builder.inl, sm120_builder.inl).
int bits_of_d(const CutlassRequest& request) { return request.d == CutlassElement::none ? 16 : bits(request.d); }
int bits_of_c(const CutlassRequest& request) {
  return request.c == CutlassElement::none ? bits_of_d(request) : bits(request.c);
}

// The one atom that SM100 has for column-major elements of 32 bits swizzles 64 B (sm100_smem_selector:
// Layout_MN_SW128_32B_Atom); every other buffer is aligned by its extent.
std::optional<std::int64_t> buffer_alignment(const CutlassRequest& request, std::int64_t contiguous, int bit_width) {
  const bool sm100 = request.arch == Arch::sm_100 || request.arch == Arch::sm_103;
  if (sm100 && request.swap_ab && bit_width == 32 && contiguous % 32 == 0) return 512;
  return swizzle_alignment(bytes_of(contiguous, bit_width));
}

}  // namespace

StructLayout EpilogueChoice::plain_fusion() { return StructLayout().member("fusion", 1, 1); }

StructLayout EpilogueChoice::bias_row(int cta_n, int element_bytes) {
  return StructLayout().member("bias_row", static_cast<std::int64_t>(cta_n) * element_bytes, 16);
}

StructLayout EpilogueChoice::finalize_row(bool swap_ab, int cta_n) {
  constexpr int kBiasBytes = 2;
  constexpr int kWeightBytes = 4;
  if (!swap_ab) return bias_row(cta_n, kBiasBytes);
  return StructLayout().member("router_weights", static_cast<std::int64_t>(cta_n) * kWeightBytes, 16);
}

int epilogue_tiles(const EpilogueChoice& choice) {
  return (choice.cta_m / choice.tile_m) * (choice.cta_n / choice.tile_n);
}

std::optional<std::int64_t> swizzle_alignment(std::int64_t contiguous_bytes) {
  if (contiguous_bytes <= 0 || contiguous_bytes % 16 != 0) return std::nullopt;
  for (const std::int64_t width : {128, 64, 32}) {
    if (contiguous_bytes % width == 0) return width * 8;
  }
  return 128;
}

std::optional<Epilogue> tma_epilogue(const CutlassRequest& request, const EpilogueChoice& choice) {
  const int columns = choice.contiguous_n > 0 ? choice.contiguous_n : choice.tile_n;
  const int contiguous = request.swap_ab ? choice.tile_m : columns;
  const std::int64_t elements = static_cast<std::int64_t>(choice.tile_m) * choice.tile_n;
  const auto align_c = buffer_alignment(request, contiguous, bits_of_c(request));
  const auto align_d = buffer_alignment(request, contiguous, bits_of_d(request));
  if (!align_c || !align_d) return std::nullopt;
  const std::int64_t bytes_c = choice.stages_c * bytes_of(elements, bits_of_c(request));
  const std::int64_t bytes_d = bytes_of(elements, bits_of_d(request));

  StructLayout collective;
  if (request.c == CutlassElement::none) {
    collective.member("smem_D", choice.stages_d * bytes_d, *align_d);
  } else if (choice.reuse_c) {
    // One union; D's stages are C's.
    collective.member("smem_C_and_D", std::max(bytes_c, choice.stages_c * bytes_d), std::max(*align_c, *align_d));
  } else {
    collective.member("smem_C", bytes_c, *align_c).member("smem_D", choice.stages_d * bytes_d, *align_d);
  }

  Epilogue epilogue;
  epilogue.choice = choice;
  epilogue.tensors.nested("", collective).nested("", choice.fusion);
  epilogue.load_bytes = kBarrierPair * choice.stages_c;
  epilogue.tensormap_bytes = kTensorMapBytes * choice.tensormaps;
  StructLayout storage;
  storage.nested("tensors", epilogue.tensors);
  if (choice.tensormaps > 0) storage.member("tensormaps", epilogue.tensormap_bytes, kTensorMapBytes);
  storage.member("pipeline", epilogue.load_bytes, 8);
  epilogue.storage_bytes = storage.size();
  return epilogue;
}

}  // namespace tilewright::schedule::cutlass
