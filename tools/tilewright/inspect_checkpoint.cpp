// tilewright inspect on a checkpoint: what its experts look like, and what is odd about them.
#include "tools/tilewright/inspect_checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tilewright/checkpoint.hpp"
#include "tilewright/checkpoint_report.hpp"
#include "tools/tilewright/number_list.hpp"
#include "tools/tilewright/progress.hpp"

namespace tilewright::cli {
namespace {

constexpr std::size_t kFindingsShown = 20;  // of a layer; json has all of them

std::string percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? "-" : fmt::format("{:.2f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string spread_text(const ScaleSpread& spread) {
  if (spread.count == 0) return "none";
  return fmt::format("{} of them, {:.3g} to {:.3g}, median {:.3g}", spread.count, spread.min, spread.max,
                     spread.median);
}

std::string bin_name(const ScaleBin& bin) {
  return bin.high == 0.0F ? "0" : fmt::format("[{:g}, {:g})", bin.low, bin.high);
}

Facts layer_facts(const LayerReport& layer) {
  Facts facts{
      fmt::format("Layer {}", layer.layer),
      {{"format", fmt::format("{}, {}, {}", layer.format, to_string(layer.dialect), layer.layout)},
       {"experts", fmt::format("{} {}, hidden {}, inner {}", layer.experts, layer.gated ? "gated" : "not gated",
                               layer.hidden, layer.intermediate)},
       {"bytes", fmt::format("{} of codes, {} of block scales", readable_bytes(static_cast<double>(layer.code_bytes)),
                             readable_bytes(static_cast<double>(layer.scale_bytes)))},
       {"block scales",
        fmt::format("largest {:g}, {} zero, {} at 448", layer.largest_scale,
                    percent(layer.zero_scales, layer.scale_bytes), percent(layer.max_scales, layer.scale_bytes))},
       {"zero codes", percent(layer.zero_codes, layer.weights)},
       {"global scales", spread_text(layer.global_scales)},
       {"input scales", spread_text(layer.input_scales)}}};
  if (layer.gate_up.pairs > 0) {
    facts.values.emplace_back(
        "gate and up", layer.gate_up.mismatched == 0
                           ? fmt::format("{} pairs share their global scale", layer.gate_up.pairs)
                           : fmt::format("{} of {} pairs have different global scales, by up to {:.4g} times",
                                         layer.gate_up.mismatched, layer.gate_up.pairs, layer.gate_up.max_ratio));
  }
  if (layer.error) facts.values.emplace_back("REFUSED", layer.error->message());
  return facts;
}

Table histogram_table(const LayerReport& layer) {
  Table table{"Block scales by size", {{"scale", true}, {"blocks", true}, {"share", true}, {""}}, {}};
  std::int64_t most = 1;
  for (const ScaleBin& bin : layer.scale_histogram) most = std::max(most, bin.count);
  // From the first bin that is not empty to the last one.
  const auto filled = [](const ScaleBin& bin) { return bin.count > 0; };
  const auto& bins = layer.scale_histogram;
  const auto first = std::find_if(bins.begin(), bins.end(), filled);
  const auto last = std::find_if(bins.rbegin(), bins.rend(), filled).base();
  for (auto it = first; it < last; ++it) {
    const ScaleBin& bin = *it;
    const auto length = static_cast<std::size_t>((40 * bin.count + most - 1) / most);
    table.rows.push_back(
        {bin_name(bin), fmt::to_string(bin.count), percent(bin.count, layer.scale_bytes), std::string(length, '#')});
  }
  return table;
}

Text findings_text(const LayerReport& layer) {
  if (layer.findings.empty()) return {"Nothing suspicious."};
  std::string lines = fmt::format("{} finding{}:", layer.findings.size(), layer.findings.size() == 1 ? "" : "s");
  for (std::size_t i = 0; i < std::min(layer.findings.size(), kFindingsShown); ++i) {
    lines += fmt::format("\n  {}: {}", layer.findings[i].code, layer.findings[i].message);
  }
  if (layer.findings.size() > kFindingsShown) {
    lines += fmt::format("\n  and {} more; --format json lists all", layer.findings.size() - kFindingsShown);
  }
  return {lines};
}

Json spread_json(const ScaleSpread& spread) {
  return {{"count", spread.count}, {"min", spread.min}, {"median", spread.median}, {"max", spread.max}};
}

Json findings_json(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) list.push_back({{"code", finding.code}, {"message", finding.message}});
  return list;
}

Json error_json(const std::optional<Error>& error) {
  if (!error) return nullptr;
  return {{"code", to_string(error->code)}, {"message", error->message()}};
}

Json histogram_json(const LayerReport& layer) {
  Json bins = Json::array();
  for (const ScaleBin& bin : layer.scale_histogram) {
    bins.push_back({{"low", bin.low}, {"high", bin.high}, {"count", bin.count}});
  }
  return bins;
}

Json layer_json(const LayerReport& layer) {
  return {{"layer", layer.layer},
          {"error", error_json(layer.error)},
          {"format", layer.format},
          {"dialect", to_string(layer.dialect)},
          {"layout", layer.layout},
          {"experts", layer.experts},
          {"hidden", layer.hidden},
          {"intermediate", layer.intermediate},
          {"gated", layer.gated},
          {"matrices", layer.matrices},
          {"weights", layer.weights},
          {"code_bytes", layer.code_bytes},
          {"scale_bytes", layer.scale_bytes},
          {"scale_histogram", histogram_json(layer)},
          {"largest_scale", layer.largest_scale},
          {"zero_scales", layer.zero_scales},
          {"negative_zero_scales", layer.negative_zero_scales},
          {"max_scales", layer.max_scales},
          {"nan_scales", layer.nan_scales},
          {"sign_bit_scales", layer.sign_bit_scales},
          {"zero_codes", layer.zero_codes},
          {"negative_zero_codes", layer.negative_zero_codes},
          {"zero_scales_with_codes", layer.zero_scales_with_codes},
          {"global_scales", spread_json(layer.global_scales)},
          {"global_scale_outliers", layer.global_scale_outliers},
          {"gate_up",
           {{"pairs", layer.gate_up.pairs},
            {"mismatched", layer.gate_up.mismatched},
            {"median_ratio", layer.gate_up.median_ratio},
            {"max_ratio", layer.gate_up.max_ratio}}},
          {"input_scales", spread_json(layer.input_scales)},
          {"missing_input_scales", layer.missing_input_scales},
          {"findings", findings_json(layer.findings)}};
}

Json model_json(const Result<ModelFacts>& model) {
  if (!model) return {{"error", model.error().message()}};
  return {{"name", model->name},
          {"hidden", model->hidden},
          {"intermediate", model->intermediate},
          {"experts", model->experts},
          {"top_k", model->routing.top_k},
          {"scoring", to_string(model->routing.scoring)},
          {"activation", to_string(model->activation.kind)},
          {"format", to_string(model->format)}};
}

Facts checkpoint_facts(const std::string& path, const Checkpoint& checkpoint, std::size_t layers) {
  const Result<ModelFacts>& model = checkpoint.model();
  return {"",
          {{"checkpoint", path},
           {"files",
            fmt::format("{} with {} tensors", checkpoint.files().paths().size(), checkpoint.files().tensors().size())},
           {"model",
            model ? fmt::format("{}: {} experts, top-{}, {}, {}", model->name, model->experts, model->routing.top_k,
                                to_string(model->routing.scoring), to_string(model->activation.kind))
                  : model.error().message()},
           {"expert layers", fmt::to_string(layers)}}};
}

// The layers to report: those asked for, or every one with experts.
Result<std::vector<int>> chosen_layers(const CheckpointOptions& options, const Checkpoint& checkpoint) {
  const std::vector<int> all = expert_layers(checkpoint);
  if (options.layers.empty()) {
    if (!all.empty()) return all;
    return fail(ErrorCode::not_found, fmt::format("'{}' holds no tensors of routed experts", options.path),
                "inspect reads names like model.layers.0.mlp.experts.0.gate_proj.weight");
  }
  TILEWRIGHT_ASSIGN(auto layers, parse_number_list(options.layers, "--layers", 0));
  for (const int layer : layers) {
    if (std::find(all.begin(), all.end(), layer) != all.end()) continue;
    return fail(ErrorCode::not_found, fmt::format("layer {} of '{}' has no routed experts", layer, options.path),
                all.empty() ? "" : fmt::format("layers {} to {} have", all.front(), all.back()));
  }
  return layers;
}

}  // namespace

