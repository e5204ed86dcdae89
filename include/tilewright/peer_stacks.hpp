// Peers: how another stack runs an expert layer, described well enough to predict how long its layer takes.
//
// The terms are those of cost.hpp, for kernels that are not ours: a fixed tile of 128 tokens, no swapped operands, and
// a kernel for each pass. docs/model.md derives them and says how well they hold. A published layer is replayed from
// one CUDA graph, so what fits the L2 is still there from the last replay; the bytes between two uses of a tensor
// decide where it is read from (src/schedule/cache_reuse.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilewright/device.hpp"
#include "tilewright/problem.hpp"

namespace tilewright {

/// What a peer's GEMMs multiply: weights and activations both.
enum class PeerFormat : std::uint8_t {
  nvfp4,  ///< 4.5 bits a value, block scales included
  fp8,    ///< a byte a value, one scale a tensor
};
const char* to_string(PeerFormat format);

/// A stack's kernels. All but `efficiency` is a description; that is the one number fitted to its published times.
struct PeerStack {
  std::string framework;  ///< as published files name it
  std::string version;
  std::string kernel;
  PeerFormat format = PeerFormat::nvfp4;
  std::vector<int> token_tiles = {128};  ///< the tuned choice among them is the fastest
  int tile_weights = 128;
  int kernels = 0;                     ///< launches of one layer
  int expert_setups = 1;               ///< passes that prepare each local expert's GEMM
  bool quantizes_tokens_once = false;  ///< tokens are quantized, then copied per row; else rows as they are copied
  bool adds_in_epilogue = false;       ///< GEMM2 adds to the output; else its rows are written and summed by a kernel
  double choice_us = 0.0;              ///< the router's time for each of the k experts that it chooses, in turn
  int fused_top_k = 8;                 ///< the largest k that the fused router takes
  double wide_router_us = 0.0;         ///< fixed time that a larger k costs besides
  double wide_router_passes = 1.0;     ///< passes over the fp32 logits that a larger k takes
  double efficiency = 1.0;             ///< of the GEMMs' inner loop, against the model's
};

/// The stacks that are described, in a fixed order.
const std::vector<PeerStack>& peer_stacks();

/// The stack that published files name so; null when it is not described.
const PeerStack* find_peer_stack(const std::string& framework, const std::string& version, const std::string& kernel,
                                 PeerFormat format = PeerFormat::nvfp4);

/// An expert layer on one rank.
struct PeerLayer {
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;  ///< of the rank: I / tp
  bool gated = true;
  std::int64_t tokens = 0;  ///< over all ranks
  int top_k = 0;
  int experts = 0;     ///< over all ranks
  RowsHistogram rows;  ///< of the rank's experts
};

/// A prediction and its parts, microseconds.
struct PeerTime {
  double us = 0;
  double fixed_us = 0;     ///< launches, the router's fixed part, preparing the experts
  double routing_us = 0;   ///< logits, and sorting the rows
  double quantize_us = 0;  ///< and copying rows into expert order
  double gemm1_us = 0;
  double activation_us = 0;  ///< with its quantization
  double gemm2_us = 0;
  double combine_us = 0;
  std::int64_t weight_bytes = 0;  ///< of the active experts
};

/// Predicts a layer. The device has to have the tensor cores of the stack's format and an L2 whose size is known; of
/// another one the result has no meaning.
PeerTime predict_peer(const Device& device, const PeerStack& stack, const PeerLayer& layer);

}  // namespace tilewright
