// The cost model: the time of one grouped GEMM under a schedule, from bytes, rates and waves. No table, no tuning.
//
// A SM walks tiles of tile_m weights x tile_n tokens in blocks of tile_k. One k-block takes it the longest of
//   mma      2 tile_m tile_n tile_k / (FLOP a clock, times the share that the best kernel sustains)
//   decode   tile_m tile_k / (weights a clock that the decoder makes bf16; not on FP4 tensor cores); it joins the MMA
//            as sqrt(mma^2 + decode^2)
//   smem     bytes written by the copies and read by the fragments / 128 a clock
//   l2       bytes of a stage / (L2 bytes a clock and SM)
//   latency  DRAM latency / (stages in flight), by Little's law; not divided among resident blocks
// plus a fixed time for its barriers. Tiles are dealt to SMs as the kernels deal them, those of the largest experts
// first, and the SM with the most work is what counts. Meanwhile DRAM has to deliver each byte once: weights of active
// experts, activations in and out. The two overlap, imperfectly where they are alike: (dram^4 + sm^4)^(1/4). Launch,
// the fill of the ring and the tail (the last epilogue, the reduction of a split K) come on top. Constants and their
// sources are in src/schedule/cost_constants.hpp.
#pragma once

#include <cstdint>
#include <string>

#include "tilewright/device.hpp"
#include "tilewright/problem.hpp"
#include "tilewright/schedule.hpp"

namespace tilewright {

/// What a time is made of.
enum class Bound : std::uint8_t { dram, mma, decode, smem, l2, latency, launch };
const char* to_string(Bound bound);
Result<Bound> parse_bound(const std::string& name);

/// Every term of a prediction, in microseconds over the whole GEMM unless it says otherwise.
struct Cost {
  double predicted_us = 0;
  Bound bound = Bound::dram;  ///< the longest of the terms below
  double dram_us = 0;         ///< DRAM bytes over the measured read bandwidth
  double mma_us = 0;          ///< tensor cores (dot products on a CPU), of the SM with the most tiles
  double decode_us = 0;
  double smem_us = 0;
  double l2_us = 0;
  double latency_us = 0;
  double launch_us = 0;        ///< launch and the fill of the ring
  double epilogue_us = 0;      ///< epilogues that stop the SM with the most tiles, all but the last
  double overhead_us = 0;      ///< barriers of the k-blocks
  double tail_us = 0;          ///< the last epilogue and the reduction of a split
  double sm_us = 0;            ///< the SM with the most tiles, all of its terms
  std::int64_t tiles = 0;      ///< of all experts, splits included
  double waves = 0;            ///< tiles over the places for them
  double wave_efficiency = 0;  ///< waves over the whole waves that they take
  double token_fill = 0;       ///< rows over the token columns that are computed
  double weight_fill = 0;      ///< N K over the padded N K that is computed
  std::int64_t dram_bytes = 0;
  std::int64_t weight_bytes = 0;
};

/// Predicts a legal schedule (see `reject`); of another one the result has no meaning. Of a problem with draws, every
/// time and count is the mean over them: time is a step function of rows.
Cost predict(const Device& device, const GemmProblem& problem, const Schedule& schedule);

/// The physical floor of a GEMM on a device: spec bandwidth, dense peak, nothing else.
struct Roofline {
  std::int64_t weight_bytes = 0;
  std::int64_t activation_bytes = 0;  ///< read and written once
  double flops = 0;
  double dram_us = 0;
  double mma_us = 0;         ///< 0 where the peak is not known
  double rows_at_ridge = 0;  ///< rows an expert at which the two are equal for weights alone; 0 if unknown
  Bound bound = Bound::dram;

  [[nodiscard]] double us() const { return dram_us > mma_us ? dram_us : mma_us; }
};
Roofline roofline(const Device& device, const GemmProblem& problem);

}  // namespace tilewright
