// Names of the oracle's enumerators, for both directions.
#include <fmt/format.h>

#include "schedule/enum_names.hpp"
#include "tilewright/cutlass.hpp"

namespace tilewright {
namespace {

using schedule::EnumNames;
using schedule::name_of;
using schedule::value_of;

constexpr EnumNames<5> kVersions = {"4.2.1", "4.4.1", "4.4.2", "4.5.0", "4.7.0"};
constexpr EnumNames<6> kOperands = {"nvfp4", "mxfp4", "mxfp8", "fp8", "bf16", "fp16"};
constexpr EnumNames<7> kElements = {"void", "e2m1", "e4m3", "e5m2", "f16", "bf16", "f32"};
constexpr EnumNames<6> kWarps = {"auto", "tma_warp_specialized", "cooperative", "pingpong", "1sm", "2sm"};
constexpr EnumNames<3> kFusions = {"plain", "finalize", "scale_factor_d"};

}  // namespace

const char* to_string(CutlassVersion version) { return name_of(kVersions, version); }
const char* to_string(CutlassOperand operand) { return name_of(kOperands, operand); }
const char* to_string(CutlassElement element) { return name_of(kElements, element); }
const char* to_string(CutlassWarps warps) { return name_of(kWarps, warps); }
const char* to_string(CutlassFusion fusion) { return name_of(kFusions, fusion); }

Result<CutlassVersion> parse_cutlass_version(const std::string& name) {
  return value_of<CutlassVersion>(kVersions, name, "known CUTLASS version");
}
Result<CutlassOperand> parse_cutlass_operand(const std::string& name) {
  return value_of<CutlassOperand>(kOperands, name, "operand type");
}
Result<CutlassElement> parse_cutlass_element(const std::string& name) {
  return value_of<CutlassElement>(kElements, name, "type of C or D");
}
Result<CutlassFusion> parse_cutlass_fusion(const std::string& name) {
  return value_of<CutlassFusion>(kFusions, name, "epilogue");
}

}  // namespace tilewright
