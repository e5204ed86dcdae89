// The time of a persistent, warp-specialized grouped GEMM.
#include <algorithm>
#include <cmath>
#include <vector>

#include "schedule/busiest_sm.hpp"
#include "schedule/cache_reuse.hpp"
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

  void add(const BlockCycles& other, double times) {
    mma += other.mma * times;
    decode += other.decode * times;
    smem += other.smem * times;
    l2 += other.l2 * times;
    overhead += other.overhead * times;
  }
  [[nodiscard]] double longest() const {
    return std::max({joined(mma, decode, kDecodeOverlapOrder), smem, l2}) + overhead;
  }
};

// Bytes that the consumers' fragments read from shared memory in one k-block, `tokens` of them a token tile.
double fragment_bytes(const Schedule& s, double tokens) {
  const auto weights = static_cast<double>(weight_tile_bytes(s));
  // wgmma: the weight fragment once, the tokens by each 64-row slice.
  if (s.mma == Mma::wgmma_rs_bf16) return weights + tokens * s.tile_m / 64.0;
  // mma.sync: weights are read once a column of warps and tokens once a row.
  const WarpGrid grid = sm120_warp_grid(s);
  return weights * grid.columns + tokens * grid.rows;
}

// Cycles in which the weights of a k-block become bf16: once, or by each column of warps.
double decode_cycles(const Schedule& s) {
  const double weights = static_cast<double>(s.tile_m) * s.tile_k;
  switch (s.mma) {
    case Mma::wgmma_rs_bf16: return weights / (kDecodedWeightsPerClk * kDecodeShare);
    case Mma::mma_bf16: return weights * sm120_warp_grid(s).columns / kDecodedWeightsPerClkSm12x;
    default: return 0.0;
  }
}

BlockCycles block_cycles(const Device& device, const Schedule& s, double columns) {
  const bool hopper = s.mma == Mma::wgmma_rs_bf16;
  const double weights = static_cast<double>(s.tile_m) * s.tile_k;
  const int rate = s.mma == Mma::mma_mxf4nvf4 ? device.flop_per_clk.fp4 : device.flop_per_clk.bf16;
  const double tokens = static_cast<double>(token_tile_bytes(s)) * columns / s.tile_n;
  const double loaded = static_cast<double>(weight_tile_bytes(s)) + tokens;
  BlockCycles cycles;
  // A wgmma takes 13 cycles at least, whatever its columns (docs/kernels/sm90.md).
  cycles.mma = 2.0 * weights * (hopper ? std::max(columns, kLeastWgmmaColumns) : columns) / (rate * device.mma_share);
  cycles.decode = decode_cycles(s);
  cycles.smem = (loaded + fragment_bytes(s, tokens)) / kSmemBytesPerClk;
  cycles.l2 = loaded / (device.l2_bytes_per_clk / device.sm_count);
  cycles.overhead = (hopper ? kBlockOverheadSm90 : kBlockOverheadSm12x) / std::sqrt(s.stages);
  return cycles;
}

// Cycles to write, or to read back, an fp32 tile of partial sums.
double partial_tile_cycles(const Device& device, const Schedule& s) {
  return s.tile_m * s.tile_n * 4.0 / (device.l2_bytes_per_clk / device.sm_count);
}

// Whole quotient of two positive numbers, rounded up; rows of an expert fit 32 bits but for absurd batches.
std::int64_t quotient_up(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t kSmall = 1 << 30;
  if (a < kSmall && b < kSmall) {
    return (static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b) - 1U) / static_cast<std::uint32_t>(b);
  }
  return (a + b - 1) / b;
}

// Tiles of about the same rows: SM90 deals an expert's rows evenly to its tiles and takes the wgmma that covers them.
struct TileClass {
  std::int64_t sixteens = 0;  // of rows of a tile, begun ones too
  int columns = 0;
  std::int64_t tiles = 0;
  std::int64_t rows = 0;    // of all of them
  std::int64_t groups = 0;  // of kStagedTokens rows or fewer, likewise
};

