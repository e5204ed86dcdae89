// What the SM100 and SM103 builders and kernels assert, and what compiled evidence covers of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedule/cutlass/epilogue.hpp"

namespace tilewright::schedule::cutlass {

/// Whether a request of SM100 or SM103 lies in what was compiled: `unsupported` otherwise.
Status check_sm10x_coverage(const CutlassRequest& request);

/// A TMA epilogue tile beyond the CTA's tile was never compiled.
Status check_sm10x_epilogue_tile(const CutlassRequest& request, const EpilogueChoice& choice, bool no_smem);

/// The mainloop builder's assertions on tag, types, tile and cluster.
std::optional<CutlassBuildError> check_sm100_mainloop(const CutlassRequest& request);

/// A grouped kernel whose epilogue is not one of groups.
std::optional<CutlassBuildError> check_sm10x_epilogue_groups(const CutlassRequest& request);

/// A PtrArray tag is what makes a mainloop take groups; the layouts alone do not.
std::optional<CutlassBuildError> check_sm10x_groups(const CutlassRequest& request);

/// Whether SM100's MMA takes two CTAs.
bool sm100_two_sm(const CutlassRequest& request);

/// Whether the operands lie in shared memory as a byte each, whatever their bits: MXF8F6F4 and F8F6F4.
bool unpacks_to_bytes(const CutlassRequest& request);

/// "Smem usage is too high. ..."
CutlassBuildError no_stage_fits(std::string file, bool block_scaled);

/// A kernel that does not fit does not compile: its body asserts its size, unlike those of SM90 and SM120. Its types
/// exist all the same.
void check_capacity(CutlassKernel& kernel, const std::string& file);

/// Deals the epilogue's carve-out to the members that it is for.
void reserve_sm100_carveout(std::vector<CutlassStorage>& storage, std::int64_t bytes);

}  // namespace tilewright::schedule::cutlass
