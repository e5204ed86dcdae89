// Where the bytes of a stream come from: the L2 if few enough others went through it since they were last touched.
#pragma once

#include "tilewright/device.hpp"

namespace tilewright::schedule {

/// The memory of a device as streams see it. A reuse distance is the bytes between two uses of the same byte, itself
/// included; infinity where it was never used before.
class MemoryPath {
 public:
  explicit MemoryPath(const Device& device);

  /// Share of a stream that comes from DRAM: 0 up to the usable L2, 1 from somewhat above it on.
  [[nodiscard]] double miss_share(double reuse_distance) const;

  /// Microseconds to read or write `bytes`. A write costs DRAM when it is evicted before it is overwritten.
  [[nodiscard]] double us(double bytes, double reuse_distance) const;

 private:
  double usable_bytes_;
  double dram_us_per_byte_;
  double l2_us_per_byte_;
};

}  // namespace tilewright::schedule
