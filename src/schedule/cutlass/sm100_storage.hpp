// GemmUniversal::SharedStorage of the SM100 and SM103 kernels, and what their builders set aside for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/cutlass/sm100_epilogue.hpp"

namespace tilewright::schedule::cutlass {

/// The parts that the mainloop builder decides.
struct Sm100Mainloop {
  StructLayout tensors;       ///< CollectiveMainloop::TensorStorage
  std::int64_t barriers = 0;  ///< bytes of its pipelines: a full and an empty barrier a stage
  int scheduler_stages = 0;
  int accumulator_stages = 0;
  int tensormaps = 0;  ///< TMA descriptors of the operands that a grouped kernel keeps in shared memory
};

/// sizeof a pipeline's stage, and of a TMA descriptor.
inline constexpr std::int64_t kBarrierPairBytes = 16;
inline constexpr std::int64_t kTensorMapBytes = 128;

/// A grouped SM100 kernel has one set of descriptors for each of its four updater warps and one more.
inline constexpr int kSm100TensorMapSets = 5;

/// The struct, in the order of sm100_gemm_[array_]tma_warpspecialized.hpp, or of sm103_blockscaled_gemm_[...].hpp.
std::vector<CutlassStorage> sm100_storage(const CutlassRequest& request, const Sm100Mainloop& mainloop,
                                          const Sm100Epilogue& epilogue);

/// KernelSmemCarveout: what the builder subtracts from the capacity for everything but the mainloop's stages and the
/// epilogue. Notes each part at the member of `storage` that it is for, and returns the sum. The accumulator's count
/// stands for the scheduler's in SM103's reserve of the tensor-memory pointer, as it does there.
std::int64_t reserve_sm100_kernel(std::vector<CutlassStorage>& storage, const CutlassRequest& request,
                                  const Sm100Mainloop& mainloop);

/// ",cutlass::arch::Sm100" or "...Sm103", which ends a policy since 4.5; nothing before.
std::string policy_arch(const CutlassRequest& request);

/// The carve-out: the bytes that the stage rule of the request sets aside for the epilogue.
std::int64_t carveout_bytes(const CutlassRequest& request, std::int64_t epilogue_storage);

}  // namespace tilewright::schedule::cutlass
