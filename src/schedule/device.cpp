#include "tilewright/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "schedule/nearest_names.hpp"

namespace tilewright {
namespace {

// Other names that people use. An edition must be named where editions differ, so "rtx-pro-6000" is not one.
constexpr std::array<std::pair<const char*, const char*>, 12> kAliases = {{
    {"h100-sxm", "h100"},
    {"h200-sxm", "h200"},
    {"b200-sxm", "b200"},
    {"b300-sxm", "b300"},
    {"dgx-spark", "gb10"},
    {"spark", "gb10"},
    {"jetson-thor", "thor"},
    {"5090", "rtx-5090"},
    {"5080", "rtx-5080"},
    {"rtx-pro-6000-ws", "rtx-pro-6000-workstation"},
    {"rtx-pro-6000-maxq", "rtx-pro-6000-max-q"},
    {"rtx-pro-6000-se", "rtx-pro-6000-server"},
}};

// "NVIDIA GeForce RTX_5090" -> "rtx-5090".
std::string canonical(const std::string& name) {
  std::string text;
  for (const char c : name) {
    const bool separator = c == ' ' || c == '_' || c == '-';
    if (separator && (text.empty() || text.back() == '-')) continue;
    text += separator ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  for (const std::string prefix : {"nvidia-", "geforce-"}) {
    if (text.compare(0, prefix.size(), prefix) == 0) text.erase(0, prefix.size());
  }
  for (const auto& [alias, meant] : kAliases) {
    if (text == alias) return meant;
  }
  return text;
}

const Device* find_named(const std::string& name) {
  const auto& devices = known_devices();
  const auto found = std::find_if(devices.begin(), devices.end(), [&](const Device& d) { return d.name == name; });
  return found == devices.end() ? nullptr : &*found;
}

// The device that a bare --arch stands for: the one of each architecture with the most published measurements.
const char* default_name(Arch arch) {
  switch (arch) {
    case Arch::sm_90: return "h200";
    case Arch::sm_100: return "b200";
    case Arch::sm_103: return "b300";
    case Arch::sm_110: return "thor";
    case Arch::sm_120: return "rtx-pro-6000-server";
    case Arch::sm_121: return "gb10";
    case Arch::cpu: break;
  }
  return "";
}

}  // namespace

Result<Device> find_device(const std::string& name) {
  const std::string wanted = canonical(name);
  if (const Device* device = find_named(wanted)) return *device;
  std::vector<std::string> known;
  for (const Device& device : known_devices()) known.push_back(device.name);
  return fail(ErrorCode::not_found, fmt::format("device \"{}\" is not known", name),
              fmt::format("the nearest are {}", fmt::join(schedule::nearest_names(wanted, known, 3), ", ")));
}

Result<Device> default_device(Arch arch) {
  const Device* device = find_named(default_name(arch));
  if (device == nullptr) {
    return fail(ErrorCode::invalid_argument, "a CPU cannot be planned by architecture alone",
                "its cores, caches and rates have to be measured; use the CPU backend's device");
  }
  Device assumed = *device;
  assumed.note = fmt::format("{} names no device; {} is assumed", to_string(arch), assumed.name);
  return assumed;
}

Result<Device> device_of_gpu(const std::string& name, Arch arch, int sm_count) {
  const std::string given = canonical(name);
  const auto is_it = [&](const Device& device) {
    // "h100-80gb-hbm3" is an h100, and a part with fewer SMs is another card or a slice of one.
    const bool named = given == canonical(device.title) || given.compare(0, device.name.size(), device.name) == 0;
    const bool whole = given.size() <= device.name.size() || given[device.name.size()] == '-';
    return device.arch == arch && device.sm_count == sm_count && named && (whole || given == canonical(device.title));
  };
  const auto& devices = known_devices();
  const auto found = std::find_if(devices.begin(), devices.end(), is_it);
  if (found != devices.end()) return *found;
  TILEWRIGHT_ASSIGN(Device device, default_device(arch));
  device.note = fmt::format("{} with {} SMs is not known by name; {} is assumed", name, sm_count, device.name);
  device.sm_count = sm_count;
  return device;
}

Result<Device> cpu_device(const CpuFacts& facts) {
  const std::array<std::pair<const char*, double>, 6> required = {{
      {"cores", facts.cores},
      {"l1_bytes", static_cast<double>(facts.l1_bytes)},
      {"l2_bytes", static_cast<double>(facts.l2_bytes)},
      {"read_GBps", facts.read_GBps},
      {"macs_w4a4", facts.macs_w4a4},
      {"macs_w4a16", facts.macs_w4a16},
  }};
  for (const auto& [field, value] : required) {
    if (!(value > 0)) {
      return fail(ErrorCode::invalid_argument, fmt::format("CPU fact {} is {}", field, value),
                  "it has to be measured and positive");
    }
  }
  Device device;
  device.name = "cpu";
  device.title = fmt::format("CPU, {} cores, {}", facts.cores, facts.isa);
  device.arch = Arch::cpu;
  device.sm_count = facts.cores;
  device.smem_per_sm = static_cast<int>(std::min<std::int64_t>(facts.l2_bytes, 1 << 30));
  device.smem_per_block = device.smem_per_sm;
  device.max_blocks_per_sm = 1;
  device.l2_bytes = facts.l2_bytes;
  device.dram_GBps = facts.read_GBps;
  device.dram_read_GBps = facts.read_GBps;
  device.dram_read_measured = true;
  device.cpu = facts;
  return device;
}

}  // namespace tilewright
