#include "inspect/binary_bytes.hpp"

#include <lz4.h>
#include <zstd.h>

#include <stdexcept>

namespace tilewright::testing {
namespace {

constexpr std::uint64_t kElfHeader = 64;
constexpr std::uint64_t kSymbols = 2;  // SHT_SYMTAB
constexpr std::uint64_t kNoBits = 8;   // SHT_NOBITS
constexpr std::uint8_t kGlobalFunction = 0x12;
constexpr std::uint8_t kEntryPoint = 0x10;

void pad(Bytes& bytes, std::size_t alignment) {
  while (bytes.size() % alignment != 0) bytes.push_back(0);
}

void append(Bytes& bytes, const Bytes& more) { bytes.insert(bytes.end(), more.begin(), more.end()); }

// Text without its NUL, filled up with spaces.
Bytes column(std::string_view text, std::size_t width) {
  Bytes bytes = bytes_of(text);
  bytes.resize(width, ' ');
  return bytes;
}

}  // namespace

Bytes bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

Fields& Fields::raw(const Bytes& bytes) {
  append(bytes_, bytes);
  return *this;
}

Fields& Fields::add(std::uint64_t value, int size) {
  for (int i = 0; i < size; ++i) bytes_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  return *this;
}

void put(Bytes& bytes, std::uint64_t offset, std::uint64_t value, int size) {
  for (int i = 0; i < size; ++i)
    bytes.at(offset + static_cast<std::uint64_t>(i)) = static_cast<std::uint8_t>(value >> (8 * i));
}

std::uint64_t field(const Bytes& bytes, std::uint64_t offset, int size) {
  std::uint64_t value = 0;
  for (int i = size - 1; i >= 0; --i) value = value << 8U | bytes.at(offset + static_cast<std::uint64_t>(i));
  return value;
}

Bytes elf_file(const Elf& elf) {
  Bytes names(1);
  std::vector<Section> sections = elf.sections;
  sections.push_back({".shstrtab", 3, 0, {}, 0, 0, 0});
  std::vector<std::uint64_t> name_offsets;
  for (const Section& section : sections) {
    name_offsets.push_back(names.size());
    append(names, bytes_of(section.name));
    names.push_back(0);
  }
  sections.back().contents = names;

  Bytes body(kElfHeader);
  Fields table;
  table.raw(Bytes(64));
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const Section& section = sections[i];
    pad(body, 16);
    const std::uint64_t size = section.contents.empty() ? section.size : section.contents.size();
    table.u32(name_offsets[i]).u32(section.type).u64(section.flags).u64(0).u64(body.size()).u64(size);
    table.u32(section.link).u32(section.info).u64(1).u64(section.type == kSymbols ? 24 : 0);
    append(body, section.contents);
  }
  pad(body, 8);
  Fields header;
  header.raw(bytes_of("\177ELF")).u8(2).u8(1).u8(1).u8(elf.os_abi).u8(elf.abi_version).raw(Bytes(7));
  header.u16(elf.type).u16(elf.machine).u32(elf.version).u64(0).u64(0).u64(body.size()).u32(elf.flags);
  header.u16(kElfHeader).u16(56).u16(0).u16(64).u16(sections.size() + 1).u16(sections.size());
  std::copy(header.bytes().begin(), header.bytes().end(), body.begin());
  append(body, table.bytes());
  return body;
}

Elf first_convention(std::uint32_t number, bool arch_specific, std::uint32_t toolkit) {
  return {2, 190, 0x33, 7, toolkit, number << 16U | (arch_specific ? 0x800U : 0U) | 0x500U | number, {}};
}

Elf second_convention(std::uint32_t number, const std::string& compiler_note) {
  Elf elf{2, 190, 0x41, 8, 1, 0x06000002U | number << 8U, {}};
  Bytes note = bytes_of(compiler_note);
  note.push_back(0);
  elf.sections.push_back({".note.nv.tkinfo", 7, 0, note, 0, 0, 0});
  return elf;
}

Bytes attribute(std::uint8_t number, const Bytes& payload) {
  return Fields().u8(4).u8(number).u16(payload.size()).raw(payload).bytes();
}

Bytes attribute_value(std::uint8_t form, std::uint8_t number, std::uint16_t value) {
  return Fields().u8(form).u8(number).u16(value).bytes();
}

