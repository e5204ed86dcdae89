#include "cpu/packed_experts.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <cerrno>
#include <cstring>

namespace tilewright::cpu {
namespace {

constexpr std::int64_t kHugePage = std::int64_t{1} << 21;

/// Four nibbles, one in each byte.
std::uint32_t spread_nibbles(std::uint32_t x) {
  x = (x | (x << 8U)) & 0x00FF00FFU;
  return (x | (x << 4U)) & 0x0F0F0F0FU;
}

/// One row into its place in a strip, from canonical order.
void place_row(std::uint8_t* strip, int row, std::int64_t k, const std::uint8_t* codes, const std::uint8_t* scales) {
  for (std::int64_t b = 0; b < k / kBlockK; ++b) {
    std::uint8_t* group = strip + (b / kGroupBlocks) * kGroupBytes;
    const int block = static_cast<int>(b % kGroupBlocks);
    group[scale_offset(row, block)] = scales[b] & 0x7F;  // 0x80 is a signed e4m3's -0, which reads as 0
    for (int line = 0; line < 2; ++line) {
      std::uint32_t packed = 0;  // codes 8 * line .. 8 * line + 7, the first in the lowest nibble
      std::memcpy(&packed, codes + b * (kBlockK / 2) + line * 4, sizeof(packed));
      const std::uint32_t out = spread_nibbles(packed & 0xFFFFU) | (spread_nibbles(packed >> 16U) << 4U);
      std::memcpy(group + code_offset(row, block, 8 * line), &out, sizeof(out));
    }
  }
}

struct RowBuffers {
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
};

void place_matrix_row(std::uint8_t* strip, int row, const Nvfp4Matrix& matrix, std::int64_t n, RowBuffers& buffers) {
  if (n >= matrix.rows) return;  // the memory is zeroed: zero codes, zero scales
  buffers.codes.resize(static_cast<std::size_t>(matrix.cols / 2));
  buffers.scales.resize(static_cast<std::size_t>(matrix.cols / kBlockK));
  matrix.read_row(n, buffers.codes.data(), buffers.scales.data());
  place_row(strip, row, matrix.cols, buffers.codes.data(), buffers.scales.data());
}

/// Strip `s` of GEMM1 or GEMM2. `lower` fills rows 0-7 and `upper` rows 8-15; the same matrix twice means 16 rows of
/// it.
void pack_strip(std::uint8_t* out, const Nvfp4Matrix& lower, const Nvfp4Matrix& upper, std::int64_t s,
                RowBuffers& buffers) {
  const bool joined = &lower != &upper;
  for (int row = 0; row < kStripRows; ++row) {
    const Nvfp4Matrix& matrix = row < kHalfStrip ? lower : upper;
    const std::int64_t n = joined ? s * kHalfStrip + row % kHalfStrip : s * kStripRows + row;
    place_matrix_row(out, row, matrix, n, buffers);
  }
}

Status check_shape(const Nvfp4Matrix& matrix, std::int64_t rows, std::int64_t cols, int expert, const char* name) {
  if (matrix.rows == rows && matrix.cols == cols && cols % kBlockK == 0) return {};
  return fail(ErrorCode::mismatch,
              fmt::format("expert {} {} is {} x {}, expected {} x {} with K a multiple of {}", expert, name,
                          matrix.rows, matrix.cols, rows, cols, kBlockK),
              "load the layer with a slice that keeps whole 16-blocks");
}

Status check_expert(const ExpertWeights& weights, int e) {
  const Nvfp4Expert& expert = weights.experts[e];
  const int id = weights.first_expert + e;
  if (weights.gated) {
    TILEWRIGHT_TRY(check_shape(expert.gate, weights.intermediate, weights.hidden, id, "gate"));
  }
  TILEWRIGHT_TRY(check_shape(expert.up, weights.intermediate, weights.hidden, id, "up"));
  return check_shape(expert.down, weights.hidden, weights.intermediate, id, "down");
}

PackedMatrix describe(std::uint8_t* at, std::int64_t strips, const Nvfp4Matrix& lower, const Nvfp4Matrix& upper) {
  PackedMatrix packed;
  packed.strips = at;
  packed.strip_count = strips;
  packed.k = upper.cols;
  packed.half_scale[0] = lower.global_scale;
  packed.half_scale[1] = upper.global_scale;
  packed.input_scale = upper.input_scale;
  return packed;
}

void pack_matrix(const PackedMatrix& packed, std::uint8_t* out, const Nvfp4Matrix& lower, const Nvfp4Matrix& upper) {
  tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, packed.strip_count), [&](const auto& range) {
    RowBuffers buffers;
    for (std::int64_t s = range.begin(); s < range.end(); ++s) {
      pack_strip(out + s * strip_bytes(packed.k), lower, upper, s, buffers);
    }
  });
}

}  // namespace

Result<std::shared_ptr<std::uint8_t>> allocate_weights(std::int64_t bytes) {
  const auto size = static_cast<std::size_t>((bytes + kHugePage - 1) / kHugePage * kHugePage);
  void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) {
    return fail(ErrorCode::exhausted,
                fmt::format("no memory for {} bytes of packed weights: {}", size, std::strerror(errno)),
                "load fewer experts (--ep) or run on a machine with more memory");
  }
  madvise(at, size, MADV_HUGEPAGE);  // a wish: small pages are slower, not wrong
  return std::shared_ptr<std::uint8_t>(static_cast<std::uint8_t*>(at), [size](std::uint8_t* p) { munmap(p, size); });
}

Result<PackedExperts> PackedExperts::pack(const ExpertWeights& weights, int threads) {
  PackedExperts packed;
  packed.hidden_ = weights.hidden;
  packed.intermediate_ = weights.intermediate;
  packed.gated_ = weights.gated;
  const std::int64_t channels = weights.gated ? kHalfStrip : kStripRows;
  const std::int64_t strips1 = (weights.intermediate + channels - 1) / channels;
  const std::int64_t strips2 = (weights.hidden + kStripRows - 1) / kStripRows;
  const std::int64_t bytes1 = strips1 * strip_bytes(weights.hidden);
  const std::int64_t bytes2 = strips2 * strip_bytes(weights.intermediate);
  packed.bytes_ = (bytes1 + bytes2) * static_cast<std::int64_t>(weights.experts.size());
  TILEWRIGHT_ASSIGN(packed.memory_, allocate_weights(packed.bytes_));
  tbb::task_arena arena(threads);
  std::uint8_t* at = packed.memory_.get();
  for (int e = 0; e < static_cast<int>(weights.experts.size()); ++e) {
    TILEWRIGHT_TRY(check_expert(weights, e));
    const Nvfp4Expert& expert = weights.experts[e];
    const Nvfp4Matrix& lower = weights.gated ? expert.gate : expert.up;
    PackedExpert out{describe(at, strips1, lower, expert.up), describe(at + bytes1, strips2, expert.down, expert.down)};
    arena.execute([&] {
      pack_matrix(out.gemm1, at, lower, expert.up);
      pack_matrix(out.gemm2, at + bytes1, expert.down, expert.down);
    });
    packed.experts_.push_back(out);
    if (weights.release_pages) weights.release_pages(e);
    at += bytes1 + bytes2;
  }
  return packed;
}

}  // namespace tilewright::cpu
