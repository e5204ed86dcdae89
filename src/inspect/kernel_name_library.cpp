#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "inspect/kernel_name_cutlass.hpp"
#include "inspect/kernel_name_strings.hpp"
#include "schedule/cutlass/flashinfer.hpp"

namespace tilewright::inspect {
namespace {

constexpr std::string_view kPrefix = "cutlass3x_sm";

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('_'), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::optional<int> number(std::string_view word) {
  int value = 0;
  const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || stop != word.data() + word.size() || value < 0) return std::nullopt;
  return value;
}

// "128x256x64".
std::optional<CutlassTile> shape(std::string_view word) {
  const std::size_t first = word.find('x');
  const std::size_t second = word.find('x', std::min(first, word.size() - 1) + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return std::nullopt;
  const auto m = number(word.substr(0, first));
  const auto n = number(word.substr(first + 1, second - first - 1));
  const auto k = number(word.substr(second + 1));
  if (!m || !n || !k) return std::nullopt;
  return CutlassTile{*m, *n, *k};
}

// "ue4m3xe2m1": a block-scaled operand, scale first. cuBLAS writes f4 for e2m1.
std::string operand(std::string_view word) {
  if (word == "ue4m3xe2m1" || word == "ue4m3xf4") return "nvfp4";
  if (word == "ue8m0xe2m1" || word == "ue8m0xf4") return "mxfp4";
  if (word == "ue8m0xe4m3") return "mxfp8";
  if (word == "e4m3") return "fp8";
  return std::string(word);
}

// An output with scales ("ue4m3xe2m1") is its value's type; the scales are the fusion's.
std::string element(std::string_view word) {
  const std::size_t scale = word.find('x');
  return std::string(scale == std::string_view::npos ? word : word.substr(scale + 1));
}

std::optional<Arch> arch_of_number(std::string_view word) {
  if (word == "90") return Arch::sm_90;
  if (word == "100") return Arch::sm_100;
  if (word == "103") return Arch::sm_103;
  if (word == "120" || word == "121") return Arch::sm_120;
  return std::nullopt;
}

CutlassWarps warps_of(std::string_view tail) {
  const auto has = [&](std::string_view word) { return tail.find(word) != std::string_view::npos; };
  if (has("_2sm")) return CutlassWarps::two_sm;
  if (has("_1sm")) return CutlassWarps::one_sm;
  if (has("pingpong")) return CutlassWarps::pingpong;
  if (has("cooperative")) return CutlassWarps::cooperative;
  return has("_warpspecialized") ? CutlassWarps::tma_warp_specialized : CutlassWarps::automatic;
}

// What follows the alignment names schedules, epilogue and fusion; words that are none of these change the epilogue in
// ways that the name does not spell out (bias, activation, output scales).
std::string fusion_of(std::string_view tail, std::string_view d) {
  for (const std::string_view word : {"bias", "relu", "gelu", "epiVs", "evt"}) {
    if (tail.find(word) != std::string_view::npos) return "epilogue with " + std::string(word);
  }
  return d.find('x') == std::string_view::npos ? "LinearCombination" : "LinCombBlockScaleFactor";
}

}  // namespace

std::optional<CutlassKernelName> read_library(std::string_view identifier) {
  if (identifier.substr(0, kPrefix.size()) != kPrefix) return std::nullopt;
  const std::vector<std::string_view> words = words_of(identifier.substr(kPrefix.size()));
  // The tile is the first word of three numbers that an operand list stands before; the instruction's shape has a
  // letter before it and "gemm" behind it.
  const auto tile = std::find_if(words.begin(), words.end(), [](std::string_view word) { return shape(word); });
  const auto arch = words.empty() ? std::nullopt : arch_of_number(words.front());
  if (!arch || tile == words.end() || tile - words.begin() < 7) return std::nullopt;

  CutlassKernelName name;
  name.arch = *arch;
  name.grouped = identifier.find("gemm_grouped") != std::string_view::npos;
  name.a = operand(tile[-5]);
  name.b = operand(tile[-4]);
  name.c = element(tile[-2]);
  name.d = element(tile[-1]);
  name.tile = *shape(*tile);
  auto next = tile + 1;
  const auto cluster = next == words.end() ? std::nullopt : shape(*next);
  if (cluster) {
    name.cluster_m = cluster->m;
    name.cluster_n = cluster->n;
    ++next;
  }
  const auto stages = next == words.end() ? std::nullopt : number(*next);
  if (!stages || ++next == words.end() || next->size() != 3) return std::nullopt;
  name.stages = *stages;
  name.swap_ab = next->back() == 'n';  // C and D column-major
  const std::string_view tail = identifier.substr(static_cast<std::size_t>(next->data() - identifier.data()));
  name.warps = warps_of(tail);
  name.fusion = fusion_of(tail, tile[-1]);
  if (tail.find("stream_k") != std::string_view::npos) name.scheduler = "StreamKScheduler";
  if (tail.find("nosmem") != std::string_view::npos) name.epilogue = "NoSmemWarpSpecialized";
  if (!cluster) {
    name.request = fail(ErrorCode::unsupported, "the name does not state the cluster");
    return name;
  }
  name.request = stated_request(name);
  if (name.request) {
    if (name.stages > 0) name.request->stages = {CutlassStageRule::explicit_count, name.stages, std::nullopt};
    name.request->epilogue_schedule = schedule::cutlass::launcher_epilogue(*name.request, !name.epilogue.empty());
  }
  return name;
}

}  // namespace tilewright::inspect
