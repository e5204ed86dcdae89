#include "architecture/source_rules.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

namespace tilewright::architecture {
namespace {

using Names = std::vector<std::string_view>;

// docs/architecture.md: each layer with the layers directly to its left.
const std::map<std::string_view, Names>& left_neighbours() {
  static const std::map<std::string_view, Names> table = {
      {"core", {}},
      {"numerics", {"core"}},
      {"schedule", {"numerics"}},
      {"checkpoint", {"numerics"}},
      {"inspect", {"schedule"}},
      {"cpu", {"schedule"}},
      {"cuda", {"schedule"}},
      {"moe", {"cpu", "cuda"}},
      {"tune", {"moe"}},
      {"tools", {"tune", "moe", "checkpoint", "inspect"}},
  };
  return table;
}

// Public headers and the layer whose folder implements them. Plain data that several layers share stands in the
// leftmost layer that needs it.
const std::map<std::string_view, Names>& public_headers() {
  static const std::map<std::string_view, Names> table = {
      {"core", {"result.hpp"}},
      {"numerics",
       {"activation.hpp", "expert_weights.hpp", "float_types.hpp", "model.hpp", "nvfp4.hpp", "precision.hpp",
        "routing.hpp", "scale_layout.hpp"}},
      {"schedule",
       {"arch.hpp", "bottleneck.hpp", "catalogue.hpp", "cost.hpp", "cutlass.hpp", "cutlass_render.hpp",
        "cutlass_rows.hpp", "device.hpp", "peer_stacks.hpp", "plan_render.hpp", "planner.hpp", "problem.hpp",
        "published.hpp", "rejection.hpp", "schedule.hpp", "shared_memory.hpp", "sm120_catalogue.hpp",
        "sm90_catalogue.hpp", "targets.hpp"}},
      {"checkpoint", {"checkpoint.hpp", "checkpoint_report.hpp", "quantize.hpp", "safetensors.hpp"}},
      {"inspect", {"binary_images.hpp", "binary_verdict.hpp", "kernel_name.hpp"}},
      {"cpu", {"cpu_backend.hpp"}},
      {"cuda", {"cuda_layer.hpp"}},
      {"moe", {"moe_layer.hpp"}},
      {"tune", {"cuda_layer_bench.hpp", "layer_bench.hpp", "schedule_pattern.hpp", "tuner.hpp", "tuning_cache.hpp"}},
  };
  return table;
}

bool starts_with(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }
bool ends_with(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

std::string_view trim_left(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  return text;
}

bool is_kernel(std::string_view path) { return ends_with(path, ".cu") || ends_with(path, ".cuh"); }

bool is_cuda_header(std::string_view target) {
  static constexpr std::array<std::string_view, 8> kPrefixes = {"cuda", "cublas", "cutlass/", "cute/",
                                                                "cub/", "nvrtc",  "mma.h",    "device_launch"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return starts_with(target, prefix); });
}

// nvcc 13 does not compile Debian's fmt 9 in C++20, and kernels have no business with JSON or a command line.
bool is_host_only_library(std::string_view target) {
  return starts_with(target, "fmt/") || starts_with(target, "nlohmann/") || starts_with(target, "CLI/");
}

bool must_not_know_cuda(std::string_view path) {
  return starts_with(path, "include/") || starts_with(path, "src/schedule/") || starts_with(path, "src/checkpoint/") ||
         starts_with(path, "src/inspect/");
}

// A public header stands alone: the standard library (whose headers have no extension), tl::expected, its siblings.
bool allowed_in_public_header(const Include& include) {
  if (include.target == "tl/expected.hpp" || starts_with(include.target, "tilewright/")) return true;
  return !include.quoted && include.target.find_first_of("./") == std::string::npos;
}

std::string layer_of_include(const std::string& target) {
  if (starts_with(target, "tools/")) return "tools";
  if (starts_with(target, "tilewright/")) return layer_of("include/" + target);
  return layer_of("src/" + target);
}

// What a quoted include breaks, or nothing.
std::string quoted_violation(const std::string& from, const std::string& target) {
  const std::string to = layer_of_include(target);
  if (to.empty()) {
    return "\"" + target +
           "\" belongs to no layer; write internal includes from src/ (\"cpu/x.hpp\"), and name the layer of a new "
           "public header in tests/architecture/source_rules.cpp";
  }
  if (may_include(from, to)) return {};
  return "layer " + from + " includes \"" + target + "\" of layer " + to +
         ", which is not to its left; move the shared part left (docs/architecture.md)";
}

}  // namespace

std::vector<Include> includes_of(std::string_view text) {
  std::vector<Include> found;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = trim_left(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty() || line.front() != '#') continue;
    line = trim_left(line.substr(1));
    if (!starts_with(line, "include")) continue;
    line = trim_left(line.substr(std::string_view("include").size()));
    if (line.empty() || (line.front() != '"' && line.front() != '<')) continue;
    const bool quoted = line.front() == '"';
    const std::size_t close = line.find(quoted ? '"' : '>', 1);
    if (close == std::string_view::npos) continue;
    found.push_back({std::string(line.substr(1, close - 1)), quoted, number});
  }
  return found;
}