Result<Outcome> inspect_checkpoint(const CheckpointOptions& options) {
  TILEWRIGHT_ASSIGN(const Checkpoint checkpoint, Checkpoint::open(options.path));
  TILEWRIGHT_ASSIGN(const std::vector<int> layers, chosen_layers(options, checkpoint));
  Report report("inspect");
  report.json["path"] = options.path;
  report.json["files"] = checkpoint.files().paths().size();
  report.json["tensors"] = checkpoint.files().tensors().size();
  report.json["model"] = model_json(checkpoint.model());
  report.json["layers"] = Json::array();
  report.sections.emplace_back(checkpoint_facts(options.path, checkpoint, layers.size()));
  bool refused = false;
  Progress progress;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    progress.show(fmt::format("layer {} ({} of {})", layers[i], i + 1, layers.size()));
    TILEWRIGHT_ASSIGN(const LayerReport layer, report_layer(checkpoint, layers[i]));
    report.json["layers"].push_back(layer_json(layer));
    report.sections.emplace_back(layer_facts(layer));
    if (!layer.scale_histogram.empty()) report.sections.emplace_back(histogram_table(layer));
    report.sections.emplace_back(findings_text(layer));
    refused = refused || layer.error.has_value();
  }
  progress.clear();
  return Outcome{render(report, options.format), refused ? Exit::failed : Exit::ok};
}

}  // namespace tilewright::cli
