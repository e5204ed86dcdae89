// Fat binaries: the container that nvcc puts GPU images in, one after the other in a section or a file.
//
// The format is not documented. What stands here was read off containers that nvcc 12.8 to 13.5 wrote for known
// targets and options (tests/inspect/fatbin_test.cpp has such containers), and agrees with cuobjdump on all of them:
//
//   container  u32 magic, u16 version 1, u16 header bytes (16), u64 bytes of all entries
//   entry      u16 kind, u16 version 0x101, u32 header bytes, u64 payload bytes (padded to 8), u32 compressed bytes,
//              u32 options offset, u16 minor, u16 major, u32 target, u32 name offset, u32 name bytes, u64 flags,
//              u64 0, u64 bytes after decompression; then name and options; the payload follows the header
#pragma once

#include <cstdint>
#include <vector>

#include "inspect/byte_view.hpp"
#include "inspect/notes.hpp"
#include "tilewright/binary_images.hpp"

namespace tilewright::inspect {

/// 50 ed 55 ba.
constexpr std::uint32_t kFatbinMagic = 0xBA55ED50;

/// Where fat binaries are found in one run of bytes, and where that run is.
struct FatbinPlace {
  std::uint64_t offset = 0;  ///< of the bytes in the file
  std::string member;        ///< of an archive
  std::int64_t first_container = 0;
};

/// Adds an entry, without its kernels, to `images` for every image of the containers in `bytes`; returns how many
/// containers there were. What no container accounts for, but padding of zeros, is noted. Stops behind `most` images.
std::int64_t list_fatbin_images(ByteView bytes, const FatbinPlace& place, std::int64_t most,
                                std::vector<CodeImage>& images, Notes& notes);

/// Whether a container of at least one entry begins here.
bool is_fatbin(ByteView bytes);

}  // namespace tilewright::inspect
