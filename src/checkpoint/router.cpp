#include <cstring>
#include <initializer_list>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "checkpoint/checkpoint_contents.hpp"
#include "checkpoint/tensor_values.hpp"
#include "tilewright/checkpoint.hpp"

namespace tilewright {
namespace {

struct NamedView {
  std::string name;
  const TensorView* view = nullptr;
};

/// Everything before the experts in the name of one of their tensors: "model.layers.3.mlp.".
std::string block_prefix(const LayerIndex& index) {
  const std::string& name = *index.tensors.front().name;
  const std::size_t experts = name.rfind(".experts.");
  if (experts != std::string::npos) return name.substr(0, experts + 1);
  return name.substr(0, name.rfind(".moe.") + 5);  // Step: the projections are the block's own
}

NamedView find_first(const TensorFiles& files, const std::string& prefix, std::initializer_list<const char*> suffixes) {
  for (const char* suffix : suffixes) {
    std::string name = prefix + suffix;
    if (const TensorView* view = files.find(name)) return {std::move(name), view};
  }
  return {};
}

Result<std::vector<float>> read_vector(const NamedView& tensor, std::int64_t experts) {
  if (tensor.view == nullptr) return std::vector<float>();
  if (tensor.view->elements() != experts) {
    return fail(ErrorCode::mismatch,
                fmt::format("{} has shape [{}], not one value for each of {} experts", tensor.name,
                            fmt::join(tensor.view->shape, ", "), experts),
                "export or download the checkpoint again");
  }
  return read_values(tensor.name, *tensor.view);
}

}  // namespace

Result<Router> Checkpoint::load_router(int layer) const {
  TILEWRIGHT_ASSIGN(const LayerIndex* index, contents_->find_layer(layer));
  const TensorFiles& files = contents_->files;
  const std::string prefix = block_prefix(*index);
  const NamedView weight = find_first(files, prefix, {"gate.weight", "router.weight", "router.proj.weight"});
  if (weight.view == nullptr) {
    return fail(ErrorCode::not_found, fmt::format("layer {} has no router weight at {}gate.weight", layer, prefix),
                "give router logits, or expert ids and weights");
  }
  if (weight.view->shape.size() != 2 || weight.view->elements() == 0) {
    return fail(
        ErrorCode::mismatch,
        fmt::format("{} has shape [{}], not [experts, hidden]", weight.name, fmt::join(weight.view->shape, ", ")),
        "export or download the checkpoint again");
  }
  Router router;
  const std::int64_t experts = weight.view->shape[0];
  router.hidden = weight.view->shape[1];
  TILEWRIGHT_ASSIGN(router.weight, read_values(weight.name, *weight.view));
  const NamedView selection = find_first(
      files, prefix, {"gate.e_score_correction_bias", "e_score_correction_bias", "gate.bias", "router_bias"});
  TILEWRIGHT_ASSIGN(router.selection_bias, read_vector(selection, experts));
  TILEWRIGHT_ASSIGN(router.logit_bias, read_vector(find_first(files, prefix, {"router.bias"}), experts));  // gpt-oss
  return router;
}

}  // namespace tilewright
