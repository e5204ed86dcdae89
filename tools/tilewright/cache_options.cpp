#include "tools/tilewright/cache_options.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "tools/tilewright/cuda_driver.hpp"

namespace tilewright::cli {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing here changes the environment
  return value == nullptr ? std::string() : std::string(value);
}

/// The kernel module's version; where only the library tells, the newest CUDA that it runs.
std::string driver_words(const CudaDriver& driver) {
  if (!driver.kernel_module.empty()) return driver.kernel_module;
  return fmt::format("CUDA {}.{}", driver.major, driver.minor);
}

}  // namespace

void declare_cache_options(CLI::App& command, CacheOptions& options, const std::string& group, bool reads) {
  const auto in_group = [&](CLI::Option* option) {
    if (!group.empty()) option->group(group);  // CLI11 hides a group without a name
  };
  in_group(command
               .add_option("--cache", options.path,
                           "The tuning cache (default: tuning.json in $TILEWRIGHT_CACHE_DIR, "
                           "$XDG_CACHE_HOME/tilewright or ~/.cache/tilewright)")
               ->option_text("FILE"));
  if (reads) in_group(command.add_flag("--no-cache", options.off, "Take the model's choice, whatever was measured"));
}

Result<std::string> default_cache_path() {
  namespace fs = std::filesystem;
  const std::string own = environment("TILEWRIGHT_CACHE_DIR");
  const std::string shared = environment("XDG_CACHE_HOME");
  const std::string home = environment("HOME");
  constexpr const char* kFile = "tuning.json";
  if (!own.empty()) return (fs::path(own) / kFile).string();
  if (!shared.empty()) return (fs::path(shared) / "tilewright" / kFile).string();
  if (!home.empty()) return (fs::path(home) / ".cache" / "tilewright" / kFile).string();
  return fail(ErrorCode::not_found, "neither TILEWRIGHT_CACHE_DIR, XDG_CACHE_HOME nor HOME is set",
              "name the cache with --cache FILE");
}

Result<std::string> cache_path(const CacheOptions& options) {
  return options.path.empty() ? default_cache_path() : Result<std::string>(options.path);
}

Result<std::optional<TuningCache>> read_cache(const CacheOptions& options) {
  if (options.off) return std::optional<TuningCache>();
  const Result<std::string> path = cache_path(options);
  if (!path) return std::optional<TuningCache>();
  std::error_code ignored;
  if (!options.path.empty() && !std::filesystem::exists(*path, ignored)) {
    return fail(ErrorCode::not_found, fmt::format("there is no file '{}'", *path), "'tilewright tune' writes one");
  }
  TILEWRIGHT_ASSIGN(TuningCache cache, TuningCache::load(*path));
  if (cache.entries().empty()) return std::optional<TuningCache>();
  return std::optional<TuningCache>(std::move(cache));
}

Result<TunedOn> this_gpu() {
  const CudaDriver driver = find_cuda_driver();
  if (!driver.absent.empty() || driver.devices.empty()) {
    return fail(ErrorCode::unsupported,
                fmt::format("there is no GPU here: {}", driver.absent.empty() ? "the driver sees none" : driver.absent),
                "run on a machine with one");
  }
  const CudaDevice& device = driver.devices.front();
  TILEWRIGHT_ASSIGN(const Arch arch, arch_of(device.capability.major, device.capability.minor));
  return TunedOn{device.name, arch, device.sm_count, driver_words(driver), TILEWRIGHT_VERSION};
}

TunedOn tuned_on(const Device& device) {
  TunedOn on{device.name, device.arch, device.sm_count, {}, TILEWRIGHT_VERSION};
  const Result<TunedOn> here = this_gpu();
  if (!here) return on;
  const Result<Device> mine = device_of_gpu(here->device, here->arch, here->sm_count);
  if (mine && mine->name == device.name && mine->sm_count == device.sm_count) on.driver = here->driver;
  return on;
}

}  // namespace tilewright::cli
