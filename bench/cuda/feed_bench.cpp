// How fast SM120's kernels feed their tensor cores, measured on an SM90 GPU: the same ring, layouts and fragment loads
// under SM120's shared memory, with an MMA that only takes its operands in (FeedOnly). Prints JSON; exits with 3 where
// a k-block took less than its fragments' bytes do, which says that they were not loaded.
//
//   prefill tiles   cycles of a k-block in a SM (clock64 around the mainloops), against the cycles that SM120's MMA
//                   needs for it at 4,096 FLOP a clock
//   decode tiles    bytes of weights and scales, and of all that crosses the memory's pins (those, x and y), over the
//                   kernel's time, against the read bandwidth measured in the run; and the time of the same launch
//                   where every expert's weights are those of the first, which the L2 holds: what is not the DRAM's.
//                   Then the same with every depth of the ring
//
// 32 experts of 4,096 x 6,144 (453 MB), two copies of the weights in turn, more than the L2 holds; 512 rows each for
// prefill, a tile's for decode. A timing is 8 launches that follow each other; medians of 9 timings.
#include <algorithm>
#include <array>
#include <cstdio>
#include <random>
#include <vector>

#include "cuda/device.hpp"
#include "cuda/device_memory.hpp"
#include "cuda/meter/meter.hpp"
#include "cuda/sm120/grouped_gemm.hpp"

