#include "schedule/cutlass/sm90_storage.hpp"

namespace tilewright::schedule::cutlass {
namespace {

constexpr std::int64_t kBarrierPair = 16;  // a full and an empty ClusterBarrier
constexpr std::int64_t kTensorMap = 128;   // sizeof(cute::TmaDescriptor)
constexpr std::int64_t kEmpty = 1;         // an empty type as a member
constexpr std::int64_t kNoLoad = 2;        // PipelineTransactionAsync<0>: two arrays without elements, a byte each
constexpr int kSchedulerStages = 8;        // of the scheduler of groups, whose response is 16 B

std::int64_t load_bytes(const Sm90Epilogue& e) { return e.no_smem() ? kNoLoad : e.epilogue.load_bytes; }

StructLayout dense_pipelines(const Sm90Mainloop& m, const Sm90Epilogue& e) {
  StructLayout layout;
  layout.aligned(16);
  layout.member("mainloop", kBarrierPair * m.stages, 16).member("epi_load", load_bytes(e), 16);
  if (m.warps == CutlassWarps::tma_warp_specialized) return layout;
  if (m.warps == CutlassWarps::pingpong) layout.member("math_wg_order", 2 * kBarrierPair, 16);
  return layout.member("load_order", kBarrierPair, 16);
}

StructLayout grouped_pipelines(const Sm90Mainloop& m, const Sm90Epilogue& e) {
  StructLayout layout;
  layout.aligned(16);
  layout.member("scheduler", kBarrierPair * kSchedulerStages, 16).member("mainloop", kBarrierPair * m.stages, 16);
  layout.member("epi_load", load_bytes(e), 16).member("load_order", kBarrierPair, 16);
  if (m.warps == CutlassWarps::pingpong) layout.member("math_wg_order", 2 * kBarrierPair, 16);
  return layout;
}

StructLayout tensormaps(const Sm90Epilogue& e) {
  StructLayout layout;
  layout.aligned(kTensorMap);
  layout.member("mainloop", 2 * kTensorMap, kTensorMap);
  return layout.member("epilogue", e.no_smem() ? kEmpty : e.epilogue.tensormap_bytes, kTensorMap);
}

// The kernel that is not persistent: mainloop and epilogue take turns in a union. The epilogue is named only where it
// is the larger one, for what it has beyond the mainloop.
StructLayout one_tile_storage(const Sm90Mainloop& m, const Sm90Epilogue& e) {
  StructLayout tensors;
  tensors.nested("mainloop", m.tensors).aligned(e.epilogue.tensors.alignment());
  const std::int64_t beyond = e.epilogue.tensors.size() - m.tensors.size();
  if (beyond > 0) tensors.member("epilogue_beyond_mainloop", beyond, 1);
  StructLayout storage;
  return storage.nested("tensors", tensors).nested("pipelines", dense_pipelines(m, e));
}

StructLayout dense_storage(const Sm90Mainloop& m, const Sm90Epilogue& e) {
  StructLayout tensors;
  tensors.aligned(128).nested("epilogue", e.epilogue.tensors).nested("mainloop", m.tensors);
  StructLayout storage;
  storage.nested("pipelines", dense_pipelines(m, e)).member("scheduler", kEmpty, 16);
  return storage.nested("tensors", tensors);
}

StructLayout grouped_storage(const Sm90Mainloop& m, const Sm90Epilogue& e) {
  StructLayout tensors;
  tensors.aligned(128).nested("mainloop", m.tensors).nested("epilogue", e.epilogue.tensors);
  StructLayout storage;
  storage.nested("tensors", tensors).nested("pipelines", grouped_pipelines(m, e));
  storage.member("scheduler_response", kBarrierPair * kSchedulerStages, 16);
  return storage.nested("tensormaps", tensormaps(e));
}

}  // namespace

std::vector<CutlassStorage> sm90_storage(const CutlassRequest& request, const Sm90Mainloop& mainloop,
                                         const Sm90Epilogue& epilogue) {
  if (request.grouped) return grouped_storage(mainloop, epilogue).members();
  if (mainloop.warps == CutlassWarps::tma_warp_specialized) return one_tile_storage(mainloop, epilogue).members();
  return dense_storage(mainloop, epilogue).members();
}

}  // namespace tilewright::schedule::cutlass
