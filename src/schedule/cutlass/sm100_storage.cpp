#include "schedule/cutlass/sm100_storage.hpp"

#include <fmt/format.h>

namespace tilewright::schedule::cutlass {
namespace {

constexpr std::int64_t kResponse = 16;         // PersistentTileSchedulerSm100::CLCResponse
constexpr std::int64_t kGroupedResponse = 20;  // the same with a batch_changed and a TMA_stage of two bytes each
constexpr std::int64_t kEmpty = 1;             // an empty type as a member
constexpr std::int64_t kNoLoad = 2;            // PipelineTransactionAsync<0>: two arrays without elements, a byte each

// Since 4.4, grouped SM100 kernels have warps that update tensor maps, and so a second response and pipeline; SM103's
// do not.
bool has_updaters(const CutlassRequest& request) {
  return request.grouped && request.arch == Arch::sm_100 && request.version >= CutlassVersion::v4_4_1;
}

std::int64_t scheduler_barriers(const Sm100Mainloop& m) { return kBarrierPairBytes * m.scheduler_stages; }

StructLayout pipelines(const CutlassRequest& r, const Sm100Mainloop& m, const Sm100Epilogue& e) {
  StructLayout layout;
  layout.aligned(16);
  layout.member("mainloop", m.barriers, 16);
  layout.member("epi_load", e.no_smem ? kNoLoad : e.epilogue.load_bytes, 16);
  layout.member("load_order", kBarrierPairBytes, 16);
  layout.member("clc", scheduler_barriers(m), 16);
  layout.member("accumulator", kBarrierPairBytes * m.accumulator_stages, 16);
  // The scheduler of groups is static, and its throttle empty.
  layout.member("clc_throttle", r.grouped ? kEmpty : scheduler_barriers(m), 16);
  layout.member("tmem_dealloc", 8, r.arch == Arch::sm_103 ? 8 : 16);
  if (has_updaters(r)) layout.member("tensor_map_ready", scheduler_barriers(m), 16);
  return layout;
}

// A NoSmem epilogue's adapter names its SharedStorage for its tensor maps too.
StructLayout tensormaps(const Sm100Mainloop& m, const Sm100Epilogue& e) {
  StructLayout layout;
  layout.aligned(kTensorMapBytes);
  layout.member("epilogue", e.no_smem ? e.epilogue.tensors.size() : e.epilogue.tensormap_bytes, kTensorMapBytes);
  layout.member("mainloop", kTensorMapBytes * m.tensormaps, kTensorMapBytes);
  return layout;
}

StructLayout tensors(const Sm100Mainloop& m, const Sm100Epilogue& e) {
  StructLayout layout;
  layout.aligned(128);
  layout.nested("epilogue", e.epilogue.tensors);
  layout.nested("mainloop", m.tensors);
  return layout;
}

std::string tensormap_set(const CutlassRequest& request, int set) {
  return has_updaters(request) ? fmt::format("tensormaps[{}]", set) : "tensormaps";
}

}  // namespace

std::vector<CutlassStorage> sm100_storage(const CutlassRequest& request, const Sm100Mainloop& mainloop,
                                          const Sm100Epilogue& epilogue) {
  StructLayout storage;
  storage.nested("pipelines", pipelines(request, mainloop, epilogue));
  const std::int64_t response = has_updaters(request) ? 2 * kGroupedResponse : kResponse;
  storage.member("clc_response", response * mainloop.scheduler_stages, 16);
  storage.member("tmem_base_ptr", 4, 4);
  if (request.grouped) {
    const int sets = has_updaters(request) ? kSm100TensorMapSets : 1;
    for (int set = 0; set < sets; ++set) storage.nested(tensormap_set(request, set), tensormaps(mainloop, epilogue));
  }
  storage.nested("tensors", tensors(mainloop, epilogue));
  return storage.members();
}

std::int64_t reserve_sm100_kernel(std::vector<CutlassStorage>& storage, const CutlassRequest& request,
                                  const Sm100Mainloop& mainloop) {
  const std::int64_t before = reserved_bytes(storage);
  const bool sm103 = request.arch == Arch::sm_103;
  const int responses = has_updaters(request) ? 2 : 1;
  reserve(storage, "pipelines.accumulator", kBarrierPairBytes * mainloop.accumulator_stages);
  reserve(storage, "pipelines.clc", scheduler_barriers(mainloop) * responses);
  reserve(storage, "pipelines.load_order", kBarrierPairBytes);
  reserve(storage, "pipelines.tmem_dealloc", 8);
  reserve(storage, "pipelines.clc_throttle", scheduler_barriers(mainloop));
  reserve(storage, "clc_response", kResponse * mainloop.scheduler_stages * responses);
  reserve(storage, "tmem_base_ptr", 4 * (sm103 ? mainloop.accumulator_stages : mainloop.scheduler_stages));
  if (request.grouped) {
    const int sets = has_updaters(request) ? kSm100TensorMapSets : 1;
    for (int set = 0; set < sets; ++set) {
      reserve(storage, tensormap_set(request, set) + ".mainloop", kTensorMapBytes * mainloop.tensormaps);
    }
    if (has_updaters(request)) reserve(storage, "pipelines.tensor_map_ready", scheduler_barriers(mainloop));
  }
  return reserved_bytes(storage) - before;
}

std::string policy_arch(const CutlassRequest& request) {
  if (request.version < CutlassVersion::v4_5_0) return {};
  return request.arch == Arch::sm_103 ? ",cutlass::arch::Sm103" : ",cutlass::arch::Sm100";
}

std::int64_t carveout_bytes(const CutlassRequest& request, std::int64_t epilogue_storage) {
  return request.stages.rule == CutlassStageRule::carveout ? request.stages.carveout_bytes.value_or(epilogue_storage)
                                                           : 0;
}

}  // namespace tilewright::schedule::cutlass
