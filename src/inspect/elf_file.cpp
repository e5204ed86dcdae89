#include "inspect/elf_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "inspect/limits.hpp"

namespace tilewright::inspect {
namespace {

// Elf64_Ehdr, Elf64_Shdr, Elf64_Phdr, Elf64_Sym and Elf64_Dyn: sizes, and the offsets of the fields that are read.
constexpr std::uint64_t kHeaderBytes = 64;
constexpr std::uint64_t kSectionBytes = 64;
constexpr std::uint64_t kProgramBytes = 56;
constexpr std::uint64_t kSymbolBytes = 24;
constexpr std::uint64_t kDynamicBytes = 16;

constexpr std::uint8_t kClass64 = 2;
constexpr std::uint8_t kLittleEndian = 1;
constexpr std::uint32_t kExtendedIndex = 0xffff;  // SHN_XINDEX

constexpr std::uint32_t kProgramDynamic = 2;      // PT_DYNAMIC
constexpr std::uint32_t kProgramInterpreter = 3;  // PT_INTERP
constexpr std::uint64_t kDynamicSoname = 14;      // DT_SONAME
constexpr std::uint64_t kDynamicFlags1 = 0x6ffffffb;
constexpr std::uint64_t kFlagPie = 0x08000000;  // DF_1_PIE

struct Tables {
  std::uint64_t program_offset = 0;
  std::uint64_t program_count = 0;
  std::uint64_t section_offset = 0;
  std::uint64_t section_count = 0;
  std::uint64_t names_index = 0;
};

// Where the tables are. A count of 0 with a section table means that section 0 holds the count, and an index of
// SHN_XINDEX that it holds the index (more than 65,279 sections: one kernel a section passes that).
std::optional<Tables> read_tables(ByteView bytes) {
  if (!bytes.holds(0, kHeaderBytes)) return std::nullopt;
  Tables tables;
  tables.program_offset = *bytes.read<std::uint64_t>(32);
  tables.program_count = *bytes.read<std::uint16_t>(56);
  tables.section_offset = *bytes.read<std::uint64_t>(40);
  tables.section_count = *bytes.read<std::uint16_t>(60);
  tables.names_index = *bytes.read<std::uint16_t>(62);
  if (tables.section_offset == 0) return tables;
  const auto first = bytes.part(tables.section_offset, kSectionBytes);
  if (tables.section_count == 0 && first) tables.section_count = *first->read<std::uint64_t>(32);
  if (tables.names_index == kExtendedIndex && first) tables.names_index = *first->read<std::uint32_t>(40);
  return tables;
}

std::optional<ByteView> table(ByteView bytes, std::uint64_t offset, std::uint64_t count, std::uint64_t entry) {
  if (count > bytes.size() / entry) return std::nullopt;
  return bytes.part(offset, count * entry);
}

}  // namespace

Result<ElfFile> ElfFile::parse(ByteView bytes) {
  if (!bytes.starts_with(kElfMagic)) return fail(ErrorCode::unsupported, "not an ELF file");
  if (!bytes.holds(0, kHeaderBytes)) {
    return fail(ErrorCode::corrupt, fmt::format("an ELF header of {} bytes in {}", kHeaderBytes, bytes.size()),
                "copy or build the file again");
  }
  const auto elf_class = *bytes.read<std::uint8_t>(4);
  const auto order = *bytes.read<std::uint8_t>(5);
  if (elf_class != kClass64 || order != kLittleEndian) {
    return fail(ErrorCode::unsupported, fmt::format("ELF of class {} and byte order {}", elf_class, order),
                "only 64-bit little-endian ELF (2 and 1) holds code for the GPUs known here");
  }
  ElfFile file;
  file.bytes_ = bytes;
  file.header_ = {*bytes.read<std::uint8_t>(7),   *bytes.read<std::uint8_t>(8),   *bytes.read<std::uint16_t>(16),
                  *bytes.read<std::uint16_t>(18), *bytes.read<std::uint32_t>(20), *bytes.read<std::uint32_t>(48)};
  TILEWRIGHT_TRY(file.read_sections());
  return file;
}

Status ElfFile::read_sections() {
  const Tables tables = *read_tables(bytes_);  // the header was there
  if (tables.section_offset == 0) return {};
  const auto entries = table(bytes_, tables.section_offset, tables.section_count, kSectionBytes);
  if (!entries) {
    return fail(ErrorCode::corrupt,
                fmt::format("a table of {} sections at byte {} of {}", tables.section_count, tables.section_offset,
                            bytes_.size()),
                "the file is cut short or damaged: copy or build it again");
  }
  sections_.resize(tables.section_count);
  for (std::uint64_t i = 0; i < tables.section_count; ++i) {
    const ByteView entry = entries->from(i * kSectionBytes);
    sections_[i].type = *entry.read<std::uint32_t>(4);
    sections_[i].flags = *entry.read<std::uint64_t>(8);
    sections_[i].offset = *entry.read<std::uint64_t>(24);
    sections_[i].size = *entry.read<std::uint64_t>(32);
    sections_[i].link = *entry.read<std::uint32_t>(40);
    sections_[i].info = *entry.read<std::uint32_t>(44);
  }
  name_sections(tables.names_index);
  return {};
}

// Names may share bytes (".text.K" is the end of ".rela.text.K"), but not without end: what a table of names can be
// asked for is bounded, and so is the time of a file whose every name is all of the table.
void ElfFile::name_sections(std::uint64_t table_index) {
  if (table_index >= sections_.size()) return;
  const auto names = contents(sections_[table_index]);
  if (!names) return;
  const Tables tables = *read_tables(bytes_);
  const ByteView entries = bytes_.from(tables.section_offset);
  std::uint64_t budget = kNameSharing * names->size();
  for (std::uint64_t i = 0; i < sections_.size() && budget > 0; ++i) {
    const auto offset = *entries.read<std::uint32_t>(i * kSectionBytes);
    const auto name = names->terminated_text(offset, std::min(kMaxNameBytes, budget));
    budget -= std::min(budget, name ? name->size() + 1 : kMaxNameBytes);
    if (name) sections_[i].name = *name;
  }
}

std::optional<ByteView> ElfFile::contents(const ElfSection& section) const {
  if (section.type == kSectionNoBits) return ByteView();
  return bytes_.part(section.offset, section.size);
}

const ElfSection* ElfFile::find_type(std::uint32_t type) const {
  const auto found =
      std::find_if(sections_.begin(), sections_.end(), [&](const ElfSection& section) { return section.type == type; });
  return found == sections_.end() ? nullptr : &*found;
}

Result<std::vector<ElfSymbol>> ElfFile::symbols() const {
  std::vector<ElfSymbol> symbols;
  const ElfSection* section = find_type(kSectionSymbols);
  if (section == nullptr) return symbols;
  const auto entries = contents(*section);
  if (!entries) {
    return fail(ErrorCode::corrupt, fmt::format("a symbol table of {} bytes at byte {} of {}", section->size,
                                                section->offset, bytes_.size()));
  }
  const ElfSection* extended = find_type(kSectionSymbolIndices);
  const ByteView indices = extended == nullptr ? ByteView() : contents(*extended).value_or(ByteView());
  symbols.resize(entries->size() / kSymbolBytes);
  for (std::uint64_t i = 0; i < symbols.size(); ++i) {
    const ByteView entry = entries->from(i * kSymbolBytes);
    symbols[i].name_offset = *entry.read<std::uint32_t>(0);
    symbols[i].type = *entry.read<std::uint8_t>(4) & 0xFU;
    symbols[i].other = *entry.read<std::uint8_t>(5);
    symbols[i].section = *entry.read<std::uint16_t>(6);
    if (symbols[i].section == kExtendedIndex) symbols[i].section = indices.read<std::uint32_t>(4 * i).value_or(0);
  }
  return symbols;
}

ByteView ElfFile::symbol_names() const {
  const ElfSection* section = find_type(kSectionSymbols);
  if (section == nullptr || section->link >= sections_.size()) return {};
  return contents(sections_[section->link]).value_or(ByteView());
}

bool ElfFile::is_position_independent_program() const {
  const Tables tables = *read_tables(bytes_);
  const auto programs = table(bytes_, tables.program_offset, tables.program_count, kProgramBytes);
  if (!programs) return false;
  bool interpreter = false;
  bool named = false;
  for (std::uint64_t i = 0; i < tables.program_count; ++i) {
    const ByteView program = programs->from(i * kProgramBytes);
    const auto type = *program.read<std::uint32_t>(0);
    interpreter = interpreter || type == kProgramInterpreter;
    if (type != kProgramDynamic) continue;
    const ByteView entries =
        bytes_.part(*program.read<std::uint64_t>(8), *program.read<std::uint64_t>(32)).value_or(ByteView());
    for (std::uint64_t at = 0; entries.holds(at, kDynamicBytes); at += kDynamicBytes) {
      const auto tag = *entries.read<std::uint64_t>(at);
      if (tag == kDynamicFlags1) return (*entries.read<std::uint64_t>(at + 8) & kFlagPie) != 0;
      named = named || tag == kDynamicSoname;
    }
  }
  return interpreter && !named;
}

std::optional<std::uint64_t> elf_extent(ByteView bytes) {
  const auto tables = read_tables(bytes);
  if (!tables) return std::nullopt;
  const auto programs = table(bytes, tables->program_offset, tables->program_count, kProgramBytes);
  const auto sections = table(bytes, tables->section_offset, tables->section_count, kSectionBytes);
  if (!programs || !sections || tables->section_count > kMaxEmbeddedSections) return std::nullopt;
  std::uint64_t end =
      std::max({kHeaderBytes, tables->program_offset + programs->size(), tables->section_offset + sections->size()});
  for (std::uint64_t i = 0; i < tables->section_count; ++i) {
    const ByteView entry = sections->from(i * kSectionBytes);
    if (*entry.read<std::uint32_t>(4) == kSectionNoBits) continue;
    const auto offset = *entry.read<std::uint64_t>(24);
    const auto size = *entry.read<std::uint64_t>(32);
    if (!bytes.holds(offset, size)) return std::nullopt;
    end = std::max(end, offset + size);
  }
  return end;
}

}  // namespace tilewright::inspect
