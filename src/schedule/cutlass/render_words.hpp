// The sentences and rows that every rendering of an explanation shares.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tilewright/cutlass_render.hpp"

namespace tilewright::schedule::cutlass {

/// "CUTLASS 4.7.0 on sm_120: grouped nvfp4, tile 128x256x128, cluster 1x1, finalize, C bf16, D void".
std::string title(const CutlassRequest& request);

/// "grouped nvfp4", "dense mxfp8 x mxfp4".
std::string operands(const CutlassRequest& request);

/// "1x1"; "dynamic".
std::string cluster_words(const CutlassRequest& request);

/// "StageCount<2>"; "StageCountAutoCarveout<17408>".
std::string stage_rule(const CutlassStages& stages);

/// "128x64"; "EpilogueTileAuto".
std::string epilogue_tile_words(const CutlassRequest& request);

/// Whether the kernel's types exist, so that it has a size.
bool has_types(const CutlassKernel& kernel);

/// Whether it builds and fits.
bool launches(const CutlassKernel& kernel);

/// "does not fit: 102,400 B of shared memory, over by 1,024 B: a block may have 101,376 B".
std::string verdict(const CutlassKernel& kernel);

/// What a user sees of it: nothing for one that launches.
std::string symptom(const CutlassKernel& kernel);

/// Why it does not fit, a sentence each: first what is to blame, then what is not.
std::vector<std::string> causes(const CutlassExplanation& explanation);
std::vector<std::string> no_causes(const CutlassExplanation& explanation);

/// Where defaults came from, on one line; empty where everything was stated.
std::string defaults_words(const CutlassExplanation& explanation);

/// Rows of the account: the members of one struct together, wherever they lie, then all padding, then what the builder
/// counted and the struct does not have.
struct AccountRow {
  std::string name;  ///< "mainloop", "padding", "not in it"
  std::int64_t bytes = 0;
  std::int64_t reserved = 0;
  std::vector<std::string> members;  ///< "A 24,576", "B 49,152"; of padding "512 at 99,840"; empty for no struct
};
std::vector<AccountRow> account(const CutlassKernel& kernel);

/// Whether a step only follows from the others: a short rendering leaves it out.
bool is_detail(const CutlassStep& step);

/// Tilewright's own kernel, on one line.
std::string own_words(const CutlassExplanation& explanation);

/// FlashInfer's candidate, on one line; empty where there is none.
std::string candidate_words(const CutlassExplanation& explanation);

/// Text in which Markdown reads no markup: template arguments keep their angle brackets.
std::string markdown_prose(const std::string& text);

/// "sm120_blockscaled_mma_builder.inl" of a path.
std::string file_name(const std::string& path);

}  // namespace tilewright::schedule::cutlass
