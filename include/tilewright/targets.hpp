// Code targets: which images a device can load, and which instructions a target may contain.
//
// nvcc's targets come in three kinds. A base target (sm_120) holds what later devices of the same major version keep; a
// family target (sm_120f) adds what its family has, and runs on the members of the family from its own on; an
// architecture target (sm_120a) adds everything of one compute capability and runs there alone. PTX (compute_120) is
// compiled by the driver for the device at hand; the PTX of the two feature kinds is bound like their machine code.
// Source: CUDA programming guide, "compute capabilities" (feature sets); the instruction table was asked of ptxas 13.0,
// and a test asks again where nvcc is present.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilewright/result.hpp"

namespace tilewright {

struct ComputeCapability {
  int major = 0;
  int minor = 0;

  bool operator==(const ComputeCapability&) const = default;
};

/// "12.1".
std::string to_string(ComputeCapability capability);

/// Reads "12.1", "121" or "sm_121"; anything else is `invalid_argument`.
Result<ComputeCapability> find_compute_capability(const std::string& text);

enum class TargetFeatures : std::uint8_t { base, family, architecture };

struct CodeTarget {
  int major = 0;
  int minor = 0;
  TargetFeatures features = TargetFeatures::base;
  bool ptx = false;  ///< compute_...: compiled by the driver

  bool operator==(const CodeTarget&) const = default;
};

/// "sm_120f"; "compute_90a" for PTX.
std::string to_string(const CodeTarget& target);

/// The target's number and suffix alone: "120f".
std::string short_name(const CodeTarget& target);
std::vector<std::string> short_names(const std::vector<CodeTarget>& targets);

/// Reads "sm_120f", "compute_90a", "120f" or "12.0f", in any case; a bare number is machine code. A target that no
/// toolkit has (sm_90f, sm_12) is `invalid_argument` with the reason.
Result<CodeTarget> find_target(const std::string& name);

/// Machine-code targets from sm_80 on that nvcc 13.0 compiles for, in ascending order, a base before its family and
/// architecture ones.
const std::vector<CodeTarget>& known_targets();

/// Whether a device can load an image, and in one line why.
struct Loadable {
  bool loads = false;
  std::string reason;
};
Loadable loadable(const CodeTarget& image, ComputeCapability device);

/// The flags with which nvcc makes an image for a target: "-gencode arch=compute_120f,code=sm_120f".
std::string nvcc_flags(const CodeTarget& target);

/// The target to build for on a device: the family's (all members run it) where there is one, else the architecture's,
/// else the base.
CodeTarget recommended_target(ComputeCapability device);

/// A PTX instruction that only some targets have.
struct TargetInstruction {
  std::string name;                ///< "mma.block_scale"
  std::string ptx;                 ///< one full form of it
  std::string use;                 ///< what a kernel needs it for
  int base_from = 0;               ///< in base targets from this one on (sm number); 0: in none
  std::vector<int> feature_sm;     ///< sm numbers whose family and architecture targets have it besides
  bool architecture_only = false;  ///< of feature_sm, only the architecture targets (a)
};

const std::vector<TargetInstruction>& known_instructions();

/// An instruction by name or by the start of its PTX form ("mma.block_scale", "cvt.rn.satfinite.e2m1x2");
/// `not_found` with the known ones.
Result<TargetInstruction> find_instruction(const std::string& name);

/// Whether a target may contain the instruction.
bool accepts(const CodeTarget& target, const TargetInstruction& instruction);

/// The machine-code targets that may contain the instruction.
std::vector<CodeTarget> targets_with(const TargetInstruction& instruction);

}  // namespace tilewright
