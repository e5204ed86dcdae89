// What the reader of binaries refuses to go beyond, so that a hostile file costs bounded time and memory. The largest
// values seen in libraries of CUDA 11.8 to 13.5 (cuBLASLt, vLLM, SGLang, FlashInfer) stand beside each limit.
#pragma once

#include <cstdint>

namespace tilewright::inspect {

constexpr std::int64_t kMaxImages = 1 << 18;          // of a file; seen: 6,311
constexpr std::int64_t kMaxArchiveMembers = 1 << 18;  // seen: hundreds
constexpr std::int64_t kMaxNotes = 64;                // of a file and of an image; the rest is counted in one line

constexpr std::uint64_t kMaxImageBytes = 512ULL << 20U;    // one image, unpacked
constexpr std::uint64_t kMaxUnpackedBytes = 32ULL << 30U;  // all images of a file, unpacked
// An LZ4 block cannot pass 255:1; zstd's format has no limit of its own. Seen: 134:1.
constexpr std::uint64_t kMaxCompressionRatio = 1000;

constexpr std::uint64_t kNameSharing = 8;         // all names of a table together, in sizes of the table; seen: 3
constexpr std::uint64_t kMaxNameBytes = 1 << 16;  // one symbol or section; seen: 2,489

// How many times the bytes of a file or an image may be read again because its sections overlap. They do not in files
// that mean well.
constexpr std::uint64_t kSectionSharing = 2;

// Beginnings of a cubin among other bytes that turn out not to be one, in one section, and how many sections one has.
constexpr std::int64_t kMaxFalseBeginnings = 1024;
constexpr std::uint64_t kMaxEmbeddedSections = 1 << 20;

}  // namespace tilewright::inspect
