// The parts of a layer's time and what one change does to it.
#include "tilewright/bottleneck.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "schedule/enum_names.hpp"
#include "schedule/format.hpp"
#include "tilewright/peer_stacks.hpp"
#include "tilewright/planner.hpp"

namespace tilewright {
namespace {

constexpr schedule::EnumNames<7> kPartNames = {"weights", "mma",           "activations", "quantization",
                                               "combine", "communication", "fixed"};

double communication_us(const LayerProblem& problem, const Link& link) {
  double sum = 0.0;
  for (const Exchange& exchange : exchanges(problem, link)) sum += exchange.us;
  return sum;
}

// A planned layer that can run.
Result<Plan> runnable(const Device& device, const LayerProblem& problem) {
  TILEWRIGHT_ASSIGN(Plan layer, plan(device, problem));
  for (const GemmPlan& gemm : layer.plans) {
    if (gemm.chosen() != nullptr) continue;
    return fail(ErrorCode::unsupported,
                fmt::format("{} has no kernel on {}", to_string(gemm.problem.gemm), device.name),
                gemm.rejected.empty() ? std::string() : gemm.rejected.front().message);
  }
  return layer;
}

double step_us(const LayerTime& layer, const char* name) {
  const auto found =
      std::find_if(layer.steps.begin(), layer.steps.end(), [&](const LayerStep& step) { return step.name == name; });
  return found == layer.steps.end() ? 0.0 : found->us;
}

std::vector<LayerPartTime> parts_of(const Device& device, const Plan& layer, double exchanged_us) {
  const double us_per_byte = 1.0 / (1e3 * device.dram_read_GBps);
  double weights = 0.0;
  double mma = 0.0;
  double activations = 0.0;
  double fixed = step_us(layer.layers.front(), "route");
  for (const GemmPlan& gemm : layer.plans) {
    const Cost& cost = gemm.chosen()->cost;
    weights += us_per_byte * static_cast<double>(cost.weight_bytes);
    activations += us_per_byte * static_cast<double>(cost.dram_bytes - cost.weight_bytes);
    mma += std::max(cost.mma_us, cost.decode_us);
    fixed += cost.launch_us + cost.tail_us;
  }
  return {{LayerPart::weights, weights},
          {LayerPart::mma, mma},
          {LayerPart::activations, activations},
          {LayerPart::quantization, step_us(layer.layers.front(), "quantize")},
          {LayerPart::combine, step_us(layer.layers.front(), "combine")},
          {LayerPart::communication, exchanged_us},
          {LayerPart::fixed, fixed}};
}

// The layer's time with the tile that a stack without swapped operands is left with; nothing where it is the chosen one
// or not legal.
std::optional<double> us_with_usual_tile(const Plan& layer) {
  double us = layer.layers.front().predicted_us;
  bool differs = false;
  for (const GemmPlan& gemm : layer.plans) {
    const auto usual = std::find_if(gemm.ranked.begin(), gemm.ranked.end(), [](const Candidate& candidate) {
      const Schedule& s = candidate.schedule;
      return s.tile_m == 128 && s.tile_n == 128 && s.tile_k == 128;
    });
    if (usual == gemm.ranked.end()) return std::nullopt;
    differs = differs || gemm.chosen()->schedule.tile_n != 128;
    us += usual->cost.predicted_us - gemm.chosen()->cost.predicted_us;
  }
  if (!differs) return std::nullopt;
  return us;
}

double usual_stack_us(const Device& device, const LayerProblem& problem, const LayerGemms& gemms) {
  if (kernel_arch(device.arch) != Arch::sm_120 || problem.precision != Precision::w4a4) return 0.0;
  const PeerStack* stack = find_peer_stack("SGLang", "0.5.14", "sglang_flashinfer_cutlass_moe");
  if (stack == nullptr) return 0.0;
  PeerLayer peer;
  peer.hidden = problem.model.hidden;
  peer.intermediate = gemms.intermediate;
  peer.gated = problem.model.activation.gated();
  peer.tokens = problem.tokens;
  peer.top_k = problem.model.routing.top_k;
  peer.experts = problem.model.experts;
  peer.rows = gemms.gemm1.rows;
  return predict_peer(device, *stack, peer).us;
}

// The other way to split the layer over the same GPUs.
LayerProblem other_split(const LayerProblem& problem) {
  LayerProblem other = problem;
  const int gpus = problem.tp * problem.ep;
  other.ep = problem.tp > 1 ? gpus : 1;
  other.tp = gpus / other.ep;
  other.counts.clear();
  return other;
}

std::string split_words(const LayerProblem& problem) { return fmt::format("tp {}, ep {}", problem.tp, problem.ep); }

class Changes {
 public:
  Changes(const Device& device, const LayerProblem& problem, const Link& link, double us)
      : device_(device), problem_(problem), link_(link), us_(us) {}

