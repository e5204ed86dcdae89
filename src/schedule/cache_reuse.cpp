#include "schedule/cache_reuse.hpp"

#include <algorithm>

#include "schedule/cost_constants.hpp"

namespace tilewright::schedule {

MemoryPath::MemoryPath(const Device& device)
    : usable_bytes_(kUsableL2Share * static_cast<double>(device.l2_bytes)),
      dram_us_per_byte_(1.0 / (1e3 * device.dram_read_GBps)),
      l2_us_per_byte_(1.0 / (kL2StreamBytesPerClk * device.sm_count * device.clock_mhz)) {}

double MemoryPath::miss_share(double reuse_distance) const {
  if (usable_bytes_ <= 0.0) return 1.0;
  return std::clamp((reuse_distance / usable_bytes_ - 1.0) / kL2FadeShare, 0.0, 1.0);
}

double MemoryPath::us(double bytes, double reuse_distance) const {
  const double missed = miss_share(reuse_distance);
  return bytes * (missed * dram_us_per_byte_ + (1.0 - missed) * l2_us_per_byte_);
}

}  // namespace tilewright::schedule
