// Router logits to experts and weights (contract: moe_kernels.hpp). A warp a token, its values in shared memory.
//
// The arithmetic is that of the CPU, operation by operation (numerics/routing_math.hpp; this file is compiled without
// contraction), and sums run in the same order, so both choose and weigh alike.
#include "cuda/launch.cuh"
#include "cuda/moe/moe_kernels.hpp"
#include "cuda/ptx/grid_control.cuh"
#include "numerics/routing_math.hpp"
#include "numerics/routing_rules.hpp"

namespace tilewright::cuda {
namespace {

constexpr int kWarps = 4;
constexpr unsigned kAll = 0xFFFFFFFFU;
constexpr float kInfinity = __builtin_huge_valf();

__device__ std::uint64_t warp_max(std::uint64_t key) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    const std::uint64_t other = __shfl_xor_sync(kAll, key, step);
    key = other > key ? other : key;
  }
  return key;
}

/// Index of the largest of `size` values, the lowest of equal ones.
__device__ int largest(const float* values, int size, int lane) {
  std::uint64_t best = 0;
  for (int i = lane; i < size; i += 32) {
    const std::uint64_t key = order_key(values[i], static_cast<std::uint32_t>(i));
    best = key > best ? key : best;
  }
  return static_cast<int>(~static_cast<std::uint32_t>(warp_max(best)));
}

__device__ float score_of(Scoring scoring, float logit) {
  return scoring == Scoring::sigmoid ? sigmoid(logit) : std::sqrt(softplus(logit));
}

/// The sum of the two largest values; of a group of one, its value.
__device__ float group_score(const float* values, int size) {
  float first = values[0];
  float second = -kInfinity;
  for (int i = 1; i < size; ++i) {
    second = std::max(second, std::min(first, values[i]));
    first = std::max(first, values[i]);
  }
  return size == 1 ? first : first + second;
}

/// Puts the experts of the groups that are not kept below all others. A kept group's score becomes infinite.
__device__ void mask_groups(const RouteParams& p, float* values, float* groups, int lane) {
  const int size = p.experts / p.routing.groups;
  for (int g = lane; g < p.routing.groups; g += 32) groups[g] = group_score(values + g * size, size);
  __syncwarp();
  for (int kept = 0; kept < p.routing.top_groups; ++kept) {
    const int best = largest(groups, p.routing.groups, lane);
    __syncwarp();
    if (lane == 0) groups[best] = -kInfinity;
    __syncwarp();
  }
  for (int e = lane; e < p.experts; e += 32) {
    if (groups[e / size] != -kInfinity) values[e] = -kInfinity;
  }
  __syncwarp();
}

/// The weights of the chosen experts, before the division by the result; all lanes get the divisor.
__device__ float weigh(const RouteParams& p, const float* logits, const std::int32_t* ids, float* values, int lane) {
  const Routing& routing = p.routing;
  const bool alone = scores_alone(routing.scoring);
  const float top = logits[ids[0]];
  const bool over_all = routing.scoring == Scoring::softmax && !routing.renormalize;
  const int terms = over_all ? p.experts : routing.top_k;
  for (int i = lane; i < terms; i += 32) {
    const float logit = logits[over_all ? i : ids[i]];
    values[i] = alone                                          ? score_of(routing.scoring, logit)
                : routing.scoring == Scoring::sigmoid_on_input ? sigmoid(logit)
                                                               : exp_nonpositive(logit - top);
  }
  __syncwarp();
  if (routing.scoring == Scoring::sigmoid_on_input || (alone && !routing.renormalize)) return 1.0F;
  float total = 0.0F;
  for (int i = 0; i < terms; ++i) total += values[i];
  return alone ? total + kRenormalizeEpsilon : total;
}

__global__ void __launch_bounds__(32 * kWarps) route_tokens(RouteParams p) {
  extern __shared__ float memory[];
  ptx::wait_for_dependencies();
  ptx::launch_dependents();
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int token = static_cast<int>(blockIdx.x) * kWarps + warp;
  if (token >= p.tokens) return;
  const Routing& routing = p.routing;
  const float* logits = p.logits + static_cast<std::int64_t>(token) * p.experts;
  float* values = memory + warp * (p.experts + routing.groups);
  std::int32_t* ids = p.ids + static_cast<std::int64_t>(token) * routing.top_k;
  float* weights = p.weights + static_cast<std::int64_t>(token) * routing.top_k;

  for (int e = lane; e < p.experts; e += 32) {
    float value = logits[e];
    if (scores_alone(routing.scoring)) value = score_of(routing.scoring, value);
    if (p.bias != nullptr) value += p.bias[e];
    values[e] = value;
  }
  __syncwarp();
  if (routing.groups > 1) mask_groups(p, values, values + p.experts, lane);
  for (int slot = 0; slot < routing.top_k; ++slot) {
    const int best = largest(values, p.experts, lane);
    __syncwarp();
    if (lane == 0) {
      ids[slot] = best;
      values[best] = -kInfinity;
    }
    __syncwarp();
  }
  const float divisor = weigh(p, logits, ids, values, lane);
  for (int slot = lane; slot < routing.top_k; slot += 32) {
    const float logit = logits[ids[slot]];
    // Over all experts, `values` holds every expert's term; otherwise those of the slots.
    const bool over_all = routing.scoring == Scoring::softmax && !routing.renormalize;
    const float weight = over_all ? exp_nonpositive(logit - logits[ids[0]]) : values[slot];
    weights[slot] = weight / divisor * routing.scaling_factor;
  }
}

}  // namespace

cudaError_t enqueue_route(const RouteParams& params, bool dependent, cudaStream_t stream) {
  const auto shared = static_cast<std::size_t>(kWarps * (params.experts + params.routing.groups)) * sizeof(float);
  const auto blocks = static_cast<unsigned>((params.tokens + kWarps - 1) / kWarps);
  return enqueue(route_tokens, params, dim3(blocks), 32 * kWarps, shared, 1, dependent, stream);
}

}  // namespace tilewright::cuda
