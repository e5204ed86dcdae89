// Asks CUTLASS's collective builders what they select for a request, and prints it as one line of JSON.
//
// A request is a struct of type aliases (compile_rows.py writes one a row, and `tilewright explain --cutlass --emit`
// writes the same names): ArchTag, OpClass, ElementA, LayoutA, kAlignA, ..., TileShape, ClusterShape, EpilogueTile,
// EpilogueSchedule, FusionOp (void: linear combination), StageCount<Epilogue> and KernelSchedule.
#pragma once

#include "host_cuda.hpp"

#include <cute/tensor.hpp>

#include <cutlass/cutlass.h>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/kernel/gemm_universal.hpp>
#if __has_include("cutlass_extensions/epilogue/fusion/sm90_visitor_scatter.hpp")
#include "cutlass_extensions/epilogue/fusion/sm90_visitor_scatter.hpp"
#endif

#include <cxxabi.h>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <typeinfo>

namespace probe {

template <class Request, class Fusion = typename Request::FusionOp>
struct EpilogueOf {
  using type = typename cutlass::epilogue::collective::CollectiveBuilder<
      typename Request::ArchTag, typename Request::OpClass, typename Request::TileShape,
      typename Request::EpilogueClusterShape, typename Request::EpilogueTile, float, float, typename Request::ElementC,
      typename Request::LayoutC, Request::kAlignC, typename Request::ElementD, typename Request::LayoutD,
      Request::kAlignD, typename Request::EpilogueSchedule, Fusion>::CollectiveOp;
};

template <class Request>
struct EpilogueOf<Request, void> {
  using type = typename cutlass::epilogue::collective::CollectiveBuilder<
      typename Request::ArchTag, typename Request::OpClass, typename Request::TileShape,
      typename Request::EpilogueClusterShape, typename Request::EpilogueTile, float, float, typename Request::ElementC,
      typename Request::LayoutC, Request::kAlignC, typename Request::ElementD, typename Request::LayoutD,
      Request::kAlignD, typename Request::EpilogueSchedule>::CollectiveOp;
};

// StageCountAutoCarveout of what the epilogue occupies, as CUTLASS's examples and FlashInfer's launcher write it.
template <class Epilogue>
using CarveoutOf =
    cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(sizeof(typename Epilogue::SharedStorage))>;

template <class Request>
struct Build {
  using Epilogue = typename EpilogueOf<Request>::type;
  using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
      typename Request::ArchTag, typename Request::OpClass, typename Request::ElementA, typename Request::LayoutA,
      Request::kAlignA, typename Request::ElementB, typename Request::LayoutB, Request::kAlignB, float,
      typename Request::TileShape, typename Request::ClusterShape, typename Request::template StageCount<Epilogue>,
      typename Request::KernelSchedule>::CollectiveOp;
  using Kernel = cutlass::gemm::kernel::GemmUniversal<typename Request::ProblemShape, Mainloop, Epilogue, void, void>;
};

template <class T>
std::string type_name() {
  int status = 0;
  char* text = abi::__cxa_demangle(typeid(T).name(), nullptr, nullptr, &status);
  std::string name = text == nullptr ? typeid(T).name() : text;
  std::free(text);
  return name;
}

template <class Epilogue, class = void>
struct EpilogueTileOf {
  static constexpr int m = 0;
  static constexpr int n = 0;
};
template <class Epilogue>
struct EpilogueTileOf<Epilogue, std::void_t<typename Epilogue::EpilogueTile>> {
  static constexpr int m = cute::size<0>(cute::shape(typename Epilogue::EpilogueTile{}));
  static constexpr int n = cute::size<1>(cute::shape(typename Epilogue::EpilogueTile{}));
};

template <class Policy, class = void>
struct EpilogueStagesOf {
  static constexpr int c = -1;
  static constexpr int d = -1;
};
template <class Policy>
struct EpilogueStagesOf<Policy, std::void_t<decltype(Policy::StagesC), decltype(Policy::StagesD)>> {
  static constexpr int c = Policy::StagesC;
  static constexpr int d = Policy::StagesD;
};

// SM103 has two pipelines, of operands and of scale factors; its dense policy also has `Stages`.
template <class Policy, class = void>
struct HasScaleStages : std::false_type {};
template <class Policy>
struct HasScaleStages<Policy, std::void_t<decltype(Policy::LoadSFPipelineStageCount)>> : std::true_type {};

template <class Policy>
constexpr int operand_stages() {
  if constexpr (HasScaleStages<Policy>::value) {
    return Policy::LoadABPipelineStageCount;
  } else {
    return Policy::Stages;
  }
}

template <class Policy>
constexpr int scale_stages() {
  if constexpr (HasScaleStages<Policy>::value) {
    return Policy::LoadSFPipelineStageCount;
  } else {
    return 0;
  }
}

template <class Storage, class Access>
void member(const char* name, Storage& storage, Access access, bool& first) {
  if constexpr (std::is_invocable_v<Access, Storage&>) {
    auto& found = access(storage);
    const auto offset = reinterpret_cast<const char*>(&found) - reinterpret_cast<const char*>(&storage);
    std::printf("%s{\"name\":\"%s\",\"offset\":%td,\"bytes\":%zu}", first ? "" : ",", name, offset, sizeof(found));
    first = false;
  }
}

// The trailing return type makes a path that a kernel's SharedStorage does not have a failed substitution.
#define PROBE_MEMBER(path) \
  member(                  \
      #path, storage, [](auto& s) -> decltype((s.path)) { return s.path; }, first)

template <class Storage>
void print_members() {
  // Never constructed: only addresses are taken, as offsetof does.
  alignas(Storage) static char bytes[sizeof(Storage)];
  auto& storage = reinterpret_cast<Storage&>(bytes);
  bool first = true;
  PROBE_MEMBER(pipelines);
  PROBE_MEMBER(pipelines.scheduler);
  PROBE_MEMBER(pipelines.mainloop);
  PROBE_MEMBER(pipelines.epi_load);
  PROBE_MEMBER(pipelines.math_wg_order);
  PROBE_MEMBER(pipelines.load_order);
  PROBE_MEMBER(pipelines.clc);
  PROBE_MEMBER(pipelines.accumulator);
  PROBE_MEMBER(pipelines.clc_throttle);
  PROBE_MEMBER(pipelines.tmem_dealloc);
  PROBE_MEMBER(pipelines.tensor_map_ready);
  PROBE_MEMBER(scheduler);
  PROBE_MEMBER(scheduler_response);
  PROBE_MEMBER(clc_response);
  PROBE_MEMBER(tmem_base_ptr);
  PROBE_MEMBER(tensormaps);
  PROBE_MEMBER(tensormaps.mainloop);
  PROBE_MEMBER(tensormaps.epilogue);
  PROBE_MEMBER(tensors);
  PROBE_MEMBER(tensors.mainloop);
  PROBE_MEMBER(tensors.mainloop.smem_A);
  PROBE_MEMBER(tensors.mainloop.smem_B);
  PROBE_MEMBER(tensors.mainloop.smem_SFA);
  PROBE_MEMBER(tensors.mainloop.smem_SFB);
  PROBE_MEMBER(tensors.epilogue);
  PROBE_MEMBER(tensors.epilogue.collective);
  PROBE_MEMBER(tensors.epilogue.collective.smem_C);
  PROBE_MEMBER(tensors.epilogue.collective.smem_D);
  PROBE_MEMBER(tensors.epilogue.thread);
}

#undef PROBE_MEMBER

template <class Request>
void report(int row) {
  using Built = Build<Request>;
  using Mainloop = typename Built::Mainloop;
  using Epilogue = typename Built::Epilogue;
  using Kernel = typename Built::Kernel;
  using Policy = typename Mainloop::DispatchPolicy;
  using EpiloguePolicy = typename Epilogue::DispatchPolicy;
  std::printf("{\"row\":%d,\"policy\":\"%s\",\"epilogue_policy\":\"%s\",", row, type_name<Policy>().c_str(),
              type_name<EpiloguePolicy>().c_str());
  std::printf("\"stages\":%d,\"scale_stages\":%d,", operand_stages<Policy>(), scale_stages<Policy>());
  std::printf("\"epi_m\":%d,\"epi_n\":%d,", EpilogueTileOf<Epilogue>::m, EpilogueTileOf<Epilogue>::n);
  std::printf("\"stages_c\":%d,\"stages_d\":%d,", EpilogueStagesOf<EpiloguePolicy>::c,
              EpilogueStagesOf<EpiloguePolicy>::d);
  std::printf("\"mainloop\":%zu,\"epilogue\":%zu,\"carveout\":%zu,\"total\":%zu,\"members\":[",
              sizeof(typename Mainloop::TensorStorage), sizeof(typename Epilogue::TensorStorage),
              sizeof(typename Epilogue::SharedStorage), sizeof(typename Kernel::SharedStorage));
  print_members<typename Kernel::SharedStorage>();
  std::printf("]}\n");
}

}  // namespace probe
