#include "cuda/quantize_case.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>

#include "cuda/device_memory.hpp"
#include "cuda/moe/moe_kernels.hpp"
#include "cuda/sm120/fragment_order.hpp"
#include "numerics/input_scales.hpp"
#include "tilewright/float_types.hpp"
#include "tilewright/nvfp4.hpp"

namespace tilewright::cuda {
namespace {

constexpr int kExperts = 5;

/// Slots dealt to experts, some to none, with grouped rows as the sort gives them.
class Problem {
 public:
  explicit Problem(const QuantizeCase& test) : test_(test), random_(41) {
    const int slots = test.tokens * test.top_k;
    std::vector<int> counts(kExperts, 0);
    std::vector<int> expert_of;
    for (int slot = 0; slot < slots; ++slot) {
      const int expert = static_cast<int>(random_() % (kExperts + 1)) - 1;
      expert_of.push_back(expert);
      if (expert >= 0) ++counts[static_cast<std::size_t>(expert)];
    }
    std::vector<int> next;
    for (const int count : counts) {
      ranges_.push_back({grouped_, count});
      next.push_back(grouped_);
      grouped_ = (grouped_ + count + kRowGroup - 1) / kRowGroup * kRowGroup;
    }
    for (const int expert : expert_of) {
      slot_rows_.push_back(expert < 0 ? -1 : next[static_cast<std::size_t>(expert)]++);
    }
    for (int i = 0; i < test.tokens * test.columns; ++i) x_.push_back(value(i));
    for (int slot = 0; slot < slots; ++slot) weights_.push_back(0.1F + static_cast<float>(random_() % 100) / 64.0F);
  }

  [[nodiscard]] QuantizeOutcome run() const {
    const DeviceMemory x(x_);
    const DeviceMemory weights(weights_);
    const DeviceMemory slot_rows(slot_rows_);
    const DeviceMemory ranges(ranges_);
    const DeviceMemory scales(std::int64_t{4} * grouped_);
    const DeviceMemory tiles(sm120::token_bytes(grouped_, test_.columns));
    scales.fill(0xFF);
    tiles.fill(0xFF);
    QuantizeParams p;
    p.x = x.as<void>();
    p.columns = test_.columns;
    p.items = test_.by_slot ? test_.tokens * test_.top_k : test_.tokens;
    p.items_per_row = test_.by_slot ? test_.top_k : 1;
    p.slots_per_item = test_.by_slot ? 1 : test_.top_k;
    p.weights = test_.by_slot ? weights.as<float>() : nullptr;
    p.slot_rows = slot_rows.as<std::int32_t>();
    p.ranges = ranges.as<RowRange>();
    p.experts = kExperts;
    p.group_rows = grouped_;
    p.quant_multiplier = test_.input_scale == 0.0F ? 0.0F : quant_multiplier(test_.input_scale);
    p.input_scales = scales.as<float>();
    p.tiles = tiles.as<void>();
    require(enqueue_quantize(p, nullptr));
    require(cudaDeviceSynchronize());
    return compare(tiles.read<std::uint8_t>(static_cast<std::size_t>(tiles.bytes())),
                   scales.read<float>(static_cast<std::size_t>(grouped_)));
  }

 private:
  bf16 value(int i) {
    if (test_.odd_values) {
      const int row = i / test_.columns;
      if (row % 5 == 1) return to_bf16(0.0F);
      if (row % 5 == 2) return to_bf16(1e-39F * static_cast<float>(1 + random_() % 50));
      constexpr float kOdd[] = {0.0F, -0.0F, std::numeric_limits<float>::quiet_NaN(), 1e30F, -3e38F, 1e-30F};
      if (random_() % 4 == 0) return to_bf16(kOdd[random_() % std::size(kOdd)]);
    }
    return to_bf16(std::normal_distribution<float>(0.0F, 2.0F)(random_));
  }

