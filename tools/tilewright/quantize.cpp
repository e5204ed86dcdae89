// tilewright quantize: NVFP4 checkpoints, from trained experts or of a model's shape.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "tilewright/quantize.hpp"
#include "tools/tilewright/problem_options.hpp"
#include "tools/tilewright/verb.hpp"

namespace tilewright::cli {
namespace {

struct Options {
  std::string source;
  std::string synthetic;
  int layers = 1;
  std::uint64_t seed = 1;
  std::string output;
  std::string scales = "amax";
  std::string dialect = "modelopt";
  bool separate_gate_up = false;
  double input_scale = 0.0;
  Format format = Format::text;
};

constexpr const char* kExamples =
    "  tilewright quantize path/to/bf16-model --output path/to/nvfp4-model\n"
    "  tilewright quantize experts.safetensors --output nvfp4 --scales four_over_six --format json\n"
    "  tilewright quantize --synthetic qwen3-30b-a3b --layers 1 --output demo/qwen3-30b-a3b-nvfp4";

Result<QuantizeOptions> quantize_options(const Options& options) {
  QuantizeOptions result;
  if (options.scales == "four_over_six") {
    result.selection = ScaleSelection::four_over_six;
  } else if (options.scales != "amax") {
    return fail(ErrorCode::invalid_argument, fmt::format("--scales: unknown selection '{}'", options.scales),
                "use amax or four_over_six");
  }
  if (options.dialect == to_string(Dialect::compressed_tensors)) {
    result.dialect = Dialect::compressed_tensors;
  } else if (options.dialect != to_string(Dialect::modelopt)) {
    return fail(ErrorCode::invalid_argument, fmt::format("--dialect: unknown dialect '{}'", options.dialect),
                "use modelopt or compressed-tensors");
  }
  result.share_gate_up_scale = !options.separate_gate_up;
  if (options.input_scale < 0.0 || !std::isfinite(options.input_scale)) {
    return fail(ErrorCode::invalid_argument, fmt::format("--input-scale: {} is not positive", options.input_scale),
                "leave it out for dynamic activation scales");
  }
  if (options.input_scale > 0.0) result.input_scale = static_cast<float>(options.input_scale);
  return result;
}

Result<QuantizeReport> quantize(const Options& options) {
  if (options.output.empty()) {
    return fail(ErrorCode::invalid_argument, "--output is missing", "name a new folder, e.g. --output nvfp4-model");
  }
  if (options.source.empty() == options.synthetic.empty()) {
    return fail(ErrorCode::invalid_argument,
                options.source.empty() ? "there is nothing to quantize" : "a source and --synthetic are both given",
                "give a folder or a .safetensors file, or --synthetic MODEL");
  }
  TILEWRIGHT_ASSIGN(const QuantizeOptions how, quantize_options(options));
  if (!options.source.empty()) return quantize_checkpoint(options.source, options.output, how);
  if (options.layers < 1) {
    return fail(ErrorCode::invalid_argument, fmt::format("--layers: {} is outside 1..", options.layers));
  }
  TILEWRIGHT_ASSIGN(const ModelFacts facts, model_named(options.synthetic));
  return write_synthetic_checkpoint(options.output, facts, options.layers, options.seed, how);
}

Json matrices_json(const QuantizeReport& quantized) {
  Json list = Json::array();
  for (const MatrixQuantization& matrix : quantized.matrices) {
    list.push_back({{"name", matrix.name},
                    {"rows", matrix.rows},
                    {"cols", matrix.cols},
                    {"amax", matrix.amax},
                    {"global_scale", matrix.global_scale},
                    {"snr_db", rounded(matrix.snr_db())},
                    {"max_error", rounded(matrix.max_error)},
                    {"zero_blocks", matrix.zero_blocks}});
  }
  return list;
}

const MatrixQuantization& worst_of(const std::vector<MatrixQuantization>& matrices) {
  return *std::min_element(matrices.begin(), matrices.end(),
                           [](const auto& a, const auto& b) { return a.snr_db() < b.snr_db(); });
}

Facts summary(const Options& options, const QuantizeReport& quantized) {
  Facts facts{"",
              {{"written", options.output},
               {"format", fmt::format("NVFP4, {}, scales by {}", options.dialect, options.scales)},
               {"matrices", fmt::to_string(quantized.matrices.size())},
               {"other tensors", fmt::format("{}, as they were", quantized.passed_through)},
               {"bytes", fmt::format("{} in, {} out", readable_bytes(static_cast<double>(quantized.bytes_in)),
                                     readable_bytes(static_cast<double>(quantized.bytes_out)))}}};
  if (!quantized.matrices.empty()) {
    const MatrixQuantization& worst = worst_of(quantized.matrices);
    facts.values.emplace_back("signal to noise", fmt::format("{:.2f} dB over all, {:.2f} dB in the worst ({})",
                                                             quantized.snr_db(), worst.snr_db(), worst.name));
  }
  return facts;
}

Result<Outcome> run(const Options& options) {
  TILEWRIGHT_ASSIGN(const QuantizeReport quantized, quantize(options));
  Report report("quantize");
  report.json["output"] = options.output;
  report.json["dialect"] = options.dialect;
  report.json["scales"] = options.scales;
  report.json["snr_db"] = rounded(quantized.snr_db());
  report.json["bytes_in"] = quantized.bytes_in;
  report.json["bytes_out"] = quantized.bytes_out;
  report.json["passed_through"] = quantized.passed_through;
  report.json["matrices"] = matrices_json(quantized);
  report.sections.emplace_back(summary(options, quantized));
  return Outcome{render(report, options.format)};
}

}  // namespace

Verb add_quantize(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      declare_verb(app, "quantize", "Write an NVFP4 checkpoint from expert weights in bf16, fp16 or fp32", kExamples,
                   options->format);
  command->add_option("source", options->source, "A .safetensors file or a checkpoint folder");
  command->add_option("--output", options->output, "The new folder to write")->option_text("DIR");
  command->add_option("--scales", options->scales, "How a block scale is chosen: amax (default) or four_over_six")
      ->option_text("HOW");
  command->add_option("--dialect", options->dialect, "Names and conventions: modelopt (default) or compressed-tensors")
      ->option_text("NAME");
  command->add_flag("--separate-gate-up", options->separate_gate_up,
                    "Give gate and up a global scale each (default: one for both)");
  command
      ->add_option("--input-scale", options->input_scale,
                   "Activation scale (amax / 2688) to write for every matrix (default: none)")
      ->option_text("S");
  const std::string group = "Random weights of a model's shape";
  command
      ->add_option("--synthetic", options->synthetic,
                   "A known model, a config.json, or a checkpoint folder, instead of a source")
      ->option_text("MODEL")
      ->group(group);
  command->add_option("--layers", options->layers, "Expert layers to write (default 1)")
      ->option_text("N")
      ->group(group);
  command->add_option("--seed", options->seed, "Seed of the weights (default 1)")->option_text("N")->group(group);
  return {command, [options] { return run(*options); }};
}

}  // namespace tilewright::cli
