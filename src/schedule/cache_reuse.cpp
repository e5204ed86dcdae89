#include "schedule/cache_reuse.hpp"

#include <algorithm>

#include "schedule/cost_constants.hpp"

namespace tilewright::schedule {
namespace {

double dram_us_per_byte(const Device& device) { return 1.0 / (1e3 * device.dram_read_GBps); }

// A hit is never slower than a miss; on Hopper the two are alike, and a CPU's L2 rate is not known.
double l2_us_per_byte(const Device& device) {
  const double bytes_per_us = kL2StreamShare * device.l2_bytes_per_clk * device.clock_mhz;
  return bytes_per_us > 0.0 ? std::min(1.0 / bytes_per_us, dram_us_per_byte(device)) : dram_us_per_byte(device);
}

}  // namespace

MemoryPath::MemoryPath(const Device& device)
    : usable_bytes_(kUsableL2Share * static_cast<double>(device.l2_bytes)),
      dram_us_per_byte_(dram_us_per_byte(device)),
      l2_us_per_byte_(l2_us_per_byte(device)) {}

double MemoryPath::miss_share(double reuse_distance) const {
  if (usable_bytes_ <= 0.0) return 1.0;
  return std::clamp((reuse_distance / usable_bytes_ - 1.0) / kL2FadeShare, 0.0, 1.0);
}

double MemoryPath::us(double bytes, double reuse_distance) const {
  const double missed = miss_share(reuse_distance);
  return bytes * (missed * dram_us_per_byte_ + (1.0 - missed) * l2_us_per_byte_);
}

}  // namespace tilewright::schedule
