// Rows of requests to the CUTLASS oracle, and their answers, as CSV (RFC 4180).
//
// A row has 13 columns that ask and 11 that answer; the first line names them (cutlass_row_header). The ones that ask:
//
//   arch      sm90, sm100, sm103, sm120, sm121
//   kind      dense or grouped
//   dtypeA, dtypeB   nvfp4, mxfp4, mxfp8, fp8, bf16, fp16
//   sf        the scale type and its vector: ue4m3/16 of nvfp4, ue8m0/32 of mxfp4 and mxfp8, - of the others
//   dtypeC, dtypeD   void, e2m1, e4m3, e5m2, f16, bf16, f32
//   tileM, tileN, tileK   elements, as given to the builder
//   clusterM, clusterN    blocks, or dyn for a dynamic cluster
//   requested_schedule    SCHEDULE, then in any order, each after a |
//             stages=StageCountAuto | StageCount<N> | AutoCarveout<N>   (else the epilogue's size is carved out)
//             epi=TAG                                                   (else EpilogueScheduleAuto)
//             epiTile=MxN                                               (else EpilogueTileAuto)
//             words; three of them mean something: FINALIZE the fused finalize, SFD the scale factors of D
//             (example 79d), swapAB column-major C and D. Others are a note.
//
// SCHEDULE and TAG are CUTLASS's names; SCHEDULE may leave out "Kernel", "TmaWarpSpecialized" and the suffix of SM100
// and SM103 ("PtrArray2SmNvf4"), and end with a note in parentheses.
//
// The ones that answer: resolved_policy, stages ("6(+SF 11)" on SM103), epi_tile ("none" without shared memory),
// epi_stagesC, epi_stagesD (-1 then), smem_mainloop, smem_epilogue, smem_total, smem_limit in bytes, fits, and
// compile_status: "ok", "error: RULE" or "unsupported". What has no answer is "-", and fits is then false.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tilewright/cutlass.hpp"

namespace tilewright {

/// A row that asks: its 13 fields as they stand, and what they mean.
struct CutlassRow {
  std::vector<std::string> fields;
  CutlassRequest request;
};

/// The names of the 24 columns, as a line without its end.
std::string cutlass_row_header();

/// The request of a row's first 13 fields; further ones are ignored. `unsupported` for names that are not modelled,
/// `invalid_argument` for a row that is malformed.
Result<CutlassRow> parse_cutlass_row(const std::vector<std::string>& fields,
                                     CutlassVersion version = CutlassVersion::v4_7_0);

/// The eleven fields that answer: a kernel, or `unsupported` for an error.
std::vector<std::string> cutlass_row_answer(const CutlassRow& row, const Result<CutlassKernel>& kernel);

/// Answers every row of a CSV text: the header, then each row's 24 columns, a line each. The text's first line may be
/// the header; rows may already have answers, which are replaced. A malformed row is an error with its line number.
Result<std::string> answer_cutlass_rows(std::string_view csv, CutlassVersion version = CutlassVersion::v4_7_0);

}  // namespace tilewright
