// Slots to grouped rows (contract: moe_kernels.hpp): a stable counting sort.
//
// The slots are dealt to warps in runs. Every warp counts its run by expert; a thread for each expert turns the warps'
// counts into where each warp's rows begin within the block, and the blocks' sums into where the block's begin; one
// warp adds up the experts. Then every warp walks its run again and gives each slot its row. The rank of a slot among
// its warp's 32 comes from the lanes that match it, so no order is left to chance.
//
// Few slots are one cluster's, whose blocks read each other's sums from shared memory. Rows go anywhere, a sector for
// each of a slot's words, and a SM writes one a cycle: many slots are for many SMs. Then a launch before this one leaves
// the blocks' sums in the workspace.
#include <cooperative_groups.h>

#include "cuda/launch.cuh"
#include "cuda/moe/moe_kernels.hpp"
#include "cuda/moe/sort_blocks.hpp"
#include "cuda/ptx/grid_control.cuh"

namespace tilewright::cuda {
namespace {

constexpr unsigned kAll = 0xFFFFFFFFU;
constexpr int kMostWarps = 32;
constexpr int kWarpsOfOneBlock = 16;
constexpr int kMostBlocks = 8;  // the largest cluster that every device schedules

/// Counts of one block in shared memory.
struct Counts {
  int* of_warp;   ///< [warps][experts]
  int* of_block;  ///< [experts]
  int* first;     ///< [experts] where the block's rows of an expert begin
};

/// A warp's run of slots.
struct Run {
  int begin;
  int end;
};

__device__ Run run_of(int slots, int warps, int warp) {
  const int per_warp = ((slots + warps - 1) / warps + 31) / 32 * 32;
  const int begin = min(warp * per_warp, slots);
  return {begin, min(begin + per_warp, slots)};
}

/// Lanes with the same expert, and this lane's place among them.
struct Peers {
  int place;
  int count;
  bool leads;
};

__device__ Peers match(int expert) {
  const unsigned same = __match_any_sync(kAll, expert);
  const unsigned lane = threadIdx.x % 32;
  const int place = __popc(same & ((1U << lane) - 1U));
  return {place, __popc(same), place == 0 && expert >= 0};
}

/// Calls visit(slot, local expert or -1) for 32 slots at a time. Ids of several steps are loaded together: a step is
/// short beside a load.
template <typename Visit>
__device__ void for_each_slot(const SortParams& p, const Run& run, const Visit& visit) {
  constexpr int kTogether = 4;
  for (int at = run.begin; at < run.end; at += 32 * kTogether) {
    const int first = at + static_cast<int>(threadIdx.x) % 32;
    int experts[kTogether];
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      const int slot = first + 32 * i;
      const int expert = slot < run.end ? p.ids[slot] - p.first_expert : -1;
      experts[i] = expert < p.experts ? expert : -1;
    }
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      if (at + 32 * i < run.end) visit(first + 32 * i, max(experts[i], -1));
    }
  }
}

__device__ void count_run(const SortParams& p, const Run& run, int* counts) {
  for_each_slot(p, run, [&](int /*slot*/, int expert) {
    const Peers peers = match(expert);
    if (peers.leads) counts[expert] += peers.count;
    __syncwarp();
  });
}

__device__ void place_run(const SortParams& p, const Run& run, const int* first, int* next) {
  for_each_slot(p, run, [&](int slot, int expert) {
    const Peers peers = match(expert);
    const int row = expert < 0 ? -1 : first[expert] + next[expert] + peers.place;
    __syncwarp();
    if (peers.leads) next[expert] += peers.count;
    __syncwarp();
    if (slot >= run.end) return;
    p.slot_rows[slot] = row;
    if (row < 0) return;
    p.row_source[row] = p.scale_input ? slot : slot / p.top_k;
    p.row_dest[row] = slot;
    p.row_weights[row] = p.scale_input ? 1.0F : p.weights[slot];
  });
}

