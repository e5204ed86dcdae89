// Random operands and the check of a grouped GEMM on the device (contracts: gemm_check.hpp).
#include <cuda_bf16.h>

#include "cuda/moe/gemm_check.hpp"
#include "cuda/random_bits.cuh"
#include "cuda/sm90/weight_value.hpp"

namespace tilewright::cuda {
namespace {

using sm90::kSlabBytes;
using sm90::kSlabCodeBytes;
using sm90::kSlabK;

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr unsigned kAll = 0xFFFFFFFFU;
constexpr unsigned kFillBlocks = 2048;
constexpr unsigned kCompareBlocks = 16;  // an expert

// Half a unit in the last place of bf16, and as much again for the kernel's fast exponential and for ties.
constexpr double kRounding = 1.0 / 256.0 + 1e-5;
// Two kernels' outputs: two such roundings.
constexpr double kTwoRoundings = 1.0 / 128.0;
// Sums that cancel are off by the accumulation of their terms, which is a share of what values usually are.
constexpr double kCancelled = 1.0 / 512.0;

__global__ void __launch_bounds__(kThreads) random_slabs(std::uint32_t* words, std::int64_t count) {
  constexpr int kSlabWords = kSlabBytes / 4;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    const std::uint32_t bits = scramble(static_cast<std::uint32_t>(i) + 0x9E3779B9U * static_cast<std::uint32_t>(i >> 32));
    std::uint32_t word = bits;
    if (i % kSlabWords >= kSlabCodeBytes / 4) {
      word = 0;
      for (int j = 0; j < 4; ++j) word |= sm90::place_scale(0x40U + (bits >> (8 * j) & 31U), j % 2, j / 2);
    }
    words[i] = word;
  }
}

/// Two bf16 of either sign from 0.25 to 2.
__device__ std::uint32_t random_row_pair(std::uint32_t counter) {
  return (scramble(counter ^ 0xA511E9B3U) & 0x81FF81FFU) | 0x3E803E80U;
}

__global__ void __launch_bounds__(kThreads)
    random_rows(std::uint32_t* pairs, std::int64_t count, int k, std::int64_t group_rows) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    bool past = false;
    if (k > 0) {
      const std::int64_t row = i / (kSlabK / 2);
      const int chunk = static_cast<int>(i % (kSlabK / 2) / 4) ^ static_cast<int>(row % group_rows % kRowGroup);
      past = row / group_rows * kSlabK + chunk * 8 >= k;
    }
    pairs[i] = past ? 0U : random_row_pair(static_cast<std::uint32_t>(i));
  }
}

__device__ double bf16_at(const void* values, std::int64_t i) {
  return static_cast<double>(__bfloat162float(static_cast<const __nv_bfloat16*>(values)[i]));
}

/// Where value (row, channel) lies in tile order.
__device__ std::int64_t in_tile_order(std::int64_t row, int channel, std::int64_t group_rows) {
  const int chunk = channel % kSlabK / 8 ^ static_cast<int>(row % kRowGroup);
  return (channel / kSlabK * group_rows + row) * kSlabK + chunk * 8 + channel % 8;
}

__device__ bool stores_tiles(Epilogue epilogue) {
  return epilogue == Epilogue::gated_bf16 || epilogue == Epilogue::act_bf16;
}

__device__ int channels_of(const CheckParams& p) {
  return p.epilogue == Epilogue::gated_bf16 ? p.gemm.weight_rows / 2 : p.gemm.weight_rows;
}

__device__ std::int64_t y_index(const CheckParams& p, std::int64_t row, int channel) {
  if (stores_tiles(p.epilogue)) return in_tile_order(row, channel, p.gemm.group_rows);
  return p.gemm.row_dest[row] * p.gemm.y_stride + channel;
}

/// A dot product and the sum of its terms' magnitudes, in all lanes of the warp.
struct Sum {
  double value = 0;
  double magnitude = 0;
};

