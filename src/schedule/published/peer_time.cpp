// The time of a peer's layer, pass by pass.
#include <algorithm>
#include <cmath>
#include <limits>

#include "schedule/cache_reuse.hpp"
#include "schedule/cost_constants.hpp"
#include "schedule/cost_model.hpp"
#include "tilewright/peer_stacks.hpp"

namespace tilewright {
namespace {

using schedule::MemoryPath;

constexpr int kTileK = 128;

double quantized(const PeerStack& stack, double values) {
  return stack.format == PeerFormat::fp8 ? values : values * 9.0 / 16.0;
}
double bf16(double values) { return values * 2.0; }

// One GEMM of the layer.
struct PeerGemm {
  std::int64_t n = 0;
  std::int64_t k = 0;
  double memory_us = 0;  // all of its bytes
};

// The busiest SM walks whole waves of tiles; meanwhile the memory delivers, and the last tile is multiplied after the
// last byte has come.
double gemm_us(const Device& device, const PeerStack& stack, const RowsHistogram& rows, const PeerGemm& gemm,
               int token_tile) {
  std::int64_t token_tiles = 0;
  for (const auto& bin : rows.bins) token_tiles += bin.experts * ((bin.rows + token_tile - 1) / token_tile);
  const std::int64_t weight_tiles = (gemm.n + stack.tile_weights - 1) / stack.tile_weights;
  const double waves = std::ceil(static_cast<double>(token_tiles * weight_tiles) / device.sm_count);
  const double k_blocks = std::ceil(static_cast<double>(gemm.k) / kTileK);
  const int rate = stack.format == PeerFormat::fp8 ? device.flop_per_clk.fp8 : device.flop_per_clk.fp4;
  const double mma = 2.0 * token_tile * stack.tile_weights * kTileK / (rate * device.mma_share);
  const double cycles = k_blocks * (mma + schedule::kBlockOverheadSm12x) + schedule::kGroupedTileCycles;
  const double tile_us = cycles / device.clock_mhz / stack.efficiency;
  return schedule::joined(gemm.memory_us + tile_us, waves * tile_us, schedule::kOverlapOrder);
}

double gemm_us(const Device& device, const PeerStack& stack, const RowsHistogram& rows, const PeerGemm& gemm) {
  double fastest = std::numeric_limits<double>::infinity();
  for (const int tile : stack.token_tiles) fastest = std::min(fastest, gemm_us(device, stack, rows, gemm, tile));
  return fastest;
}

// The tensors of a layer in bytes, and what lies between two uses of each.
struct Tensors {
  double tokens_in = 0;         // bf16 in, bf16 out of the layer
  double tokens_quantized = 0;  // quantized, a row a token
  double rows_quantized = 0;    // quantized, a row for each choice of this rank
  double gemm1_out = 0;         // bf16
  double activated = 0;
  double gemm2_out = 0;  // bf16
  double weights1 = 0;
  double weights2 = 0;
  double replay = 0;  // all bytes of one layer: the distance to the last replay
};

Tensors tensors_of(const PeerStack& stack, const PeerLayer& layer) {
  const auto hidden = static_cast<double>(layer.hidden);
  const auto inner = static_cast<double>(layer.intermediate);
  const auto tokens = static_cast<double>(layer.tokens);
  const auto rows = static_cast<double>(layer.rows.total());
  const auto active = static_cast<double>(layer.rows.active());
  const double up = layer.gated ? 2.0 : 1.0;
  Tensors t;
  t.tokens_in = bf16(tokens * hidden);
  t.tokens_quantized = quantized(stack, tokens * hidden);
  t.rows_quantized = quantized(stack, rows * hidden);
  t.gemm1_out = bf16(rows * inner * up);
  t.activated = quantized(stack, rows * inner);
  t.gemm2_out = bf16(rows * hidden);
  t.weights1 = quantized(stack, active * inner * hidden * up);
  t.weights2 = quantized(stack, active * inner * hidden);
  t.replay = t.weights1 + t.weights2 + 2.0 * t.tokens_in + t.rows_quantized + t.gemm1_out + t.activated;
  t.replay += stack.quantizes_tokens_once ? t.tokens_quantized : 0.0;
  t.replay += stack.adds_in_epilogue ? 0.0 : t.gemm2_out;
  return t;
}

double quantize_us(const PeerStack& stack, const MemoryPath& memory, const Tensors& t) {
  const double written = memory.us(t.rows_quantized, t.replay);
  if (stack.quantizes_tokens_once) {
    return memory.us(t.tokens_in, t.replay) + memory.us(t.tokens_quantized, t.replay) +
           memory.us(t.rows_quantized, t.tokens_in + t.tokens_quantized) + written;
  }
  // A token's first row reads it after a whole replay, its others soon after the first.
  const double first = std::min(t.gemm2_out, t.tokens_in);
  return memory.us(first, t.replay) + memory.us(t.gemm2_out - first, t.tokens_in) + written;
}

// GEMM2's output: rows, or additions to the tokens' rows, each of which comes back after its share of the GEMM.
double gemm2_out_us(const PeerStack& stack, const MemoryPath& memory, const Tensors& t) {
  if (!stack.adds_in_epilogue) return memory.us(t.gemm2_out, t.replay);
  const double rows_a_token = t.tokens_in > 0.0 ? t.gemm2_out / t.tokens_in : 0.0;
  const double distance = (t.weights2 + t.activated) / std::max(rows_a_token, 1e-12) + t.tokens_in;
  // Where an addition misses, its row is read and written.
  return memory.us(t.gemm2_out * (1.0 + memory.miss_share(distance)), distance);
}

double routing_us(const PeerStack& stack, const Device& device, const PeerLayer& layer) {
  const double passes = layer.top_k > stack.fused_top_k ? stack.wide_router_passes : 1.0;
  const double logits = 4.0 * static_cast<double>(layer.tokens) * layer.experts;
  return passes * logits / (1e3 * device.dram_read_GBps) + schedule::kRowUs * static_cast<double>(layer.rows.total());
}

double fixed_us(const PeerStack& stack, const PeerLayer& layer) {
  const double wide = layer.top_k > stack.fused_top_k ? stack.wide_router_us : 0.0;
  return stack.kernels * schedule::kGraphKernelUs + stack.choice_us * layer.top_k + wide +
         stack.expert_setups * schedule::kExpertSetupUs * static_cast<double>(layer.rows.experts());
}

}  // namespace

PeerTime predict_peer(const Device& device, const PeerStack& stack, const PeerLayer& layer) {
  const MemoryPath memory(device);
  const Tensors t = tensors_of(stack, layer);
  PeerTime time;
  time.weight_bytes = static_cast<std::int64_t>(t.weights1 + t.weights2);
  time.fixed_us = fixed_us(stack, layer);
  time.routing_us = routing_us(stack, device, layer);
  time.quantize_us = quantize_us(stack, memory, t);

  PeerGemm gemm1{layer.intermediate * (layer.gated ? 2 : 1), layer.hidden};
  gemm1.memory_us = memory.us(t.weights1, t.replay) + memory.us(t.rows_quantized, t.weights1 + 2.0 * t.rows_quantized) +
                    memory.us(t.gemm1_out, t.replay);
  time.gemm1_us = gemm_us(device, stack, layer.rows, gemm1);
  time.activation_us =
      memory.us(t.gemm1_out, t.weights1 + t.rows_quantized + t.gemm1_out) + memory.us(t.activated, t.replay);
  PeerGemm gemm2{layer.hidden, layer.intermediate};
  gemm2.memory_us = memory.us(t.weights2, t.replay) + memory.us(t.activated, t.weights2 + t.gemm1_out + t.activated) +
                    gemm2_out_us(stack, memory, t);
  time.gemm2_us = gemm_us(device, stack, layer.rows, gemm2);
  // The output is cleared before the additions, or written by the kernel that sums the rows.
  time.combine_us = memory.us(t.tokens_in, t.replay);
  if (!stack.adds_in_epilogue) time.combine_us += memory.us(t.gemm2_out, t.weights2 + t.activated + t.gemm2_out);
  time.us = time.fixed_us + time.routing_us + time.quantize_us + time.gemm1_us + time.activation_us + time.gemm2_us +
            time.combine_us;
  return time;
}

}  // namespace tilewright
