#include <fmt/format.h>

#include <utility>
#include <vector>

#include "cuda/cuda_error.hpp"
#include "cuda/grouped/tile_walk.hpp"
#include "cuda/sm120/grouped_gemm.hpp"
#include "tilewright/shared_memory.hpp"

namespace tilewright::cuda::sm120 {
namespace {

template <int... kTiles>
std::vector<BuiltGemm> join_tiles(std::integer_sequence<int, kTiles...> /*tiles*/) {
  std::vector<BuiltGemm> all;
  (all.insert(all.end(), native_gemms<kTiles>().begin(), native_gemms<kTiles>().end()), ...);
  (all.insert(all.end(), emulated_gemms<kTiles>().begin(), emulated_gemms<kTiles>().end()), ...);
  return all;
}

bool aligned(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; }

Status check_shape(const Schedule& s, const GemmParams& p) {
  const auto reject = [](const char* what, std::int64_t value, const char* limit) -> Status {
    return fail(ErrorCode::invalid_argument, fmt::format("{} is {}, not {}", what, value, limit),
                "give the sizes that the weights were packed with");
  };
  if (p.experts < 1 || p.experts > kMaxExperts) return reject("the number of experts", p.experts, "1 to 1024");
  if (p.k < kScaleK || p.k % kScaleK != 0) return reject("K", p.k, "a positive multiple of 16");
  if (p.weight_rows < kUnitRows || p.weight_rows % kUnitRows != 0) {
    return reject("N", p.weight_rows, "a positive multiple of 16");
  }
  if (stores_nvfp4(s.epilogue) && gated(s.epilogue) && p.weight_rows % (2 * kScaleK) != 0) {
    return reject("N", p.weight_rows, "a multiple of 32, as a gated output in blocks of 16 needs");
  }
  if (p.group_rows < 0 || p.group_rows % kRowGroup != 0) {
    return reject("the room for grouped rows", p.group_rows, "a multiple of 8");
  }
  if (p.y_stride % 8 != 0) return reject("the stride of y", p.y_stride, "a multiple of 8");
  if (!aligned(p.weights) || !aligned(p.x) || !aligned(p.y)) {
    return fail(ErrorCode::invalid_argument, "weights, x and y are not all aligned to 16 bytes",
                "allocate them with cudaMalloc and keep row strides multiples of 8");
  }
  return {};
}

/// Tiles times k-blocks fit the 32 bits that the walk counts them in.
Status check_units(const Schedule& s, const GemmParams& p, std::int64_t rows) {
  const std::int64_t tiles_n = rows / s.tile_n + p.experts;
  const std::int64_t tiles_m = (p.weight_rows + s.tile_m - 1) / s.tile_m + 1;
  const std::int64_t k_blocks = (p.k + s.tile_k - 1) / s.tile_k;
  constexpr std::int64_t kMostPacked = 0xFFFF;  // of weight tiles and k-blocks: a tile slot has 16 bits for each
  if (tiles_m <= kMostPacked && k_blocks <= kMostPacked && tiles_n <= kMostUnits / (tiles_m * k_blocks)) return {};
  return fail(ErrorCode::exhausted,
              fmt::format("{} x {} tiles of {} k-blocks are more than the {} that one launch counts", tiles_n, tiles_m,
                          k_blocks, kMostUnits),
              "run the tokens in several launches");
}

}  // namespace

const char* to_string(MmaPolicy policy) {
  switch (policy) {
    case MmaPolicy::native: return "native";
    case MmaPolicy::emulated: return "emulated";
    case MmaPolicy::feed_only: return "feed_only";
  }
  return "";
}

std::span<const BuiltGemm> built_gemms() {
  static const std::vector<BuiltGemm> all =
      join_tiles(std::make_integer_sequence<int, static_cast<int>(kSm120Tiles.size())>());
  return all;
}

bool takes(const BuiltGemm& gemm, const Schedule& schedule) { return sm120_runs(gemm.deepest, schedule); }

Result<const BuiltGemm*> find_gemm(const Schedule& schedule, MmaPolicy policy) {
  for (const BuiltGemm& gemm : built_gemms()) {
    if (gemm.policy == policy && takes(gemm, schedule)) return &gemm;
  }
  return fail(ErrorCode::unsupported,
              fmt::format("no {} kernel of SM120's is built for {}", to_string(policy), describe(schedule)),
              "take a schedule of sm120_catalogue.hpp");
}

std::int64_t partial_bytes(const Schedule& schedule, int blocks) {
  if (schedule.split.kind != SplitKind::stream_k) return 0;
  return std::int64_t{4} * schedule.tile_m * schedule.tile_n * blocks;
}

std::int64_t flag_bytes(const Schedule& schedule, int blocks) {
  return schedule.split.kind == SplitKind::stream_k ? std::int64_t{4} * blocks : 0;
}

Status launch_gemm(const BuiltGemm& gemm, const Schedule& schedule, GemmParams params, std::int64_t rows, int blocks,
                   bool dependent, cudaStream_t stream) {
  if (!takes(gemm, schedule)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("the kernel of {} does not run {}", describe(gemm.deepest), describe(schedule)),
                "launch what find_gemm gives for the schedule");
  }
  TILEWRIGHT_TRY(check_shape(schedule, params));
  TILEWRIGHT_TRY(check_units(schedule, params, rows));
  params.stages = schedule.stages;
  params.stream_k = schedule.split.kind == SplitKind::stream_k ? 1 : 0;
  if (params.stream_k != 0 && (params.partials == nullptr || params.flags == nullptr)) {
    return fail(ErrorCode::invalid_argument, "a stream-K launch has no workspace",
                fmt::format("give {} bytes of partials and {} of zeroed flags", partial_bytes(schedule, blocks),
                            flag_bytes(schedule, blocks)));
  }
  const auto shared = static_cast<int>(shared_memory(schedule).total);
  return cuda_status(gemm.launch(params, shared, blocks, dependent, stream), "launching a grouped GEMM");
}

}  // namespace tilewright::cuda::sm120
