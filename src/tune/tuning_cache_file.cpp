// TuningCache <-> file, one writer at a time.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "core/mapped_file.hpp"
#include "core/pending_file.hpp"
#include "core/system_error.hpp"
#include "tilewright/tuning_cache.hpp"

namespace tilewright {
namespace {

/// An exclusive lock on a file beside the cache, which stays: removing it would race with whoever waits for it.
class FileLock {
 public:
  FileLock() = default;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock() {
    if (fd_ >= 0) ::close(fd_);
  }

  Status take(const std::string& path) {
    fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd_ < 0) return refused_by_system(path, "open the lock", errno);
    int locked = -1;
    do {
      locked = ::flock(fd_, LOCK_EX);
    } while (locked != 0 && errno == EINTR);
    if (locked != 0) return refused_by_system(path, "lock", errno);
    return {};
  }

 private:
  int fd_ = -1;
};

Status make_folder(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) return refused_by_system(folder.string(), "create the folder", error.value());
  return {};
}

}  // namespace

Result<TuningCache> TuningCache::load(const std::string& path) {
  const Result<MappedFile> file = MappedFile::open(path);
  if (!file && file.error().code == ErrorCode::not_found) return TuningCache();
  if (!file) return tl::unexpected<Error>(file.error());
  const auto bytes = file->bytes();
  Result<TuningCache> cache = parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (cache) return cache;
  return fail(
      cache.error().code, fmt::format("{}: {}", path, cache.error().cause),
      cache.error().remedy.empty() ? "remove the file, or name another one with --cache" : cache.error().remedy);
}

Status update_tuning_cache(const std::string& path, const std::function<void(TuningCache&)>& change) {
  TILEWRIGHT_TRY(make_folder(path));
  FileLock lock;
  TILEWRIGHT_TRY(lock.take(path + ".lock"));
  TILEWRIGHT_ASSIGN(TuningCache cache, TuningCache::load(path));
  change(cache);
  PendingFile file(path);
  TILEWRIGHT_TRY(file.create());
  TILEWRIGHT_TRY(file.write(cache.text()));
  return file.commit();
}

}  // namespace tilewright
