#include <sched.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>

#include "cpu/isa.hpp"
#include "cpu/kernels.hpp"
#include "cpu/packed_experts.hpp"
#include "tilewright/cpu_backend.hpp"

namespace tilewright {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kReadBytes = std::size_t{256} << 20;
constexpr std::size_t kReadChunk = std::size_t{1} << 20;
constexpr double kDotSeconds = 0.01;  ///< how long one measurement of the dot-product rate runs

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

std::string processor_model() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string line;
  while (std::getline(cpuinfo, line)) {
    const auto colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

std::int64_t cache_bytes(int name) { return std::max(0L, sysconf(name)); }

/// Reads 64-byte lines into eight independent sums, as fast as the memory gives them.
std::uint64_t read_chunk(const std::uint8_t* from) {
  const auto* words = reinterpret_cast<const std::uint64_t*>(from);
  std::uint64_t sums[8] = {};
  for (std::size_t i = 0; i < kReadChunk / 8; i += 8) {
    for (std::size_t j = 0; j < 8; ++j) sums[j] ^= words[i + j];
  }
  return sums[0] ^ sums[1] ^ sums[2] ^ sums[3] ^ sums[4] ^ sums[5] ^ sums[6] ^ sums[7];
}

}  // namespace

CpuInfo cpu_info() {
  CpuInfo info;
  info.model = processor_model();
  for (const cpu::IsaTier tier : cpu::available_tiers()) info.tiers.emplace_back(cpu::to_string(tier));
  info.cores = usable_cores();
  info.l1_bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE);
  info.l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE);
  info.l3_bytes = cache_bytes(_SC_LEVEL3_CACHE_SIZE);
  return info;
}

struct CpuMeter::State {
  cpu::IsaTier tier;
  int threads;
  tbb::task_arena arena;
  std::shared_ptr<std::uint8_t> owned;
  std::span<const std::uint8_t> memory;  ///< whole chunks

  State(cpu::IsaTier t, int n) : tier(t), threads(n), arena(n) {}
};

CpuMeter::CpuMeter(std::unique_ptr<State> state) : state_(std::move(state)) {}
CpuMeter::CpuMeter(CpuMeter&&) noexcept = default;
CpuMeter& CpuMeter::operator=(CpuMeter&&) noexcept = default;
CpuMeter::~CpuMeter() = default;

Result<CpuMeter> CpuMeter::create(const CpuOptions& options, std::span<const std::uint8_t> memory) {
  cpu::IsaTier tier = cpu::best_tier();
  if (!options.isa.empty()) {
    TILEWRIGHT_ASSIGN(tier, cpu::select_tier(options.isa));
  }
  auto state =
      std::make_unique<State>(tier, options.threads > 0 ? std::min(options.threads, usable_cores()) : usable_cores());
  state->memory = memory;
  if (memory.size() < kReadBytes / 2) {
    TILEWRIGHT_ASSIGN(state->owned, cpu::allocate_weights(kReadBytes));
    // Written once: untouched anonymous pages all map to one page of zeros, which would be read from cache.
    for (std::size_t i = 0; i < kReadBytes; i += 64) state->owned.get()[i] = static_cast<std::uint8_t>(i / 64);
    state->memory = {state->owned.get(), kReadBytes};
  }
  state->memory = state->memory.first(std::min(state->memory.size(), kReadBytes) / kReadChunk * kReadChunk);
  return CpuMeter(std::move(state));
}

double CpuMeter::read_GBps() {
  std::atomic<std::uint64_t> sum = 0;
  const std::span<const std::uint8_t> memory = state_->memory;
  const auto start = Clock::now();
  state_->arena.execute([&] {
    tbb::parallel_for(std::size_t{0}, memory.size() / kReadChunk, [&](std::size_t chunk) {
      sum.fetch_xor(read_chunk(memory.data() + chunk * kReadChunk), std::memory_order_relaxed);
    });
  });
  const double seconds = seconds_since(start);
  const volatile std::uint64_t keep = sum.load();
  static_cast<void>(keep);
  return static_cast<double>(memory.size()) / seconds * 1e-9;
}

double CpuMeter::dot_rate(Precision precision) {
  const cpu::KernelSet& kernels = cpu::kernels(state_->tier).of(precision);
  // Each thread runs for a fixed time and reports its own rate, so that a late start does not count as slowness.
  std::atomic<double> total = 0.0;
  state_->arena.execute([&] {
    tbb::parallel_for(
        0, state_->threads,
        [&](int) {
          const auto start = Clock::now();
          double macs = 0.0;
          double seconds = 0.0;
          while (seconds < kDotSeconds) {
            macs += kernels.dot_peak(10000);
            seconds = seconds_since(start);
          }
          double before = total.load();
          while (!total.compare_exchange_weak(before, before + macs / seconds)) {
          }
        },
        tbb::static_partitioner());
  });
  return total.load();
}

std::string CpuMeter::dot_instruction(Precision precision) const {
  return cpu::kernels(state_->tier).of(precision).dot_instruction;
}

int CpuMeter::dots_per_mac(Precision precision) const { return cpu::kernels(state_->tier).of(precision).dots_per_mac; }

CpuWalks CpuMeter::walks(Precision precision) const { return cpu::walks_of(cpu::kernels(state_->tier).of(precision)); }

std::string CpuMeter::isa() const { return cpu::to_string(state_->tier); }
int CpuMeter::threads() const { return state_->threads; }

Result<Device> this_cpu(const CpuOptions& options) {
  TILEWRIGHT_ASSIGN(CpuMeter meter, CpuMeter::create(options));
  const CpuInfo info = cpu_info();
  CpuFacts facts;
  facts.isa = meter.isa();
  facts.cores = meter.threads();
  // 32 KB and 512 KB are what every x86-64 server core since 2017 has at least.
  facts.l1_bytes = info.l1_bytes > 0 ? info.l1_bytes : 32 << 10;
  facts.l2_bytes = info.l2_bytes > 0 ? info.l2_bytes : 512 << 10;
  for (int round = 0; round < 3; ++round) {
    facts.read_GBps = std::max(facts.read_GBps, meter.read_GBps());
    facts.macs_w4a4 = std::max(facts.macs_w4a4, meter.dot_rate(Precision::w4a4));
    facts.macs_w4a16 =
        std::max(facts.macs_w4a16, meter.dot_rate(Precision::w4a16) / meter.dots_per_mac(Precision::w4a16));
  }
  facts.walks_w4a4 = meter.walks(Precision::w4a4);
  facts.walks_w4a16 = meter.walks(Precision::w4a16);
  return cpu_device(facts);
}

}  // namespace tilewright
