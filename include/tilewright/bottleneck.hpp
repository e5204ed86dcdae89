// What a layer over several GPUs spends its time on, and which one change would move it most.
//
// The expert layer itself is planned as `plan` does it, on the rank that is planned. Around it stand the exchanges:
// under TP an all-reduce of the output, under EP tokens that go to their experts and results that come back. Times are
// predictions; the exchanges are counted in full, none is hidden behind the experts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilewright/device.hpp"
#include "tilewright/problem.hpp"
#include "tilewright/result.hpp"

namespace tilewright {

/// How the GPUs of one machine are connected, each to each.
struct Link {
  std::string name;         ///< as on the command line: "pcie5"
  std::string title;        ///< "PCI Express 5.0 x16"
  double GBps = 0.0;        ///< payload that one GPU sends while it receives as much
  double latency_us = 0.0;  ///< of one exchange, from the first GPU's start to the last one's end
};

/// The links known by name, slowest first (src/schedule/bottleneck/links.cpp has the sources).
const std::vector<Link>& known_links();

/// A link by name; an unknown one is `not_found` with the names.
Result<Link> find_link(const std::string& name);

/// What GPUs of this kind are usually connected by.
const Link& usual_link(const Device& device);

/// One exchange between the GPUs of a layer.
struct Exchange {
  std::string name;        ///< "all_reduce", "dispatch", "combine"
  std::int64_t bytes = 0;  ///< that one GPU sends
  double us = 0.0;
};

/// The exchanges of a layer whose attention is data-parallel over ep and replicated over tp. All-reduce of bf16: the
/// faster of one shot (everybody sends all to all) and two (reduce a part, gather the parts). Dispatch: each token once
/// to each rank that has one of its experts, in the precision of GEMM1's input; combine: one bf16 sum back from each.
std::vector<Exchange> exchanges(const LayerProblem& problem, const Link& link);

/// What a layer's time goes into. Within a GEMM the first three overlap.
enum class LayerPart : std::uint8_t { weights, mma, activations, quantization, combine, communication, fixed };
const char* to_string(LayerPart part);

struct LayerPartTime {
  LayerPart part = LayerPart::weights;
  double us = 0.0;  ///< alone, were the rest free
};

/// The layer with one thing changed.
struct LayerChange {
  std::string name;         ///< "batch", "parallelism", "tile", "link"
  std::string words;        ///< "1,024 tokens instead of 512"
  double us = 0.0;          ///< of the changed layer, exchanges included
  double throughput = 1.0;  ///< tokens a second over those of the unchanged layer
};

struct LayerBottleneck {
  std::int64_t tokens = 0;
  int tp = 1;
  int ep = 1;
  std::string link;
  double rows_per_expert = 0.0;  ///< of an active one
  std::int64_t active_experts = 0;
  std::vector<LayerPartTime> parts;      ///< in the order of LayerPart
  LayerPart bound = LayerPart::weights;  ///< the longest part
  std::vector<Exchange> exchanges;
  double experts_us = 0.0;        ///< the layer on one GPU
  double communication_us = 0.0;  ///< its exchanges
  double total_us = 0.0;
  double floor_us = 0.0;        ///< of one fused kernel without exchanges: bytes at spec bandwidth, FLOPs at peak
  double tflops = 0.0;          ///< of one GPU over the total time
  double peak_share = 0.0;      ///< of its dense peak
  double usual_stack_us = 0.0;  ///< FlashInfer's layer on the same rank as benchmarks replay it; 0: no such kernels
  std::vector<LayerChange> changes;  ///< the one that helps most first
};

/// Plans the layer and its changes. A GEMM for which no kernel exists is `unsupported`.
Result<LayerBottleneck> find_bottleneck(const Device& device, const LayerProblem& problem, const Link& link);

}  // namespace tilewright