  [[nodiscard]] QuantizeOutcome compare(const std::vector<std::uint8_t>& tiles,
                                        const std::vector<float>& scales) const {
    QuantizeOutcome outcome;
    const std::optional<float> fixed =
        test_.input_scale == 0.0F ? std::nullopt : std::optional<float>(test_.input_scale);
    std::vector<bool> used(static_cast<std::size_t>(grouped_), false);
    for (std::size_t slot = 0; slot < slot_rows_.size(); ++slot) {
      if (slot_rows_[slot] < 0) continue;
      const int r = slot_rows_[slot];
      used[static_cast<std::size_t>(r)] = true;
      const std::vector<float> row = input(slot);
      const float scale = row_input_scale(fixed, row);
      if (!fixed &&
          std::bit_cast<std::uint32_t>(scale) != std::bit_cast<std::uint32_t>(scales[static_cast<std::size_t>(r)])) {
        ++outcome.other_scales;
      }
      for (int b = 0; b < test_.columns / kBlock; ++b) {
        std::array<float, kBlock> block{};
        std::copy_n(row.begin() + std::ptrdiff_t{b} * kBlock, kBlock, block.begin());
        ++outcome.blocks;
        outcome.other_blocks += at(tiles, r, b) == quantize_block(block, quant_multiplier(scale)) ? 0 : 1;
      }
    }
    const auto blocks = static_cast<int>(sm120::slabs_of(test_.columns) * sm120::kSlabK / kBlock);
    for (int r = 0; r < grouped_; ++r) {
      for (int b = used[static_cast<std::size_t>(r)] ? test_.columns / kBlock : 0; b < blocks; ++b) {
        outcome.dirty_padding += at(tiles, r, b) == Nvfp4Block{} ? 0 : 1;
      }
    }
    return outcome;
  }

  [[nodiscard]] std::vector<float> input(std::size_t slot) const {
    const std::size_t token = slot / static_cast<std::size_t>(test_.top_k);
    std::vector<float> row;
    for (int k = 0; k < test_.columns; ++k) {
      const bf16 x = x_[token * static_cast<std::size_t>(test_.columns) + static_cast<std::size_t>(k)];
      row.push_back(to_float(test_.by_slot ? scaled_input(x, weights_[slot]) : x));
    }
    return row;
  }

  struct Block : Nvfp4Block {
    bool operator==(const Nvfp4Block& other) const { return codes == other.codes && scale == other.scale; }
  };
  [[nodiscard]] Block at(const std::vector<std::uint8_t>& tiles, int row, int b) const {
    const auto place = sm120::token_place(row, b, grouped_);
    Block block;
    std::memcpy(block.codes.data(), tiles.data() + place.codes_low, 4);
    std::memcpy(block.codes.data() + 4, tiles.data() + place.codes_high, 4);
    block.scale = tiles[static_cast<std::size_t>(place.scale)];
    return block;
  }

  QuantizeCase test_;
  std::mt19937 random_;
  int grouped_ = 0;
  std::vector<RowRange> ranges_;
  std::vector<std::int32_t> slot_rows_;
  std::vector<bf16> x_;
  std::vector<float> weights_;
};

}  // namespace

std::vector<QuantizeCase> quantize_cases() {
  return {{"tokens, one scale", 6144, 33, 8, false, 3.0F / kNvfp4Max, false},
          {"tokens, their own scales", 4224, 33, 8, false, 0.0F, false},
          {"slots, one scale", 352, 19, 3, true, 3.0F / kNvfp4Max, false},
          {"slots, their own scales", 2880, 19, 3, true, 0.0F, false},
          {"one block of 16", 16, 9, 2, false, 1.0F / 448.0F, false},
          {"odd values, one scale", 272, 40, 2, false, 3.0F / kNvfp4Max, true},
          {"odd values, their own scales", 272, 40, 1, true, 0.0F, true}};
}

QuantizeOutcome run_quantize_case(const QuantizeCase& test) { return Problem(test).run(); }

}  // namespace tilewright::cuda
