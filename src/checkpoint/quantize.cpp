#include "tilewright/quantize.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "checkpoint/checkpoint_writer.hpp"
#include "checkpoint/config_json.hpp"
#include "checkpoint/matrix_quantizer.hpp"
#include "checkpoint/model_config.hpp"
#include "checkpoint/parallel.hpp"
#include "checkpoint/plain_experts.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

/// The largest magnitude of a matrix; an element that is not finite is an error that names it.
Result<float> find_amax(const PlainMatrix& matrix) {
  std::vector<float> row(static_cast<std::size_t>(matrix.cols));
  float amax = 0.0F;
  for (std::int64_t r = 0; r < matrix.rows; ++r) {
    matrix.read_row(r, row);
    std::int64_t bad = -1;
    amax = std::max(amax, largest_magnitude(row, bad));
    if (bad < 0) continue;
    return fail(ErrorCode::corrupt,
                fmt::format("{}: element {} is {}, not a finite number", *matrix.tensor, matrix.element(r, bad),
                            row[static_cast<std::size_t>(bad)]),
                "give trained weights without NaN or infinity");
  }
  return amax;
}

class CheckpointQuantizer {
 public:
  CheckpointQuantizer(const TensorFiles& files, std::vector<PlainMatrix> matrices, const QuantizeOptions& options)
      : files_(files), matrices_(std::move(matrices)), options_(options), amax_(matrices_.size(), -1.0F) {
    for (const PlainMatrix& matrix : matrices_) quantized_.insert(matrix.tensor);
    report_.matrices.resize(matrices_.size());
  }

  Status write(const PendingDirectory& directory) {
    const auto shards = static_cast<int>(files_.paths().size());
    for (int shard = 0; shard < shards; ++shard) TILEWRIGHT_TRY(write_shard(directory, shard));
    if (shards == 1) return {};
    return directory.write_text("model.safetensors.index.json", index_text(tensor_files_, report_.bytes_out));
  }

  /// Modules that stay as they are, for the config: matrices beside the experts.
  [[nodiscard]] Modules unquantized() const {
    const std::string suffix = ".weight";
    Modules modules;
    for (const auto& [name, view] : files_.tensors()) {
      const bool weight =
          name.size() > suffix.size() && name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
      if (weight && view.shape.size() == 2 && quantized_.count(&name) == 0) {
        modules.push_back(name.substr(0, name.size() - suffix.size()));
      }
    }
    return modules;
  }

  [[nodiscard]] QuantizeReport take_report() { return std::move(report_); }

 private:
  Status write_shard(const PendingDirectory& directory, int shard) {
    std::vector<int> own;
    for (std::size_t i = 0; i < matrices_.size(); ++i) {
      if (matrices_[i].view->file == shard) own.push_back(static_cast<int>(i));
    }
    TILEWRIGHT_TRY(find_amaxes(own));
    std::vector<EncodedMatrix> encoded(own.size());
    TILEWRIGHT_TRY(for_each_parallel(static_cast<int>(own.size()), [&](int i) -> Status {
      const auto at = static_cast<std::size_t>(i);
      encoded[at] = encode(own[at]);
      return {};
    }));
    std::vector<TensorData> tensors;
    for (const EncodedMatrix& matrix : encoded) append_tensors(matrix, options_, tensors);
    append_others(shard, tensors);
    const std::string name = files_.paths().size() == 1
                                 ? "model.safetensors"
                                 : fs::path(files_.paths()[static_cast<std::size_t>(shard)]).filename().string();
    for (const TensorData& tensor : tensors) {
      tensor_files_.emplace_back(tensor.name, name);
      report_.bytes_out += static_cast<std::int64_t>(tensor.bytes.size());
    }
    return write_safetensors(directory.file(name), tensors, {{"format", "pt"}});
  }

  /// Of the matrices and, where gate and up share a scale, of their partners in other shards.
  Status find_amaxes(const std::vector<int>& own) {
    std::set<int> wanted;
    for (const int index : own) {
      wanted.insert(index);
      const int partner = matrices_[static_cast<std::size_t>(index)].partner;
      if (options_.share_gate_up_scale && partner >= 0) wanted.insert(partner);
    }
    std::vector<int> todo;
    for (const int index : wanted) {
      if (amax_[static_cast<std::size_t>(index)] < 0.0F) todo.push_back(index);
    }
    return for_each_parallel(static_cast<int>(todo.size()), [&](int i) -> Status {
      const auto index = static_cast<std::size_t>(todo[static_cast<std::size_t>(i)]);
      TILEWRIGHT_ASSIGN(amax_[index], find_amax(matrices_[index]));
      return {};
    });
  }