// Columns that a tile of so many rows multiplies.
int columns_of(const Schedule& s, std::int64_t rows) {
  return s.arch == Arch::sm_90 ? sm90_wgmma_n(s, static_cast<int>(round_up(rows, sm90_granule(s)))) : s.tile_n;
}

// Largest first, as experts are. SM12x multiplies whole tiles: they are one class. On SM90 tiles of up to sixteen rows
// more or less are one, with the columns of the largest expert's.
std::vector<TileClass> tile_classes(const GemmProblem& problem, const Schedule& s) {
  const std::int64_t weight_tiles = round_up(problem.n, s.tile_m) / s.tile_m;
  const bool hopper = s.arch == Arch::sm_90;
  std::vector<TileClass> classes;
  std::size_t at = 0;  // the class before
  for (const auto& bin : problem.rows.bins) {
    if (bin.rows == 0) continue;
    const std::int64_t count = bin.rows <= s.tile_n ? 1 : quotient_up(bin.rows, s.tile_n);
    const std::int64_t share = count == 1 ? bin.rows : quotient_up(bin.rows, count);
    const std::int64_t sixteens = hopper ? (share + 15) / 16 : 0;
    if (at == classes.size() || classes[at].sixteens != sixteens) {
      const auto known =
          std::find_if(classes.begin(), classes.end(), [&](const TileClass& c) { return c.sixteens == sixteens; });
      at = static_cast<std::size_t>(known - classes.begin());
      if (known == classes.end()) classes.push_back({sixteens, columns_of(s, share)});
    }
    const std::int64_t tiles = bin.experts * count * weight_tiles;
    classes[at].tiles += tiles;
    classes[at].rows += bin.experts * bin.rows * weight_tiles;
    classes[at].groups += tiles * ((share + kStagedTokens - 1) / kStagedTokens);
  }
  return classes;
}

// Cycles of the epilogue of a tile: through the staging buffer and out through L2.
double epilogue_cycles(const Device& device, const Schedule& s, const TileClass& c) {
  const double tokens = static_cast<double>(c.rows) / static_cast<double>(c.tiles);
  const double out = tokens * output_channels(s) * (stores_nvfp4(s.epilogue) ? 9.0 / 16.0 : 2.0);
  double fixed = kEpilogueCycles;
  if (s.arch == Arch::sm_90) {
    fixed = kEpilogueCyclesSm90 + kStagedGroupCycles * static_cast<double>(c.groups) / static_cast<double>(c.tiles);
  }
  return fixed + 2.0 * out / kSmemBytesPerClk + out / (device.l2_bytes_per_clk / device.sm_count);
}

// Tiles of one cost.
struct TileCost {
  std::int64_t tiles = 0;
  BlockCycles block;
  double epilogue = 0;  // cycles
};

std::vector<TileCost> tile_costs(const Device& device, const GemmProblem& problem, const Schedule& s) {
  std::vector<TileCost> costs;
  int known = 0;  // columns of the class before
  for (const TileClass& c : tile_classes(problem, s)) {
    const BlockCycles block = c.columns == known ? costs.back().block : block_cycles(device, s, c.columns);
    costs.push_back({c.tiles, block, epilogue_cycles(device, s, c)});
    known = c.columns;
  }
  return costs;
}

// What the SM has to do that has the most, in cycles.
struct BusiestSm {
  BlockCycles blocks;    // of all of its k-blocks
  double mainloop = 0;   // the same together
  double epilogues = 0;  // those that another tile follows
  double last_epilogue = 0;
  double k_blocks = 0;         // their number
  double k_blocks_in_row = 0;  // one after the other in one of its blocks
  double first_block = 0;      // the longest one that can come first
  double partial_tiles = 0;    // sums of a part of K that it writes
  double parts_of_a_tile = 0;  // of the tile that most blocks share, 0 where none is shared
};

