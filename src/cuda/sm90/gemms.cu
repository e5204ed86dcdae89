// The kernels of one tile of kSm90Tiles, number TILEWRIGHT_TILE: compiled once for each, so that builds run in
// parallel and a changed tile rebuilds alone.
#include "cuda/sm90/launch.cuh"

namespace tilewright::cuda::sm90 {
namespace {

template <int... kEpilogues>
constexpr std::array<BuiltGemm, sizeof...(kEpilogues)> build(std::integer_sequence<int, kEpilogues...> /*epilogues*/) {
  return {built_gemm<sm90_schedule(kSm90Tiles[TILEWRIGHT_TILE], kSm90Epilogues[kEpilogues])>()...};
}

}  // namespace

template <>
std::span<const BuiltGemm> gemms_of_tile<TILEWRIGHT_TILE>() {
  static constexpr auto kGemms = build(std::make_integer_sequence<int, static_cast<int>(kSm90Epilogues.size())>());
  return kGemms;
}

}  // namespace tilewright::cuda::sm90
