// A cubin: its target, its kernels and what each of them takes.
#pragma once

#include <string>
#include <vector>

#include "inspect/byte_view.hpp"
#include "tilewright/binary_images.hpp"
#include "tilewright/result.hpp"

namespace tilewright::inspect {

struct CubinContents {
  ImageTarget target;
  std::string toolkit;
  bool relocatable = false;
  bool debug = false;
  std::vector<KernelInfo> kernels;
  std::vector<std::string> notes;
};

/// What is no cubin is `unsupported`, one whose section or symbol table is broken `corrupt`. A broken section of one
/// kernel is a note, and what it would have told stays nullopt. `scan_code`: look for instructions.
Result<CubinContents> read_cubin(ByteView bytes, bool scan_code);

}  // namespace tilewright::inspect
