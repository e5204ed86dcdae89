#include "schedule/cutlass/tags.hpp"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "schedule/nearest_names.hpp"

namespace tilewright::schedule::cutlass {
namespace {

const char* warps_part(const CutlassSchedule& s) {
  switch (s.warps) {
    // SM120's block-scaled tags say Pingpong and take Cooperative as read.
    case CutlassWarps::cooperative: return s.tag_arch && !s.scheduler_stages ? "" : "Cooperative";
    case CutlassWarps::pingpong: return "Pingpong";
    case CutlassWarps::one_sm: return "1Sm";
    case CutlassWarps::two_sm: return "2Sm";
    case CutlassWarps::automatic:
    case CutlassWarps::tma_warp_specialized: break;
  }
  return "";
}

const char* family_part(CutlassTagFamily family) {
  switch (family) {
    case CutlassTagFamily::none: return "";
    case CutlassTagFamily::fp8_fast_accum: return "FP8FastAccum";
    case CutlassTagFamily::block_scaled: return "BlockScaled";
    case CutlassTagFamily::nvf4: return "Nvf4";
    case CutlassTagFamily::mxf4: return "Mxf4";
    case CutlassTagFamily::mxf8f6f4: return "Mxf8f6f4";
    case CutlassTagFamily::ultra_vs16: return "UltraVs16";
    case CutlassTagFamily::ultra_vs32: return "UltraVs32";
  }
  return "";
}

bool is_ultra(CutlassTagFamily family) {
  return family == CutlassTagFamily::ultra_vs16 || family == CutlassTagFamily::ultra_vs32;
}

const char* prefetch_part(const CutlassSchedule& s) {
  if (!s.tma_prefetch) return "";
  return *s.tma_prefetch ? "TmaPrefetch" : "DisablePrefetch";
}

std::string suffix(const CutlassSchedule& s) {
  if (!s.tag_arch) return {};
  std::string text = to_string(*s.tag_arch);  // "sm_120" -> "Sm120"
  text.replace(0, 3, "Sm");
  return s.scheduler_stages ? fmt::format("{}<{}>", text, *s.scheduler_stages) : text + prefetch_part(s);
}

// Every tag that the builders of the covered architectures know, Auto first.
std::vector<CutlassSchedule> known_schedules() {
  std::vector<CutlassSchedule> all = {{}};
  for (const bool array : {false, true}) {
    const auto add = [&](CutlassWarps warps, CutlassTagFamily family, std::optional<Arch> arch = {},
                         std::optional<int> stages = {}, std::optional<bool> prefetch = {}) {
      all.push_back({warps, family, array, arch, stages, prefetch});
    };
    using F = CutlassTagFamily;
    for (const CutlassWarps warps :
         {CutlassWarps::tma_warp_specialized, CutlassWarps::cooperative, CutlassWarps::pingpong}) {
      if (array && warps == CutlassWarps::tma_warp_specialized) continue;
      for (const F family : {F::none, F::fp8_fast_accum}) add(warps, family);
    }
    for (const CutlassWarps warps : {CutlassWarps::one_sm, CutlassWarps::two_sm}) {
      for (const F family : {F::none, F::block_scaled, F::nvf4, F::mxf4, F::mxf8f6f4}) add(warps, family, Arch::sm_100);
      for (const F family : {F::ultra_vs16, F::ultra_vs32}) {
        for (const std::optional<bool> prefetch : {std::optional<bool>(), std::optional(true), std::optional(false)}) {
          add(warps, family, Arch::sm_103, {}, prefetch);
        }
      }
    }
    for (const CutlassWarps warps : {CutlassWarps::cooperative, CutlassWarps::pingpong}) {
      for (int stages = 1; stages <= 8; ++stages) add(warps, F::none, Arch::sm_120, stages);
      if (array) continue;
      for (const F family : {F::nvf4, F::mxf4, F::mxf8f6f4}) add(warps, family, Arch::sm_120);
    }
  }
  return all;
}

std::vector<CutlassEpilogueSchedule> known_epilogues() {
  using W = CutlassEpilogueWarps;
  std::vector<CutlassEpilogueSchedule> all = {{}};
  for (const bool array : {false, true}) {
    for (const W warps : {W::tma, W::no_smem}) {
      for (const int sm : {0, 1, 2}) all.push_back({warps, array, sm});
    }
    all.push_back({W::tma_cooperative, array, 0});
    if (array) all.push_back({W::tma_pingpong, array, 0});
  }
  return all;
}

std::string without_namespaces(const std::string& name) {
  const std::size_t colon = name.rfind("::");
  return colon == std::string::npos ? name : name.substr(colon + 2);
}

template <typename Tag>
Result<Tag> parse_tag(const std::string& text, const std::vector<Tag>& known, const char* what) {
  const std::string name = without_namespaces(text);
  std::vector<std::string> names;
  for (const Tag& tag : known) {
    if (name == tag_name(tag) || name == short_tag_name(tag)) return tag;
    names.push_back(tag_name(tag));
  }
  std::string nearest;
  for (const std::string& near : nearest_names(name, names, 3)) nearest += (nearest.empty() ? "" : ", ") + near;
  return fail(ErrorCode::invalid_argument, fmt::format("'{}' is no {} tag that is modelled", text, what),
              "nearest: " + nearest);
}

}  // namespace

std::string tag_name(const CutlassSchedule& s) {
  if (s.warps == CutlassWarps::automatic) return "KernelScheduleAuto";
  return fmt::format("Kernel{}TmaWarpSpecialized{}{}{}{}", s.ptr_array ? "PtrArray" : "", warps_part(s),
                     is_ultra(s.family) ? "BlockScaledMxNvf4" : "", family_part(s.family), suffix(s));
}

std::string tag_name(const CutlassEpilogueSchedule& s) {
  const std::string sm = s.sm == 0 ? "" : fmt::format("{}Sm", s.sm);
  const char* const array = s.ptr_array ? "PtrArray" : "";
  switch (s.warps) {
    case CutlassEpilogueWarps::automatic: break;
    case CutlassEpilogueWarps::tma: return fmt::format("{}TmaWarpSpecialized{}", array, sm);
    case CutlassEpilogueWarps::tma_cooperative: return fmt::format("{}TmaWarpSpecializedCooperative", array);
    case CutlassEpilogueWarps::tma_pingpong: return fmt::format("{}TmaWarpSpecializedPingpong", array);
    case CutlassEpilogueWarps::no_smem: return fmt::format("{}NoSmemWarpSpecialized{}", array, sm);
  }
  return "EpilogueScheduleAuto";
}

std::string short_tag_name(const CutlassSchedule& s) {
  if (s.warps == CutlassWarps::automatic) return "Auto";
  if (s.warps == CutlassWarps::tma_warp_specialized && s.family == CutlassTagFamily::none) return "TmaWarpSpecialized";
  const bool one_architecture = s.tag_arch && *s.tag_arch != Arch::sm_120;
  return fmt::format("{}{}{}{}", s.ptr_array ? "PtrArray" : "", warps_part(s), family_part(s.family),
                     one_architecture ? prefetch_part(s) : suffix(s));
}

std::string short_tag_name(const CutlassEpilogueSchedule& s) {
  return s.warps == CutlassEpilogueWarps::automatic ? "Auto" : tag_name(s);
}

Result<CutlassSchedule> parse_schedule_tag(const std::string& name) {
  return parse_tag(name, known_schedules(), "mainloop schedule");
}

Result<CutlassEpilogueSchedule> parse_epilogue_tag(const std::string& name) {
  return parse_tag(name, known_epilogues(), "epilogue schedule");
}

}  // namespace tilewright::schedule::cutlass
