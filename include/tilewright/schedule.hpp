// Schedule: how one grouped GEMM runs, as a value.
//
// A plain aggregate that can be a template argument: the planner ranks it, `explain` prints it, a kernel is
// instantiated from it, and shared_memory.hpp says what it needs. There is no `Auto` and no second list of
// configurations. All kernels compute (W x^T)^T: weights are the M side of the MMA, tokens the N side.
#pragma once

#include <cstdint>
#include <string>

#include "tilewright/arch.hpp"
#include "tilewright/precision.hpp"
#include "tilewright/result.hpp"

namespace tilewright {

/// The instruction that multiplies.
enum class Mma : std::uint8_t {
  wgmma_rs_bf16,  ///< SM90: weights decoded to bf16 in registers (A), tokens in shared memory (B)
  mma_mxf4nvf4,   ///< SM12x: mma.sync m16n8k64 kind::mxf4nvf4.block_scale.scale_vec::4X
  mma_bf16,       ///< SM12x: mma.sync m16n8k16, weights decoded to bf16 in registers
  cpu_stream,     ///< dot products, weights decoded on the way for every tile_n tokens
  cpu_panel,      ///< dot products, weights of a K panel expanded once for all tokens of an expert
};

/// How consumer warps share the tiles of a block.
enum class Consumers : std::uint8_t {
  cooperative,  ///< all of them work on one tile
  pingpong,     ///< two groups alternate: one multiplies while the other stores
};

/// How a tile's K is divided among blocks.
enum class SplitKind : std::uint8_t {
  none,      ///< one block walks all of K
  split_k,   ///< `parts` blocks walk a part each, partial sums are added in a fixed order
  stream_k,  ///< all k-blocks of all tiles are dealt evenly to the blocks, so that no wave is partial
};

/// How a stage gets its tokens.
enum class TokenLoad : std::uint8_t {
  tile_order,  ///< by bulk copies: the kernel before left them as they lie in shared memory
  gather,      ///< row by row from where they are, 16 bytes a copy
};

/// What happens to a finished tile. "gated" joins gate and up rows, which interleave by 8, so N becomes N / 2.
enum class Epilogue : std::uint8_t {
  bf16,         ///< y in bf16
  finalize,     ///< y times the token's top-k weight, in bf16; the combine adds the k rows of a token
  act_bf16,     ///< activation of each value, in bf16
  act_nvfp4,    ///< activation of each value, quantized to NVFP4 for GEMM2
  gated_bf16,   ///< gated activation, in bf16
  gated_nvfp4,  ///< gated activation, quantized to NVFP4 for GEMM2
};

const char* to_string(Mma mma);
const char* to_string(Consumers consumers);
const char* to_string(SplitKind split);
const char* to_string(TokenLoad load);
const char* to_string(Epilogue epilogue);
Result<Mma> parse_mma(const std::string& name);
Result<Consumers> parse_consumers(const std::string& name);
Result<SplitKind> parse_split(const std::string& name);
Result<TokenLoad> parse_token_load(const std::string& name);
Result<Epilogue> parse_epilogue(const std::string& name);

constexpr bool gated(Epilogue epilogue) {
  return epilogue == Epilogue::gated_bf16 || epilogue == Epilogue::gated_nvfp4;
}
constexpr bool stores_nvfp4(Epilogue epilogue) {
  return epilogue == Epilogue::act_nvfp4 || epilogue == Epilogue::gated_nvfp4;
}
/// An activation without a gate.
constexpr bool activates(Epilogue epilogue) {
  return epilogue == Epilogue::act_bf16 || epilogue == Epilogue::act_nvfp4;
}
constexpr bool on_cpu(Mma mma) { return mma == Mma::cpu_stream || mma == Mma::cpu_panel; }

struct WarpRoles {
  int producer_warps = 0;
  int consumer_warps = 0;  ///< of both groups together under pingpong
  Consumers consumers = Consumers::cooperative;

  friend constexpr bool operator==(const WarpRoles&, const WarpRoles&) = default;
};

struct Split {
  SplitKind kind = SplitKind::none;
  int parts = 1;  ///< of split_k

  friend constexpr bool operator==(const Split&, const Split&) = default;
};

struct Schedule {
  Arch arch = Arch::cpu;  ///< the architecture the kernel is built for (kernel_arch of the device's)
  Precision precision = Precision::w4a16;
  Mma mma = Mma::cpu_stream;
  int tile_m = 16;   ///< weight rows
  int tile_n = 1;    ///< tokens
  int tile_k = 256;  ///< elements of K that one stage holds; of a panel on a CPU
  int stages = 1;    ///< slots of the ring between producer and consumers; 1 on a CPU, which has no ring
  WarpRoles roles;
  int cluster = 1;      ///< blocks of a cluster
  int ctas_per_sm = 1;  ///< resident blocks a SM
  bool swap_ab = true;  ///< weights on the M side: always true for Tilewright's own kernels
  Split split;
  TokenLoad token_load = TokenLoad::tile_order;
  Epilogue epilogue = Epilogue::bf16;

  friend constexpr bool operator==(const Schedule&, const Schedule&) = default;
};

/// Threads of a block.
constexpr int threads(const Schedule& s) { return 32 * (s.roles.producer_warps + s.roles.consumer_warps); }

/// fp32 accumulators that one consumer thread holds.
constexpr int accumulators(const Schedule& s) {
  const int groups = s.roles.consumers == Consumers::pingpong ? 2 : 1;
  const int consumer_threads = 32 * s.roles.consumer_warps / groups;
  return consumer_threads == 0 ? 0 : s.tile_m * s.tile_n / consumer_threads;
}

/// "128x16x128, 4 stages, cooperative 8+1 warps, gated_nvfp4".
std::string describe(const Schedule& schedule);

/// "128x256x128" or, with a stage count, "128x256x128:3".
struct TileSpec {
  int m = 0;
  int n = 0;
  int k = 0;
  int stages = 0;  ///< 0: any
};
Result<TileSpec> parse_tile(const std::string& text);
std::string to_string(const TileSpec& tile);

}  // namespace tilewright
