// The time of a persistent, warp-specialized grouped GEMM.
#include <algorithm>
#include <cmath>

#include "schedule/cost_constants.hpp"
#include "schedule/cost_model.hpp"
#include "tilewright/shared_memory.hpp"
#include "tilewright/sm120_catalogue.hpp"
#include "tilewright/sm90_catalogue.hpp"

namespace tilewright::schedule {
namespace {

// Cycles of a SM for one k-block of one tile, by what it is spent on.
struct BlockCycles {
  double mma = 0;
  double decode = 0;
  double smem = 0;
  double l2 = 0;
  double overhead = 0;

  [[nodiscard]] double longest() const {
    return std::max({joined(mma, decode, kDecodeOverlapOrder), smem, l2}) + overhead;
  }
};

// Bytes that the consumers' fragments read from shared memory in one k-block.
double fragment_bytes(const Schedule& s) {
  const auto weights = static_cast<double>(weight_tile_bytes(s));
  const auto tokens = static_cast<double>(token_tile_bytes(s));
  // wgmma: the weight fragment once, the tokens by each 64-row slice.
  if (s.mma == Mma::wgmma_rs_bf16) return weights + tokens * s.tile_m / 64.0;
  // mma.sync: weights are read once a column of warps and tokens once a row.
  const WarpGrid grid = sm120_warp_grid(s);
  return weights * grid.columns + tokens * grid.rows;
}

// Token columns that a tile multiplies, on average: SM90 deals an expert's rows evenly to its tiles and takes the wgmma
// that covers them.
double token_columns(const GemmProblem& problem, const Schedule& s) {
  if (s.arch != Arch::sm_90) return s.tile_n;
  double columns = 0;
  double tiles = 0;
  for (const auto& bin : problem.rows.bins) {
    if (bin.rows == 0) continue;
    const std::int64_t count = round_up(bin.rows, s.tile_n) / s.tile_n;
    const std::int64_t share = round_up((bin.rows + count - 1) / count, sm90_granule(s));
    columns += static_cast<double>(bin.experts * count * sm90_wgmma_n(s, static_cast<int>(share)));
    tiles += static_cast<double>(bin.experts * count);
  }
  return tiles > 0 ? columns / tiles : s.tile_n;
}

// Cycles in which the weights of a k-block become bf16: once, or by each column of warps.
double decode_cycles(const Schedule& s) {
  const double weights = static_cast<double>(s.tile_m) * s.tile_k;
  switch (s.mma) {
    case Mma::wgmma_rs_bf16: return weights / kDecodedWeightsPerClk;
    case Mma::mma_bf16: return weights * sm120_warp_grid(s).columns / kDecodedWeightsPerClkSm12x;
    default: return 0.0;
  }
}

BlockCycles block_cycles(const Device& device, const Schedule& s, double columns) {
  const bool hopper = s.mma == Mma::wgmma_rs_bf16;
  const double weights = static_cast<double>(s.tile_m) * s.tile_k;
  const int rate = s.mma == Mma::mma_mxf4nvf4 ? device.flop_per_clk.fp4 : device.flop_per_clk.bf16;
  const double loaded =
      static_cast<double>(weight_tile_bytes(s)) + static_cast<double>(token_tile_bytes(s)) * columns / s.tile_n;
  BlockCycles cycles;
  // A wgmma takes 13 cycles at least, whatever its columns (docs/kernels/sm90.md).
  cycles.mma = 2.0 * weights * (hopper ? std::max(columns, kLeastWgmmaColumns) : columns) / (rate * device.mma_share);
  cycles.decode = decode_cycles(s);
  cycles.smem = (loaded + fragment_bytes(s)) / kSmemBytesPerClk;
  cycles.l2 = loaded / (device.l2_bytes_per_clk / device.sm_count);
  cycles.overhead = (hopper ? kBlockOverheadSm90 : kBlockOverheadSm12x) / std::sqrt(s.stages);
  return cycles;
}

// Cycles of one epilogue: through the staging buffer and out through L2, for the token columns that can hold rows.
double epilogue_cycles(const Device& device, const GemmProblem& problem, const Schedule& s) {
  const auto tokens = static_cast<double>(std::min<std::int64_t>(s.tile_n, problem.rows.max()));
  const double out = tokens * output_channels(s) * (stores_nvfp4(s.epilogue) ? 9.0 / 16.0 : 2.0);
  return kEpilogueCycles + 2.0 * out / kSmemBytesPerClk + out / (device.l2_bytes_per_clk / device.sm_count);
}

// Cycles to write and read back an fp32 tile of partial sums.
double partial_tile_cycles(const Device& device, const Schedule& s) {
  return 2.0 * s.tile_m * s.tile_n * 4.0 / (device.l2_bytes_per_clk / device.sm_count);
}

// How the k-blocks of a GEMM fall on the SM that has the most of them.
struct Makespan {
  double k_blocks = 0;         // of the busiest SM
  double k_blocks_in_row = 0;  // one after the other in one of its blocks
  double epilogues = 0;        // of the busiest SM
  double partial_tiles = 0;    // sums of a part of K that the busiest SM writes and reads
};

Makespan makespan(const Device& device, const Schedule& s, double tiles, double k_blocks) {
  const double places = static_cast<double>(device.sm_count) * s.ctas_per_sm;
  Makespan m;
  switch (s.split.kind) {
    case SplitKind::stream_k:
      m.k_blocks = std::ceil(tiles * k_blocks / device.sm_count);
      m.k_blocks_in_row = std::ceil(tiles * k_blocks / places);
      m.epilogues = std::ceil(tiles / device.sm_count);
      m.partial_tiles = 1;
      return m;
    case SplitKind::split_k: {
      const double part = std::ceil(k_blocks / s.split.parts);
      m.k_blocks = std::ceil(tiles * s.split.parts / device.sm_count) * part;
      m.k_blocks_in_row = std::ceil(tiles * s.split.parts / places) * part;
      m.epilogues = std::ceil(tiles / device.sm_count);
      m.partial_tiles = std::ceil(tiles * s.split.parts / device.sm_count);
      return m;
    }
    case SplitKind::none: break;
  }
  m.epilogues = std::ceil(tiles / device.sm_count);
  m.k_blocks = m.epilogues * k_blocks;
  m.k_blocks_in_row = std::ceil(tiles / places) * k_blocks;
  return m;
}

// Whether GEMM1 needs its tokens in an order that no kernel before it leaves them in.
bool arranges_tokens(const GemmProblem& problem, const Schedule& s) {
  return s.arch == Arch::sm_90 && problem.gemm == GemmId::gemm1 && s.token_load == TokenLoad::tile_order;
}

}  // namespace

Cost predict_gpu(const Device& device, const GemmProblem& problem, const Schedule& s) {
  Cost cost = shape_cost(device, problem, s);
  const double us_per_cycle = 1.0 / device.clock_mhz;
  const double latency_us = kDramLatencyNs / 1e3;
  const double k_blocks = std::ceil(static_cast<double>(problem.k) / s.tile_k);
  const BlockCycles block = block_cycles(device, s, token_columns(problem, s));
  const Makespan span = makespan(device, s, static_cast<double>(cost.tiles), k_blocks);

  const double busy = span.k_blocks * us_per_cycle;
  cost.mma_us = busy * block.mma;
  cost.decode_us = busy * block.decode;
  cost.smem_us = busy * block.smem;
  cost.l2_us = busy * block.l2;
  cost.overhead_us = busy * block.overhead;
  cost.latency_us = span.k_blocks_in_row * latency_us / s.stages;
  const double mainloop = std::max(busy * block.longest(), cost.latency_us);

  // The last epilogue follows the last byte. The ones before it stop the consumers of a SM, unless a second group or a
  // second block multiplies meanwhile: then they only count where they are the longer part.
  const double epilogue = epilogue_cycles(device, problem, s) * us_per_cycle;
  const double earlier = std::max(span.epilogues - 1.0, 0.0) * epilogue;
  const bool hidden = s.roles.consumers == Consumers::pingpong || s.ctas_per_sm > 1;
  cost.epilogue_us = hidden ? std::max(earlier - mainloop, 0.0) : earlier;
  cost.tail_us = epilogue;
  if (s.split.kind != SplitKind::none) {
    // Partial sums are written and read; the last ones are also signalled and waited for: two trips to memory.
    const double partial = partial_tile_cycles(device, s) * us_per_cycle;
    cost.epilogue_us += std::max(span.partial_tiles - 1.0, 0.0) * partial;
    cost.tail_us += partial + 2.0 * latency_us;
    if (s.arch == Arch::sm_90 && s.split.kind == SplitKind::stream_k) cost.tail_us += kStreamKHandoverUs;
  }
  cost.sm_us = mainloop + cost.epilogue_us;
  cost.launch_us =
      (s.arch == Arch::sm_90 ? kDependentLaunchUs : kLaunchUs) + latency_us + block.longest() * us_per_cycle;
  if (arranges_tokens(problem, s)) {
    // The tokens are put into tile order first: read once, written once for each of their rows.
    const double bytes = 2.0 * static_cast<double>(problem.k) *
                         static_cast<double>(std::min(problem.tokens, problem.rows.total()) + problem.rows.total());
    cost.launch_us += kGraphKernelUs + bytes / (1e3 * device.dram_read_GBps);
  }
  const double places = static_cast<double>(device.sm_count) * s.ctas_per_sm;
  const double units = static_cast<double>(cost.tiles) * (s.split.kind == SplitKind::split_k ? s.split.parts : 1);
  cost.waves = units / places;
  const double even_share = static_cast<double>(cost.tiles) * k_blocks / device.sm_count;
  cost.wave_efficiency = span.k_blocks > 0 ? even_share / span.k_blocks : 0.0;
  return cost;
}

}  // namespace tilewright::schedule
