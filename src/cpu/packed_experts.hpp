// Expert weights in the CPU backend's tile order, packed once at load.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cpu/tile_layout.hpp"
#include "tilewright/expert_weights.hpp"
#include "tilewright/result.hpp"

namespace tilewright::cpu {

/// One GEMM's weights of one expert.
struct PackedMatrix {
  const std::uint8_t* strips = nullptr;
  std::int64_t strip_count = 0;
  std::int64_t k = 0;
  float half_scale[2] = {1.0F, 1.0F};  ///< global scale of a strip's rows 0-7 and 8-15
  std::optional<float> input_scale;

  [[nodiscard]] int groups() const { return static_cast<int>(groups_of(k)); }
  [[nodiscard]] const std::uint8_t* strip(std::int64_t s) const { return strips + s * strip_bytes(k); }
};

struct PackedExpert {
  PackedMatrix gemm1;  ///< gate (rows 0-7) and up (8-15) of 8 channels a strip; non-gated: up, 16 channels a strip
  PackedMatrix gemm2;  ///< down, 16 output features a strip
};

class PackedExperts {
 public:
  /// Packs strip by strip on `threads` threads, and gives the file pages of each expert back when it is done: the peak
  /// is the packed size plus one expert's tensors. Shapes that do not agree are a `mismatch`.
  static Result<PackedExperts> pack(const ExpertWeights& weights, int threads);

  [[nodiscard]] int size() const { return static_cast<int>(experts_.size()); }
  [[nodiscard]] const PackedExpert& operator[](int expert) const { return experts_[expert]; }
  [[nodiscard]] std::int64_t hidden() const { return hidden_; }
  [[nodiscard]] std::int64_t intermediate() const { return intermediate_; }
  [[nodiscard]] bool gated() const { return gated_; }
  /// Bytes held, padding included.
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  [[nodiscard]] std::span<const std::uint8_t> memory() const {
    return {memory_.get(), static_cast<std::size_t>(bytes_)};
  }

 private:
  std::vector<PackedExpert> experts_;
  std::int64_t hidden_ = 0;
  std::int64_t intermediate_ = 0;
  bool gated_ = true;
  std::int64_t bytes_ = 0;
  std::shared_ptr<std::uint8_t> memory_;
};

/// Memory for weights: anonymous pages, huge ones where the system gives them, so that a stream of hundreds of
/// megabytes does not stall on address translation. Zeroed.
Result<std::shared_ptr<std::uint8_t>> allocate_weights(std::int64_t bytes);

}  // namespace tilewright::cpu
