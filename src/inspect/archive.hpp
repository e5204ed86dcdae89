// The members of a static library (ar).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "inspect/byte_view.hpp"
#include "inspect/notes.hpp"
#include "tilewright/result.hpp"

namespace tilewright::inspect {

constexpr std::string_view kArchiveMagic = "!<arch>\n";
constexpr std::string_view kThinArchiveMagic = "!<thin>\n";

struct ArchiveMember {
  std::string name;
  std::uint64_t offset = 0;  ///< of its bytes in the archive
  ByteView bytes;
};

/// The members in file order, without symbol and name tables. A thin archive is `unsupported`. Where a member passes
/// the end of the file a note says so and the members before it are returned.
Result<std::vector<ArchiveMember>> archive_members(ByteView archive, Notes& notes);

}  // namespace tilewright::inspect
