// SharedStorage of SM120 kernels. SM120 has no kernel layer of its own: these are the structs of SM90's
// sm90_gemm_[array_]tma_warpspecialized_{cooperative,pingpong}.hpp, in their order of members.
#include "schedule/cutlass/elements.hpp"
#include "schedule/cutlass/sm120_builder.hpp"

namespace tilewright::schedule::cutlass {
namespace {

constexpr std::int64_t kBarrierPair = 16;      // full and empty
constexpr std::int64_t kTensorMapBytes = 128;  // sizeof(cute::TmaDescriptor)
constexpr int kArraySchedulerStages = 8;       // PersistentTileSchedulerSm90Group<..., 8>
constexpr std::int64_t kResponseBytes = 16;    // a tile scheduler's answer
constexpr std::int64_t kEmptyScales = 16;      // a scale layout without rows is still an aligned array

// CollectiveMainloop::TensorStorage.
StructLayout mainloop_tensors(const CutlassRequest& request, const Sm120Mainloop& mainloop, int stages) {
  StructLayout tensors;
  tensors.member("smem_A", mainloop.a * stages, 1024).member("smem_B", mainloop.b * stages, 1024);
  if (block_scaled(request.a)) {
    const auto scales = [&](std::int64_t bytes) { return bytes == 0 ? kEmptyScales : bytes * stages; };
    tensors.member("smem_SFA", scales(mainloop.sfa), 16).member("smem_SFB", scales(mainloop.sfb), 16);
  }
  return tensors.aligned(128);
}

// OrderedSequenceBarrier<1, 2>: the two load warps; Pingpong's <2, 2>: the two math warp groups, load and store.
void add_orders(StructLayout& pipelines, bool grouped, bool pingpong) {
  constexpr std::int64_t kLoadOrder = 16;
  constexpr std::int64_t kMathOrder = 32;
  if (pingpong && !grouped) pipelines.member("math_wg_order", kMathOrder, 16);
  pipelines.member("load_order", kLoadOrder, 16);
  if (pingpong && grouped) pipelines.member("math_wg_order", kMathOrder, 16);
}

StructLayout grouped_layout(const CutlassRequest& request, const StructLayout& tensors, const Epilogue& epilogue,
                            int stages, bool pingpong) {
  StructLayout both;
  both.nested("mainloop", tensors).nested("epilogue", epilogue.tensors).aligned(128);
  StructLayout pipelines;
  pipelines.member("scheduler", kBarrierPair * kArraySchedulerStages, 16)
      .member("mainloop", kBarrierPair * stages, 16)
      .member("epi_load", epilogue.load_bytes, 16);
  add_orders(pipelines, true, pingpong);
  StructLayout tensormaps;
  const int operands = block_scaled(request.a) ? 4 : 2;  // A and B, and the scales of each
  tensormaps.member("mainloop", kTensorMapBytes * operands, 128).member("epilogue", epilogue.tensormap_bytes, 128);
  StructLayout storage;
  storage.nested("tensors", both).nested("pipelines", pipelines);
  storage.member("scheduler_response", kResponseBytes * kArraySchedulerStages, 16);
  return storage.nested("tensormaps", tensormaps);
}

StructLayout dense_layout(const Sm120Mainloop& mainloop, const StructLayout& tensors, const Epilogue& epilogue,
                          int stages, bool pingpong) {
  StructLayout pipelines;
  pipelines.member("mainloop", kBarrierPair * stages, 16).member("epi_load", epilogue.load_bytes, 16);
  add_orders(pipelines, false, pingpong);
  StructLayout scheduler;  // PersistentTileSchedulerSm100: cluster launch control
  scheduler.member("clc_pipeline", kBarrierPair * mainloop.scheduler_stages, 16)
      .member("clc_throttle", kBarrierPair * mainloop.scheduler_stages, 16)
      .member("clc_response", kResponseBytes * mainloop.scheduler_stages, 16);
  StructLayout both;
  both.nested("epilogue", epilogue.tensors).nested("mainloop", tensors).aligned(128);
  StructLayout storage;
  return storage.nested("pipelines", pipelines).nested("scheduler", scheduler).nested("tensors", both);
}

void reserve_members(CutlassKernel& kernel, const Sm120Mainloop& mainloop, std::int64_t carveout) {
  std::vector<CutlassStorage>& storage = kernel.storage;
  const bool grouped = kernel.request.grouped;
  const int stages = kernel.stages;
  reserve(storage, "tensors.mainloop.smem_A", mainloop.a * stages);
  reserve(storage, "tensors.mainloop.smem_B", mainloop.b * stages);
  reserve(storage, "tensors.mainloop.smem_SFA", mainloop.sfa * stages);
  reserve(storage, "tensors.mainloop.smem_SFB", mainloop.sfb * stages);
  reserve(storage, "pipelines.mainloop", mainloop.barriers * stages);
  reserve(storage, grouped ? "pipelines.scheduler" : "scheduler.clc_pipeline", mainloop.scheduler);
  reserve(storage, "scheduler.clc_response", mainloop.responses);
  reserve(storage, "tensormaps.mainloop", mainloop.tensormaps);
  reserve(storage, "tensormap_ready_pipeline", mainloop.tensormap_ready);
  reserve_carveout(storage, {"tensors.epilogue", "pipelines.epi_load", "tensormaps.epilogue"}, carveout);
}

}  // namespace

void sm120_storage(CutlassKernel& kernel, const Sm120Mainloop& mainloop, const Epilogue& epilogue,
                   std::int64_t carveout) {
  const CutlassRequest& request = kernel.request;
  const StructLayout tensors = mainloop_tensors(request, mainloop, kernel.stages);
  const bool pingpong = !sm120_cooperative(request);
  const StructLayout storage = request.grouped ? grouped_layout(request, tensors, epilogue, kernel.stages, pingpong)
                                               : dense_layout(mainloop, tensors, epilogue, kernel.stages, pingpong);
  kernel.mainloop_bytes = tensors.size();
  kernel.storage = storage.members();
  kernel.total = storage.size();
  if (request.stages.rule != CutlassStageRule::explicit_count) reserve_members(kernel, mainloop, carveout);
  kernel.reserved_bytes = reserved_bytes(kernel.storage);
}

}  // namespace tilewright::schedule::cutlass
