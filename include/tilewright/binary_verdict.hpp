// Which kernels of a binary can be launched on a device, and what stops the others.
//
// A kernel is judged by the image that the driver would load there: of each fat binary the machine code nearest to the
// device, or else its PTX. Then by what its launch asks for: registers of a block, and shared memory, the static part
// from the image and the dynamic part from the kernel's name (kernel_name.hpp). What a file does not tell is said,
// never guessed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tilewright/binary_images.hpp"
#include "tilewright/cutlass.hpp"
#include "tilewright/kernel_name.hpp"
#include "tilewright/result.hpp"
#include "tilewright/targets.hpp"

namespace tilewright {

enum class VerdictCode : std::uint8_t {
  ok,                ///< loads, and everything that it asks for fits
  unknown_smem,      ///< loads, and what the file tells fits; the dynamic shared memory is not told
  no_image,          ///< no image of it runs there
  smem_over,         ///< asks for more shared memory than a block may have
  registers_over,    ///< more registers than a thread, or a block of its size, may have
  pdl_without_wait,  ///< launched with programmatic dependent launch, and never waits for the kernel before it
};
inline constexpr std::size_t kVerdictCodes = 6;
const char* to_string(VerdictCode code);  ///< "smem_over", ...

/// Whether a kernel with this verdict must not be launched there.
constexpr bool stops_launch(VerdictCode code) { return code != VerdictCode::ok && code != VerdictCode::unknown_smem; }

/// What a launch is judged against.
struct VerdictDevice {
  ComputeCapability capability;
  std::string name;                      ///< "12.1", or the device's name where one was given
  std::int64_t smem_per_block = 0;       ///< bytes, opt-in
  std::int64_t registers_per_block = 0;  ///< 32-bit
  int registers_per_thread = 0;
};

/// A device by compute capability; one that no known device has is `unsupported`.
Result<VerdictDevice> verdict_device(ComputeCapability capability);
/// A known device by name ("gb10").
Result<VerdictDevice> verdict_device(const std::string& name);

struct VerdictOptions {
  std::optional<VerdictDevice> device;  ///< none: shared memory is held against the architecture of the kernel's name
  bool pdl = false;                     ///< the kernels are launched with the PDL attribute
};

struct KernelVerdict {
  std::size_t symbol = 0;            ///< index into BinaryVerdict::symbols
  std::string member;                ///< of an archive
  std::vector<std::size_t> images;   ///< those that hold the kernel, as indices into BinaryReport::images
  std::optional<std::size_t> image;  ///< the one that is judged; none where none loads
  std::size_t kernel = 0;            ///< its index in that image
  VerdictCode code = VerdictCode::unknown_smem;
  std::string message;  ///< why, in one line
  std::string remedy;   ///< what to change; empty where nothing is wrong

  std::optional<std::int64_t> dynamic_shared_bytes;  ///< what the launch asks for
  std::string dynamic_unknown;                       ///< why not known; empty where it is
  std::int64_t shared_limit = 0;                     ///< 0: nothing to hold it against
  std::int64_t over_bytes = 0;                       ///< of smem_over
  std::vector<CutlassRemedy> remedies;               ///< of smem_over, by rising cost
};

/// A symbol of the binary and what it tells.
struct BinarySymbol {
  std::string symbol;
  KernelName name;
};

struct BinaryVerdict {
  std::vector<BinarySymbol> symbols;   ///< each different one once
  std::vector<KernelVerdict> kernels;  ///< in file order; a kernel that several images of a fat binary hold is one
  std::array<std::int64_t, kVerdictCodes> counts{};  ///< of kernels, by code

  [[nodiscard]] std::int64_t count(VerdictCode code) const { return counts[static_cast<std::size_t>(code)]; }
  [[nodiscard]] bool stopped() const;  ///< any kernel that must not be launched
};

/// Every kernel of a report with its verdict.
BinaryVerdict judge_binary(const BinaryReport& report, const VerdictOptions& options);

}  // namespace tilewright