// Work of one kind for the SM walk: whole tiles, tiles of a part of K, or k-blocks.
std::vector<WorkRun> work_runs(const Schedule& s, const std::vector<TileCost>& costs, double k_blocks) {
  std::vector<WorkRun> runs;
  for (const TileCost& c : costs) {
    if (s.split.kind == SplitKind::stream_k) {
      runs.push_back({c.tiles * static_cast<std::int64_t>(k_blocks), c.block.longest()});
    } else {
      const bool split = s.split.kind == SplitKind::split_k;
      const double part = split ? std::ceil(k_blocks / s.split.parts) : k_blocks;
      runs.push_back({c.tiles * (split ? s.split.parts : 1), part * c.block.longest() + c.epilogue});
    }
  }
  return runs;
}

BusiestSm busiest_sm(const Device& device, const Schedule& s, const std::vector<TileCost>& costs, double k_blocks) {
  BusiestSm busiest;
  const std::vector<WorkRun> runs = work_runs(s, costs, k_blocks);
  const bool stream = s.split.kind == SplitKind::stream_k;
  const std::vector<std::int64_t> units =
      stream ? busiest_of_even_shares(runs, device.sm_count) : busiest_in_turn(runs, device.sm_count);
  const double part = s.split.kind == SplitKind::split_k ? std::ceil(k_blocks / s.split.parts) : k_blocks;
  double all = 0;    // units of all SMs
  double tiles = 0;  // that end here
  double longest_epilogue = 0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const TileCost& c = costs[i];
    const auto here = static_cast<double>(units[i]);
    const double blocks = stream ? here : here * part;
    busiest.blocks.add(c.block, blocks);
    busiest.mainloop += blocks * c.block.longest();
    busiest.k_blocks += blocks;
    tiles += blocks / k_blocks;
    busiest.epilogues += blocks / k_blocks * c.epilogue;
    longest_epilogue = std::max(longest_epilogue, c.epilogue);
    busiest.first_block = std::max(busiest.first_block, c.block.longest());
    all += static_cast<double>(runs[i].units);
  }
  // Of the tiles that end on a SM, the last epilogue is the tail.
  busiest.last_epilogue = longest_epilogue;
  busiest.epilogues *= tiles > 1.0 ? (tiles - 1.0) / tiles : 0.0;
  const double places = static_cast<double>(device.sm_count) * s.ctas_per_sm;
  busiest.k_blocks_in_row = stream ? std::ceil(all / places) : std::ceil(all / places) * part;
  if (s.split.kind == SplitKind::none || all == 0) return busiest;
  const double share = std::max(1.0, all / device.sm_count);
  busiest.partial_tiles = stream ? 1.0 : std::ceil(all / device.sm_count);
  // Runs of whole tiles end where tiles end, and there is nothing to hand over.
  const bool whole = stream && std::fmod(all, device.sm_count * k_blocks) == 0.0;
  busiest.parts_of_a_tile = k_blocks == 1 || whole ? 0.0 : std::max(2.0, std::ceil(k_blocks / share) + 1.0);
  return busiest;
}

// Whether GEMM1 needs its tokens in an order that no kernel before it leaves them in.
bool arranges_tokens(const GemmProblem& problem, const Schedule& s) {
  return s.arch == Arch::sm_90 && problem.gemm == GemmId::gemm1 && s.token_load == TokenLoad::tile_order;
}

// What handing partial sums over adds to the end of a GEMM, microseconds.
double handover_us(const Device& device, const Schedule& s, const BusiestSm& span) {
  const double partial = partial_tile_cycles(device, s) / device.clock_mhz;
  if (s.arch != Arch::sm_90) return 2.0 * partial + 2.0 * kDramLatencyNs / 1e3;  // written, read, signalled, waited for
  const double fixed = s.split.kind == SplitKind::stream_k ? kStreamKHandoverUs : 0.0;
  if (span.parts_of_a_tile == 0) return fixed;
  // The block that has a tile's first k-block adds the other parts one after the other.
  return fixed + partial + (span.parts_of_a_tile - 1.0) * (partial + kPartialTileUs);
}

