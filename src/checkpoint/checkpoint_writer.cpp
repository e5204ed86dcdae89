#include "checkpoint/checkpoint_writer.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "core/system_error.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// The exporter's name in the files that it writes, as ModelOpt and llm-compressor put theirs.
const Json kProducer = {{"name", "tilewright"}, {"version", TILEWRIGHT_VERSION}};

// Without static input scales the checkpoint is what ModelOpt calls weight-only.
const char* algorithm(const QuantizeOptions& options) { return options.input_scale ? "NVFP4" : "W4A16_NVFP4"; }

std::span<const std::uint8_t> bytes_of(const float& value) {
  return {reinterpret_cast<const std::uint8_t*>(&value), sizeof(value)};
}

Json modelopt_config(const QuantizeOptions& options, const Modules& unquantized) {
  const Json four_bits = {{"dynamic", false}, {"num_bits", 4}, {"type", "float"}, {"group_size", kBlock}};
  Json group = {{"targets", {"Linear"}}, {"weights", four_bits}};
  if (options.input_scale) group["input_activations"] = four_bits;
  return {{"quant_method", "modelopt"},
          {"quant_algo", algorithm(options)},
          {"config_groups", {{"group_0", group}}},
          {"ignore", unquantized},
          {"producer", kProducer}};
}

Json compressed_tensors_config(const QuantizeOptions& options, const Modules& unquantized) {
  const Json weights = {
      {"num_bits", 4},     {"type", "float"},  {"strategy", "tensor_group"},          {"group_size", kBlock},
      {"symmetric", true}, {"dynamic", false}, {"scale_dtype", "torch.float8_e4m3fn"}};
  Json activations;  // null: weight-only
  if (options.input_scale) {
    activations = weights;
    activations["dynamic"] = "local";  // a static global scale over block scales taken at run time
  }
  const Json group = {{"targets", {"Linear"}},
                      {"format", "nvfp4-pack-quantized"},
                      {"weights", weights},
                      {"input_activations", activations}};
  return {{"quant_method", "compressed-tensors"},
          {"format", "nvfp4-pack-quantized"},
          {"quantization_status", "compressed"},
          {"config_groups", {{"group_0", group}}},
          {"ignore", unquantized},
          {"kv_cache_scheme", nullptr}};
}

}  // namespace

PendingDirectory::PendingDirectory(std::string destination, std::string temporary)
    : destination_(std::move(destination)), temporary_(std::move(temporary)) {}

PendingDirectory::PendingDirectory(PendingDirectory&& other) noexcept
    : destination_(std::move(other.destination_)), temporary_(std::exchange(other.temporary_, {})) {}

PendingDirectory::~PendingDirectory() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

Result<PendingDirectory> PendingDirectory::create(const std::string& destination) {
  std::error_code error;
  const fs::path path =
      fs::path(destination).has_filename() ? fs::path(destination) : fs::path(destination).parent_path();  // "dir/"
  if (path.empty())
    return fail(ErrorCode::invalid_argument, "no directory to write to is named", "name a new directory");
  const bool usable = !fs::exists(path, error) || (fs::is_directory(path, error) && fs::is_empty(path, error));
  if (!usable) {
    return fail(ErrorCode::invalid_argument, fmt::format("{} exists and is not an empty directory", path.string()),
                "name a new directory, or remove this one first");
  }
  static std::atomic<unsigned> count{0};  // two threads may write at once
  std::string temporary = fmt::format("{}.{}.{}.partial", path.string(), ::getpid(), count++);
  if (!fs::create_directory(temporary, error)) {
    return refused_by_system(temporary, "create the directory", error ? error.value() : EEXIST);
  }
  return PendingDirectory(path.string(), std::move(temporary));
}

std::string PendingDirectory::file(const std::string& name) const { return (fs::path(temporary_) / name).string(); }

Status PendingDirectory::write_text(const std::string& name, const std::string& text) const {
  std::ofstream out(file(name), std::ios::binary);
  out << text;
  out.close();
  if (!out) return refused_by_system(file(name), "write", errno);
  return {};
}

Status PendingDirectory::commit() {
  if (std::rename(temporary_.c_str(), destination_.c_str()) != 0) {
    return refused_by_system(destination_, "replace", errno);
  }
  temporary_.clear();
  return {};
}

float stored_scale(float multiplier, Dialect dialect) {
  return dialect == Dialect::modelopt ? multiplier : 1.0F / multiplier;
}

void append_tensors(const EncodedMatrix& matrix, const QuantizeOptions& options, std::vector<TensorData>& tensors) {
  const bool modelopt = options.dialect == Dialect::modelopt;
  const std::vector<std::int64_t> scalar = modelopt ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{1};
  const auto add = [&](const char* role, DType dtype, std::vector<std::int64_t> shape,
                       std::span<const std::uint8_t> bytes) {
    tensors.push_back({matrix.module + role, dtype, std::move(shape), bytes});
  };
  add(modelopt ? ".weight" : ".weight_packed", DType::u8, {matrix.rows, matrix.cols / 2}, matrix.codes);
  add(".weight_scale", DType::f8_e4m3, {matrix.rows, matrix.cols / kBlock}, matrix.scales);
  add(modelopt ? ".weight_scale_2" : ".weight_global_scale", DType::f32, scalar, bytes_of(matrix.stored_global_scale));
  if (!options.input_scale) return;
  add(modelopt ? ".input_scale" : ".input_global_scale", DType::f32, scalar, bytes_of(matrix.stored_input_scale));
}

Json quantization_config(const QuantizeOptions& options, const Modules& unquantized) {
  return options.dialect == Dialect::modelopt ? modelopt_config(options, unquantized)
                                              : compressed_tensors_config(options, unquantized);
}

std::string hf_quant_config(const QuantizeOptions& options, const Modules& unquantized) {
  const Json config = {{"producer", kProducer},
                       {"quantization",
                        {{"quant_algo", algorithm(options)},
                         {"kv_cache_quant_algo", nullptr},
                         {"group_size", kBlock},
                         {"exclude_modules", unquantized}}}};
  return config.dump(2) + "\n";
}

std::string index_text(const std::vector<std::pair<std::string, std::string>>& tensor_and_file, std::int64_t bytes) {
  Json map = Json::object();
  for (const auto& [tensor, file] : tensor_and_file) map[tensor] = file;
  return Json({{"metadata", {{"total_size", bytes}}}, {"weight_map", map}}).dump(2) + "\n";
}

}  // namespace tilewright
