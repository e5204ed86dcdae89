#include <fmt/format.h>

#include <utility>
#include <vector>

#include "cuda/cuda_error.hpp"
#include "cuda/grouped/launch_checks.hpp"
#include "cuda/sm90/grouped_gemm.hpp"

namespace tilewright::cuda::sm90 {
namespace {

template <int... kTiles>
std::vector<BuiltGemm> join_tiles(std::integer_sequence<int, kTiles...> /*tiles*/) {
  std::vector<BuiltGemm> all;
  (all.insert(all.end(), gemms_of_tile<kTiles>().begin(), gemms_of_tile<kTiles>().end()), ...);
  return all;
}

LaunchSizes sizes_of(const GemmParams& p) { return {p.experts, p.weight_rows, p.k, p.y_stride, {p.weights, p.x, p.y}}; }

Status check_tokens(const Schedule& s, const GemmParams& p) {
  const bool gathers = s.token_load == TokenLoad::gather;
  const bool stores_rows = s.epilogue == Epilogue::bf16 || s.epilogue == Epilogue::finalize;
  if (gathers && (p.x_stride < p.k || p.x_stride % 8 != 0)) {
    return refuse_size("the stride of x", p.x_stride, "K or more, in eights");
  }
  if ((!gathers || !stores_rows) && (p.group_rows < 0 || p.group_rows % kRowGroup != 0)) {
    return refuse_size("the room for grouped rows", p.group_rows, "a multiple of 8");
  }
  return {};
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

Status launch_gemm(const BuiltGemm& gemm, const GemmParams& params, std::int64_t rows, int blocks, bool dependent,
                   cudaStream_t stream) {
  TILEWRIGHT_TRY(check_sizes(sizes_of(params)));
  TILEWRIGHT_TRY(check_tokens(gemm.schedule, params));
  TILEWRIGHT_TRY(check_units(gemm.schedule, sizes_of(params), rows));
  TILEWRIGHT_TRY(check_workspace(gemm.schedule, blocks, params.partials, params.flags));
  return cuda_status(gemm.launch(params, blocks, dependent, stream), "launching a grouped GEMM");
}

}  // namespace tilewright::cuda::sm90
