// Any bytes as a kernel's symbol: a name is decoded within bounds, and what it states is resolved or refused with one
// line.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tilewright/kernel_name.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const tilewright::KernelName name = tilewright::decode_kernel_name({reinterpret_cast<const char*>(data), size});
  if (name.text.size() > tilewright::kKernelTextLimit + 3) std::abort();
  for (const char c : name.text) {
    if (c < ' ' || c > '~') std::abort();
  }
  if (!name.cutlass) return 0;
  const auto kernel = tilewright::cutlass_storage(*name.cutlass);
  if (!kernel && kernel.error().message().find('\n') != std::string::npos) std::abort();
  if (kernel && kernel->total <= 0) std::abort();
  return 0;
}
