// The kernels of one tile of kSm120Tiles, number TILEWRIGHT_TILE: with TILEWRIGHT_NATIVE those of SM120's instruction,
// for sm_120f; without, the same for SM90 with the MMA emulated or left out. Compiled once for each.
#include <array>
#include <utility>

#include "cuda/launch.cuh"
#include "cuda/sm120/grouped_gemm.cuh"
#include "cuda/sm120/grouped_gemm.hpp"

namespace tilewright::cuda::sm120 {
namespace {

constexpr Sm120Tile kTile = kSm120Tiles[TILEWRIGHT_TILE];
constexpr int kWays = kTile.pingpong ? 2 : 1;  ///< to share a tile

template <Schedule S, typename BlockMma>
cudaError_t prepare_gemm() {
  return cudaFuncSetAttribute(grouped_gemm<Scheduled<S>, BlockMma>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              static_cast<int>(GemmShape<S>::kPlan.total));
}

template <Schedule S, typename BlockMma>
cudaError_t enqueue_gemm(const GemmParams& params, int shared_bytes, int blocks, bool dependent, cudaStream_t stream) {
  return enqueue(grouped_gemm<Scheduled<S>, BlockMma>, params, dim3(static_cast<unsigned>(blocks)), threads(S),
                 static_cast<std::size_t>(shared_bytes), 1, dependent, stream);
}

/// Kernel i of the tile: its ways to share it, ending after ending.
constexpr Schedule schedule_of(int i) {
  const Consumers consumers = i % kWays == 0 ? Consumers::cooperative : Consumers::pingpong;
  const Epilogue ending = kSm120Endings[static_cast<std::size_t>(i / kWays)];
  return sm120_schedule(kTile, consumers, sm120_most_stages(kTile, consumers, ending), SplitKind::none, ending);
}

template <int kKernel, typename BlockMma>
constexpr BuiltGemm built(MmaPolicy policy) {
  constexpr Schedule S = schedule_of(kKernel);
  return {S, policy, prepare_gemm<S, BlockMma>, enqueue_gemm<S, BlockMma>};
}

template <typename BlockMma, int... kKernels>
constexpr std::array<BuiltGemm, sizeof...(kKernels)> build(MmaPolicy policy,
                                                           std::integer_sequence<int, kKernels...> /*kernels*/) {
  return {built<kKernels, BlockMma>(policy)...};
}

constexpr int kKernels = kWays * static_cast<int>(kSm120Endings.size());
static_assert(kSm120Endings[0] == Epilogue::bf16, "the first kWays kernels end in bf16");

}  // namespace

#ifdef TILEWRIGHT_NATIVE
template <>
std::span<const BuiltGemm> native_gemms<TILEWRIGHT_TILE>() {
  static constexpr auto kGemms = build<NativeMma>(MmaPolicy::native, std::make_integer_sequence<int, kKernels>());
  return kGemms;
}
#else
template <>
std::span<const BuiltGemm> emulated_gemms<TILEWRIGHT_TILE>() {
  static constexpr auto kGemms = [] {
    constexpr auto kEmulated = build<EmulatedMma>(MmaPolicy::emulated, std::make_integer_sequence<int, kKernels>());
    constexpr auto kFeed = build<FeedOnly>(MmaPolicy::feed_only, std::make_integer_sequence<int, kWays>());
    std::array<BuiltGemm, kEmulated.size() + kFeed.size()> all = {};
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = i < kEmulated.size() ? kEmulated[i] : kFeed[i - kEmulated.size()];
    }
    return all;
  }();
  return kGemms;
}
#endif

}  // namespace tilewright::cuda::sm120
