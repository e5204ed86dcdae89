#include "inspect/cubin_target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "inspect/eiattr.hpp"

namespace tilewright::inspect {
namespace {

constexpr std::uint8_t kFirstConvention = 0x33;  // ELF OS ABI
constexpr std::uint8_t kSecondConvention = 0x41;

constexpr std::uint32_t kFirstArchSpecific = 0x800;
constexpr std::uint32_t kSecondArchSpecific = 0x8;
constexpr int kFirstArchSpecificTarget = 90;  // sm_90a; the bit means something else in hand-assembled code of Maxwell

constexpr std::string_view kToolNote = ".note.nv.tkinfo";
constexpr std::string_view kCompat = ".nv.compat";

ByteView contents_of(const ElfFile& file, std::string_view name) {
  const auto& sections = file.sections();
  const auto found =
      std::find_if(sections.begin(), sections.end(), [&](const ElfSection& section) { return section.name == name; });
  return found == sections.end() ? ByteView() : file.contents(*found).value_or(ByteView());
}

// The word behind `key` in the compiler's note: its strings stand one after the other, each with a NUL.
std::string_view word_behind(std::string_view note, std::string_view key) {
  const std::size_t at = note.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = note.substr(at + key.size());
  return rest.substr(0, rest.find_first_of(std::string_view(" ,\0", 3)));
}

bool says_arch_specific(const ElfFile& file) {
  bool found = false;
  static_cast<void>(for_each_attribute(contents_of(file, kCompat), [&](const Attribute& attribute) {
    if (attribute.number == kCompatArchSpecific) found = (attribute.value & 0xffU) != 0;
  }));
  return found;
}

}  // namespace

ImageTarget target_in(std::string_view word) {
  for (const std::string_view prefix : {"sm_", "compute_"}) {
    if (word.substr(0, prefix.size()) == prefix) word.remove_prefix(prefix.size());
  }
  ImageTarget target;
  const char* last = word.data() + word.size();
  const auto [end, error] = std::from_chars(word.data(), last, target.number);
  const bool suffixed = error == std::errc() && end + 1 == last && (*end == 'a' || *end == 'f');
  if (error != std::errc() || target.number <= 0 || target.number > 0xffff || (end != last && !suffixed)) return {};
  if (suffixed) target.suffix = *end;
  return target;
}

ImageTarget cubin_target(const ElfFile& file) {
  const ElfHeader& header = file.header();
  ImageTarget target;
  if (header.os_abi == kFirstConvention) {
    target.number = static_cast<int>(header.flags & 0xffU);
    const bool marked = (header.flags & kFirstArchSpecific) != 0;
    if (marked && target.number >= kFirstArchSpecificTarget) target.suffix = 'a';
  } else if (header.os_abi == kSecondConvention) {
    target.number = static_cast<int>(header.flags >> 8U & 0xffU);
    if ((header.flags & kSecondArchSpecific) != 0 || says_arch_specific(file)) target.suffix = 'a';
  }
  if (target.suffix == '\0' && target.number != 0) {
    const ImageTarget stated = target_in(word_behind(contents_of(file, kToolNote).text(), "-arch "));
    if (stated.number == target.number) target.suffix = stated.suffix;
  }
  return target;
}

std::string cubin_toolkit(const ElfFile& file) {
  if (file.header().os_abi == kFirstConvention) {
    const std::uint32_t version = file.header().version;
    constexpr std::uint32_t kFirstToolkit = 40;  // 1 is ELF's own version, in files that do not tell
    return version >= kFirstToolkit && version < 1000 ? fmt::format("{}.{}", version / 10, version % 10) : "";
  }
  constexpr std::size_t kLongest = 8;
  return std::string(word_behind(contents_of(file, kToolNote).text(), "release ").substr(0, kLongest));
}

}  // namespace tilewright::inspect
