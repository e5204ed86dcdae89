#include "core/pending_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>

#include "core/system_error.hpp"

namespace tilewright {

PendingFile::~PendingFile() {
  if (fd_ >= 0) ::close(fd_);
  if (exists_) ::unlink(temporary_.c_str());
}

Status PendingFile::create() {
  static std::atomic<unsigned> count{0};  // two threads may write the same path
  temporary_ = fmt::format("{}.{}.{}.partial", path_, ::getpid(), count++);
  fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd_ < 0) return refused_by_system(temporary_, "create the file", errno);
  exists_ = true;
  return {};
}

Status PendingFile::write(std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ::ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return refused_by_system(temporary_, "write", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Status PendingFile::commit() {
  if (::fsync(fd_) != 0) return refused_by_system(temporary_, "write to the disk", errno);
  if (::close(std::exchange(fd_, -1)) != 0) return refused_by_system(temporary_, "close", errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return refused_by_system(path_, "replace", errno);
  exists_ = false;
  sync_directory();
  return {};
}

// Makes the rename itself last. The file is complete under its name either way, and some file systems refuse.
void PendingFile::sync_directory() const {
  const std::filesystem::path parent = std::filesystem::path(path_).parent_path();
  const int directory = ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  ::fsync(directory);
  ::close(directory);
}

}  // namespace tilewright
