#include "inspect/fatbin.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "inspect/limits.hpp"

namespace tilewright::inspect {
namespace {

constexpr std::uint64_t kContainerHeaderBytes = 16;
constexpr std::uint16_t kContainerVersion = 1;
constexpr std::uint64_t kEntryHeaderBytes = 64;
constexpr std::uint64_t kAlignment = 8;

constexpr std::uint16_t kKindPtx = 1;
constexpr std::uint16_t kKindElf = 2;
constexpr std::uint16_t kKindNvvm = 8;

constexpr std::uint64_t kFlagDebug = 0x2;
constexpr std::uint64_t kFlagLz4 = 0x2000;
constexpr std::uint64_t kFlagZstd = 0x8000;
constexpr std::uint64_t kFlagArchSpecific = 0x100000;
constexpr std::uint64_t kFlagFamilySpecific = 0x200000;

constexpr std::uint64_t kMaxIdentifierBytes = 4096;

struct Entry {
  std::uint16_t kind = 0;
  std::uint64_t header_bytes = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t flags = 0;
};

char suffix_of(std::uint64_t flags) {
  if ((flags & kFlagArchSpecific) != 0) return 'a';
  return (flags & kFlagFamilySpecific) != 0 ? 'f' : '\0';
}

ImageKind kind_of(std::uint16_t kind) {
  if (kind == kKindPtx) return ImageKind::ptx;
  return kind == kKindElf ? ImageKind::cubin : ImageKind::lto_ir;
}

// The facts of an entry whose header and payload are in `bytes`, which begin with it.
CodeImage describe(ByteView bytes, const Entry& entry, const FatbinPlace& place, std::uint64_t offset) {
  CodeImage image;
  image.kind = kind_of(entry.kind);
  image.target = {static_cast<int>(*bytes.read<std::uint32_t>(28) & 0xffffU), suffix_of(entry.flags)};
  image.member = place.member;
  image.file_offset = static_cast<std::int64_t>(place.offset + offset + entry.header_bytes);
  image.stored_bytes = static_cast<std::int64_t>(entry.payload_bytes);
  image.bytes = image.stored_bytes;
  if ((entry.flags & (kFlagLz4 | kFlagZstd)) != 0) {
    image.compression = (entry.flags & kFlagZstd) != 0 ? "zstd" : "lz4";
    const std::uint64_t compressed = *bytes.read<std::uint32_t>(16);  // the payload without its padding
    if (compressed != 0 && compressed < entry.payload_bytes) image.stored_bytes = static_cast<std::int64_t>(compressed);
    image.bytes = static_cast<std::int64_t>(std::min<std::uint64_t>(*bytes.read<std::uint64_t>(56), INT64_MAX));
  }
  if (image.kind != ImageKind::cubin) {  // of a cubin this is the version of the ELF convention
    image.version = fmt::format("{}.{}", *bytes.read<std::uint16_t>(26), *bytes.read<std::uint16_t>(24));
  }
  image.debug = (entry.flags & kFlagDebug) != 0;
  const std::uint64_t name_bytes = *bytes.read<std::uint32_t>(36);
  const auto name = bytes.part(*bytes.read<std::uint32_t>(32), std::min(name_bytes, kMaxIdentifierBytes));
  if (name) image.identifier = std::string(name->text().substr(0, name->text().find('\0')));
  return image;
}

class FatbinLister {
 public:
  FatbinLister(ByteView bytes, const FatbinPlace& place, std::int64_t most, std::vector<CodeImage>& images,
               Notes& notes)
      : bytes_(bytes), place_(place), most_(most), images_(images), notes_(notes) {}

  std::int64_t list() {
    std::uint64_t at = 0;
    while (at < bytes_.size() && !full()) {
      if (bytes_.read<std::uint32_t>(at) == kFatbinMagic) {
        at = list_container(at);
      } else {
        at = skip_to_container(at);
      }
    }
    return containers_;
  }

 private:
  [[nodiscard]] bool full() const { return static_cast<std::int64_t>(images_.size()) >= most_; }
  [[nodiscard]] std::uint64_t in_file(std::uint64_t at) const { return place_.offset + at; }

