// Activations in bf16 to SM120's tile order (contract: moe_kernels.hpp).
//
// Four threads share a row's step of 64 k, as four lanes share it in a token fragment (sm120/fragment_order.hpp): thread
// t has k 8t .. 8t+7 and those 32 higher.
#include <cstdint>

#include "cuda/launch.cuh"
#include "cuda/moe/row_items.cuh"
#include "cuda/ptx/grid_control.cuh"
#include "cuda/sm120/bf16_tokens.cuh"

namespace tilewright::cuda {
namespace {

using sm120::kStepK;

constexpr int kThreads = 128;
constexpr int kStepThreads = 4;
constexpr int kStepsAtOnce = kThreads / kStepThreads;

__host__ __device__ int steps_of_row(const RowItems& p) {
  return static_cast<int>(sm120::slabs_of(p.columns)) * (sm120::kSlabK / kStepK);
}

__device__ void store_part(const RowItems& p, std::int64_t row, int step, const uint4& low, const uint4& high) {
  const int t = static_cast<int>(threadIdx.x) % kStepThreads;
  sm120::store_chunks(static_cast<std::uint8_t*>(p.tiles), sm120::bf16_token_place(row, step, t, p.group_rows), low,
                      high);
}

__device__ void arrange_item(const RowItems& p, int item, int step) {
  const std::int32_t* rows = p.slot_rows + std::int64_t{item} * p.slots_per_item;
  if (!is_wanted(p, rows)) return;  // and nothing may have written its row
  const float weight = weight_of(p, item);
  const int column = step * kStepK + static_cast<int>(threadIdx.x) % kStepThreads * kChunk;
  const uint4 low = load_chunk(p, item, column, weight);
  const uint4 high = load_chunk(p, item, column + kStepK / 2, weight);
  for (int slot = 0; slot < p.slots_per_item; ++slot) {
    if (rows[slot] >= 0) store_part(p, rows[slot], step, low, high);
  }
}

__device__ void clear_padding(const RowItems& p, int expert, int step) {
  const RowRange range = p.ranges[expert];
  for (int row = range.rows; row < padded_rows(range); ++row) {
    store_part(p, range.begin + row, step, uint4{}, uint4{});
  }
}

__global__ void __launch_bounds__(kThreads) arrange_fragments(RowItems p) {
  ptx::wait_for_dependencies();
  ptx::launch_dependents();
  const auto block = static_cast<int>(blockIdx.x);
  const int step = static_cast<int>(blockIdx.y) * kStepsAtOnce + static_cast<int>(threadIdx.x) / kStepThreads;
  if (step >= steps_of_row(p)) return;
  if (block < p.items) {
    arrange_item(p, block, step);
  } else {
    clear_padding(p, block - p.items, step);
  }
}

}  // namespace

cudaError_t enqueue_arrange_fragments(const RowItems& items, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(items.items + items.experts),
                  static_cast<unsigned>((steps_of_row(items) + kStepsAtOnce - 1) / kStepsAtOnce));
  return enqueue(arrange_fragments, items, grid, kThreads, 0, 1, true, stream);
}

}  // namespace tilewright::cuda
