// Whole layers of random weights on the device, compared with the reference in double.
#pragma once

#include <string>
#include <vector>

#include "cpu/layer_fixture.hpp"
#include "tilewright/cuda_layer.hpp"

namespace tilewright::cuda {

struct LayerCase {
  std::string name;
  int hidden = 256;
  int intermediate = 128;
  int experts = 8;  ///< of all ranks
  int first_expert = 0;
  int local_experts = 0;  ///< 0: all
  int top_k = 4;
  int tokens = 17;
  Activation activation{ActivationKind::silu_gated, 0.0F};
  bool one_expert = false;   ///< every slot chooses expert 0
  bool scale_input = false;  ///< weights scale the inputs
  bool from_logits = false;  ///< the layer routes, by softmax
  bool y_bf16 = false;
  CudaLayerOptions kernels;
  bool static_scales = false;  ///< w4a4: the weights have input scales
};

/// The hazards: sizes that fill no tile, every activation, experts of other ranks, empty and crowded experts.
std::vector<LayerCase> shape_cases();

/// `worst` is the largest error in units of what the roundings explain: each slot's output is rounded to bf16 (2^-9 of
/// it), y too where it is bf16; and where a sum in another order or a faster exponential moves an intermediate value
/// to the other side of a rounding, its channel is a step off: all of them together at most a step, 2^-8, of the
/// token's largest sum of magnitudes. Under w4a4 a moved rounding can move a code, which is a quarter of its value: all
/// of them together at most 2^-5, as for the CPU's kernels. Infinite for a value that is not finite.
struct LayerOutcome {
  double worst = 0.0;
  std::string where;
};

/// The hazards on SM120's kernels: in w4a16, and in w4a4 with the MMA emulated, with input scales and without.
std::vector<LayerCase> sm120_cases();

CudaLayer make_layer(const LayerCase& test);

/// With `schedules`, or the layer's own choice where it is null.
LayerOutcome run_layer_case(const LayerCase& test, const LayerSchedules* schedules);

/// Replays one captured run; how many different outputs there were.
int distinct_outputs_of_graph(const LayerCase& test, int replays);

struct RoutingCase {
  std::string name;
  Routing routing;
  int experts = 0;
};
std::vector<RoutingCase> routing_cases();

/// Slots of 300 tokens that differ from the CPU's.
struct RoutingOutcome {
  int other_ids = 0;
  int other_weights = 0;
};
RoutingOutcome run_routing_case(const RoutingCase& test);

}  // namespace tilewright::cuda
