// The kernels of one tile of kSm90Tiles, number TILEWRIGHT_TILE: compiled once for each, so that builds run in
// parallel and a changed tile rebuilds alone.
#include "cuda/sm90/launch.cuh"

namespace tilewright::cuda::sm90 {
namespace {

constexpr Sm90Tile kTile = kSm90Tiles[TILEWRIGHT_TILE];

template <int... kEndings>
constexpr std::array<BuiltGemm, sizeof...(kEndings)> build(std::integer_sequence<int, kEndings...> /*endings*/) {
  return {built_gemm<sm90_schedule(kTile, kSm90Endings[kEndings])>()...};
}

}  // namespace

template <>
std::span<const BuiltGemm> gemms_of_tile<TILEWRIGHT_TILE>() {
  static constexpr auto kGemms = build(std::make_integer_sequence<int, sm90_endings(kTile)>());
  return kGemms;
}

}  // namespace tilewright::cuda::sm90
