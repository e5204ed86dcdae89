#include "inspect/image_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "inspect/archive.hpp"
#include "inspect/elf_file.hpp"
#include "inspect/embedded.hpp"
#include "inspect/fatbin.hpp"
#include "inspect/limits.hpp"

namespace tilewright::inspect {
namespace {

// fatbinary_section.h of the CUDA toolkit: linked images, and images that wait for the device linker.
constexpr std::array<std::string_view, 2> kFatbinSections = {".nv_fatbin", "__nv_relfatbin"};

bool is_fatbin_section(std::string_view name) {
  return std::find(kFatbinSections.begin(), kFatbinSections.end(), name) != kFatbinSections.end();
}

BinaryKind kind_of(const ElfFile& file) {
  if (file.header().machine == kElfMachineCuda) return BinaryKind::cubin;
  if (file.header().type == kElfRelocatable) return BinaryKind::elf_object;
  const bool program = file.header().type == kElfExecutable || file.is_position_independent_program();
  return program ? BinaryKind::elf_executable : BinaryKind::elf_shared;
}

class ImageLister {
 public:
  ImageLister(ByteView file, BinaryReport& report, Notes& notes)
      : file_(file), report_(report), notes_(notes), budget_(kSectionSharing * file.size()) {}

  Status list() {
    if (file_.starts_with(kArchiveMagic) || file_.starts_with(kThinArchiveMagic)) {
      report_.kind = BinaryKind::archive;
      TILEWRIGHT_TRY(list_archive());
    } else if (is_fatbin(file_)) {
      report_.kind = BinaryKind::fatbin;
      list_containers(file_, 0, {});
    } else {
      TILEWRIGHT_ASSIGN(const ElfFile elf, ElfFile::parse(file_));
      report_.kind = kind_of(elf);
      list_elf(elf, 0, {});
    }
    if (full()) {
      return fail(ErrorCode::exhausted, fmt::format("more images than the limit of {}", kMaxImages));
    }
    return {};
  }

 private:
  [[nodiscard]] bool full() const { return static_cast<std::int64_t>(report_.images.size()) > kMaxImages; }

  Status list_archive() {
    TILEWRIGHT_ASSIGN(const auto members, archive_members(file_, notes_));
    for (const ArchiveMember& member : members) {
      if (is_fatbin(member.bytes)) {
        list_containers(member.bytes, member.offset, member.name);
      } else if (member.bytes.starts_with(kElfMagic)) {
        const auto elf = ElfFile::parse(member.bytes);
        if (elf) {
          list_elf(*elf, member.offset, member.name);
        } else {
          notes_.add(fmt::format("member {}: {}", member.name, elf.error().message()));
        }
      }
    }
    return {};
  }

  void list_elf(const ElfFile& elf, std::uint64_t offset, const std::string& member) {
    if (elf.header().machine == kElfMachineCuda) {
      add_cubin(elf.bytes(), offset, member);
      return;
    }
    if (elf.sections().empty()) {
      notes_.add("no section table: searched byte by byte");
      list_embedded(elf.bytes(), offset, member);
      return;
    }
    for (const ElfSection& section : elf.sections()) {
      const bool dedicated = is_fatbin_section(section.name);
      if (!dedicated && section.type != kSectionProgram) continue;
      const auto bytes = elf.contents(section);
      if (bytes && bytes->size() > budget_) {
        notes_.add(fmt::format("section {} is not read: sections overlap", section.name));
      } else if (!bytes) {
        notes_.add(fmt::format("section {} has {} bytes at {} and the file ends at {}", section.name, section.size,
                               section.offset, elf.bytes().size()));
      } else if (dedicated) {
        budget_ -= bytes->size();
        list_containers(*bytes, offset + section.offset, member);
      } else if (section.name.substr(0, 5) != ".text" && section.name.substr(0, 6) != ".debug") {
        budget_ -= bytes->size();
        list_embedded(*bytes, offset + section.offset, member);
      }
    }
  }

  void list_containers(ByteView bytes, std::uint64_t offset, const std::string& member) {
    const std::int64_t room = kMaxImages + 1 - static_cast<std::int64_t>(report_.images.size());
    if (room <= 0) return;
    report_.containers +=
        list_fatbin_images(bytes, {offset, member, report_.containers},
                           static_cast<std::int64_t>(report_.images.size()) + room, report_.images, notes_);
  }

  // Programs that carry images as arrays of bytes, and load them by cuModuleLoadData.
  void list_embedded(ByteView bytes, std::uint64_t offset, const std::string& member) {
    for_each_embedded(bytes, [&](std::uint64_t at, ByteView image) {
      if (is_fatbin(image)) {
        list_containers(image, offset + at, member);
      } else {
        add_cubin(image, offset + at, member);
      }
      return !full();
    });
  }

  void add_cubin(ByteView bytes, std::uint64_t offset, const std::string& member) {
    CodeImage& image = report_.images.emplace_back();
    image.member = member;
    image.file_offset = static_cast<std::int64_t>(offset);
    image.stored_bytes = static_cast<std::int64_t>(bytes.size());
    image.bytes = image.stored_bytes;
  }

  ByteView file_;
  BinaryReport& report_;
  Notes& notes_;
  std::uint64_t budget_;
};

}  // namespace

Status list_images(ByteView file, BinaryReport& report, Notes& notes) {
  return ImageLister(file, report, notes).list();
}

bool begins_like_binary(ByteView head) {
  return head.starts_with(kElfMagic) || head.starts_with(kArchiveMagic) || head.starts_with(kThinArchiveMagic) ||
         is_fatbin(head);
}

}  // namespace tilewright::inspect
