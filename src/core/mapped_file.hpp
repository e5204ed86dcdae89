// MappedFile: a whole file, read-only, as bytes in memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tilewright/result.hpp"

namespace tilewright {

class MappedFile {
 public:
  /// Maps a regular file. A file that does not exist is `not_found`, whatever else the system refuses is `io`; both
  /// name the path and the system's reason. The file must not be truncated while it is mapped.
  static Result<MappedFile> open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] std::span<const std::uint8_t> bytes() const { return bytes_; }

  /// Says that the file will be read from front to back, so that the system reads ahead.
  void advise_sequential() const;

  /// Gives back the memory of the whole pages inside `range`, which lies in bytes(). The bytes stay valid: the next
  /// read brings them in from the file again.
  void release(std::span<const std::uint8_t> range) const;

 private:
  explicit MappedFile(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::span<const std::uint8_t> bytes_;
};

}  // namespace tilewright