namespace {

using namespace tilewright;
using namespace tilewright::cuda;

constexpr int kExperts = 32;
constexpr int kN = 4096;
constexpr int kK = 6144;
constexpr int kPrefillRows = 512;
constexpr int kLaunches = 8;
constexpr int kTimings = 9;
constexpr double kFlopPerClk = 4096.0;  // of a SM of SM120 in FP4: tilewright/device.hpp

constexpr double kSmemBytesPerClk = 128.0;  // all SM90 to SM12x: src/schedule/cost_constants.hpp

// Cycles that the fragments of a k-block take of the shared memory, alone.
double fragment_cycles(const Schedule& s) {
  const WarpGrid grid = sm120_warp_grid(s);
  return static_cast<double>(weight_tile_bytes(s) * grid.columns + token_tile_bytes(s) * grid.rows) / kSmemBytesPerClk;
}

template <typename T>
T median(std::vector<T> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

DeviceMemory random_bytes(std::int64_t bytes) {
  // Scales of any value would do: nothing is multiplied.
  std::mt19937 random(7);
  std::vector<std::uint32_t> block(1U << 20U);
  for (auto& word : block) word = static_cast<std::uint32_t>(random()) & 0x3F3F3F3FU;
  DeviceMemory memory(bytes);
  const auto block_bytes = static_cast<std::int64_t>(block.size() * 4);
  for (std::int64_t at = 0; at < bytes; at += block_bytes) {
    require(cudaMemcpy(memory.as<std::uint8_t>() + at, block.data(),
                       static_cast<std::size_t>(std::min(block_bytes, bytes - at)), cudaMemcpyHostToDevice));
  }
  return memory;
}

class FeedBench {
 public:
  explicit FeedBench(const GpuInfo& gpu)
      : gpu_(gpu),
        weights_{random_bytes(kExperts * sm120::matrix_bytes(kN, kK)),
                 random_bytes(kExperts * sm120::matrix_bytes(kN, kK))},
        x_(random_bytes(sm120::token_bytes(kExperts * kPrefillRows, kK))),
        row_scales_(std::vector<float>(2 * kExperts, 1.0F)),
        y_(std::int64_t{kExperts} * kPrefillRows * kN * 2),
        cycles_(std::int64_t{gpu.sm_count} * 16),
        partials_(std::int64_t{gpu.sm_count} * 256 * 256 * 4),
        flags_(std::int64_t{gpu.sm_count} * 4) {
    flags_.fill(0);
    std::vector<std::int32_t> dests(static_cast<std::size_t>(kExperts) * kPrefillRows);
    for (std::size_t i = 0; i < dests.size(); ++i) dests[i] = static_cast<std::int32_t>(i);
    dests_ = DeviceMemory(dests);
    require(cudaEventCreate(&begin_));
    require(cudaEventCreate(&end_));
  }

  struct Figures {
    double us = 0;
    double cycles_per_block = 0;
  };

  /// Of one launch; with `in_l2` every expert's weights are those of the first.
  Figures time(const sm120::BuiltGemm& gemm, const Schedule& schedule, int rows, bool in_l2) {
    std::vector<RowRange> ranges;
    for (int e = 0; e < kExperts; ++e) ranges.push_back({e * rows, rows});
    const DeviceMemory row_ranges(ranges);
    sm120::GemmParams p = params(rows, in_l2);
    p.row_ranges = row_ranges.as<RowRange>();
    require(gemm.prepare());
    std::vector<double> us;
    std::vector<double> cycles;
    for (int i = 0; i < kTimings + 2; ++i) {
      require(cudaEventRecord(begin_));
      for (int launch = 0; launch < kLaunches; ++launch) {
        p.weights = weights_[in_l2 ? 0 : launch % 2].as<std::uint8_t>();
        const Status status =
            sm120::launch_gemm(gemm, schedule, p, std::int64_t{kExperts} * rows, gpu_.sm_count, false, nullptr);
        if (!status) throw std::runtime_error(status.error().message());
      }
      require(cudaEventRecord(end_));
      require(cudaEventSynchronize(end_));
      if (i < 2) continue;
      float ms = 0;
      require(cudaEventElapsedTime(&ms, begin_, end_));
      us.push_back(1e3 * static_cast<double>(ms) / kLaunches);
      cycles.push_back(cycles_per_block());
    }
    return {median(us), median(cycles)};
  }

 private:
  [[nodiscard]] sm120::GemmParams params(int rows, bool in_l2) const {
    sm120::GemmParams p;
    p.expert_stride = in_l2 ? 0 : sm120::matrix_bytes(kN, kK);
    p.row_scales = row_scales_.as<float>();
    p.x = x_.as<std::uint8_t>();
    p.row_dest = dests_.as<std::int32_t>();
    p.y = y_.as<void>();
    p.y_stride = kN;
    p.group_rows = std::int64_t{kExperts} * rows;
    p.experts = kExperts;
    p.weight_rows = kN;
    p.k = kK;
    p.cycles = cycles_.as<std::int64_t>();
    p.partials = partials_.as<float>();
    p.flags = flags_.as<unsigned>();
    return p;
  }

  // Under pingpong the clock is that of one group and its k-blocks.
  [[nodiscard]] double cycles_per_block() const {
    const auto counts = cycles_.read<std::int64_t>(2 * static_cast<std::size_t>(gpu_.sm_count));
    double cycles = 0;
    double blocks = 0;
    for (std::size_t i = 0; i < counts.size(); i += 2) {
      cycles += static_cast<double>(counts[i]);
      blocks += static_cast<double>(counts[i + 1]);
    }
    return cycles / blocks;
  }

  GpuInfo gpu_;
  std::array<DeviceMemory, 2> weights_;
  DeviceMemory x_;
  DeviceMemory row_scales_;
  DeviceMemory y_;
  DeviceMemory cycles_;
  DeviceMemory partials_;
  DeviceMemory flags_;
  DeviceMemory dests_;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

constexpr double kWeightBytes = static_cast<double>(kExperts) * kN * kK * 9.0 / 16.0;

// Weights once, x once, y in bf16.
double all_bytes(int rows) {
  return kWeightBytes + static_cast<double>(kExperts) * rows * (kK * 9.0 / 16.0 + kN * 2.0);
}

void print_row(const Schedule& s, int rows, const FeedBench::Figures& figures, double l2_us, double read_GBps) {
  std::printf(
      "{\"schedule\": \"%s\", \"us\": %.2f, \"cycles_per_k_block\": %.1f, \"mma_cycles\": %.1f, "
      "\"weight_GBps\": %.0f, \"read_share\": %.3f, \"all_GBps\": %.0f, \"all_share\": %.3f, \"l2_us\": %.2f}",
      describe(s).c_str(), figures.us, figures.cycles_per_block, 2.0 * s.tile_m * s.tile_n * s.tile_k / kFlopPerClk,
      kWeightBytes / figures.us * 1e-3, kWeightBytes / figures.us * 1e-3 / read_GBps,
      all_bytes(rows) / figures.us * 1e-3, all_bytes(rows) / figures.us * 1e-3 / read_GBps, l2_us);
  std::fflush(stdout);
}

bool decodes(const Schedule& s) { return s.tile_n <= 64; }

// Whether the fragments were loaded, by the time that they take.
bool is_fed(const Schedule& s, const FeedBench::Figures& figures) {
  if (figures.cycles_per_block >= fragment_cycles(s)) return true;
  std::fprintf(stderr, "%s: %.0f cycles, and its fragments alone take %.0f: they were not loaded\n",
               describe(s).c_str(), figures.cycles_per_block, fragment_cycles(s));
  return false;
}

// Every tile with its deepest ring. Whether all were fed.
bool print_tiles(FeedBench& bench, double read_GBps) {
  bool fed = true;
  const char* separator = "";
  for (const sm120::BuiltGemm& gemm : sm120::built_gemms()) {
    if (gemm.policy != sm120::MmaPolicy::feed_only) continue;
    for (const SplitKind split : {SplitKind::none, SplitKind::stream_k}) {
      Schedule schedule = gemm.deepest;
      schedule.split.kind = split;
      if (!takes(gemm, schedule) || (!decodes(schedule) && split != SplitKind::none)) continue;
      const int rows = decodes(schedule) ? schedule.tile_n : kPrefillRows;
      const auto figures = bench.time(gemm, schedule, rows, false);
      const double l2_us = bench.time(gemm, schedule, rows, true).us;
      std::printf("%s\n  ", separator);
      print_row(schedule, rows, figures, l2_us, read_GBps);
      fed = is_fed(schedule, figures) && fed;
      separator = ",";
    }
  }
  return fed;
}

// The decode tiles of 128 k with every depth: what bytes in flight do for the bandwidth.
void print_depths(FeedBench& bench, double read_GBps) {
  const char* separator = "";
  for (const sm120::BuiltGemm& gemm : sm120::built_gemms()) {
    const Schedule& deepest = gemm.deepest;
    if (gemm.policy != sm120::MmaPolicy::feed_only || !decodes(deepest) || deepest.tile_k != 128) continue;
    for (int stages = 3; stages <= deepest.stages; ++stages) {
      Schedule schedule = deepest;
      schedule.stages = stages;
      if (!takes(gemm, schedule)) continue;
      const auto figures = bench.time(gemm, schedule, schedule.tile_n, false);
      std::printf("%s\n  {\"schedule\": \"%s\", \"ring_weight_bytes\": %lld, \"us\": %.2f, \"all_share\": %.3f}",
                  separator, describe(schedule).c_str(), static_cast<long long>(stages * weight_tile_bytes(schedule)),
                  figures.us, all_bytes(schedule.tile_n) / figures.us * 1e-3 / read_GBps);
      separator = ",";
    }
  }
}

}  // namespace

int main() {
  const auto gpu = current_sm90();
  if (!gpu) {
    std::fprintf(stderr, "%s\n", gpu.error().message().c_str());
    return 4;
  }
  const double read = measure_read_GBps(gpu->sm_count).value();
  FeedBench bench(*gpu);
  std::printf("{\"schema\": \"tilewright.feed/2\", \"device\": \"%s\", \"read_GBps\": %.0f, \"results\": [",
              gpu->name.c_str(), read);
  const bool fed = print_tiles(bench, read);
  std::printf("\n], \"depths\": [");
  print_depths(bench, read);
  std::printf("\n]}\n");
  return fed ? 0 : 3;
}
