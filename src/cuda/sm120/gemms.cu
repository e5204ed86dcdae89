// The kernels of one tile of kSm120Tiles, number TILEWRIGHT_TILE. Compiled three times: with TILEWRIGHT_NATIVE those of
// SM120's FP4 instruction, for sm_120f; with TILEWRIGHT_W4A16 those of w4a16, for sm_120f and SM90; with neither, those
// of w4a4 for SM90 with the MMA emulated or left out.
#include <algorithm>
#include <array>
#include <utility>

#include "cuda/launch.cuh"
#include "cuda/sm120/grouped_gemm.cuh"
#include "cuda/sm120/grouped_gemm.hpp"

namespace tilewright::cuda::sm120 {
namespace {

constexpr Sm120Tile kTile = kSm120Tiles[TILEWRIGHT_TILE];
#ifdef TILEWRIGHT_W4A16
constexpr Precision kPrecision = Precision::w4a16;
#else
constexpr Precision kPrecision = Precision::w4a4;
#endif

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

/// The tile's kernels by the deepest ring of each: its ways to be shared, ending after ending.
struct Kernels {
  std::array<Schedule, 2 * kSm120Endings.size()> schedules{};
  int count = 0;
};
constexpr Kernels kKernels = [] {
  Kernels kernels;
  for (const Epilogue ending : sm120_endings(kPrecision)) {
    for (const Consumers consumers : {Consumers::cooperative, Consumers::pingpong}) {
      if (!sm120_builds(kTile, consumers, ending, kPrecision)) continue;
      const int stages = sm120_most_stages(kTile, consumers, ending, kPrecision);
      kernels.schedules[static_cast<std::size_t>(kernels.count++)] =
          sm120_schedule(kTile, consumers, stages, SplitKind::none, ending, kPrecision);
    }
  }
  return kernels;
}();

template <int kKernel, typename BlockMma>
constexpr BuiltGemm built(MmaPolicy policy) {
  constexpr Schedule S = kKernels.schedules[kKernel];
  return {S, policy, prepare_gemm<S, BlockMma>, enqueue_gemm<S, BlockMma>};
}

template <typename BlockMma, int... kIndices>
constexpr std::array<BuiltGemm, sizeof...(kIndices)> build(MmaPolicy policy,
                                                           std::integer_sequence<int, kIndices...> /*kernels*/) {
  return {built<kIndices, BlockMma>(policy)...};
}

template <std::size_t kFirst, std::size_t kSecond>
constexpr std::array<BuiltGemm, kFirst + kSecond> join(const std::array<BuiltGemm, kFirst>& first,
                                                       const std::array<BuiltGemm, kSecond>& second) {
  std::array<BuiltGemm, kFirst + kSecond> all = {};
  std::copy(second.begin(), second.end(), std::copy(first.begin(), first.end(), all.begin()));
  return all;
}

using EveryKernel = std::make_integer_sequence<int, kKernels.count>;

}  // namespace

#if defined(TILEWRIGHT_W4A16)
template <>
std::span<const BuiltGemm> w4a16_gemms<TILEWRIGHT_TILE>() {
  static constexpr auto kGemms =
      join(build<Bf16Mma>(MmaPolicy::native, EveryKernel()), build<Bf16Mma>(MmaPolicy::emulated, EveryKernel()));
  return kGemms;
}
#elif defined(TILEWRIGHT_NATIVE)
template <>
std::span<const BuiltGemm> native_gemms<TILEWRIGHT_TILE>() {
  static constexpr auto kGemms = build<NativeMma>(MmaPolicy::native, EveryKernel());
  return kGemms;
}
#else
static_assert(kSm120Endings[0] == Epilogue::bf16, "the first kernels, one a way to share the tile, end in bf16");
template <>
std::span<const BuiltGemm> emulated_gemms<TILEWRIGHT_TILE>() {
  static constexpr auto kGemms =
      join(build<EmulatedMma>(MmaPolicy::emulated, EveryKernel()),
           build<FeedOnly>(MmaPolicy::feed_only, std::make_integer_sequence<int, kTile.pingpong ? 2 : 1>()));
  return kGemms;
}
#endif

}  // namespace tilewright::cuda::sm120
