#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cuda/cuda_error.hpp"
#include "cuda/grouped/tile_walk.hpp"
#include "cuda/sm90/grouped_gemm.hpp"
#include "cuda/sm90/weight_order.hpp"

namespace tilewright::cuda::sm90 {
namespace {

template <int... kTiles>
std::vector<BuiltGemm> join_tiles(std::integer_sequence<int, kTiles...> /*tiles*/) {
  std::vector<BuiltGemm> all;
  (all.insert(all.end(), gemms_of_tile<kTiles>().begin(), gemms_of_tile<kTiles>().end()), ...);
  return all;
}

bool aligned(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; }

Status check_shape(const Schedule& s, const GemmParams& p) {
  const auto reject = [](const char* what, std::int64_t value, const char* limit) -> Status {
    return fail(ErrorCode::invalid_argument, fmt::format("{} is {}, not {}", what, value, limit),
                "give the sizes that the weights were packed with");
  };
  if (p.experts < 1 || p.experts > kMaxExperts) return reject("the number of experts", p.experts, "1 to 1024");
  if (p.k < kStepK || p.k % kStepK != 0) return reject("K", p.k, "a positive multiple of 16");
  if (p.weight_rows < 16 || p.weight_rows % 16 != 0) return reject("N", p.weight_rows, "a positive multiple of 16");
  const bool gathers = s.token_load == TokenLoad::gather;
  const bool stores_rows = s.epilogue == Epilogue::bf16 || s.epilogue == Epilogue::finalize;
  if (gathers && (p.x_stride < p.k || p.x_stride % 8 != 0)) {
    return reject("the stride of x", p.x_stride, "K or more, in eights");
  }
  if ((!gathers || !stores_rows) && (p.group_rows < 0 || p.group_rows % kRowGroup != 0)) {
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
  const std::int64_t tiles_m = (p.weight_rows + s.tile_m - 1) / s.tile_m;
  const std::int64_t k_blocks = (p.k + s.tile_k - 1) / s.tile_k;
  constexpr std::int64_t kMostPacked = 0xFFFF;  // of weight tiles and k-blocks: a tile slot has 16 bits for each
  if (tiles_m <= kMostPacked && k_blocks <= kMostPacked && tiles_n <= kMostUnits / (tiles_m * k_blocks)) return {};
  return fail(ErrorCode::exhausted,
              fmt::format("{} x {} tiles of {} k-blocks are more than the {} that one launch counts", tiles_n, tiles_m,
                          k_blocks, kMostUnits),
              "run the tokens in several launches");
}

}  // namespace

std::span<const BuiltGemm> built_gemms() {
  static const std::vector<BuiltGemm> all =
      join_tiles(std::make_integer_sequence<int, static_cast<int>(kSm90Tiles.size())>());
  return all;
}

Result<const BuiltGemm*> find_gemm(const Schedule& schedule) {
  for (const BuiltGemm& gemm : built_gemms()) {
    if (gemm.schedule == schedule) return &gemm;
  }
  return fail(ErrorCode::unsupported, fmt::format("no sm_90 kernel is built for {}", describe(schedule)),
              "take one of built_gemms()");
}

int launch_blocks(const Schedule& schedule, int sm_count) { return sm_count * schedule.ctas_per_sm; }

std::int64_t partial_bytes(const Schedule& schedule, int blocks) {
  if (schedule.split.kind != SplitKind::stream_k) return 0;
  return std::int64_t{4} * schedule.tile_m * schedule.tile_n * blocks;
}

std::int64_t flag_bytes(const Schedule& schedule, int blocks) {
  return schedule.split.kind == SplitKind::stream_k ? std::int64_t{4} * blocks : 0;
}

Status launch_gemm(const BuiltGemm& gemm, const GemmParams& params, std::int64_t rows, int blocks, bool dependent,
                   cudaStream_t stream) {
  TILEWRIGHT_TRY(check_shape(gemm.schedule, params));
  TILEWRIGHT_TRY(check_units(gemm.schedule, params, rows));
  const bool needs_workspace = gemm.schedule.split.kind == SplitKind::stream_k;
  if (needs_workspace && (params.partials == nullptr || params.flags == nullptr)) {
    return fail(ErrorCode::invalid_argument, "a stream-K launch has no workspace",
                fmt::format("give {} bytes of partials and {} of zeroed flags", partial_bytes(gemm.schedule, blocks),
                            flag_bytes(gemm.schedule, blocks)));
  }
  return cuda_status(gemm.launch(params, blocks, dependent, stream), "launching a grouped GEMM");
}

}  // namespace tilewright::cuda::sm90
