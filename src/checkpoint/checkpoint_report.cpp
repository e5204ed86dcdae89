#include "tilewright/checkpoint_report.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "checkpoint/checkpoint_contents.hpp"
#include "checkpoint/expert_matrix.hpp"
#include "checkpoint/matrix_statistics.hpp"
#include "tilewright/nvfp4.hpp"

namespace tilewright {
namespace {

constexpr float kOutlierRatio = 16.0F;
constexpr double kSaturatedShare = 0.01;   // a sound matrix has one block at 448, the one with its largest weight
constexpr std::size_t kRefusalsShown = 8;  // of one layer: a file that is broken throughout would list thousands

constexpr std::uint8_t kNegativeZeroScale = 0x80;
constexpr std::uint8_t kMaxScale = 0x7E;

/// 0, the subnormals, then the binades of ue4m3.
std::vector<ScaleBin> histogram_of(const std::array<std::int64_t, 256>& scales) {
  std::vector<ScaleBin> bins = {{0.0F, 0.0F, scales[0] + scales[kNegativeZeroScale]}, {0x1p-9F, 0x1p-6F, 0}};
  for (std::uint8_t byte = 1; byte < 8; ++byte) bins[1].count += scales[byte];
  for (unsigned exponent = 1; exponent < 16; ++exponent) {
    const float low = std::ldexp(1.0F, static_cast<int>(exponent) - 7);
    ScaleBin bin{low, 2.0F * low, 0};
    for (unsigned byte = 8 * exponent; byte < 8 * exponent + 8 && byte < kUe4m3Nan; ++byte) bin.count += scales[byte];
    bins.push_back(bin);
  }
  return bins;
}

ScaleSpread spread_of(std::vector<float> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {static_cast<std::int64_t>(values.size()), values.front(), values[values.size() / 2], values.back()};
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 1.0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::string layout_of(const LayerTensors& layer) {
  const ExpertTensors& first = layer.of(0);
  std::string layout = layer.stacked ? "stacked" : "one tensor a matrix";
  if (first.gate_up.present()) layout += ", gate and up fused";
  return layout;
}

void set_format(const LayerIndex& index, LayerReport& report) {
  const ExpertTensor* const end = index.tensors.data() + index.tensors.size();
  for (const ExpertTensor* first = index.tensors.data(); first != end; ++first) {
    if (first->projection == Projection::unknown) continue;
    const ExpertTensor* last = first;
    while (last != end && last->expert == first->expert && last->projection == first->projection) ++last;
    report.format = to_string(storage_format(first, last));
    return;
  }
}

/// Reads the experts of a layer one after the other and fills a report.
class LayerSurveyor {
 public:
  LayerSurveyor(const CheckpointContents& contents, const LayerTensors& layer, LayerReport& report)
      : contents_(contents), layer_(layer), report_(report) {}

  void survey() {
    for (int expert = 0; expert < layer_.experts; ++expert) survey_expert(expert);
    summarize();
  }

 private:
  struct Global {
    MatrixPlace place;
    float scale;
  };

  void survey_expert(int expert) {
    const auto down = survey_matrix(expert, Projection::down);
    const auto up = survey_matrix(expert, Projection::up);
    if (down && report_.hidden == 0) {
      report_.hidden = down->rows;
      report_.intermediate = down->cols;
    }
    if (!layer_.gated) return;
    const auto gate = survey_matrix(expert, Projection::gate);
    if (!gate || !up) return;
    ++report_.gate_up.pairs;
    if (gate->global_scale == up->global_scale) return;
    const auto [smaller, larger] = std::minmax(gate->global_scale, up->global_scale);
    ratios_.push_back(static_cast<double>(larger) / static_cast<double>(smaller));
  }

  std::optional<Nvfp4Matrix> survey_matrix(int expert, Projection projection) {
    const MatrixPlace place = place_of(layer_, contents_.interleaved_gate_up, expert, projection);
    const auto matrix = view_matrix(place, layer_.of(expert), nullptr);
    const auto input = read_input_scale(place, layer_.of(expert));
    if (!matrix) refuse(matrix.error());
    if (!input) refuse(input.error());
    if (!matrix) return std::nullopt;
    count_matrix(*matrix, statistics_);
    release_matrix(contents_.files, *matrix);
    ++report_.matrices;
    globals_.push_back({place, matrix->global_scale});
    if (input && *input) inputs_.push_back(**input);
    report_.missing_input_scales += input && !*input ? 1 : 0;
    return *matrix;
  }

  void refuse(const Error& error) {
    if (++refusals_ <= kRefusalsShown) report_.findings.push_back({"matrix_refused", error.message()});
  }

  void summarize() {
    summarize_scales();
    summarize_globals();
    report_.input_scales = spread_of(inputs_);
    report_.gate_up.mismatched = static_cast<std::int64_t>(ratios_.size());
    report_.gate_up.median_ratio = median_of(ratios_);
    if (!ratios_.empty()) report_.gate_up.max_ratio = *std::max_element(ratios_.begin(), ratios_.end());
    if (refusals_ > kRefusalsShown) {
      find("matrix_refused", fmt::format("{} more tensors are refused", refusals_ - kRefusalsShown));
    }
  }

  void summarize_scales() {
    const auto& scales = statistics_.scales;
    report_.weights = statistics_.weights;
    report_.code_bytes = statistics_.weights / 2;
    report_.scale_bytes = statistics_.weights / kBlock;
    report_.scale_histogram = histogram_of(scales);
    for (unsigned byte = 0; byte < kUe4m3Nan; ++byte) {
      if (scales[byte] > 0) report_.largest_scale = decode_ue4m3(static_cast<std::uint8_t>(byte));
    }
    report_.zero_scales = scales[0] + scales[kNegativeZeroScale];
    report_.negative_zero_scales = scales[kNegativeZeroScale];
    report_.max_scales = scales[kMaxScale];
    report_.nan_scales = scales[kUe4m3Nan];
    report_.sign_bit_scales = std::accumulate(scales.begin() + kNegativeZeroScale + 1, scales.end(), std::int64_t{0});
    report_.zero_codes = statistics_.zero_codes;
    report_.negative_zero_codes = statistics_.negative_zero_codes;
    report_.zero_scales_with_codes = statistics_.zero_scales_with_codes;
    find_count("nan_scale", report_.nan_scales, "are 0x7F, a NaN");
    find_count("sign_bit_scale", report_.sign_bit_scales, "have their sign bit set, which NVFP4 does not have");
    find_count("zero_scale_with_codes", report_.zero_scales_with_codes,
               "are 0 over codes that are not: those weights were lost");
    const bool saturated =
        static_cast<double>(report_.max_scales) > kSaturatedShare * static_cast<double>(report_.scale_bytes);
    if (saturated && report_.max_scales > report_.matrices) {
      find_count("saturated_scales", report_.max_scales, "are 448, the largest: the global scales may be too small");
    }
  }

  void summarize_globals() {
    std::vector<float> all;
    for (const Projection projection : {Projection::gate, Projection::up, Projection::down}) {
      std::vector<float> own;
      for (const Global& global : globals_) {
        if (global.place.projection == projection) own.push_back(global.scale);
      }
      const float median = spread_of(own).median;
      const Global* first = nullptr;
      for (const Global& global : globals_) {
        if (global.place.projection != projection) continue;
        if (global.scale <= median * kOutlierRatio && global.scale * kOutlierRatio >= median) continue;
        ++report_.global_scale_outliers;
        if (first == nullptr) first = &global;
      }
      if (first != nullptr) {
        report_.findings.push_back(
            {"global_scale_outlier", fmt::format("{}: global scale {:.6g} is more than {:g} times away from the median "
                                                 "{:.6g} of its projection",
                                                 first->place.text(), first->scale, kOutlierRatio, median)});
      }
      all.insert(all.end(), own.begin(), own.end());
    }
    report_.global_scales = spread_of(all);
  }

  void find(const char* code, const std::string& text) {
    report_.findings.push_back({code, fmt::format("layer {}: {}", report_.layer, text)});
  }

  void find_count(const char* code, std::int64_t count, const char* what) {
    if (count > 0) find(code, fmt::format("{} of {} block scales {}", count, report_.scale_bytes, what));
  }

  const CheckpointContents& contents_;
  const LayerTensors& layer_;
  LayerReport& report_;
  MatrixStatistics statistics_;
  std::vector<Global> globals_;
  std::vector<float> inputs_;
  std::vector<double> ratios_;
  std::size_t refusals_ = 0;
};

}  // namespace

std::vector<int> expert_layers(const Checkpoint& checkpoint) {
  std::vector<int> layers;
  for (const LayerIndex& index : checkpoint.contents_->index) layers.push_back(index.layer);
  return layers;
}

Result<LayerReport> report_layer(const Checkpoint& checkpoint, int layer) {
  const CheckpointContents& contents = *checkpoint.contents_;
  TILEWRIGHT_ASSIGN(const LayerIndex* index, contents.find_layer(layer));
  LayerReport report;
  report.layer = layer;
  set_format(*index, report);
  std::vector<Finding> findings;
  const auto loaded = checkpoint.load_layer(layer, {}, &findings);
  if (!loaded) report.error = loaded.error();
  if (loaded) report.findings = std::move(findings);
  const auto tensors = gather_checked_layer(contents, layer, nullptr);
  if (!tensors) return report;
  report.dialect = tensors->of(0).down.dialect();
  report.layout = layout_of(*tensors);
  report.experts = tensors->experts;
  report.gated = tensors->gated;
  LayerSurveyor(contents, *tensors, report).survey();
  return report;
}

}  // namespace tilewright