__device__ Sum dot(const CheckParams& p, int expert, std::int64_t row, int n) {
  const std::uint8_t* matrix = p.gemm.weights + expert * p.gemm.expert_stride;
  const std::int64_t slabs = sm90::slabs_of(p.gemm.k);
  // GEMM2 reads its tokens in tile order, GEMM1 where they are.
  const bool tiles = p.epilogue == Epilogue::finalize;
  Sum sum;
  for (int k = static_cast<int>(threadIdx.x % 32); k < p.gemm.k; k += 32) {
    const std::int64_t at = tiles ? in_tile_order(row, k, p.gemm.group_rows) : p.gemm.row_source[row] * p.gemm.x_stride + k;
    const double term = sm90::weight_at(matrix, slabs, n, k) * bf16_at(p.gemm.x, at);
    sum.value += term;
    sum.magnitude += fabs(term);
  }
  for (int step = 16; step > 0; step /= 2) {
    sum.value += __shfl_xor_sync(kAll, sum.value, step);
    sum.magnitude += __shfl_xor_sync(kAll, sum.magnitude, step);
  }
  const double scale = static_cast<double>(p.gemm.row_scales[2 * expert + n % 16 / 8]) / sm90::kWeightUnbias;
  return {sum.value * scale, sum.magnitude * fabs(scale)};
}

/// What a value should be, and by how much it may be missed because sums are rounded in fp32.
struct Expected {
  double value = 0;
  double slack = 0;
};

__device__ Expected expected_at(const CheckParams& p, int expert, std::int64_t row, int channel) {
  // The order of a step's terms, and at each of K / 16 steps a truncation by up to 2^-23 of the sum so far, which is about
  // magnitude / sqrt(K).
  const double accumulation = 2.0 * 0x1p-23 * (2.5 + sqrt(static_cast<double>(p.gemm.k)) / 16.0);
  if (p.epilogue == Epilogue::gated_bf16) {
    const int n = channel / 8 * 16 + channel % 8;
    const Sum gate = dot(p, expert, row, n);
    const Sum up = dot(p, expert, row, n + 8);
    const GatedFormula& f = p.gemm.gated;
    const double g = fmin(gate.value, static_cast<double>(f.gate_limit));
    const double u = fmin(fmax(up.value, -static_cast<double>(f.up_limit)), static_cast<double>(f.up_limit));
    const double product = g / (1.0 + exp(-f.slope * g * (1.0 + f.cubic * g * g)));
    const double activated = fmin(product, static_cast<double>(f.product_limit));
    const double factor = u + f.up_offset;
    return {activated * factor, 1.5 * accumulation * (gate.magnitude * fabs(factor) + up.magnitude * fabs(activated))};
  }
  const Sum sum = dot(p, expert, row, channel);
  if (p.epilogue == Epilogue::act_bf16) {
    const double positive = fmax(sum.value, 0.0);
    return {positive * positive, accumulation * 2.0 * positive * sum.magnitude + accumulation * sum.magnitude};
  }
  const double weight = p.epilogue == Epilogue::finalize ? static_cast<double>(p.gemm.row_weights[row]) : 1.0;
  return {sum.value * weight, accumulation * sum.magnitude * fabs(weight)};
}

