#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "inspect/kernel_name_cutlass.hpp"
#include "inspect/kernel_name_strings.hpp"
#include "tilewright/cutlass_render.hpp"

namespace tilewright::inspect {
namespace {

constexpr std::string_view kPrefix = "tma_warp_specialized_generic_moe_gemm_kernelLauncher_";

// Words of the macro's arguments; types may have underscores of their own ("__nv_bfloat16").
constexpr std::array<std::pair<std::string_view, const char*>, 10> kTypes = {{{"SafeFP4", "e2m1"},
                                                                              {"SafeFP8", "e4m3"},
                                                                              {"SafeBF16", "bf16"},
                                                                              {"__nv_fp4_e2m1", "e2m1"},
                                                                              {"__nv_fp8_e4m3", "e4m3"},
                                                                              {"__nv_fp8_e5m2", "e5m2"},
                                                                              {"__nv_bfloat16", "bf16"},
                                                                              {"half", "f16"},
                                                                              {"float", "f32"},
                                                                              {"uint8_t", "u8"}}};

class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}

  std::string_view next() {
    const std::size_t end = std::min(rest_.find('_'), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return word;
  }

  std::string type() {
    for (const auto& [name, word] : kTypes) {
      if (rest_.substr(0, name.size()) != name) continue;
      rest_.remove_prefix(std::min(name.size() + 1, rest_.size()));
      return word;
    }
    return std::string(next());
  }

  int number() {
    const std::string_view word = next();
    int value = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    return error == std::errc() && stop == word.data() + word.size() ? value : 0;
  }

  bool flag() { return next() == "true"; }
  [[nodiscard]] bool finished() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

std::optional<Arch> arch_tag(std::string_view word) {
  if (word == "Sm90") return Arch::sm_90;
  if (word == "Sm100") return Arch::sm_100;
  if (word == "Sm103") return Arch::sm_103;
  if (word == "Sm120" || word == "Sm121") return Arch::sm_120;
  return std::nullopt;
}

// The operand as the launcher hands it to the builder: FP4 and MXFPX operands have block scales.
std::string scaled(const std::string& value, bool mxfpx, bool with_fp4) {
  if (value == "e2m1") return mxfpx ? "mxfp4" : "nvfp4";
  if (value == "e4m3") return mxfpx || with_fp4 ? "mxfp8" : "fp8";
  return value;
}

}  // namespace

std::optional<CutlassKernelName> read_launcher(std::string_view identifier) {
  if (identifier.substr(0, kPrefix.size()) != kPrefix) return std::nullopt;
  Words words(identifier.substr(kPrefix.size()));
  const auto arch = arch_tag(words.next());
  if (!arch) return std::nullopt;
  CutlassKernelName name;
  name.arch = *arch;
  name.grouped = true;
  const std::string activation = words.type();
  const std::string weight = words.type();
  const std::string output = words.type();
  name.epilogue = words.next();
  words.next();  // the epilogue operation: the default one always
  const std::string_view fusion = words.next();
  name.tile = {words.number(), words.number(), words.number()};
  const int cluster_m = words.number();
  const int cluster_n = words.number();
  words.next();
  const bool mxfpx = words.flag();
  const bool dynamic = words.flag();
  words.next();  // bias: false always
  name.swap_ab = words.flag();
  if (!words.finished() || name.tile.m == 0 || name.tile.n == 0 || name.tile.k == 0) return std::nullopt;

  const bool with_fp4 = weight == "e2m1" || activation == "e2m1";
  name.a = scaled(activation, mxfpx, with_fp4);
  name.b = scaled(weight, mxfpx, with_fp4);
  if (name.swap_ab) std::swap(name.a, name.b);
  // MmaTileShape: M is of both CTAs of a pair, and SM103's K is three times the listed one.
  const bool sm10x = *arch == Arch::sm_100 || *arch == Arch::sm_103;
  if (sm10x) {
    name.warps = cluster_m == 2 ? CutlassWarps::two_sm : CutlassWarps::one_sm;
    if (cluster_m == 2) name.tile.m *= 2;
  }
  if (*arch == Arch::sm_103) name.tile.k *= 3;
  name.cluster_m = dynamic ? 0 : cluster_m;
  name.cluster_n = dynamic ? 0 : cluster_n;
  name.finalize = fusion == "FINALIZE";
  name.fusion = name.finalize      ? "ScaledAccPerColBiasPerRowScaleScatter"
                : fusion == "NONE" ? "LinearCombination"
                                   : std::string(fusion);
  name.d = name.finalize ? "void" : output;
  name.c = *arch == Arch::sm_120 ? output : "void";
  name.request = stated_request(name);
  if (name.request) {
    // Schedules and the epilogue tile are the launcher's own, by its rules for the architecture.
    CutlassOpen open{};
    open.cluster = false;
    open.c = false;
    open.schedule = !sm10x;
    open.no_smem = name.epilogue.find("NoSmem") != std::string::npos;
    fill_as_flashinfer(*name.request, open);
  }
  return name;
}

}  // namespace tilewright::inspect
