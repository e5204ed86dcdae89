// ModelFacts: what the expert layers of one model are, whatever file the facts came from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilewright/activation.hpp"
#include "tilewright/result.hpp"
#include "tilewright/routing.hpp"

namespace tilewright {

/// How the expert weights of a checkpoint are stored, as far as its config says.
enum class WeightFormat { unspecified, nvfp4, nvfp4_weight_only, mxfp4, fp8, int4, mixed, bf16 };
const char* to_string(WeightFormat format);

/// The routed experts of one MoE layer. Sizes are per model, before any TP or EP split.
struct ModelFacts {
  std::string name;        ///< e.g. "glm-5"
  int hidden = 0;          ///< H: the experts' input and output width; the latent one of models that project first
  int intermediate = 0;    ///< I: the experts' inner width
  int experts = 0;         ///< E: routed experts of a layer
  int moe_layers = 0;      ///< layers with routed experts in the main model; 0 when unknown
  int total_layers = 0;    ///< decoder layers of the main model; 0 when unknown
  int shared_experts = 0;  ///< shared experts (run by the caller)
  Activation activation;   ///< between GEMM1 and GEMM2
  Routing routing;         ///< top-k, scoring, groups, scaling
  WeightFormat format = WeightFormat::unspecified;
  std::string source;  ///< where the facts come from: a URL or a file
};

/// The models known by name: public config.json files, each with its source. Names are lower case with dashes.
const std::vector<ModelFacts>& known_models();

/// A known model by name. Case, an organisation and endings that do not change the layer do not matter ("glm-5",
/// "zai-org/GLM-5" and "nvidia/GLM-5-NVFP4" are one); an unknown name lists the nearest ones.
Result<ModelFacts> find_model(const std::string& name);

/// Facts from the text of a Hugging Face config.json. `quant_config` is the text of hf_quant_config.json, or empty.
/// What a config leaves to the family's model code (gpt-oss's activation, MiniMax's normalisation) is filled in. A
/// config without routed experts, or with experts that are not supported, is an `unsupported` error that says why.
Result<ModelFacts> parse_model_config(const std::string& config, const std::string& quant_config = {});

/// Facts from a config.json on disk, or from a directory that holds one (and perhaps an hf_quant_config.json).
Result<ModelFacts> read_model_config(const std::string& path);

}  // namespace tilewright
