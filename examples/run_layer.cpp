// Loads one expert layer of an NVFP4 checkpoint, packs it for the CPU and runs it on one token.
//
//   run_layer CHECKPOINT LAYER        e.g. run_layer demo/qwen3-30b-a3b-nvfp4 0
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tilewright/checkpoint.hpp"
#include "tilewright/moe_layer.hpp"

namespace {

// The Euclidean length of the layer's output for one token.
tilewright::Result<double> run_layer(const std::string& path, int number) {
  TILEWRIGHT_ASSIGN(const tilewright::Checkpoint checkpoint, tilewright::Checkpoint::open(path));
  if (!checkpoint.model()) return tl::unexpected<tilewright::Error>(checkpoint.model().error());
  const tilewright::ModelFacts& facts = *checkpoint.model();

  // Views of the mapped file: every block scale is checked here, before anything is computed.
  TILEWRIGHT_ASSIGN(const tilewright::ExpertWeights weights, checkpoint.load_layer(number));

  // Packing puts the weights in the backend's tile order, once.
  tilewright::MoeLayerOptions options;
  options.precision = tilewright::Precision::w4a16;
  TILEWRIGHT_ASSIGN(tilewright::MoeLayer layer,
                    tilewright::MoeLayer::create(weights, facts.activation, facts.routing, options));

  // A token, and logits that prefer the experts in turn. A model has both from its own layers.
  std::vector<tilewright::bf16> x(static_cast<std::size_t>(layer.hidden()));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = tilewright::to_bf16(std::sin(static_cast<float>(i)));
  std::vector<float> logits(static_cast<std::size_t>(weights.global_experts));
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i % 7);
  const std::vector<float> bias(facts.routing.selection_bias ? logits.size() : 0, 0.0F);

  std::vector<float> y(x.size());
  TILEWRIGHT_TRY(layer.run(x.data(), 1, logits.data(), bias, y.data()));
  double squares = 0;
  for (const float value : y) squares += static_cast<double>(value) * value;
  return std::sqrt(squares);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: run_layer CHECKPOINT LAYER\n");
    return 2;
  }
  const auto length = run_layer(argv[1], std::atoi(argv[2]));
  if (!length) {
    std::fprintf(stderr, "run_layer: %s\n", length.error().message().c_str());
    return 1;
  }
  std::printf("|y| = %.4f\n", *length);
  return 0;
}
