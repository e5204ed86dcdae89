#include "inspect/sass.hpp"

#include <algorithm>
#include <array>

namespace tilewright::inspect {
namespace {

constexpr std::uint32_t kOpcodeMask = 0xfff;

enum Interest : std::uint8_t {
  kNone,
  kSetMaxReg,
  kWait,
  kLaunch,
  kLoad,
  kStore,
  kSharedLoad,
  kFp4Mma,
  kHalfMma,
  kInterests
};

constexpr std::array<std::uint8_t, kOpcodeMask + 1> make_interests() {
  std::array<std::uint8_t, kOpcodeMask + 1> table{};
  table[0x9c8] = kSetMaxReg;   // USETMAXREG
  table[0x82e] = kWait;        // ACQBULK
  table[0x82d] = kLaunch;      // PREEXIT
  table[0x983] = kLoad;        // LDL [R], LDL [R+UR]
  table[0x387] = kStore;       // STL [R]
  table[0x987] = kStore;       // STL [R+UR]
  table[0x984] = kSharedLoad;  // LDS [R], LDS [R+UR]
  table[0x47f] = kFp4Mma;      // OMMA.SF.16864
  table[0x23c] = kHalfMma;     // HMMA.1688, HMMA.16816
  return table;
}

constexpr auto kInterestOf = make_interests();

// Volta to Blackwell, and no generation that no compiler here can be asked about.
constexpr std::array kKnown = {70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121};

}  // namespace

bool knows_sass(int number) { return std::find(kKnown.begin(), kKnown.end(), number) != kKnown.end(); }

SassCounts count_sass(ByteView code) {
  std::array<int, kInterests> counts{};
  const std::uint8_t* bytes = code.bytes().data();
  const std::uint64_t end = code.size() / kInstructionBytes * kInstructionBytes;
  for (std::uint64_t at = 0; at < end; at += kInstructionBytes) {
    const std::uint32_t opcode = (bytes[at] | static_cast<std::uint32_t>(bytes[at + 1]) << 8U) & kOpcodeMask;
    ++counts[kInterestOf[opcode]];
  }
  return {counts[kSetMaxReg], counts[kWait],       counts[kLaunch], counts[kLoad],
          counts[kStore],     counts[kSharedLoad], counts[kFp4Mma], counts[kHalfMma]};
}

std::optional<LocalAccess> local_access(ByteView code, std::uint64_t offset) {
  const auto word = code.part(offset, kInstructionBytes);
  if (!word) return std::nullopt;
  const std::uint8_t interest = kInterestOf[*word->read<std::uint16_t>(0) & kOpcodeMask];
  if (interest != kLoad && interest != kStore) return std::nullopt;
  // Bits 73 to 75: u8, s8, u16, s16, 32, 64, 128 bits.
  constexpr std::array<int, 8> kBytes = {1, 1, 2, 2, 4, 8, 16, 0};
  return LocalAccess{interest == kStore, kBytes[(*word->read<std::uint64_t>(8) >> 9U) & 7U]};
}

}  // namespace tilewright::inspect
