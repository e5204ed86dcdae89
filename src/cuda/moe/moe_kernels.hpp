// What stands around the two GEMMs of a layer on the device: route, sort, arrange, combine. A launch each, the sort of
// many slots two, in stream order; every kernel waits for the one before it and lets the next one start (programmatic
// dependent launch), if it is launched as `dependent`. Pointers are device memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda/sm90/gemm_params.hpp"
#include "tilewright/routing.hpp"

namespace tilewright::cuda {

/// Router logits to experts and weights, by the rules of routing.hpp; the same ids and weights as on the CPU, bit for
/// bit. A warp a token. The routing has been checked (check_routing) for this many experts, at most 1,024.
struct RouteParams {
  const float* logits = nullptr;  ///< [tokens, experts]
  const float* bias = nullptr;    ///< [experts], or null
  int tokens = 0;
  int experts = 0;
  Routing routing;
  std::int32_t* ids = nullptr;  ///< [tokens, top_k]
  float* weights = nullptr;     ///< [tokens, top_k]
};
cudaError_t enqueue_route(const RouteParams& params, bool dependent, cudaStream_t stream);

/// Slots to grouped rows: those of each local expert in slot order, each expert's from a multiple of 8 on. A slot is
/// token * top_k + its place. Stable, whatever the number of blocks (sort_blocks.hpp).
struct SortParams {
  const std::int32_t* ids = nullptr;  ///< [slots]; other ids than the local experts' have no row
  const float* weights = nullptr;     ///< [slots]
  int slots = 0;
  int top_k = 0;
  int first_expert = 0;
  int experts = 0;                     ///< local, at most 1,024
  bool scale_input = false;            ///< the weight is the input's: rows come from scaled copies by slot, and weigh 1
  RowRange* ranges = nullptr;          ///< [experts]
  std::int32_t* row_source = nullptr;  ///< [grouped rows] token, or slot where inputs are scaled
  std::int32_t* row_dest = nullptr;    ///< [grouped rows] slot
  float* row_weights = nullptr;        ///< [grouped rows]
  std::int32_t* slot_rows = nullptr;   ///< [slots] grouped row, or -1
  std::int32_t* block_counts = nullptr;  ///< [counting_blocks(slots), experts]: written and read by the sort
  unsigned* flags = nullptr;             ///< set to zero
  int flag_count = 0;
};
cudaError_t prepare_sort();
/// cudaErrorInvalidValue without block_counts where there are counting blocks.
cudaError_t enqueue_sort(const SortParams& params, bool dependent, cudaStream_t stream);

/// Rows of x into tile order (gemm_params.hpp), a copy for every row of a token; padding becomes zeros.
struct ArrangeParams {
  const void* x = nullptr;  ///< [tokens, hidden] bf16
  int tokens = 0;
  int top_k = 0;
  int hidden = 0;
  int experts = 0;
  const std::int32_t* slot_rows = nullptr;
  const RowRange* ranges = nullptr;
  std::int64_t group_rows = 0;
  void* tiles = nullptr;
};
cudaError_t enqueue_arrange(const ArrangeParams& params, cudaStream_t stream);

/// Rows in bf16 on their way to grouped rows in one of SM120's tile orders. Item i reads row i / items_per_row, times
/// weights[i] and rounded to bf16 where there are weights, and goes to the grouped rows of the slots i * slots_per_item
/// and on; the padding after each expert's rows, and K up to the end of a slab, becomes zeros.
struct RowItems {
  const void* x = nullptr;  ///< [rows, columns] bf16
  int columns = 0;          ///< a multiple of 16
  int items = 0;
  int items_per_row = 1;
  int slots_per_item = 1;
  const float* weights = nullptr;           ///< [items], or null
  const std::int32_t* slot_rows = nullptr;  ///< [slots] grouped row, -1: none
  const RowRange* ranges = nullptr;         ///< [experts]
  int experts = 0;
  std::int64_t group_rows = 0;
  void* tiles = nullptr;
};

/// In bf16: `tiles` are sm120::bf16_token_bytes(group_rows, columns).
cudaError_t enqueue_arrange_fragments(const RowItems& items, cudaStream_t stream);

/// To NVFP4, by the recipe of nvfp4.hpp and bit for bit what the CPU gets: `tiles` are sm120::token_bytes(group_rows,
/// columns).
struct QuantizeParams : RowItems {
  float quant_multiplier = 0.0F;  ///< S of every row; 0: of each row by its largest magnitude
  float* input_scales = nullptr;  ///< [group_rows] of rows that have their own: the reciprocals of their S
};
cudaError_t enqueue_quantize(const QuantizeParams& params, cudaStream_t stream);

/// scaled[slot, :] = bf16(x[slot / top_k, :] * weights[slot]).
struct ScaleParams {
  const void* x = nullptr;
  const float* weights = nullptr;
  int slots = 0;
  int top_k = 0;
  int hidden = 0;
  void* scaled = nullptr;  ///< [slots, hidden] bf16
};
cudaError_t enqueue_scale(const ScaleParams& params, cudaStream_t stream);

/// y[t, :] = sum over the slots of t that have a row, in slot order, in fp32.
struct CombineParams {
  const void* rows = nullptr;               ///< [slots, hidden] bf16, weighted
  const std::int32_t* slot_rows = nullptr;  ///< [slots], -1 where there is no row
  int tokens = 0;
  int top_k = 0;
  int hidden = 0;
  void* y = nullptr;  ///< [tokens, hidden]
  bool y_bf16 = false;
};
cudaError_t enqueue_combine(const CombineParams& params, cudaStream_t stream);

}  // namespace tilewright::cuda