std::string layer_of(std::string_view path) {
  if (starts_with(path, "tools/")) return "tools";
  constexpr std::string_view kPublic = "include/tilewright/";
  if (starts_with(path, kPublic)) {
    for (const auto& [layer, headers] : public_headers()) {
      if (std::count(headers.begin(), headers.end(), path.substr(kPublic.size())) != 0) return std::string(layer);
    }
    return {};
  }
  constexpr std::string_view kSource = "src/";
  if (!starts_with(path, kSource)) return {};
  const std::string_view folder = path.substr(kSource.size(), path.find('/', kSource.size()) - kSource.size());
  return left_neighbours().count(folder) != 0 ? std::string(folder) : std::string();
}

bool may_include(std::string_view from, std::string_view to) {
  if (from == to) return true;
  const auto& table = left_neighbours();
  const auto layer = table.find(from);
  if (layer == table.end()) return false;
  return std::any_of(layer->second.begin(), layer->second.end(),
                     [&](std::string_view neighbour) { return may_include(neighbour, to); });
}

std::vector<std::string> include_violations(std::string_view path, std::string_view text) {
  std::vector<std::string> violations;
  const auto add = [&](int line, const std::string& what) {
    violations.push_back(std::string(path) + ":" + std::to_string(line) + ": " + what);
  };
  const std::string from = layer_of(path);
  if (from.empty()) {
    add(1, "belongs to no layer; name its layer in tests/architecture/source_rules.cpp");
    return violations;
  }
  for (const Include& include : includes_of(text)) {
    if (must_not_know_cuda(path) && is_cuda_header(include.target)) {
      add(include.line, "<" + include.target + "> is CUDA; CUDA is known to src/cuda alone");
    } else if (is_kernel(path) && is_host_only_library(include.target)) {
      add(include.line, "<" + include.target + "> in a kernel file; nvcc does not compile it");
    } else if (starts_with(path, "include/") && !allowed_in_public_header(include)) {
      add(include.line,
          "<" + include.target + "> in a public header; only the standard library and tl::expected may stand there");
    } else if (include.quoted) {
      const std::string what = quoted_violation(from, include.target);
      if (!what.empty()) add(include.line, what);
    }
  }
  return violations;
}

std::vector<std::string> length_violations(std::string_view path, std::string_view text) {
  const auto lines = static_cast<long>(std::count(text.begin(), text.end(), '\n'));
  const long limit = is_kernel(path) ? 700 : 400;
  if (lines <= limit) return {};
  return {std::string(path) + ": " + std::to_string(lines) + " lines, over the limit of " + std::to_string(limit) +
          "; split it by subject"};
}

}  // namespace tilewright::architecture
