// PendingFile: a file that is there whole or not at all.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "tilewright/result.hpp"

namespace tilewright {

/// A file under a temporary name that becomes `path` when committed, and disappears otherwise.
class PendingFile {
 public:
  explicit PendingFile(std::string path) : path_(std::move(path)) {}
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;
  ~PendingFile();

  Status create();
  Status write(std::span<const std::uint8_t> bytes);
  Status write(std::string_view text) {
    return write(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  }
  /// Puts the file on the disk and under its name, in place of what was there.
  Status commit();

 private:
  void sync_directory() const;

  std::string path_;
  std::string temporary_;
  int fd_ = -1;
  bool exists_ = false;
};

}  // namespace tilewright
