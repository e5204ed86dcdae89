// Any bytes at all as a binary with GPU code: they are refused with one line, or every image lies inside them.
#include <cstdint>
#include <cstdlib>

#include "tilewright/binary_images.hpp"

namespace {

void check_kernel(const tilewright::KernelInfo& kernel) {
  if (kernel.code_bytes < 0 || kernel.registers.value_or(0) < 0) std::abort();
  if (kernel.static_shared_bytes.value_or(0) < 0 || kernel.stack_bytes.value_or(0) < 0) std::abort();
  if (kernel.spill_store_bytes.has_value() != kernel.spill_load_bytes.has_value()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto report = tilewright::read_binary_bytes(data, size, "fuzz", {1, true});
  if (!report) {
    if (report.error().message().find('\n') != std::string::npos) std::abort();
    return 0;
  }
  for (const tilewright::CodeImage& image : report->images) {
    if (image.file_offset < 0 || image.stored_bytes < 0 || image.bytes < 0) std::abort();
    if (static_cast<std::uint64_t>(image.file_offset) + static_cast<std::uint64_t>(image.stored_bytes) > size) {
      std::abort();
    }
    for (const tilewright::KernelInfo& kernel : image.kernels) check_kernel(kernel);
  }
  return 0;
}
