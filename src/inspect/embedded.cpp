#include "inspect/embedded.hpp"

#include <algorithm>
#include <optional>

#include "inspect/elf_file.hpp"
#include "inspect/fatbin.hpp"
#include "inspect/limits.hpp"

namespace tilewright::inspect {
namespace {

constexpr std::uint64_t kMachineOffset = 18;

// The fat binary or cubin at the start of `bytes`, whose first byte is that of a magic.
std::optional<ByteView> image_at(ByteView bytes) {
  if (is_fatbin(bytes)) {
    const auto header = *bytes.read<std::uint16_t>(6);
    const auto size = bytes.read<std::uint64_t>(8);
    if (!size || *size == 0 || !bytes.holds(header, *size)) return std::nullopt;
    return bytes.part(0, header + *size);
  }
  if (!bytes.starts_with(kElfMagic) || bytes.read<std::uint16_t>(kMachineOffset) != kElfMachineCuda) {
    return std::nullopt;
  }
  const auto extent = elf_extent(bytes);
  return extent ? bytes.part(0, *extent) : std::nullopt;
}

}  // namespace

void for_each_embedded(ByteView bytes, const std::function<bool(std::uint64_t, ByteView)>& visit) {
  constexpr std::string_view kFatbinBytes = "\x50\xed\x55\xba";
  const std::string_view text = bytes.text();
  std::size_t next_fatbin = text.find(kFatbinBytes);
  std::size_t next_elf = text.find(kElfMagic);
  for (std::int64_t refused = 0; refused < kMaxFalseBeginnings;) {
    const std::size_t at = std::min(next_fatbin, next_elf);
    if (at == std::string_view::npos) return;
    const auto image = image_at(bytes.from(at));
    if (image && !visit(at, *image)) return;
    if (!image) ++refused;
    const std::size_t behind = at + (image ? image->size() : 1);
    if (next_fatbin < behind) next_fatbin = text.find(kFatbinBytes, behind);
    if (next_elf < behind) next_elf = text.find(kElfMagic, behind);
  }
}

}  // namespace tilewright::inspect
