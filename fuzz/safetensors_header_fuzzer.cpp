// Any bytes at all as a safetensors file: they are refused with one line, or every view lies inside them.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "tilewright/safetensors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> file(data, size);
  const auto files = tilewright::TensorFiles::parse(file, "fuzz");
  if (!files) {
    if (files.error().message().find('\n') != std::string::npos) std::abort();
    return 0;
  }
  std::size_t covered = 0;
  unsigned sum = 0;
  for (const auto& [name, tensor] : files->tensors()) {
    for (const std::uint8_t byte : tensor.bytes) sum += byte;
    if (tensor.elements() < 0) std::abort();
    covered += tensor.bytes.size();
  }
  if (covered > size) std::abort();
  volatile unsigned sink = sum;  // the reads above are the test
  static_cast<void>(sink);
  return 0;
}
