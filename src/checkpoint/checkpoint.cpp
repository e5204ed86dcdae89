#include "tilewright/checkpoint.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "checkpoint/checkpoint_contents.hpp"
#include "checkpoint/model_config.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

std::string config_beside(const std::string& path) {
  std::error_code error;
  const fs::path directory = fs::is_directory(path, error) ? fs::path(path) : fs::path(path).parent_path();
  return (directory / "config.json").string();
}

/// "3 to 77" or "0".
std::string shown_layers(const std::vector<LayerIndex>& index) {
  if (index.empty()) return "none";
  if (index.size() == 1) return fmt::format("layer {}", index.front().layer);
  return fmt::format("{} layers from {} to {}", index.size(), index.front().layer, index.back().layer);
}

}  // namespace

const char* to_string(Dialect dialect) { return dialect == Dialect::modelopt ? "modelopt" : "compressed-tensors"; }

Result<Checkpoint> Checkpoint::open(const std::string& path) {
  const auto contents = std::make_shared<CheckpointContents>();
  contents->path = path;
  TILEWRIGHT_ASSIGN(contents->files, TensorFiles::open(path));
  const auto facts = read_config_facts(config_beside(path));
  int main_layers = 0;
  if (facts) {
    contents->model = facts->model;
    contents->interleaved_gate_up = facts->interleaved_gate_up;
    main_layers = facts->model.total_layers;
  } else {
    contents->model = tl::unexpected<Error>(facts.error());
  }
  contents->index = index_experts(contents->files, main_layers);
  for (const LayerIndex& layer : contents->index) {
    if (has_nvfp4(layer)) contents->nvfp4_layers.push_back(layer.layer);
  }
  return Checkpoint(contents);
}

const TensorFiles& Checkpoint::files() const { return contents_->files; }
const std::vector<int>& Checkpoint::layers() const { return contents_->nvfp4_layers; }
const Result<ModelFacts>& Checkpoint::model() const { return contents_->model; }

Result<const LayerIndex*> CheckpointContents::find_layer(int layer) const {
  for (const LayerIndex& entry : index) {
    if (entry.layer == layer) return &entry;
  }
  return fail(
      ErrorCode::not_found,
      fmt::format("layer {} of {} has no routed experts; with experts are {}", layer, path, shown_layers(index)),
      "choose one of those layers");
}

}  // namespace tilewright
