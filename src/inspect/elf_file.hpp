// ElfFile: the sections and symbols of a 64-bit little-endian ELF file, be it a host's or a GPU's.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "inspect/byte_view.hpp"
#include "tilewright/result.hpp"

namespace tilewright::inspect {

constexpr std::string_view kElfMagic = "\177ELF";

// https://refspecs.linuxfoundation.org/elf/gabi4+/contents.html
constexpr std::uint16_t kElfRelocatable = 1;  // ET_REL
constexpr std::uint16_t kElfExecutable = 2;   // ET_EXEC
constexpr std::uint16_t kElfShared = 3;       // ET_DYN
constexpr std::uint16_t kElfMachineCuda = 190;
constexpr std::uint32_t kSectionProgram = 1;  // SHT_PROGBITS
constexpr std::uint32_t kSectionSymbols = 2;  // SHT_SYMTAB
constexpr std::uint32_t kSectionNote = 7;
constexpr std::uint32_t kSectionNoBits = 8;
constexpr std::uint32_t kSectionSymbolIndices = 18;  // SHT_SYMTAB_SHNDX
constexpr std::uint8_t kSymbolFunction = 2;          // STT_FUNC

struct ElfHeader {
  std::uint8_t os_abi = 0;
  std::uint8_t abi_version = 0;
  std::uint16_t type = 0;
  std::uint16_t machine = 0;
  std::uint32_t version = 0;
  std::uint32_t flags = 0;
};

struct ElfSection {
  std::string_view name;  ///< into the file; empty where the file's name cannot be read
  std::uint32_t type = 0;
  std::uint64_t flags = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t link = 0;
  std::uint32_t info = 0;
};

struct ElfSymbol {
  std::uint32_t name_offset = 0;
  std::uint8_t type = 0;
  std::uint8_t other = 0;
  std::uint32_t section = 0;  ///< with an extended index resolved
};

class ElfFile {
 public:
  /// Reads header and section table. What is not 64-bit little-endian ELF is `unsupported`; tables outside the file
  /// are `corrupt`. `bytes` must outlive the result.
  static Result<ElfFile> parse(ByteView bytes);

  [[nodiscard]] const ElfHeader& header() const { return header_; }
  [[nodiscard]] const std::vector<ElfSection>& sections() const { return sections_; }
  [[nodiscard]] ByteView bytes() const { return bytes_; }

  /// The bytes of a section; nullopt where they are not all in the file. A section without bytes in the file is empty.
  [[nodiscard]] std::optional<ByteView> contents(const ElfSection& section) const;

  /// The symbols of SHT_SYMTAB, in order; empty without one. `corrupt` where the table passes the file.
  [[nodiscard]] Result<std::vector<ElfSymbol>> symbols() const;

  /// The string table of SHT_SYMTAB; empty where it cannot be read.
  [[nodiscard]] ByteView symbol_names() const;

  /// Whether a host's ET_DYN file is a program: it says so (DF_1_PIE), or it names an interpreter and no SONAME.
  [[nodiscard]] bool is_position_independent_program() const;

 private:
  Status read_sections();
  void name_sections(std::uint64_t table_index);
  [[nodiscard]] const ElfSection* find_type(std::uint32_t type) const;

  ByteView bytes_;
  ElfHeader header_;
  std::vector<ElfSection> sections_;
};

/// Where the file ends by its own tables: header, program headers, section headers and sections; nullopt where one of
/// them is not in `bytes`. For a cubin that stands among other bytes.
std::optional<std::uint64_t> elf_extent(ByteView bytes);

}  // namespace tilewright::inspect