  EncodedMatrix encode(int index) {
    const auto at = static_cast<std::size_t>(index);
    const PlainMatrix& matrix = matrices_[at];
    float amax = amax_[at];
    if (options_.share_gate_up_scale && matrix.partner >= 0) {
      amax = std::max(amax, amax_[static_cast<std::size_t>(matrix.partner)]);
    }
    EncodedMatrix encoded;
    encoded.module = matrix.module;
    encoded.rows = matrix.rows;
    encoded.cols = matrix.cols;
    encoded.codes.resize(static_cast<std::size_t>(matrix.rows * matrix.cols / 2));
    encoded.scales.resize(static_cast<std::size_t>(matrix.rows * matrix.cols / kBlock));
    encoded.stored_global_scale = stored_scale(global_scale_for(amax, options_.selection), options_.dialect);
    encoded.stored_input_scale = stored_scale(options_.input_scale.value_or(1.0F), options_.dialect);
    // Quantized with what a reader will multiply by, which a stored reciprocal rounds.
    MatrixQuantizer quantizer(stored_scale(encoded.stored_global_scale, options_.dialect), matrix.cols,
                              options_.selection);
    std::vector<float> row(static_cast<std::size_t>(matrix.cols));
    for (std::int64_t r = 0; r < matrix.rows; ++r) {
      matrix.read_row(r, row);
      quantizer.add_row(row, encoded.codes.data() + r * matrix.cols / 2,
                        encoded.scales.data() + r * matrix.cols / kBlock);
    }
    report_.matrices[at] = quantizer.account();
    report_.matrices[at].name = matrix.module;
    const auto bytes = matrix.col_stride == 1 && matrix.row_stride == matrix.cols
                           ? matrix.view->bytes.subspan(
                                 static_cast<std::size_t>(matrix.first * size_of(matrix.view->dtype)),
                                 static_cast<std::size_t>(matrix.rows * matrix.cols * size_of(matrix.view->dtype)))
                           : std::span<const std::uint8_t>();
    files_.release(bytes);
    return encoded;
  }

  void append_others(int shard, std::vector<TensorData>& tensors) {
    for (const auto& [name, view] : files_.tensors()) {
      if (view.file != shard) continue;
      report_.bytes_in += static_cast<std::int64_t>(view.bytes.size());
      if (quantized_.count(&name) != 0) continue;
      tensors.push_back({name, view.dtype, view.shape, view.bytes});
      ++report_.passed_through;
    }
  }

  const TensorFiles& files_;
  std::vector<PlainMatrix> matrices_;
  QuantizeOptions options_;
  std::vector<float> amax_;  ///< of each matrix; -1 until it was read
  std::set<const std::string*> quantized_;
  std::vector<std::pair<std::string, std::string>> tensor_files_;
  QuantizeReport report_;
};

/// config.json with its quantization_config replaced, and ModelOpt's own file.
Status write_configs(const PendingDirectory& directory, const fs::path& source_config, const QuantizeOptions& options,
                     const Modules& unquantized) {
  std::error_code error;
  if (fs::exists(source_config, error)) {
    TILEWRIGHT_ASSIGN(const std::string text, read_text_file(source_config.string()));
    TILEWRIGHT_ASSIGN(nlohmann::json config, parse_json_object(text, source_config.string()));
    config["quantization_config"] = quantization_config(options, unquantized);
    TILEWRIGHT_TRY(directory.write_text("config.json", config.dump(2) + "\n"));
  }
  if (options.dialect != Dialect::modelopt) return {};
  return directory.write_text("hf_quant_config.json", hf_quant_config(options, unquantized));
}

Status check_options(const QuantizeOptions& options) {
  if (!options.input_scale || (*options.input_scale > 0.0F && *options.input_scale < 1e30F)) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("input scale {} is not a finite value above 0", *options.input_scale),
              "give amax / 2688 of the activations, or none for dynamic quantization");
}

}  // namespace

Result<QuantizeReport> quantize_checkpoint(const std::string& source, const std::string& destination,
                                           const QuantizeOptions& options) {
  TILEWRIGHT_TRY(check_options(options));
  TILEWRIGHT_ASSIGN(const TensorFiles files, TensorFiles::open(source));
  std::error_code error;
  const fs::path config =
      (fs::is_directory(source, error) ? fs::path(source) : fs::path(source).parent_path()) / "config.json";
  const auto facts = read_config_facts(config.string());
  const std::vector<LayerIndex> index = index_experts(files, facts ? facts->model.total_layers : 0);
  TILEWRIGHT_ASSIGN(std::vector<PlainMatrix> matrices, find_plain_experts(index, facts && facts->interleaved_gate_up));
  TILEWRIGHT_ASSIGN(PendingDirectory directory, PendingDirectory::create(destination));
  CheckpointQuantizer quantizer(files, std::move(matrices), options);
  TILEWRIGHT_TRY(quantizer.write(directory));
  TILEWRIGHT_TRY(write_configs(directory, config, options, quantizer.unquantized()));
  TILEWRIGHT_TRY(directory.commit());
  return quantizer.take_report();
}

}  // namespace tilewright
