// The C++ names of schedule tags, for both directions.
#pragma once

#include <string>

#include "tilewright/cutlass.hpp"

namespace tilewright::schedule::cutlass {

/// "KernelPtrArrayTmaWarpSpecialized2SmNvf4Sm100"; "KernelScheduleAuto".
std::string tag_name(const CutlassSchedule& schedule);

/// "PtrArrayTmaWarpSpecialized2Sm"; "EpilogueScheduleAuto".
std::string tag_name(const CutlassEpilogueSchedule& schedule);

/// As cutlass_oracle.csv has it: the name without "Kernel", "TmaWarpSpecialized" and the suffix of SM100 and SM103,
/// "PtrArray2SmNvf4"; "Auto".
std::string short_tag_name(const CutlassSchedule& schedule);

/// "PtrArrayTmaWarpSpecialized2Sm" as it is; "Auto".
std::string short_tag_name(const CutlassEpilogueSchedule& schedule);

/// A tag by its C++ name, with or without namespaces, or by its short name. An unknown one is `invalid_argument` with
/// the nearest ones.
Result<CutlassSchedule> parse_schedule_tag(const std::string& name);
Result<CutlassEpilogueSchedule> parse_epilogue_tag(const std::string& name);

}  // namespace tilewright::schedule::cutlass
