// Binaries built byte by byte: ELF files with the sections that a test names, cubins, fat binaries, archives.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::testing {

using Bytes = std::vector<std::uint8_t>;

Bytes bytes_of(std::string_view text);

/// Little-endian fields, one after the other.
class Fields {
 public:
  Fields& u8(std::uint64_t value) { return add(value, 1); }
  Fields& u16(std::uint64_t value) { return add(value, 2); }
  Fields& u32(std::uint64_t value) { return add(value, 4); }
  Fields& u64(std::uint64_t value) { return add(value, 8); }
  Fields& raw(const Bytes& bytes);
  [[nodiscard]] const Bytes& bytes() const { return bytes_; }

 private:
  Fields& add(std::uint64_t value, int size);

  Bytes bytes_;
};

/// Overwrites a field of `bytes`.
void put(Bytes& bytes, std::uint64_t offset, std::uint64_t value, int size);

std::uint64_t field(const Bytes& bytes, std::uint64_t offset, int size);

struct Section {
  std::string name;
  std::uint32_t type = 1;  // SHT_PROGBITS
  std::uint64_t flags = 0;
  Bytes contents;
  std::uint64_t size = 0;  // of a section without contents (SHT_NOBITS)
  std::uint32_t link = 0;
  std::uint32_t info = 0;
};

struct Elf {
  std::uint16_t type = 3;      // ET_DYN
  std::uint16_t machine = 62;  // x86-64
  std::uint8_t os_abi = 0;
  std::uint8_t abi_version = 0;
  std::uint32_t version = 1;
  std::uint32_t flags = 0;
  std::vector<Section> sections;  // from index 1 on; the names follow them
};

/// Header, sections, section names, section table.
Bytes elf_file(const Elf& elf);

/// What a cubin says of one kernel.
struct Kernel {
  std::string name = "k";
  Bytes code = Bytes(128);
  std::uint32_t registers = 32;
  std::uint32_t frame_bytes = 0;
  std::uint32_t shared_section_bytes = 0;  // with the driver's 1,024 where a linker put them; 0: no section
  Bytes attributes = {};                   // of .nv.info.NAME
  std::uint64_t code_flags = 6;
  std::uint32_t code_info = 0;
};

/// The convention of CUDA 12 for a target below sm_100: target and suffix in e_flags, toolkit in e_version.
Elf first_convention(std::uint32_t number, bool arch_specific, std::uint32_t toolkit);

/// The convention of CUDA 13: target in bits 8 to 15 of e_flags, the toolkit and the command line in a note.
Elf second_convention(std::uint32_t number, const std::string& compiler_note);

Bytes cubin(Elf elf, const std::vector<Kernel>& kernels);

/// One EIATTR record with a payload (form 4), and one with a value (forms 1 to 3).
Bytes attribute(std::uint8_t number, const Bytes& payload);
Bytes attribute_value(std::uint8_t form, std::uint8_t number, std::uint16_t value);

/// An instruction of 16 bytes with this opcode and these high 8 bytes.
Bytes instruction(std::uint16_t opcode, std::uint64_t high = 0);

struct FatbinImage {
  std::uint16_t kind = 2;  // a cubin; 1: PTX, 8: NVVM IR
  std::uint32_t target = 90;
  std::uint64_t flags = 0x11;
  Bytes payload;
  std::uint64_t unpacked_bytes = 0;  // of a compressed one
  std::uint32_t major = 1;
  std::uint32_t minor = 8;
};

constexpr std::uint64_t kLz4 = 0x2000;
constexpr std::uint64_t kZstd = 0x8000;
constexpr std::uint64_t kArchSpecific = 0x100000;
constexpr std::uint64_t kFamilySpecific = 0x200000;

Bytes fatbin(const std::vector<FatbinImage>& images);

/// The image compressed as a block of LZ4 or a frame of zstd, with the flag that says so.
FatbinImage compressed(FatbinImage image, std::uint64_t flag);

struct Member {
  std::string name;
  Bytes contents;
};

/// A GNU archive; names of more than 15 characters go to its table of names.
Bytes archive(const std::vector<Member>& members);

}  // namespace tilewright::testing
