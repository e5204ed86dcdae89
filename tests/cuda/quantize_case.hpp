// Activations quantized on the device, compared with the recipe on the CPU bit for bit.
#pragma once

#include <string>
#include <vector>

namespace tilewright::cuda {

struct QuantizeCase {
  std::string name;
  int columns = 0;
  int tokens = 0;
  int top_k = 0;
  bool by_slot = false;      ///< a row a slot, scaled by the slot's weight
  float input_scale = 0.0F;  ///< of all rows; 0: a row's own
  bool odd_values = false;   ///< NaN, infinities, zeros, subnormal rows
};
std::vector<QuantizeCase> quantize_cases();

struct QuantizeOutcome {
  int blocks = 0;
  int other_blocks = 0;   ///< codes or block scale differ
  int other_scales = 0;   ///< rows whose own input scale differs
  int dirty_padding = 0;  ///< blocks that are not zero
};
QuantizeOutcome run_quantize_case(const QuantizeCase& test);

}  // namespace tilewright::cuda