/// Each warp's counts become the sum of the warps' before it; the block's sums go to of_block.
__device__ void add_warps(const SortParams& p, const Counts& counts, int warps) {
  for (int e = static_cast<int>(threadIdx.x); e < p.experts; e += static_cast<int>(blockDim.x)) {
    int sum = 0;
    for (int warp = 0; warp < warps; ++warp) {
      int& count = counts.of_warp[warp * p.experts + e];
      const int before = sum;
      sum += count;
      count = before;
    }
    counts.of_block[e] = sum;
  }
}

/// Rows of each expert over all blocks into `totals`, and those of the blocks before this one into first.
__device__ void add_cluster(const SortParams& p, const Counts& counts, int* totals) {
  auto cluster = cooperative_groups::this_cluster();
  const auto rank = static_cast<int>(cluster.block_rank());
  const auto blocks = static_cast<int>(cluster.num_blocks());
  if (blocks == 1) {
    for (int e = static_cast<int>(threadIdx.x); e < p.experts; e += static_cast<int>(blockDim.x)) {
      counts.first[e] = 0;
      totals[e] = counts.of_block[e];  // this thread's own sum
    }
    __syncthreads();
    return;
  }
  cluster.sync();
  for (int e = static_cast<int>(threadIdx.x); e < p.experts; e += static_cast<int>(blockDim.x)) {
    int total = 0;
    for (int block = 0; block < blocks; ++block) {
      if (block == rank) counts.first[e] = total;
      total += *cluster.map_shared_rank(counts.of_block + e, block);
    }
    totals[e] = total;
  }
  cluster.sync();
}

/// The same from the blocks' sums in the workspace; groups of threads have some of the blocks each.
__device__ void add_counted(const SortParams& p, const Counts& counts, int* totals) {
  const auto thread = static_cast<int>(threadIdx.x);
  const auto threads = static_cast<int>(blockDim.x);
  for (int e = thread; e < p.experts; e += threads) counts.first[e] = totals[e] = 0;
  __syncthreads();
  const auto blocks = static_cast<int>(gridDim.x);
  const int groups = max(1, min(threads / p.experts, blocks));
  const int of_group = (blocks + groups - 1) / groups;
  for (int i = thread; i < groups * p.experts; i += threads) {
    const int e = i % p.experts;
    const int begin = i / p.experts * of_group;
    const int end = min(begin + of_group, blocks);
    int before = 0;
    int sum = 0;
#pragma unroll 8
    for (int block = begin; block < end; ++block) {
      const int count = p.block_counts[block * p.experts + e];
      sum += count;
      if (block < static_cast<int>(blockIdx.x)) before += count;
    }
    atomicAdd(totals + e, sum);
    atomicAdd(counts.first + e, before);
  }
  __syncthreads();
}

/// One warp: where each expert's rows begin. A lane has a run of experts.
__device__ void place_experts(const SortParams& p, const Counts& counts, const int* totals, bool writes) {
  const auto lane = static_cast<int>(threadIdx.x);
  const int per_lane = (p.experts + 31) / 32;
  const auto padded = [&](int e) { return (totals[e] + kRowGroup - 1) / kRowGroup * kRowGroup; };
  const int first = lane * per_lane;
  const int last = min(first + per_lane, p.experts);
  int sum = 0;
  for (int e = first; e < last; ++e) sum += padded(e);
  int through = sum;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const int below = __shfl_up_sync(kAll, through, step);
    if (lane >= step) through += below;
  }
  int begin = through - sum;
  for (int e = first; e < last; ++e) {
    if (writes) p.ranges[e] = {begin, totals[e]};
    counts.first[e] += begin;
    begin += padded(e);
  }
}

__device__ Run run_of_warp(const SortParams& p) {
  const int warps = static_cast<int>(blockDim.x) / 32;
  return run_of(p.slots, warps * static_cast<int>(gridDim.x),
                (static_cast<int>(blockIdx.x) * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)) / 32);
}

