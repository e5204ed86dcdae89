// ExpertWeights: the NVFP4 weights of one layer's experts in file order, as views into mapped files.
//
// One matrix is W[n, k] = e2m1(code) * ue4m3(block scale of k / 16) * global_scale, n output features by k input
// features (nvfp4: 16 consecutive k share a block scale). Views know the layouts that checkpoints use; `read_row`
// hands any row out in the one canonical form, so that a packer never sees a dialect.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace tilewright {

/// A view of one NVFP4 matrix. Rows and columns at or past `valid_rows` / `valid_cols` are padding: they read as
/// zero codes with zero scales, whatever the file holds there.
struct Nvfp4Matrix {
  const std::uint8_t* codes = nullptr;   ///< two e2m1 codes a byte, low nibble = even k
  const std::uint8_t* scales = nullptr;  ///< one ue4m3 byte for 16 k
  std::int64_t rows = 0;                 ///< N, padding included
  std::int64_t cols = 0;                 ///< K in elements, padding included; a multiple of 16
  std::int64_t valid_rows = 0;
  std::int64_t valid_cols = 0;        ///< a multiple of 16
  std::int64_t code_row_stride = 0;   ///< bytes from row n to n + 1 (K / 2 when plain; 1 when transposed)
  std::int64_t code_col_stride = 1;   ///< bytes from one byte of a row to the next (1 when plain)
  std::int64_t scale_row_stride = 0;  ///< bytes from row n to n + 1 (K / 16 when plain)
  std::int64_t scale_col_stride = 1;
  float global_scale = 1.0F;         ///< fp32 multiplier (ModelOpt's weight_scale_2)
  std::optional<float> input_scale;  ///< fp32 multiplier amax / 2688 of the activations; none: dynamic

  [[nodiscard]] bool empty() const { return rows == 0; }

  /// Row `n` in canonical order: cols / 2 code bytes and cols / 16 scale bytes.
  void read_row(std::int64_t n, std::uint8_t* row_codes, std::uint8_t* row_scales) const;
};

/// One expert. `gate` is empty for a non-gated activation. gate and up are rows x H with I rows each; down is H x I.
struct Nvfp4Expert {
  Nvfp4Matrix gate;
  Nvfp4Matrix up;
  Nvfp4Matrix down;
};

/// The experts that live here: all of a layer, or this rank's slice of it.
struct ExpertWeights {
  std::vector<Nvfp4Expert> experts;
  std::int64_t hidden = 0;        ///< H
  std::int64_t intermediate = 0;  ///< I of this rank, TP padding included
  int first_expert = 0;           ///< global id of experts[0] under expert parallelism
  int global_experts = 0;         ///< experts of the layer over all ranks
  /// The largest gate or up input scale over all experts of the layer, this rank's or not: w4a4 quantizes GEMM1's
  /// activations once for all experts, and every rank must do it alike. None: the largest of `experts`, which is right
  /// only where they are all the layer's; dynamic where no expert has one.
  std::optional<float> layer_input_scale;
  bool gated = true;
  std::shared_ptr<const void> storage;  ///< keeps the mapped files behind the views alive
  /// Tells the operating system that the pages behind an expert are not needed any more (once it is packed).
  /// Empty where there is nothing to give back.
  std::function<void(int expert)> release_pages;
};

}  // namespace tilewright
