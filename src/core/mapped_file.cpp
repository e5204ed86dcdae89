#include "core/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/system_error.hpp"

namespace tilewright {
namespace {

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

// mmap and madvise take void*, and never write through it here.
void* address(const std::uint8_t* bytes) { return const_cast<std::uint8_t*>(bytes); }

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};  // a FIFO must not block here
  if (file.fd < 0) return refused_by_system(path, "open", errno);
  struct stat status {};
  if (::fstat(file.fd, &status) != 0) return refused_by_system(path, "read the size of the file", errno);
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorCode::io, path + ": not a regular file", "name a file");
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return MappedFile(std::span<const std::uint8_t>{});  // mmap refuses a length of 0
  void* mapping = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (mapping == MAP_FAILED) return refused_by_system(path, "map", errno);
  return MappedFile({static_cast<const std::uint8_t*>(mapping), size});
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(address(bytes_.data()), bytes_.size());
}

void MappedFile::advise_sequential() const {
  // Advice only: nothing depends on the system taking it.
  if (!bytes_.empty()) ::madvise(address(bytes_.data()), bytes_.size(), MADV_SEQUENTIAL);
}

void MappedFile::release(std::span<const std::uint8_t> range) const {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto offset = static_cast<std::size_t>(range.data() - bytes_.data());  // the mapping starts on a page
  const std::size_t first = (offset + page - 1) / page * page;
  const std::size_t last = (offset + range.size()) / page * page;
  if (first < last) ::madvise(address(bytes_.data() + first), last - first, MADV_DONTNEED);
}

}  // namespace tilewright
