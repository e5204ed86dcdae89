// CudaLayer: the routed experts of one layer on an NVIDIA GPU, from router logits or given experts to y, all on the
// device: route, sort by expert, GEMM1 with activation, GEMM2 with the top-k weight, combine.
//
//   auto layer = CudaLayer::create(weights, activation, routing);
//   layer->run({.x = x, .tokens = tokens, .logits = logits, .y = y}, workspace, stream);
//
// A run enqueues kernels and nothing else: no allocation, no synchronisation, no count on the host. It can be captured
// in a CUDA graph and replayed with other values behind the same pointers. The kernels follow each other by
// programmatic dependent launch. The same input gives the same bits on the same device, run after run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tilewright/activation.hpp"
#include "tilewright/arch.hpp"
#include "tilewright/expert_weights.hpp"
#include "tilewright/float_types.hpp"
#include "tilewright/precision.hpp"
#include "tilewright/result.hpp"
#include "tilewright/routing.hpp"
#include "tilewright/schedule.hpp"

namespace tilewright {

/// One batch. Pointers are device memory, 16-byte aligned; rows are contiguous. Either `logits`, or `ids` and
/// `weights`. The values are not looked at on the host: a logit or weight that is not finite makes its token's output
/// meaningless, and an id that is not an expert of this rank (-1, say) adds nothing.
struct CudaBatch {
  const void* x = nullptr;  ///< [tokens, H] bf16
  int tokens = 0;
  const float* logits = nullptr;      ///< [tokens, global experts]
  const float* bias = nullptr;        ///< [global experts], where the routing has a selection bias
  const std::int32_t* ids = nullptr;  ///< [tokens, top_k], global
  const float* weights = nullptr;     ///< [tokens, top_k]
  int top_k = 0;                      ///< of ids; 0: the routing's
  bool scale_input = false;           ///< of ids: as RoutedTokens::scale_input
  void* y = nullptr;                  ///< [tokens, H]
  bool y_bf16 = false;                ///< y in bf16; otherwise fp32
};

/// Whose kernels run a layer.
struct CudaLayerOptions {
  /// w4a16 on SM90's kernels or SM120's, w4a4 on SM120's: activations quantized on the device with the checkpoint's
  /// input scales, or a row's own where it has none (numerics/input_scales.hpp).
  Precision precision = Precision::w4a16;
  std::optional<Arch> arch = std::nullopt;  ///< none: the GPU's own
  /// SM120's kernels on an SM90 GPU: the block-scaled MMA of w4a4 is emulated there, and only if asked for. w4a16 has
  /// an MMA that both have.
  bool emulate_mma = false;
};

/// Whether this build has kernels that run so on the current GPU: success, or `unsupported` (no CUDA kernels, no GPU,
/// another GPU, a precision that the kernels do not have) or `invalid_argument` (an MMA emulated that need not be) with
/// the reason.
Status cuda_available(const CudaLayerOptions& options = {});

/// The kernels of a layer for one token count.
struct LayerSchedules {
  Schedule gemm1;
  Schedule gemm2;

  friend bool operator==(const LayerSchedules&, const LayerSchedules&) = default;
};

/// The kernels for batches of up to `tokens` tokens, and of more than the rung below has.
struct ScheduleRung {
  int tokens = 0;
  LayerSchedules schedules;

  friend bool operator==(const ScheduleRung&, const ScheduleRung&) = default;
};

struct CudaLayerInfo {
  std::string device;  ///< as the driver names it
  int sm_count = 0;
  Arch arch = Arch::sm_90;  ///< of the kernels
  Precision precision = Precision::w4a16;
  bool emulated_mma = false;
  std::int64_t hidden = 0;
  std::int64_t packed_bytes = 0;  ///< weights and scales on the device, padding included
};

class CudaLayer {
 public:
  /// Packs the weights expert by expert and copies them to the current device. Errors of cuda_available, `unsupported`
  /// for sizes that the kernels do not take, and `corrupt` for input scales (w4a4) that are not normal numbers above 0.
  static Result<CudaLayer> create(const ExpertWeights& weights, const Activation& activation, const Routing& routing,
                                  const CudaLayerOptions& options = {});
  CudaLayer(CudaLayer&&) noexcept;
  CudaLayer& operator=(CudaLayer&&) noexcept;
  ~CudaLayer();

  /// Bytes of workspace that a run of up to `tokens` tokens with `top_k` slots each (0: the routing's) needs with any
  /// schedule. Nothing has to be in it before a run, and no two runs may use it at the same time.
  [[nodiscard]] std::int64_t workspace_bytes(int tokens, int top_k = 0) const;

  /// The kernels for this many tokens: what run() takes. Those of the lowest rung that is not below; the planner's
  /// choice for tokens that spread over the experts at random, unless use_schedules() gave others.
  [[nodiscard]] LayerSchedules schedules(int tokens) const;

  /// Takes these kernels from now on, rung by rung, in place of the planner's or as rungs of their own: measured ones,
  /// from a tuning cache. Errors, before anything changes: `invalid_argument` for a rung of no tokens, `unsupported`
  /// for a kernel that is not built.
  Status use_schedules(const std::vector<ScheduleRung>& rungs);

  /// Enqueues one layer on `stream` (a cudaStream_t; null: the default stream). Errors before anything is enqueued:
  /// missing pointers, a negative token count, a top-k that does not fit, a workspace of nullptr. No tokens is no work.
  Status run(const CudaBatch& batch, void* workspace, void* stream) const;
  /// The same with these kernels.
  Status run(const CudaBatch& batch, const LayerSchedules& schedules, void* workspace, void* stream) const;

  /// From host memory to host memory, with copies and a synchronisation; x [tokens, H] bf16, y [tokens, H] fp32. Takes
  /// and gives back device memory as its sizes grow. Checks ids and weights as MoeLayer::run does.
  Status run_host(const bf16* x, const RoutedTokens& routed, float* y);

  [[nodiscard]] const CudaLayerInfo& info() const;

 private:
  struct State;
  explicit CudaLayer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tilewright
