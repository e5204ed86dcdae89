#include "inspect/archive.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "inspect/limits.hpp"

namespace tilewright::inspect {
namespace {

// https://man7.org/linux/man-pages/man5/ar.5.html: name[16] date[12] uid[6] gid[6] mode[8] size[10] "`\n"
constexpr std::uint64_t kHeaderBytes = 60;
constexpr std::uint64_t kNameBytes = 16;
constexpr std::uint64_t kSizeOffset = 48;
constexpr std::uint64_t kSizeBytes = 10;
constexpr std::string_view kHeaderEnd = "`\n";

std::optional<std::uint64_t> decimal(std::string_view text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view until(std::string_view text, char end) { return text.substr(0, text.find(end)); }

// The name of a member. GNU: "name/", or "/N", which is at byte N of the table of long names; BSD: "#1/N", which is
// the first N bytes of the member, taken off it here.
std::string member_name(std::string_view field, std::string_view long_names, ArchiveMember& member) {
  if (field.substr(0, 3) == "#1/") {
    const std::uint64_t length = decimal(field.substr(3)).value_or(0);
    if (!member.bytes.holds(0, length)) return std::string(field);
    const std::string_view name = member.bytes.text().substr(0, length).substr(0, kMaxNameBytes);
    member.offset += length;
    member.bytes = member.bytes.from(length);
    return std::string(until(name, '\0'));
  }
  if (field.front() == '/') {
    const auto offset = decimal(field.substr(1));
    if (!offset || *offset >= long_names.size()) return std::string(field);
    return std::string(until(until(long_names.substr(*offset, kMaxNameBytes), '\n'), '/'));
  }
  return std::string(until(field, '/'));
}

bool is_symbol_table(std::string_view field) {
  return until(field, ' ') == "/" || until(field, ' ') == "/SYM64/" || field.substr(0, 9) == "__.SYMDEF";
}

}  // namespace

Result<std::vector<ArchiveMember>> archive_members(ByteView archive, Notes& notes) {
  if (archive.starts_with(kThinArchiveMagic)) {
    return fail(ErrorCode::unsupported, "a thin archive, which holds the names of its members and not their bytes",
                "name the object files themselves, or build the archive without --thin");
  }
  std::vector<ArchiveMember> members;
  std::string_view long_names;
  std::uint64_t at = kArchiveMagic.size();
  while (at < archive.size()) {
    const auto header = archive.part(at, kHeaderBytes);
    const auto size = header ? decimal(header->text().substr(kSizeOffset, kSizeBytes)) : std::nullopt;
    if (!size || header->text().substr(kHeaderBytes - kHeaderEnd.size()) != kHeaderEnd) {
      notes.add(fmt::format("no member header at byte {} of the archive: the rest is not read", at));
      break;
    }
    at += kHeaderBytes;
    const auto bytes = archive.part(at, *size);
    if (!bytes) {
      notes.add(fmt::format("a member of {} bytes at byte {} passes the archive's {}", *size, at, archive.size()));
      break;
    }
    const std::string_view field = header->text().substr(0, kNameBytes);
    if (until(field, ' ') == "//") {
      long_names = bytes->text();
    } else if (!is_symbol_table(field)) {
      if (static_cast<std::int64_t>(members.size()) == kMaxArchiveMembers) {
        return fail(ErrorCode::exhausted, fmt::format("more than {} members in an archive", kMaxArchiveMembers));
      }
      ArchiveMember member{{}, at, *bytes};
      member.name = member_name(field, long_names, member);
      members.push_back(std::move(member));
    }
    at += *size + *size % 2;  // members begin at even bytes; both terms are within the file
  }
  return members;
}

}  // namespace tilewright::inspect
