#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "core/mapped_file.hpp"
#include "inspect/cubin.hpp"
#include "inspect/image_list.hpp"
#include "inspect/limits.hpp"
#include "inspect/ptx.hpp"
#include "inspect/unpack.hpp"
#include "tilewright/binary_images.hpp"

namespace tilewright {
namespace {

using inspect::ByteView;

// Called with the bytes of a stored image when they are no longer needed.
using Release = std::function<void(std::span<const std::uint8_t>)>;

bool same_target(const ImageTarget& entry, const ImageTarget& own) { return entry.number == own.number; }

void take_cubin(inspect::CubinContents contents, CodeImage& image) {
  if (image.target.number == 0) {
    image.target = contents.target;
  } else if (contents.target.number != 0) {
    if (!same_target(image.target, contents.target)) {
      contents.notes.push_back(fmt::format("its fat binary says {}, and the image itself {}",
                                           to_string(image.target, image.kind),
                                           to_string(contents.target, image.kind)));
    } else if (image.target.suffix == '\0') {
      image.target.suffix = contents.target.suffix;
    }
  }
  image.version = std::move(contents.toolkit);
  image.relocatable = contents.relocatable;
  image.debug = image.debug || contents.debug;
  image.kernels = std::move(contents.kernels);
  image.notes = std::move(contents.notes);
}

void take_ptx(inspect::PtxContents contents, CodeImage& image) {
  if (contents.target.number == 0) {
    image.notes.emplace_back("no .target in its text");
  } else {
    if (!same_target(image.target, contents.target)) {
      image.notes.push_back(fmt::format("its fat binary says {}, and its text {}", to_string(image.target, image.kind),
                                        to_string(contents.target, image.kind)));
    }
    image.target = contents.target;
  }
  if (!contents.version.empty()) image.version = std::move(contents.version);
  image.kernels = std::move(contents.kernels);
}

void read_image(ByteView file, bool scan_code, inspect::UnpackBuffer& buffer, CodeImage& image) {
  if (image.kind == ImageKind::lto_ir) return;
  const auto stored =
      file.part(static_cast<std::uint64_t>(image.file_offset), static_cast<std::uint64_t>(image.stored_bytes));
  if (!stored) return;  // listed images are in the file
  const auto bytes = inspect::unpack(*stored, image.compression, static_cast<std::uint64_t>(image.bytes), buffer);
  if (!bytes) {
    image.notes.push_back(bytes.error().message());
  } else if (image.kind == ImageKind::ptx) {
    take_ptx(inspect::read_ptx(bytes->text(), scan_code), image);
  } else if (auto contents = inspect::read_cubin(*bytes, scan_code)) {
    take_cubin(std::move(*contents), image);
  } else {
    image.notes.push_back(contents.error().message());
  }
}

// Each thread takes the next image in file order, so that the file is read from front to back.
void read_images(ByteView file, const ReadBinaryOptions& options, const Release& release,
                 std::vector<CodeImage>& images) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    inspect::UnpackBuffer buffer;
    for (std::size_t i = next++; i < images.size(); i = next++) {
      CodeImage& image = images[i];
      read_image(file, options.scan_code, buffer, image);
      release(file.from(static_cast<std::uint64_t>(image.file_offset))
                  .bytes()
                  .first(static_cast<std::size_t>(image.stored_bytes)));
    }
  };
  std::vector<std::thread> others;
  const auto useful = static_cast<int>(std::min<std::size_t>(images.size(), 256));
  for (int i = 1; i < std::min(options.threads, useful); ++i) others.emplace_back(work);
  work();
  for (std::thread& thread : others) thread.join();
}

Status check_unpacked_size(const std::vector<CodeImage>& images) {
  std::uint64_t total = 0;
  for (const CodeImage& image : images) {
    total += std::min(static_cast<std::uint64_t>(image.bytes), inspect::kMaxUnpackedBytes);
    if (total > inspect::kMaxUnpackedBytes) {
      return fail(ErrorCode::exhausted,
                  fmt::format("its images unpack to more than the limit of {} bytes", inspect::kMaxUnpackedBytes));
    }
  }
  return {};
}

Result<BinaryReport> read(ByteView file, const std::string& name, const ReadBinaryOptions& options,
                          const Release& release) {
  const auto in_file = [&](const Error& error) {
    return tl::unexpected<Error>(Error{error.code, name + ": " + error.cause, error.remedy});
  };
  if (!inspect::begins_like_binary(file)) {
    return fail(ErrorCode::unsupported, name + ": neither ELF nor an archive nor a fat binary",
                "name an executable, a library, an object, a fatbin or a cubin");
  }
  BinaryReport report;
  report.path = name;
  report.file_bytes = static_cast<std::int64_t>(file.size());
  inspect::Notes notes;
  if (const Status listed = inspect::list_images(file, report, notes); !listed) return in_file(listed.error());
  if (const Status fits = check_unpacked_size(report.images); !fits) return in_file(fits.error());
  read_images(file, options, release, report.images);
  report.notes = std::move(notes).take();
  return report;
}

}  // namespace

Result<BinaryReport> read_binary(const std::string& path, const ReadBinaryOptions& options) {
  TILEWRIGHT_ASSIGN(const MappedFile file, MappedFile::open(path));
  return read(ByteView(file.bytes()), path, options, [&](auto bytes) { file.release(bytes); });
}

Result<BinaryReport> read_binary_bytes(const std::uint8_t* data, std::size_t size, const std::string& name,
                                       const ReadBinaryOptions& options) {
  return read(ByteView({data, size}), name, options, [](auto) {});
}

bool looks_like_binary(const std::string& path) {
  const auto file = MappedFile::open(path);
  return file && inspect::begins_like_binary(ByteView(file->bytes()));
}

const char* to_string(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::elf_executable: return "elf_executable";
    case BinaryKind::elf_shared: return "elf_shared";
    case BinaryKind::elf_object: return "elf_object";
    case BinaryKind::archive: return "archive";
    case BinaryKind::fatbin: return "fatbin";
    case BinaryKind::cubin: break;
  }
  return "cubin";
}

const char* to_string(ImageKind kind) {
  switch (kind) {
    case ImageKind::ptx: return "ptx";
    case ImageKind::lto_ir: return "lto_ir";
    case ImageKind::cubin: break;
  }
  return "cubin";
}

std::string to_string(const ImageTarget& target, ImageKind kind) {
  std::string name = (kind == ImageKind::cubin ? "sm_" : "compute_") + std::to_string(target.number);
  if (target.suffix != '\0') name += target.suffix;
  return name;
}

}  // namespace tilewright