Bytes instruction(std::uint16_t opcode, std::uint64_t high) { return Fields().u64(opcode).u64(high).bytes(); }

Bytes cubin(Elf elf, const std::vector<Kernel>& kernels) {
  Bytes names(1);
  Fields symbols;
  symbols.raw(Bytes(24));
  Bytes info;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const Kernel& kernel = kernels[i];
    elf.sections.push_back({".text." + kernel.name, 1, kernel.code_flags, kernel.code, 0, 0, kernel.code_info});
    symbols.u32(names.size()).u8(kGlobalFunction).u8(kEntryPoint).u16(elf.sections.size()).u64(0);
    symbols.u64(kernel.code.size());
    append(names, bytes_of(kernel.name));
    names.push_back(0);
    if (kernel.registers != 0) append(info, attribute(0x2f, Fields().u32(i + 1).u32(kernel.registers).bytes()));
    append(info, attribute(0x11, Fields().u32(i + 1).u32(kernel.frame_bytes).bytes()));
    elf.sections.push_back({".nv.info." + kernel.name, 0x70000000, 0, kernel.attributes, 0, 0, 0});
    if (kernel.shared_section_bytes != 0) {
      elf.sections.push_back({".nv.shared." + kernel.name, kNoBits, 0, {}, kernel.shared_section_bytes, 0, 0});
    }
  }
  elf.sections.push_back({".nv.info", 0x70000000, 0, info, 0, 0, 0});
  elf.sections.push_back({".strtab", 3, 0, names, 0, 0, 0});
  const auto names_index = static_cast<std::uint32_t>(elf.sections.size());
  elf.sections.push_back({".symtab", kSymbols, 0, symbols.bytes(), 0, names_index, 1});
  return elf_file(elf);
}

Bytes fatbin(const std::vector<FatbinImage>& images) {
  Fields entries;
  for (const FatbinImage& image : images) {
    Bytes payload = image.payload;
    const std::uint64_t compressed_bytes = image.unpacked_bytes == 0 ? 0 : payload.size();
    pad(payload, 8);
    entries.u16(image.kind).u16(0x101).u32(64).u64(payload.size()).u32(compressed_bytes).u32(0);
    entries.u16(image.minor).u16(image.major).u32(image.target).u32(0).u32(0).u64(image.flags).u64(0);
    entries.u64(image.unpacked_bytes).raw(payload);
  }
  return Fields().u32(0xBA55ED50).u16(1).u16(16).u64(entries.bytes().size()).raw(entries.bytes()).bytes();
}

FatbinImage compressed(FatbinImage image, std::uint64_t flag) {
  const Bytes plain = image.payload;
  Bytes packed(ZSTD_compressBound(plain.size()) + 64);
  std::size_t size = 0;
  if (flag == kLz4) {
    const int written =
        LZ4_compress_default(reinterpret_cast<const char*>(plain.data()), reinterpret_cast<char*>(packed.data()),
                             static_cast<int>(plain.size()), static_cast<int>(packed.size()));
    if (written <= 0) throw std::runtime_error("LZ4 does not compress");
    size = static_cast<std::size_t>(written);
  } else {
    size = ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(), 3);
    if (ZSTD_isError(size) != 0) throw std::runtime_error("zstd does not compress");
  }
  packed.resize(size);
  image.payload = packed;
  image.unpacked_bytes = plain.size();
  image.flags |= flag;
  return image;
}

Bytes archive(const std::vector<Member>& members) {
  Bytes file = bytes_of("!<arch>\n");
  const auto add = [&](const std::string& field, const Bytes& contents) {
    append(file, column(field, 48));
    append(file, column(std::to_string(contents.size()), 10));
    append(file, bytes_of("`\n"));
    append(file, contents);
    if (file.size() % 2 != 0) file.push_back('\n');
  };
  std::string long_names;
  std::vector<std::string> fields;
  for (const Member& member : members) {
    if (member.name.size() <= 15) {
      fields.push_back(member.name + "/");
    } else {
      fields.emplace_back("/");
      fields.back() += std::to_string(long_names.size());
      long_names += member.name + "/\n";
    }
  }
  add("/", Bytes(8));  // an empty table of symbols
  if (!long_names.empty()) add("//", bytes_of(long_names));
  for (std::size_t i = 0; i < members.size(); ++i) add(fields[i], members[i].contents);
  return file;
}

}  // namespace tilewright::testing
