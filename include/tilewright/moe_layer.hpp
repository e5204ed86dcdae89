// MoeLayer: the routed experts of one layer, packed for a backend and ready to run.
//
//   auto layer = MoeLayer::create(weights, facts.activation, facts.routing, {.precision = Precision::w4a16});
//   layer->run(x, tokens, router_logits, y);
//
// Shared experts, the residual and the router's own matrix are the caller's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tilewright/activation.hpp"
#include "tilewright/arch.hpp"
#include "tilewright/expert_weights.hpp"
#include "tilewright/float_types.hpp"
#include "tilewright/precision.hpp"
#include "tilewright/result.hpp"
#include "tilewright/routing.hpp"

namespace tilewright {

class CudaLayer;

enum class Backend {
  cpu,
  cuda,  ///< the current NVIDIA GPU (cuda_layer.hpp)
};
const char* to_string(Backend backend);
/// A backend by name ("cpu", "cuda"), whether this build and machine have it or not; another is `invalid_argument`.
Result<Backend> parse_backend(const std::string& name);

struct MoeLayerOptions {
  Precision precision = Precision::w4a16;
  Backend backend = Backend::cpu;
  std::string isa;                          ///< CPU instruction set tier; empty: the highest that runs here
  int threads = 0;                          ///< CPU; 0, or more than there are: all cores that this process may use
  std::optional<Arch> arch = std::nullopt;  ///< CUDA: whose kernels; none: those of the GPU's own architecture
  bool emulate_mma = false;                 ///< CUDA: as CudaLayerOptions
};

/// What `create` refuses whatever the weights are: settings of another backend (`invalid_argument`), and a precision,
/// a tier or a backend that this build or machine does not have (`unsupported`).
Status check_options(const MoeLayerOptions& options);

/// One layer. The same input gives the same bits, run after run and for any number of threads. Not for two runs at
/// the same time: a layer owns its workspace. Inputs and outputs are host memory with every backend; on a GPU that
/// means copies, which a caller with device memory leaves out (cuda_layer.hpp).
class MoeLayer {
 public:
  /// Packs the weights into the backend's tile order, expert by expert, giving file pages back as it goes: the peak is
  /// the packed size plus one expert. The views in `weights` are not used after this returns.
  static Result<MoeLayer> create(const ExpertWeights& weights, const Activation& activation, const Routing& routing,
                                 const MoeLayerOptions& options = {});
  MoeLayer(MoeLayer&&) noexcept;
  MoeLayer& operator=(MoeLayer&&) noexcept;
  ~MoeLayer();

  /// y[t, :] = sum over slots of weight * expert(x[t, :]). x is [tokens, H] bf16, y [tokens, H] fp32, both row-major
  /// and contiguous. A slot with id -1, or with an expert of another rank, adds nothing; a token without slots gets
  /// zeros. Errors: ids out of range, arrays of the wrong length, activations that are not finite.
  Status run(const bf16* x, const RoutedTokens& routed, float* y);

  /// Routes [tokens, experts] fp32 logits first (see route()); `bias` is the selection bias or empty.
  Status run(const bf16* x, int tokens, const float* logits, const std::vector<float>& bias, float* y);

  [[nodiscard]] std::int64_t hidden() const;
  [[nodiscard]] std::int64_t packed_bytes() const;  ///< weights and scales as packed, padding included
  /// The packed weights, for measuring the bandwidth that they are read with; valid as long as the layer. Empty where
  /// they are not in host memory.
  [[nodiscard]] std::span<const std::uint8_t> packed_memory() const;
  [[nodiscard]] const MoeLayerOptions& options() const;  ///< with defaults filled in
  [[nodiscard]] const CudaLayer* cuda() const;           ///< the layer on the device; nullptr with another backend
  [[nodiscard]] CudaLayer* cuda();

 private:
  struct State;
  explicit MoeLayer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Bytes of weights and block scales of one expert: 0.5625 a weight.
std::int64_t expert_bytes(const ExpertWeights& weights);

}  // namespace tilewright
