// How the command line asks about a CUTLASS kernel, and the requests that it means.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tilewright/cutlass_render.hpp"

namespace tilewright::cli {

/// The options as they were typed; an empty one was not given.
struct CutlassOptions {
  std::string arch;
  std::string device;
  std::string compare;
  bool grouped = false;
  bool swap_ab = false;
  std::string dtype = "nvfp4";
  std::string tile;
  std::string cluster;
  std::string out;
  std::string c;
  std::string epilogue = "plain";
  std::string epilogue_tile;
  std::string schedule;
  std::string stages = "auto";
  std::string version = "4.7.0";
};

void declare_cutlass_options(CLI::App& command, CutlassOptions& options);

/// A request with what was filled in.
struct CutlassQuestion {
  CutlassRequest request;
  std::vector<CutlassDefault> defaults;
  CutlassElement output = CutlassElement::bf16;  ///< what the user gets; D itself is void under finalize
};

/// The request for one architecture.
Result<CutlassQuestion> cutlass_question(const CutlassOptions& options, Arch arch);

/// The architecture of --arch or --device; exactly one of them must be given.
Result<Arch> cutlass_arch(const CutlassOptions& options);

/// The version of --cutlass-version, with or without a v.
Result<CutlassVersion> cutlass_version(const CutlassOptions& options);

/// The architectures of --compare: two or more.
Result<std::vector<Arch>> compared_archs(const CutlassOptions& options);

}  // namespace tilewright::cli
