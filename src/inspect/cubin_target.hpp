// Where a cubin says what it was made for and by what.
//
// Two conventions of the ELF header are in use. The first (OS ABI 0x33, ABI version 7 and before; CUDA 12.8 and before,
// and up to 12.9 for targets below sm_100) has the target in bits 0 to 7 of e_flags, "arch-specific" in bit 11 and the
// toolkit (129 is 12.9) in e_version. The second (OS ABI 0x41, ABI version 8) has the target in bits 8 to 15, and
// "arch-specific" in bit 3 (CUDA 12.9) or in record 9 of section .nv.compat (CUDA 13); the toolkit stands in the note
// of the compiler. "Family-specific" stands in the command line of that note alone, and in the entry of a fat binary.
#pragma once

#include <string>
#include <string_view>

#include "inspect/elf_file.hpp"
#include "tilewright/binary_images.hpp"

namespace tilewright::inspect {

/// The target of a cubin; number 0 where its header follows no known convention.
ImageTarget cubin_target(const ElfFile& file);

/// "13.0"; empty where it is not told.
std::string cubin_toolkit(const ElfFile& file);

/// "sm_120a", "compute_90" or "120f" as a target; {0, '\0'} for any other word.
ImageTarget target_in(std::string_view word);

}  // namespace tilewright::inspect
