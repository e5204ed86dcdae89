// The image of a fat binary that a driver loads.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tilewright/binary_images.hpp"
#include "tilewright/targets.hpp"

namespace tilewright::inspect {

/// The target as targets.hpp judges it.
CodeTarget code_target(const CodeImage& image);

/// "sm_120a", "compute_90".
std::string target_name(const CodeImage& image);

/// Images that are one module to the driver: those of a fat binary, or a cubin on its own.
struct Module {
  std::string member;
  std::vector<std::size_t> images;  ///< indices into the report
};
std::vector<Module> modules_of(const BinaryReport& report);

/// The module's image that the driver takes on a device: machine code before PTX, the nearest target first (the
/// architecture's own, then the family's, then the highest base). LTO IR is not loaded.
std::optional<std::size_t> loaded_image(const BinaryReport& report, const Module& module, ComputeCapability device);

}  // namespace tilewright::inspect