/// Every block's sums into the workspace, in the blocks and runs of the sort that follows.
__global__ void __launch_bounds__(32 * kMostWarps) count_slots(SortParams p) {
  extern __shared__ int counts[];
  ptx::launch_dependents();
  for (int e = static_cast<int>(threadIdx.x); e < p.experts; e += static_cast<int>(blockDim.x)) counts[e] = 0;
  __syncthreads();
  ptx::wait_for_dependencies();
  for_each_slot(p, run_of_warp(p), [&](int /*slot*/, int expert) {
    if (expert >= 0) atomicAdd(counts + expert, 1);
  });
  __syncthreads();
  int* of_block = p.block_counts + static_cast<std::int64_t>(blockIdx.x) * p.experts;
  for (int e = static_cast<int>(threadIdx.x); e < p.experts; e += static_cast<int>(blockDim.x)) of_block[e] = counts[e];
}

template <bool kCounted>
__global__ void __launch_bounds__(32 * kMostWarps) sort_slots(SortParams p) {
  extern __shared__ int memory[];
  ptx::launch_dependents();
  const int warps = static_cast<int>(blockDim.x) / 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const Counts counts{memory, memory + warps * p.experts, memory + (warps + 1) * p.experts};
  int* totals = memory + (warps + 2) * p.experts;
  for (int i = static_cast<int>(threadIdx.x); i < warps * p.experts; i += static_cast<int>(blockDim.x)) memory[i] = 0;
  const bool first_block = blockIdx.x == 0;
  __syncthreads();
  ptx::wait_for_dependencies();
  if (first_block) {
    for (int i = static_cast<int>(threadIdx.x); i < p.flag_count; i += static_cast<int>(blockDim.x)) p.flags[i] = 0;
  }
  const Run run = run_of_warp(p);
  int* mine = counts.of_warp + warp * p.experts;
  count_run(p, run, mine);
  __syncthreads();
  add_warps(p, counts, warps);
  if constexpr (kCounted) {
    add_counted(p, counts, totals);
  } else {
    add_cluster(p, counts, totals);
  }
  if (warp == 0) place_experts(p, counts, totals, first_block);
  __syncthreads();
  place_run(p, run, counts.first, mine);
}

std::size_t shared_bytes(int warps, int experts) { return static_cast<std::size_t>(warps + 3) * experts * sizeof(int); }

cudaError_t enqueue_counted(const SortParams& params, int blocks, bool dependent, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(blocks));
  const cudaError_t counted =
      enqueue(count_slots, params, grid, 32 * kMostWarps, params.experts * sizeof(int), 1, dependent, stream);
  if (counted != cudaSuccess) return counted;
  return enqueue(sort_slots<true>, params, grid, 32 * kMostWarps, shared_bytes(kMostWarps, params.experts), 1, true,
                 stream);
}

}  // namespace

cudaError_t prepare_sort() {
  const auto most = static_cast<int>(shared_bytes(kMostWarps, kMaxExperts));
  const cudaError_t prepared =
      cudaFuncSetAttribute(sort_slots<false>, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
  if (prepared != cudaSuccess) return prepared;
  return cudaFuncSetAttribute(sort_slots<true>, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
}

cudaError_t enqueue_sort(const SortParams& params, bool dependent, cudaStream_t stream) {
  if (const int counting = counting_blocks(params.slots); counting > 0) {
    if (params.block_counts == nullptr) return cudaErrorInvalidValue;
    return enqueue_counted(params, counting, dependent, stream);
  }
  // A warp for every 32 slots, as far as there are warps; four at least in a block, where a thread for each expert adds
  // up its warps' counts. A step of 32 slots takes longer than the blocks' exchange.
  const int wanted = (params.slots + 31) / 32;
  const int blocks = wanted > kWarpsOfOneBlock ? kMostBlocks : 1;
  const int warps = min(max(4, (wanted + blocks - 1) / blocks), kMostWarps);
  return enqueue(sort_slots<false>, params, dim3(static_cast<unsigned>(blocks)), 32 * warps,
                 shared_bytes(warps, params.experts), blocks, dependent, stream);
}

}  // namespace tilewright::cuda
