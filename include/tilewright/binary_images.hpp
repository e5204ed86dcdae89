// Binary images: the GPU code inside an executable, a shared or static library, an object, a fat binary or a cubin.
//
// Everything here is read from the bytes of the file: no driver, no CUDA tool, and a file name is never evidence. The
// reader trusts nothing: whatever a length, offset or count says is checked against the bytes that are there, and
// what does not hold is a named error (the file itself) or a note (a part of it; the rest is still reported).
//
// Where the numbers come from: the ELF symbols and sections of a cubin (.text.KERNEL, .nv.info.KERNEL with its EIATTR
// records, .nv.shared.KERNEL, .nv.constant0.KERNEL) and its machine code; the text of PTX.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tilewright/result.hpp"

namespace tilewright {

enum class BinaryKind : std::uint8_t {
  elf_executable,  ///< a host program, position independent or not
  elf_shared,      ///< a host shared library
  elf_object,      ///< a host object
  archive,         ///< a static library
  fatbin,          ///< a fat binary on its own
  cubin,           ///< one GPU image on its own
};
const char* to_string(BinaryKind kind);  ///< "elf_executable", ...

enum class ImageKind : std::uint8_t {
  cubin,   ///< machine code of one target
  ptx,     ///< text, which a driver compiles for its device (within the target's family where the suffix says so)
  lto_ir,  ///< the compiler's intermediate form for link-time optimisation; its kernels are not listed
};
const char* to_string(ImageKind kind);  ///< "cubin", "ptx", "lto_ir"

/// What an image was compiled for: sm_120 is {120, '\0'}, sm_120a {120, 'a'}, sm_120f {120, 'f'}. 'a' runs on that
/// compute capability alone, 'f' on its family, none on the same major version from that minor version on.
struct ImageTarget {
  int number = 0;      ///< ten times the major version plus the minor one: 90, 100, 120, 121
  char suffix = '\0';  ///< '\0', 'a' or 'f'

  friend bool operator==(const ImageTarget& a, const ImageTarget& b) {
    return a.number == b.number && a.suffix == b.suffix;
  }
};

/// "sm_120a" of a cubin, "compute_120a" of PTX and of lto_ir.
std::string to_string(const ImageTarget& target, ImageKind kind);

/// Threads of a block along x, y and z.
struct BlockShape {
  int x = 0;
  int y = 1;
  int z = 1;

  [[nodiscard]] std::int64_t threads() const { return std::int64_t{x} * y * z; }
};

/// One kernel (an entry point) of one image. What an image does not tell is nullopt: PTX knows no registers, machine
/// code of an object that is not linked yet may not know its stack.
struct KernelInfo {
  std::string symbol;  ///< as it stands in the image: mangled, of any length

  std::optional<int> registers;              ///< of a thread, as allocated at launch (before setmaxnreg)
  std::optional<BlockShape> required_block;  ///< the exact block shape (.reqntid)
  std::optional<BlockShape> max_block;       ///< what __launch_bounds__ or .maxntid states as the largest block
  std::optional<int> min_blocks_per_sm;      ///< .minnctapersm; PTX alone tells it
  std::optional<int> barriers;               ///< named barriers of a block

  std::optional<std::int64_t> static_shared_bytes;  ///< without what a launch asks for, and without the driver's share
  std::optional<std::int64_t> stack_bytes;          ///< of a thread: arrays, calls and spilled registers together
  std::optional<std::int64_t> spill_store_bytes;    ///< of a thread, as `ptxas -v` counts: each instruction once
  std::optional<std::int64_t> spill_load_bytes;
  std::optional<std::int64_t> constant_bytes;  ///< bank 0: the driver's head and the parameters
  std::optional<std::int64_t> parameter_bytes;
  std::int64_t code_bytes = 0;  ///< machine code, or text of PTX

  // Instructions found in the code, each place once. nullopt: the code was not looked at, or its encoding is not known.
  std::optional<int> setmaxnreg;          ///< warps change their register count: warp specialization
  std::optional<int> griddep_wait;        ///< griddepcontrol.wait: may be launched with PDL
  std::optional<int> griddep_launch;      ///< griddepcontrol.launch_dependents
  std::optional<int> local_memory_loads;  ///< loads of a thread's own memory: arrays, and spilled registers
  std::optional<int> local_memory_stores;
  std::optional<int> shared_memory_loads;  ///< of machine code
  std::optional<int> half_mma;             ///< MMAs on fp16 or bf16 by mma.sync, of machine code for SM80 and newer
  std::optional<int> fp4_mma;  ///< block-scaled FP4 MMAs of machine code for SM120 and SM121, whose encoding is known
};

/// One image: a cubin, PTX text or LTO IR.
struct CodeImage {
  ImageKind kind = ImageKind::cubin;
  ImageTarget target;
  std::string member;            ///< the member of an archive; else empty
  std::int64_t container = -1;   ///< which fat binary of the file, from 0 in file order; -1 for a cubin on its own
  std::int64_t file_offset = 0;  ///< of the image's first byte (compressed or not) in the file
  std::int64_t stored_bytes = 0;
  std::int64_t bytes = 0;           ///< after decompression
  std::string compression;          ///< "", "lz4" or "zstd"
  std::string identifier;           ///< the source or object file that the compiler noted; often empty
  std::string version;              ///< PTX: its ISA version, "9.0"; cubin: the toolkit that made it, where it tells
  bool relocatable = false;         ///< not linked (-rdc=true): never loaded as it is, and numbers may still change
  bool debug = false;               ///< compiled with -G
  std::vector<KernelInfo> kernels;  ///< in the order of the image's symbol table, or of its text
  std::vector<std::string> notes;   ///< what of this image could not be read, one line each
};

struct BinaryReport {
  std::string path;
  BinaryKind kind = BinaryKind::elf_executable;
  std::int64_t file_bytes = 0;
  std::int64_t containers = 0;     ///< fat binaries in the file, all members together
  std::vector<CodeImage> images;   ///< in file order; empty for a file without GPU code
  std::vector<std::string> notes;  ///< what of the file could not be read, one line each
};

struct ReadBinaryOptions {
  int threads = 2;        ///< images are unpacked and read by this many threads; the report does not depend on it
  bool scan_code = true;  ///< look for instructions (setmaxnreg, griddepcontrol, local memory); false: nullopt
};

/// The images of a file: of its sections for fat binaries, and those that it carries as arrays of bytes in its data (a
/// library may load them by itself; cuobjdump does not list them). A file that is none of BinaryKind is `unsupported`,
/// one whose own structure is broken `corrupt`, one that passes a limit of the reader (src/inspect/limits.hpp)
/// `exhausted`, a thin archive, which holds names in place of bytes, `unsupported`.
Result<BinaryReport> read_binary(const std::string& path, const ReadBinaryOptions& options = {});

/// The same for bytes already in memory; `name` stands in messages and in the report.
Result<BinaryReport> read_binary_bytes(const std::uint8_t* data, std::size_t size, const std::string& name,
                                       const ReadBinaryOptions& options = {});

/// Whether a file begins as one of BinaryKind does. False for what cannot be opened.
bool looks_like_binary(const std::string& path);

}  // namespace tilewright
