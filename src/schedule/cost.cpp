#include "tilewright/cost.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "schedule/cost_constants.hpp"
#include "schedule/cost_model.hpp"
#include "schedule/enum_names.hpp"
#include "tilewright/shared_memory.hpp"

namespace tilewright {
namespace {

constexpr schedule::EnumNames<7> kBoundNames = {"dram", "mma", "decode", "smem", "l2", "latency", "launch"};

double microseconds_for(double bytes, double GBps) { return GBps > 0 ? bytes / (1e3 * GBps) : 0.0; }

// FLOP a clock and SM of the precision's MMA.
int tensor_rate(const Device& device, Precision precision) {
  return precision == Precision::w4a4 ? device.flop_per_clk.fp4 : device.flop_per_clk.bf16;
}

}  // namespace

const char* to_string(Bound bound) { return schedule::name_of(kBoundNames, bound); }

Result<Bound> parse_bound(const std::string& name) { return schedule::value_of<Bound>(kBoundNames, name, "bound"); }

namespace schedule {

std::int64_t activation_bytes(const GemmProblem& problem) {
  const std::int64_t rows = problem.rows.total();
  // bf16 tokens are gathered, so one that several experts want is read from DRAM once; quantized rows are copies.
  const std::int64_t distinct = std::min(problem.tokens, rows);
  const bool gathered = problem.gemm == GemmId::gemm1 && problem.precision == Precision::w4a16;
  const std::int64_t read = problem.precision == Precision::w4a4 ? weight_bytes(rows, problem.k)
                                                                 : 2 * problem.k * (gathered ? distinct : rows);
  const std::int64_t channels = gated(problem.epilogue) ? problem.n / 2 : problem.n;
  const std::int64_t written = stores_nvfp4(problem.epilogue) ? weight_bytes(rows, channels) : 2 * rows * channels;
  return read + written;
}

std::int64_t tile_count(const GemmProblem& problem, const Schedule& s) {
  std::int64_t token_tiles = 0;
  for (const auto& bin : problem.rows.bins) {
    token_tiles += bin.rows <= s.tile_n ? (bin.rows > 0 ? bin.experts : 0)
                                        : bin.experts * (round_up(bin.rows, s.tile_n) / s.tile_n);
  }
  return token_tiles * (round_up(problem.n, s.tile_m) / s.tile_m);
}

Cost shape_cost(const Device& device, const GemmProblem& problem, const Schedule& s) {
  Cost cost;
  cost.tiles = tile_count(problem, s);
  const std::int64_t padded_n = round_up(problem.n, s.tile_m);
  // Packed weights are whole tiles, so their padding is read too; a CPU's strips are whole groups of 64 k.
  const std::int64_t padded_k = round_up(problem.k, on_cpu(s.mma) ? 64 : s.tile_k);
  cost.weight_bytes = problem.rows.active() * weight_bytes(padded_n, padded_k);
  cost.dram_bytes = cost.weight_bytes + activation_bytes(problem);
  cost.dram_us = microseconds_for(static_cast<double>(cost.dram_bytes), device.dram_read_GBps);
  cost.weight_fill = static_cast<double>(problem.n) * static_cast<double>(problem.k) /
                     (static_cast<double>(padded_n) * static_cast<double>(padded_k));
  const double columns = static_cast<double>(cost.tiles) / static_cast<double>(padded_n / s.tile_m) * s.tile_n;
  cost.token_fill = columns > 0 ? static_cast<double>(problem.rows.total()) / columns : 0.0;
  return cost;
}

double joined(double a, double b, double order) {
  if (order == 2.0) return std::sqrt(a * a + b * b);  // the one that is asked for most
  // Scaled by the larger one, so that the powers stay near 1.
  const double larger = std::max(a, b);
  if (larger <= 0) return 0.0;
  return larger * std::pow(1.0 + std::pow(std::min(a, b) / larger, order), 1.0 / order);
}

double term(const Cost& cost, Bound bound) {
  switch (bound) {
    case Bound::dram: return cost.dram_us;
    case Bound::mma: return cost.mma_us;
    case Bound::decode: return cost.decode_us;
    case Bound::smem: return cost.smem_us;
    case Bound::l2: return cost.l2_us;
    case Bound::latency: return cost.latency_us;
    case Bound::launch: break;
  }
  return cost.launch_us;
}

Bound longest_term(const Cost& cost) {
  Bound longest = Bound::dram;
  for (const Bound bound : {Bound::mma, Bound::decode, Bound::smem, Bound::l2, Bound::latency, Bound::launch}) {
    if (term(cost, bound) > term(cost, longest)) longest = bound;
  }
  return longest;
}

}  // namespace schedule

namespace {

Cost predict_rows(const Device& device, const GemmProblem& problem, const Schedule& s) {
  Cost cost = on_cpu(s.mma) ? schedule::predict_cpu(device, problem, s) : schedule::predict_gpu(device, problem, s);
  cost.predicted_us =
      schedule::joined(cost.dram_us, cost.sm_us, schedule::kOverlapOrder) + cost.launch_us + cost.tail_us;
  return cost;
}

// What of a cost is a mean over draws as it is; counts are rounded, and fills are those of the expected rows.
constexpr double Cost::*kMeans[] = {&Cost::predicted_us, &Cost::dram_us,        &Cost::mma_us,      &Cost::decode_us,
                                    &Cost::smem_us,      &Cost::l2_us,          &Cost::latency_us,  &Cost::launch_us,
                                    &Cost::epilogue_us,  &Cost::tail_us,        &Cost::overhead_us, &Cost::sm_us,
                                    &Cost::waves,        &Cost::wave_efficiency};

}  // namespace

Cost predict(const Device& device, const GemmProblem& problem, const Schedule& s) {
  // The floor has all activations from DRAM. What the L2 may save of them is not promised beyond it.
  const double floor = roofline(device, problem).us();
  if (problem.draws.empty()) {
    Cost cost = predict_rows(device, problem, s);
    cost.predicted_us = std::max(cost.predicted_us, floor);
    cost.bound = schedule::longest_term(cost);
    return cost;
  }
  Cost mean = schedule::shape_cost(device, problem, s);
  for (double Cost::*const field : kMeans) mean.*field = 0;
  double tiles = 0;
  double dram_bytes = 0;
  double weight_bytes = 0;
  GemmProblem drawn{problem.gemm, problem.n, problem.k, {}, {}, problem.tokens, problem.precision, problem.epilogue};
  for (const RowsDraw& draw : problem.draws) {
    drawn.rows = draw.rows;
    const Cost cost = predict_rows(device, drawn, s);
    for (double Cost::*const field : kMeans) mean.*field += draw.share * cost.*field;
    tiles += draw.share * static_cast<double>(cost.tiles);
    dram_bytes += draw.share * static_cast<double>(cost.dram_bytes);
    weight_bytes += draw.share * static_cast<double>(cost.weight_bytes);
  }
  mean.predicted_us = std::max(mean.predicted_us, floor);
  mean.tiles = std::llround(tiles);
  mean.dram_bytes = std::llround(dram_bytes);
  mean.weight_bytes = std::llround(weight_bytes);
  mean.bound = schedule::longest_term(mean);
  return mean;
}

Roofline roofline(const Device& device, const GemmProblem& problem) {
  Roofline floor;
  floor.weight_bytes = active_weight_bytes(problem);
  floor.activation_bytes = schedule::activation_bytes(problem);
  floor.flops = flops(problem);
  const auto bytes = static_cast<double>(floor.weight_bytes + floor.activation_bytes);
  floor.dram_us = microseconds_for(bytes, device.dram_GBps);
  double peak = 1e12 * device.peak_tflops(tensor_rate(device, problem.precision));
  if (device.arch == Arch::cpu) {
    peak = 2.0 * (problem.precision == Precision::w4a4 ? device.cpu.macs_w4a4 : device.cpu.macs_w4a16);
  }
  if (peak > 0) {
    floor.mma_us = 1e6 * floor.flops / peak;
    floor.rows_at_ridge = peak * 0.5625 / (2e9 * device.dram_GBps);
  }
  floor.bound = floor.mma_us > floor.dram_us ? Bound::mma : Bound::dram;
  return floor;
}

}  // namespace tilewright
