// ByteView: little-endian bytes that nobody vouches for. Offsets and sizes come from the bytes themselves, so every
// access is checked, and no sum of two of them is formed before it is known not to wrap.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace tilewright::inspect {

static_assert(std::endian::native == std::endian::little, "fields are copied as they stand in the file");

class ByteView {
 public:
  ByteView() = default;
  explicit ByteView(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  [[nodiscard]] std::uint64_t size() const { return bytes_.size(); }
  [[nodiscard]] std::span<const std::uint8_t> bytes() const { return bytes_; }
  [[nodiscard]] std::string_view text() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }

  [[nodiscard]] bool holds(std::uint64_t offset, std::uint64_t size) const {
    return offset <= bytes_.size() && size <= bytes_.size() - offset;
  }

  /// `size` bytes from `offset` on, if they are all there.
  [[nodiscard]] std::optional<ByteView> part(std::uint64_t offset, std::uint64_t size) const {
    if (!holds(offset, size)) return std::nullopt;
    return ByteView(bytes_.subspan(offset, size));
  }

  /// What is there from `offset` on; empty behind the end.
  [[nodiscard]] ByteView from(std::uint64_t offset) const {
    return offset < bytes_.size() ? ByteView(bytes_.subspan(offset)) : ByteView();
  }

  template <typename T>
  [[nodiscard]] std::optional<T> read(std::uint64_t offset) const {
    if (!holds(offset, sizeof(T))) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }

  /// The text from `offset` up to its NUL byte, if one follows within `longest` bytes.
  [[nodiscard]] std::optional<std::string_view> terminated_text(std::uint64_t offset, std::uint64_t longest) const {
    const std::string_view rest = from(offset).text().substr(0, longest);
    const std::size_t end = rest.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    return rest.substr(0, end);
  }

  [[nodiscard]] bool starts_with(std::string_view magic) const { return text().substr(0, magic.size()) == magic; }

 private:
  std::span<const std::uint8_t> bytes_;
};

}  // namespace tilewright::inspect
