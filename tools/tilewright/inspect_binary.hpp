// tilewright inspect on binaries: their images, their kernels, and the verdict on each for a device.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tilewright/binary_verdict.hpp"
#include "tools/tilewright/verb.hpp"

namespace tilewright::cli {

struct BinaryOptions {
  std::string device_cc;
  std::string device;
  std::string kernels;  ///< a regular expression over what is printed of a kernel
  std::string only;     ///< "cutlass"
  bool pdl = false;
  bool all = false;

  [[nodiscard]] bool given() const {
    return !device_cc.empty() || !device.empty() || !kernels.empty() || !only.empty() || pdl || all;
  }
};

void declare_binary_options(CLI::App& command, BinaryOptions& options);

/// One file that was read and judged.
struct InspectedBinary {
  BinaryReport report;
  BinaryVerdict verdict;
  std::int64_t left_out = 0;  ///< kernels that --kernels or --only left out
};

/// What is said about all files together.
struct BinaryInspection {
  std::vector<InspectedBinary> files;
  VerdictOptions options;
  bool all = false;
};

/// Exits with wrong_numbers (3) where a kernel cannot be launched on the device that is given.
Result<Outcome> inspect_binaries(const std::vector<std::string>& paths, const BinaryOptions& options, Format format);

// The parts of a report.
void add_binary_sections(const BinaryInspection& inspection, Report& report);  ///< text and md
void add_kernel_table(const BinaryInspection& inspection, Report& report);     ///< csv: one row a kernel
void add_binary_json(const BinaryInspection& inspection, Report& report);

/// "grouped nvfp4, 128x256x128, 3 stages, cooperative, finalize, C bf16" of a CUTLASS kernel; else its function.
std::string kernel_words(const KernelName& name);

/// The command that explains a kernel's bytes: "tilewright explain --cutlass --arch sm_120 ...". Empty where the name
/// does not tell them.
std::string explain_command(const CutlassKernelName& name);

/// The kernel in the image that was judged; nullptr where none was.
const KernelInfo* judged_kernel(const InspectedBinary& file, const KernelVerdict& verdict);

/// The target of an image, "sm_120a".
std::string image_target(const CodeImage& image);

}  // namespace tilewright::cli
