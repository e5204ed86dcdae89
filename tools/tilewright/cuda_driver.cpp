#include "tools/tilewright/cuda_driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <fstream>
#include <memory>

namespace tilewright::cli {
namespace {

// Attributes of the driver API (cuda.h, CUdevice_attribute): their numbers are part of its ABI.
constexpr int kMultiprocessorCount = 16;
constexpr int kCapabilityMajor = 75;
constexpr int kCapabilityMinor = 76;
constexpr int kSharedMemoryPerBlockOptin = 97;

class Library {
 public:
  Library() : handle_(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {}
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (handle_ != nullptr) dlclose(handle_);
  }

  [[nodiscard]] bool loaded() const { return handle_ != nullptr; }

  /// Calls a driver function; its CUresult, or -1 where the driver does not have it.
  template <typename... Arguments>
  int call(const char* name, Arguments... arguments) const {
    using Function = int (*)(Arguments...);
    const auto function = reinterpret_cast<Function>(dlsym(handle_, name));
    return function == nullptr ? -1 : function(arguments...);
  }

 private:
  void* handle_;
};

// "NVRM version: NVIDIA UNIX ... Kernel Module  580.65.06  ...": the first word with two dots.
std::string kernel_module() {
  std::ifstream file("/proc/driver/nvidia/version");
  for (std::string word; file >> word;) {
    const bool numeric = word.find_first_not_of("0123456789.") == std::string::npos;
    if (numeric && word.find('.') != std::string::npos) return word;
  }
  return {};
}

int attribute(const Library& cuda, int which, int device) {
  int value = 0;
  return cuda.call("cuDeviceGetAttribute", &value, which, device) == 0 ? value : 0;
}

CudaDevice describe(const Library& cuda, int index) {
  CudaDevice device;
  device.index = index;
  int handle = 0;
  if (cuda.call("cuDeviceGet", &handle, index) != 0) return device;
  std::array<char, 256> name{};
  cuda.call("cuDeviceGetName", name.data(), static_cast<int>(name.size()) - 1, handle);
  device.name = name.data();
  device.capability = {attribute(cuda, kCapabilityMajor, handle), attribute(cuda, kCapabilityMinor, handle)};
  device.sm_count = attribute(cuda, kMultiprocessorCount, handle);
  device.smem_per_block = attribute(cuda, kSharedMemoryPerBlockOptin, handle);
  std::size_t bytes = 0;
  cuda.call("cuDeviceTotalMem_v2", &bytes, handle);
  device.memory_bytes = static_cast<std::int64_t>(bytes);
  return device;
}

}  // namespace

CudaDriver find_cuda_driver() {
  CudaDriver driver;
  driver.kernel_module = kernel_module();
  const Library cuda;
  if (!cuda.loaded()) {
    driver.absent = "libcuda.so.1 is not installed";
    return driver;
  }
  int version = 0;
  if (cuda.call("cuDriverGetVersion", &version) == 0) {
    driver.major = version / 1000;
    driver.minor = version % 1000 / 10;
  }
  if (const int status = cuda.call("cuInit", 0U); status != 0) {
    driver.absent = fmt::format("cuInit answers {}: {}", status,
                                status == 100 ? "the driver sees no device"
                                              : "libcuda does not match the kernel module, "
                                                "or the device files are not readable");
    return driver;
  }
  int count = 0;
  cuda.call("cuDeviceGetCount", &count);
  for (int index = 0; index < count; ++index) driver.devices.push_back(describe(cuda, index));
  return driver;
}

}  // namespace tilewright::cli