  // Containers are aligned within their section, and zeros stand between them.
  std::uint64_t skip_to_container(std::uint64_t begin) {
    bool only_zeros = true;
    std::uint64_t at = begin;
    for (; at < bytes_.size() && bytes_.read<std::uint32_t>(at) != kFatbinMagic; at += kAlignment) {
      const auto word = bytes_.read<std::uint64_t>(at);
      only_zeros = only_zeros && word.value_or(0) == 0;
    }
    at = std::min(at, bytes_.size());
    if (!only_zeros) notes_.add(fmt::format("{} bytes at {} belong to no fat binary", at - begin, in_file(begin)));
    return at;
  }

  // Returns where to go on: behind the container, or behind its magic where its header does not hold.
  std::uint64_t list_container(std::uint64_t begin) {
    const ByteView container = bytes_.from(begin);
    const auto version = container.read<std::uint16_t>(4);
    const auto header = container.read<std::uint16_t>(6);
    const auto size = container.read<std::uint64_t>(8);
    if (!size || *version != kContainerVersion || *header < kContainerHeaderBytes || *header > container.size()) {
      notes_.add(fmt::format("a fat binary at byte {} with a header that does not hold", in_file(begin)));
      return begin + kAlignment;
    }
    const std::uint64_t there = container.size() - *header;
    if (*size > there) {
      notes_.add(
          fmt::format("a fat binary at byte {} has {} bytes, and {} of them are there", in_file(begin), *size, there));
    }
    const std::uint64_t first = begin + *header;
    list_entries(first, first + std::min(*size, there));
    ++containers_;
    const std::uint64_t end = first + std::min(*size, there);
    return std::min(bytes_.size(), (end + kAlignment - 1) / kAlignment * kAlignment);
  }

  void list_entries(std::uint64_t at, std::uint64_t end) {
    while (at < end && !full()) {
      const ByteView bytes(bytes_.bytes().subspan(at, end - at));
      const auto entry = read_entry(bytes);
      if (!entry) {
        notes_.add(fmt::format("an image at byte {} passes the end of its fat binary: the rest of that is not read",
                               in_file(at)));
        return;
      }
      if (entry->kind == kKindPtx || entry->kind == kKindElf || entry->kind == kKindNvvm) {
        images_.push_back(describe(bytes, *entry, place_, at));
        images_.back().container = place_.first_container + containers_;
      } else {
        notes_.add(fmt::format("an entry of unknown kind {} at byte {} ({} bytes)", entry->kind, in_file(at),
                               entry->payload_bytes));
      }
      at += entry->header_bytes + entry->payload_bytes;
    }
  }

  // An entry whose header and payload are all there.
  static std::optional<Entry> read_entry(ByteView bytes) {
    if (!bytes.holds(0, kEntryHeaderBytes)) return std::nullopt;
    const Entry entry{*bytes.read<std::uint16_t>(0), *bytes.read<std::uint32_t>(4), *bytes.read<std::uint64_t>(8),
                      *bytes.read<std::uint64_t>(40)};
    if (entry.header_bytes < kEntryHeaderBytes || !bytes.holds(entry.header_bytes, entry.payload_bytes)) {
      return std::nullopt;
    }
    return entry;
  }

  ByteView bytes_;
  const FatbinPlace& place_;
  std::int64_t most_;
  std::vector<CodeImage>& images_;
  Notes& notes_;
  std::int64_t containers_ = 0;
};

}  // namespace

std::int64_t list_fatbin_images(ByteView bytes, const FatbinPlace& place, std::int64_t most,
                                std::vector<CodeImage>& images, Notes& notes) {
  return FatbinLister(bytes, place, most, images, notes).list();
}

bool is_fatbin(ByteView bytes) {
  return bytes.read<std::uint32_t>(0) == kFatbinMagic && bytes.read<std::uint16_t>(4) == kContainerVersion &&
         bytes.read<std::uint16_t>(6).value_or(0) >= kContainerHeaderBytes;
}

}  // namespace tilewright::inspect
