#include "cuda/moe/gemm_operands.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cuda/cuda_error.hpp"
#include "cuda/grouped/row_range.hpp"
#include "cuda/moe/gemm_check.hpp"
#include "cuda/moe/sort_blocks.hpp"

namespace tilewright::cuda {
namespace {

constexpr const char* kDoing = "making the operands of a GEMM";
constexpr std::int64_t kLeastPool = std::int64_t{2} << 30U;  // of weights
constexpr double kSampleUs = 500.0;                          // of a replay, about: a thousand times what events resolve
constexpr double kOneLaunchUs = 2000.0;                      // from here on a replay is one launch
constexpr int kMostLaunches = 64;
constexpr float kWeightScale = 0.01F;  // sums of a few thousand products come out near 10
constexpr float kSlotWeight = 0.3F;

Status grow(DeviceBuffer& buffer, std::int64_t bytes) {
  if (buffer.bytes() >= bytes) return {};
  buffer = DeviceBuffer();
  TILEWRIGHT_ASSIGN(buffer, DeviceBuffer::allocate(bytes));
  return {};
}

template <typename T>
Status upload(DeviceBuffer& buffer, const std::vector<T>& values) {
  TILEWRIGHT_TRY(grow(buffer, static_cast<std::int64_t>(values.size() * sizeof(T))));
  return cuda_status(cudaMemcpy(buffer.as(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), kDoing);
}

constexpr std::int64_t aligned(std::int64_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace

/// Where the parts of a launch's routing are, in bytes from its beginning.
struct GemmOperands::Table {
  std::int64_t ranges = 0, source = 0, dest = 0, weights = 0, slot_rows = 0, block_counts = 0, total = 0;

  Table(std::int64_t experts, std::int64_t group_rows, std::int64_t slots) {
    const auto take = [&](std::int64_t bytes) { return std::exchange(total, total + aligned(bytes)); };
    ranges = take(experts * static_cast<std::int64_t>(sizeof(RowRange)));
    source = take(group_rows * 4);
    dest = take(group_rows * 4);
    weights = take(group_rows * 4);
    slot_rows = take(slots * 4);
    block_counts = take(counting_blocks(slots) * experts * 4);
  }
};

Status GemmOperands::load(const SampledGemm& gemm, std::int64_t l2_bytes, cudaStream_t stream) {
  gemm_ = gemm;
  const bool gated = gemm.activation.gated();
  const std::int64_t n = first() ? (gated ? 2 : 1) * gemm.intermediate : gemm.hidden;
  n_ = static_cast<int>(n);
  k_ = static_cast<int>(first() ? gemm.hidden : gemm.intermediate);
  expert_bytes_ = sm90::matrix_bytes(n_, k_);
  group_rows_ = grouped_rows(slots(), gemm.experts);
  const std::int64_t channels = gated ? n / 2 : n;
  y_bytes_ = first() ? sm90::tile_order_bytes(group_rows_, channels) : slots() * n * 2;
  choose_launches(l2_bytes);
  TILEWRIGHT_TRY(make_weights(expert_bytes_ * gemm.experts, stream));
  TILEWRIGHT_TRY(make_rows(stream));
  return make_routings(stream);
}

void GemmOperands::choose_launches(std::int64_t l2_bytes) {
  // Twice as many bytes of weights as the L2 holds pass before a replay comes back to the first of them.
  const double for_time = kSampleUs / std::max(gemm_.expected_us, 1.0);
  const double for_l2 = 2.0 * static_cast<double>(l2_bytes) / std::max(gemm_.expected_weight_bytes, 1.0);
  const int least = gemm_.expected_us > kOneLaunchUs ? 1 : 2;
  launches_ = static_cast<int>(std::clamp(std::ceil(std::max(for_time, for_l2)), static_cast<double>(least),
                                          static_cast<double>(kMostLaunches)));
}

Status GemmOperands::make_weights(std::int64_t bytes, cudaStream_t stream) {
  const std::int64_t wanted = std::max(kLeastPool, 2 * bytes);
  if (weights_.bytes() < wanted) {
    TILEWRIGHT_TRY(grow(weights_, wanted));
    TILEWRIGHT_TRY(cuda_status(
        enqueue_random_slabs(weights_.as<std::uint8_t>(), weights_.bytes() / sm90::kSlabBytes, stream), kDoing));
  }
  copies_ = static_cast<int>(
      std::clamp<std::int64_t>(weights_.bytes() / sm90::kSlabBytes * sm90::kSlabBytes / bytes, 1, launches_));
  if (scaled_experts_ < gemm_.experts) {
    TILEWRIGHT_TRY(upload(row_scales_, std::vector<float>(static_cast<std::size_t>(2 * gemm_.experts),
                                                          kWeightScale * sm90::kWeightUnbias)));
    scaled_experts_ = gemm_.experts;
  }
  return {};
}

Status GemmOperands::make_rows(cudaStream_t stream) {
  const std::int64_t bytes = first() ? std::int64_t{gemm_.tokens} * k_ * 2 : sm90::tile_order_bytes(group_rows_, k_);
  TILEWRIGHT_TRY(grow(x_, bytes));
  if (first()) TILEWRIGHT_TRY(grow(tiles_, sm90::tile_order_bytes(group_rows_, k_)));
  return cuda_status(enqueue_random_rows(x_.as(), bytes / 4, first() ? 0 : k_, group_rows_, stream), kDoing);
}

Status GemmOperands::make_routings(cudaStream_t stream) {
  std::vector<std::int32_t> ids;
  for (int i = 0; i < launches_; ++i) {
    const RoutedTokens routed = gemm_.routing(i);
    ids.insert(ids.end(), routed.ids.begin(), routed.ids.end());
  }
  if (static_cast<std::int64_t>(ids.size()) != slots() * launches_) {
    return fail(ErrorCode::invalid_argument, "a routing has other tokens than the GEMM", "give tokens * top_k ids");
  }
  gemm_.routing = nullptr;  // the caller's, for the time of this call
  // Copies on the default stream, which waits for the work before; the other stream starts after they are done.
  TILEWRIGHT_TRY(upload(ids_, ids));
  TILEWRIGHT_TRY(upload(slot_weights_, std::vector<float>(static_cast<std::size_t>(slots()), kSlotWeight)));
  const Table table(gemm_.experts, group_rows_, slots());
  table_bytes_ = table.total;
  TILEWRIGHT_TRY(grow(tables_, table.total * launches_));
  TILEWRIGHT_TRY(cuda_status(cudaDeviceSynchronize(), kDoing));
  for (int i = 0; i < launches_; ++i) {
    const std::int64_t at = i * table.total;
    SortParams p;
    p.ids = ids_.as<std::int32_t>() + i * slots();
    p.weights = slot_weights_.as<float>();
    p.slots = static_cast<int>(slots());
    p.top_k = gemm_.top_k;
    p.experts = gemm_.experts;
    p.ranges = tables_.as<RowRange>(at + table.ranges);
    p.row_source = tables_.as<std::int32_t>(at + table.source);
    p.row_dest = tables_.as<std::int32_t>(at + table.dest);
    p.row_weights = tables_.as<float>(at + table.weights);
    p.slot_rows = tables_.as<std::int32_t>(at + table.slot_rows);
    p.block_counts = tables_.as<std::int32_t>(at + table.block_counts);
    TILEWRIGHT_TRY(cuda_status(enqueue_sort(p, false, stream), kDoing));
  }
  return cuda_status(cudaStreamSynchronize(stream), kDoing);
}

sm90::GemmParams GemmOperands::params(int launch) const {
  const Table table(gemm_.experts, group_rows_, slots());
  const std::int64_t at = launch * table_bytes_;
  sm90::GemmParams p;
  p.weights = weights_.as<std::uint8_t>(launch % copies_ * expert_bytes_ * gemm_.experts);
  p.expert_stride = expert_bytes_;
  p.row_scales = row_scales_.as<float>();
  p.x = x_.as();
  p.x_stride = k_;
  p.row_source = tables_.as<std::int32_t>(at + table.source);
  p.row_dest = tables_.as<std::int32_t>(at + table.dest);
  p.row_weights = tables_.as<float>(at + table.weights);
  p.row_ranges = tables_.as<RowRange>(at + table.ranges);
  p.y_stride = first() ? 0 : n_;
  p.group_rows = group_rows_;
  p.experts = gemm_.experts;
  p.weight_rows = n_;
  p.k = k_;
  p.ranges_ready = 1;
  p.gated = gated_formula(gemm_.activation);
  return p;
}

ArrangeParams GemmOperands::arrangement(int launch) const {
  const Table table(gemm_.experts, group_rows_, slots());
  const std::int64_t at = launch * table_bytes_;
  ArrangeParams p;
  p.x = x_.as();
  p.tokens = gemm_.tokens;
  p.top_k = gemm_.top_k;
  p.hidden = k_;
  p.experts = gemm_.experts;
  p.slot_rows = tables_.as<std::int32_t>(at + table.slot_rows);
  p.ranges = tables_.as<RowRange>(at + table.ranges);
  p.group_rows = group_rows_;
  p.tiles = tiles_.as();
  return p;
}

}  // namespace tilewright::cuda