/// A block an expert, a warp a value.
__global__ void __launch_bounds__(kThreads) check_samples(CheckParams p, int samples) {
  const int expert = static_cast<int>(blockIdx.x);
  const RowRange range = p.gemm.row_ranges[expert];
  if (range.rows == 0) return;
  const int channels = channels_of(p);
  for (int i = static_cast<int>(threadIdx.x / 32); i < samples; i += kWarps) {
    const std::uint32_t bits = scramble(static_cast<std::uint32_t>(expert * samples + i) + 0x51ED270BU);
    const auto rows = static_cast<std::uint32_t>(range.rows);
    const std::int64_t row = range.begin + (i == 0 ? range.rows - 1 : static_cast<int>(bits % rows));
    const int channel = i <= 1 ? channels - 1 : static_cast<int>(scramble(bits) % static_cast<std::uint32_t>(channels));
    const Expected expected = expected_at(p, expert, row, channel);
    if (threadIdx.x % 32 != 0) continue;
    const double got = bf16_at(p.gemm.y, y_index(p, row, channel));
    const bool finite = isfinite(got);
    const bool right = finite && fabs(got - expected.value) <= fabs(expected.value) * kRounding + expected.slack;
    atomicAdd(&p.counts->values, 1ULL);
    if (!right) atomicAdd(&p.counts->wrong, 1ULL);
    if (!finite) atomicAdd(&p.counts->not_finite, 1ULL);
  }
}

/// kCompareBlocks blocks an expert: each takes rows in turn.
__global__ void __launch_bounds__(kThreads) compare_outputs(CheckParams p) {
  const int expert = static_cast<int>(blockIdx.y);
  const RowRange range = p.gemm.row_ranges[expert];
  const int channels = channels_of(p);
  const double least = kCancelled * p.reference_rms;
  unsigned long long values = 0;
  unsigned long long wrong = 0;
  unsigned long long not_finite = 0;
  double squares = 0;
  for (int r = static_cast<int>(blockIdx.x); r < range.rows; r += static_cast<int>(gridDim.x)) {
    const std::int64_t row = range.begin + r;
    for (int channel = static_cast<int>(threadIdx.x); channel < channels; channel += kThreads) {
      const std::int64_t at = y_index(p, row, channel);
      const double got = bf16_at(p.gemm.y, at);
      const bool finite = isfinite(got);
      ++values;
      if (!finite) ++not_finite;
      if (finite) squares += got * got;
      if (p.reference == nullptr) {
        wrong += finite ? 0U : 1U;
        continue;
      }
      const double other = bf16_at(p.reference, at);
      if (!(fabs(got - other) <= kTwoRoundings * fmax(fabs(got), fabs(other)) + least)) ++wrong;
    }
  }
  for (int step = 16; step > 0; step /= 2) {
    values += __shfl_xor_sync(kAll, values, step);
    wrong += __shfl_xor_sync(kAll, wrong, step);
    not_finite += __shfl_xor_sync(kAll, not_finite, step);
    squares += __shfl_xor_sync(kAll, squares, step);
  }
  if (threadIdx.x % 32 != 0 || values == 0) return;
  atomicAdd(&p.counts->values, values);
  atomicAdd(&p.counts->wrong, wrong);
  atomicAdd(&p.counts->not_finite, not_finite);
  atomicAdd(&p.counts->squares, squares);
}

}  // namespace

cudaError_t enqueue_random_slabs(std::uint8_t* slabs, std::int64_t count, cudaStream_t stream) {
  random_slabs<<<kFillBlocks, kThreads, 0, stream>>>(reinterpret_cast<std::uint32_t*>(slabs), count * (kSlabBytes / 4));
  return cudaGetLastError();
}

cudaError_t enqueue_random_rows(void* rows, std::int64_t pairs, int k, std::int64_t group_rows, cudaStream_t stream) {
  random_rows<<<kFillBlocks, kThreads, 0, stream>>>(static_cast<std::uint32_t*>(rows), pairs, k, group_rows);
  return cudaGetLastError();
}

cudaError_t enqueue_check_samples(const CheckParams& params, int samples, cudaStream_t stream) {
  check_samples<<<static_cast<unsigned>(params.gemm.experts), kThreads, 0, stream>>>(params, samples);
  return cudaGetLastError();
}

cudaError_t enqueue_compare_outputs(const CheckParams& params, cudaStream_t stream) {
  compare_outputs<<<dim3(kCompareBlocks, static_cast<unsigned>(params.gemm.experts)), kThreads, 0, stream>>>(params);
  return cudaGetLastError();
}

}  // namespace tilewright::cuda
