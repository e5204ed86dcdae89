#include <fmt/format.h>

#include <utility>
#include <vector>

#include "cuda/cuda_error.hpp"
#include "cuda/grouped/launch_checks.hpp"
#include "cuda/sm120/grouped_gemm.hpp"
#include "tilewright/shared_memory.hpp"

namespace tilewright::cuda::sm120 {
namespace {

template <int... kTiles>
std::vector<BuiltGemm> join_tiles(std::integer_sequence<int, kTiles...> /*tiles*/) {
  std::vector<BuiltGemm> all;
  (all.insert(all.end(), native_gemms<kTiles>().begin(), native_gemms<kTiles>().end()), ...);
  (all.insert(all.end(), emulated_gemms<kTiles>().begin(), emulated_gemms<kTiles>().end()), ...);
  (all.insert(all.end(), w4a16_gemms<kTiles>().begin(), w4a16_gemms<kTiles>().end()), ...);
  return all;
}

LaunchSizes sizes_of(const GemmParams& p) { return {p.experts, p.weight_rows, p.k, p.y_stride, {p.weights, p.x, p.y}}; }

Status check_rows(const Schedule& s, const GemmParams& p) {
  if (p.group_rows < 0 || p.group_rows % kRowGroup != 0) {
    return refuse_size("the room for grouped rows", p.group_rows, "a multiple of 8");
  }
  if (stores_nvfp4(s.epilogue) && gated(s.epilogue) && p.weight_rows % (2 * kScaleK) != 0) {
    return refuse_size("N", p.weight_rows, "a multiple of 32, as a gated output in blocks of 16 needs");
  }
  return {};
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

Status launch_gemm(const BuiltGemm& gemm, const Schedule& schedule, GemmParams params, std::int64_t rows, int blocks,
                   bool dependent, cudaStream_t stream) {
  if (!takes(gemm, schedule)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("the kernel of {} does not run {}", describe(gemm.deepest), describe(schedule)),
                "launch what find_gemm gives for the schedule");
  }
  TILEWRIGHT_TRY(check_sizes(sizes_of(params)));
  TILEWRIGHT_TRY(check_rows(schedule, params));
  TILEWRIGHT_TRY(check_units(schedule, sizes_of(params), rows));
  TILEWRIGHT_TRY(check_workspace(schedule, blocks, params.partials, params.flags));
  params.stages = schedule.stages;
  params.stream_k = schedule.split.kind == SplitKind::stream_k ? 1 : 0;
  const auto shared = static_cast<int>(shared_memory(schedule).total);
  return cuda_status(gemm.launch(params, shared, blocks, dependent, stream), "launching a grouped GEMM");
}

}  // namespace tilewright::cuda::sm120
