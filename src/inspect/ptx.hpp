// PTX: what the text of an image says of its target and of its entries.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tilewright/binary_images.hpp"

namespace tilewright::inspect {

struct PtxContents {
  std::string version;  ///< of .version; empty where there is none
  ImageTarget target;   ///< of .target; number 0 where there is none
  std::vector<KernelInfo> kernels;
};

/// Reads directives and opcodes; comments and strings are not taken for either. Of text that is not PTX nothing is
/// found. `scan_code`: look for instructions in the bodies.
PtxContents read_ptx(std::string_view text, bool scan_code);

}  // namespace tilewright::inspect