// Microseconds of DRAM. SM90's kernels read weights as what is evicted first, so activations that fit the L2 stay there
// from the kernel that writes them to the one that reads them.
double dram_us(const Device& device, const GemmProblem& problem, const Schedule& s, const Cost& cost) {
  if (s.arch != Arch::sm_90) return cost.dram_us;
  const auto activations = static_cast<double>(cost.dram_bytes - cost.weight_bytes);
  const double missed = MemoryPath(device).miss_share(static_cast<double>(activation_bytes(problem)));
  return (static_cast<double>(cost.weight_bytes) + missed * activations) / (1e3 * device.dram_read_GBps);
}

}  // namespace

Cost predict_gpu(const Device& device, const GemmProblem& problem, const Schedule& s) {
  Cost cost = shape_cost(device, problem, s);
  cost.dram_us = dram_us(device, problem, s, cost);
  const double us_per_cycle = 1.0 / device.clock_mhz;
  const double latency_us = kDramLatencyNs / 1e3;
  const double k_blocks = std::ceil(static_cast<double>(problem.k) / s.tile_k);
  const BusiestSm span = busiest_sm(device, s, tile_costs(device, problem, s), k_blocks);

  cost.mma_us = span.blocks.mma * us_per_cycle;
  cost.decode_us = span.blocks.decode * us_per_cycle;
  cost.smem_us = span.blocks.smem * us_per_cycle;
  cost.l2_us = span.blocks.l2 * us_per_cycle;
  cost.overhead_us = span.blocks.overhead * us_per_cycle;
  cost.latency_us = span.k_blocks_in_row * latency_us / s.stages;
  const double mainloop = std::max(span.mainloop * us_per_cycle, cost.latency_us);

  // The last epilogue follows the last byte. The ones before it stop the consumers of a SM, unless a second group or a
  // second block multiplies meanwhile: then they only count where they are the longer part.
  const double earlier = span.epilogues * us_per_cycle;
  const bool hidden = s.roles.consumers == Consumers::pingpong || s.ctas_per_sm > 1;
  cost.epilogue_us = hidden ? std::max(earlier - mainloop, 0.0) : earlier;
  cost.tail_us = span.last_epilogue * us_per_cycle;
  if (s.split.kind != SplitKind::none) {
    cost.epilogue_us += std::max(span.partial_tiles - 1.0, 0.0) * 2.0 * partial_tile_cycles(device, s) * us_per_cycle;
    cost.tail_us += handover_us(device, s, span);
  }
  cost.sm_us = mainloop + cost.epilogue_us;
  // SM90's kernels load weights while the one before drains: the first of them have arrived when they may begin.
  cost.launch_us = s.arch == Arch::sm_90 ? kDependentLaunchUs : kLaunchUs + latency_us;
  cost.launch_us += span.first_block * us_per_cycle;
  if (arranges_tokens(problem, s)) {
    // The tokens are put into tile order first: read once, written once for each of their rows.
    const double bytes = 2.0 * static_cast<double>(problem.k) *
                         static_cast<double>(std::min(problem.tokens, problem.rows.total()) + problem.rows.total());
    cost.launch_us += kArrangeLaunchUs + bytes / (1e3 * device.dram_read_GBps * kArrangeShare);
  }
  const double places = static_cast<double>(device.sm_count) * s.ctas_per_sm;
  const double units = static_cast<double>(cost.tiles) * (s.split.kind == SplitKind::split_k ? s.split.parts : 1);
  cost.waves = units / places;
  const double even_share = static_cast<double>(cost.tiles) * k_blocks / device.sm_count;
  cost.wave_efficiency = span.k_blocks > 0 ? even_share / span.k_blocks : 0.0;
  return cost;
}

}  // namespace tilewright::schedule
