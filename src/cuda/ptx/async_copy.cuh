// Asynchronous copies from global to shared memory: bulk copies by one thread, and 16 bytes a thread.
#pragma once

#include <cstdint>

namespace tilewright::cuda::ptx {

/// What L2 does with a line: weights that are read once make room first, so that tokens stay.
__device__ inline std::uint64_t evict_first_policy() {
  std::uint64_t policy = 0;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

/// Copies `bytes` (a multiple of 16) and completes them on a barrier. All addresses are multiples of 16.
__device__ inline void bulk_copy(std::uint32_t to, const void* from, std::uint32_t bytes, std::uint32_t barrier,
                                 std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::
          "r"(to),
      "l"(from), "r"(bytes), "r"(barrier), "l"(policy)
      : "memory");
}

/// The same for a line that others will read too.
__device__ inline void bulk_copy(std::uint32_t to, const void* from, std::uint32_t bytes, std::uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}

/// Copies 16 bytes past L1 where `wanted`: a predicate, not a branch, so that copies of several rows are one run of
/// instructions.
__device__ inline void copy_16_if(bool wanted, std::uint32_t to, const void* from) {
  asm volatile(
      "{\n"
      ".reg .pred wanted;\n"
      "setp.ne.s32 wanted, %2, 0;\n"
      "@wanted cp.async.cg.shared.global.L2::128B [%0], [%1], 16;\n"
      "}\n" ::"r"(to),
      "l"(from), "r"(static_cast<int>(wanted))
      : "memory");
}

/// pointer += bytes, kept behind the copies that stand before it.
__device__ inline void advance_pointer(const std::uint8_t*& pointer, std::int64_t bytes) {
  asm volatile("add.s64 %0, %0, %1;" : "+l"(pointer) : "l"(bytes) : "memory");
}

/// Copies 16 bytes past L1, or writes 16 zeros where `valid` is false (`from` is then not read).
__device__ inline void copy_16_or_zero(std::uint32_t to, const void* from, bool valid) {
  const int bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}

/// One arrival of this thread on `barrier` when its copies so far have landed; counts among the expected arrivals.
__device__ inline void arrive_on_copies(std::uint32_t barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

/// Orders writes to shared memory that this thread made or has seen before later reads through the async proxy (wgmma).
__device__ inline void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

}  // namespace tilewright::cuda::ptx