  // A changed problem that cannot be planned is no change to propose.
  void try_problem(const char* name, std::string words, const LayerProblem& changed, const Link& link) {
    const Result<Plan> layer = runnable(device_, changed);
    if (layer)
      add(name, std::move(words), layer->layers.front().predicted_us + communication_us(changed, link), changed.tokens);
  }

  void add(const char* name, std::string words, double us, std::int64_t tokens) {
    const double scale = static_cast<double>(tokens) / static_cast<double>(problem_.tokens);
    changes_.push_back({name, std::move(words), us, scale * us_ / us});
  }

  void try_all(const Plan& layer) {
    if (problem_.counts.empty()) {
      LayerProblem twice = problem_;
      twice.tokens *= 2;
      try_problem(
          "batch",
          fmt::format("{} tokens instead of {}", schedule::grouped(twice.tokens), schedule::grouped(problem_.tokens)),
          twice, link_);
      if (problem_.tp * problem_.ep > 1) {
        const LayerProblem other = other_split(problem_);
        try_problem("parallelism", fmt::format("{} instead of {}", split_words(other), split_words(problem_)), other,
                    link_);
      }
    }
    if (const auto us = us_with_usual_tile(layer)) {
      add("tile", "128x128x128 instead of the chosen tile", *us + communication_us(problem_, link_), problem_.tokens);
    }
    const auto& links = known_links();
    const auto faster = std::find_if(links.begin(), links.end(), [&](const Link& l) { return l.GBps > link_.GBps; });
    if (faster != links.end() && problem_.tp * problem_.ep > 1) {
      add("link", fmt::format("{} instead of {}", faster->name, link_.name),
          layer.layers.front().predicted_us + communication_us(problem_, *faster), problem_.tokens);
    }
    std::stable_sort(changes_.begin(), changes_.end(),
                     [](const LayerChange& a, const LayerChange& b) { return a.throughput > b.throughput; });
  }

  [[nodiscard]] std::vector<LayerChange> take() { return std::move(changes_); }

 private:
  const Device& device_;
  const LayerProblem& problem_;
  const Link& link_;
  double us_;
  std::vector<LayerChange> changes_;
};

}  // namespace

const char* to_string(LayerPart part) { return schedule::name_of(kPartNames, part); }

Result<LayerBottleneck> find_bottleneck(const Device& device, const LayerProblem& problem, const Link& link) {
  TILEWRIGHT_ASSIGN(const Plan layer, runnable(device, problem));
  TILEWRIGHT_ASSIGN(const LayerGemms gemms, layer_gemms(problem));
  LayerBottleneck found;
  found.tokens = problem.tokens;
  found.tp = problem.tp;
  found.ep = problem.ep;
  found.link = link.name;
  found.rows_per_expert = gemms.gemm1.rows.mean_active();
  found.active_experts = gemms.gemm1.rows.active();
  found.exchanges = exchanges(problem, link);
  found.experts_us = layer.layers.front().predicted_us;
  found.communication_us = communication_us(problem, link);
  found.total_us = found.experts_us + found.communication_us;
  found.floor_us = layer.layers.front().floor_us;
  found.parts = parts_of(device, layer, found.communication_us);
  found.bound = std::max_element(found.parts.begin(), found.parts.end(), [](const auto& a, const auto& b) {
                  return a.us < b.us;
                })->part;
  found.tflops = (flops(gemms.gemm1) + flops(gemms.gemm2)) / (1e6 * found.total_us);
  const int rate = problem.precision == Precision::w4a4 ? device.flop_per_clk.fp4 : device.flop_per_clk.bf16;
  const double peak = device.peak_tflops(rate);
  found.peak_share = peak > 0.0 ? found.tflops / peak : 0.0;
  found.usual_stack_us = usual_stack_us(device, problem, gemms);
  Changes changes(device, problem, link, found.total_us);
  changes.try_all(layer);
  found.changes = changes.take();
  return found;
}

}  // namespace tilewright
