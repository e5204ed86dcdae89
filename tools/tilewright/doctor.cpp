#include "tools/tilewright/doctor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "tilewright/arch.hpp"
#include "tilewright/cpu_backend.hpp"
#include "tilewright/cuda_layer.hpp"
#include "tools/tilewright/build_backends.hpp"
#include "tools/tilewright/cuda_driver.hpp"
#include "tools/tilewright/cuda_toolkits.hpp"

namespace tilewright::cli {
namespace {

std::vector<CodeTarget> loading(const std::vector<CodeTarget>& targets, ComputeCapability capability) {
  std::vector<CodeTarget> list;
  for (const CodeTarget& target : targets) {
    if (loadable(target, capability).loads) list.push_back(target);
  }
  return list;
}

Table toolkit_table(const std::vector<CudaToolkit>& toolkits) {
  Table table{"CUDA compilers", {{"nvcc"}, {"version"}, {"found by"}, {"compiles for"}}, {}};
  for (const CudaToolkit& toolkit : toolkits) {
    table.rows.push_back({toolkit.nvcc + (toolkit.chosen ? " (a plain nvcc)" : ""),
                          toolkit.release.empty() ? "no answer" : toolkit.release, toolkit.found,
                          fmt::format("{}", fmt::join(short_names(toolkit.targets), " "))});
  }
  return table;
}

Json toolkits_json(const std::vector<CudaToolkit>& toolkits) {
  Json list = Json::array();
  for (const CudaToolkit& toolkit : toolkits) {
    list.push_back({{"nvcc", toolkit.nvcc},
                    {"also", toolkit.also},
                    {"found", toolkit.found},
                    {"release", toolkit.release},
                    {"ptxas", toolkit.ptxas_release},
                    {"chosen", toolkit.chosen},
                    {"targets", short_names(toolkit.targets)}});
  }
  return list;
}

Json driver_json(const CudaDriver& driver) {
  Json devices = Json::array();
  for (const CudaDevice& device : driver.devices) {
    devices.push_back({{"index", device.index},
                       {"name", device.name},
                       {"device_cc", to_string(device.capability)},
                       {"sm_count", device.sm_count},
                       {"smem_per_block", device.smem_per_block},
                       {"memory_bytes", device.memory_bytes},
                       {"targets", short_names(loading(known_targets(), device.capability))}});
  }
  Json json = {{"kernel_module", driver.kernel_module}, {"devices", devices}};
  json["cuda"] = driver.major == 0 ? Json(nullptr) : Json(fmt::format("{}.{}", driver.major, driver.minor));
  if (!driver.absent.empty()) json["absent"] = driver.absent;
  return json;
}

Facts driver_facts(const CudaDriver& driver) {
  Facts facts{"CUDA driver", {}};
  facts.values.emplace_back("kernel module", driver.kernel_module.empty() ? "not loaded" : driver.kernel_module);
  facts.values.emplace_back("runs CUDA up to",
                            driver.major == 0 ? "-" : fmt::format("{}.{}", driver.major, driver.minor));
  if (!driver.absent.empty()) facts.values.emplace_back("devices", "none: " + driver.absent);
  for (const CudaDevice& device : driver.devices) {
    facts.values.emplace_back(fmt::format("device {}", device.index),
                              fmt::format("{}, {}, {} SMs, {} B of shared memory a block, {}; loads {}", device.name,
                                          to_string(device.capability), device.sm_count, device.smem_per_block,
                                          readable_bytes(static_cast<double>(device.memory_bytes)),
                                          fmt::join(short_names(loading(known_targets(), device.capability)), " ")));
  }
  return facts;
}

Json build_json(const CpuInfo& cpu) {
  const Status cuda = cuda_available();
  Json runs_here = Json::array({"cpu " + cpu.tiers.back()});
  if (cuda) runs_here.push_back("cuda");
  Json json = {{"backends", backends_json()}, {"cuda_targets", Json::array()}, {"runs_here", runs_here}};
  if (has_cuda_kernels()) json["cuda_targets"].push_back("sm_90a");
  json["cuda_absent"] = cuda ? Json(nullptr) : Json(cuda.error().cause);
  return json;
}

// What only this machine's parts together show.
void compare(const std::vector<CudaToolkit>& toolkits, const CudaDriver& driver, std::vector<std::string>& findings) {
  for (const CudaToolkit& toolkit : toolkits) {
    if (driver.major != 0 && toolkit.chosen && toolkit.major > driver.major) {
      findings.push_back(
          fmt::format("nvcc {} is of a newer major version than the driver runs (CUDA {}.{}): its programs do not "
                      "start here; update "
                      "the driver, or build with a toolkit of {}.x",
                      toolkit.release, driver.major, driver.minor, driver.major));
    }
  }
  for (const CudaDevice& device : driver.devices) {
    const Result<Arch> arch = arch_of(device.capability.major, device.capability.minor);
    if (arch && device.smem_per_block != 0 && device.smem_per_block != smem_per_block(*arch)) {
      findings.push_back(fmt::format("{} reports {} B of shared memory a block, and plans count with {} B for {}",
                                     device.name, device.smem_per_block, smem_per_block(*arch), to_string(*arch)));
    }
    for (const CudaToolkit& toolkit : toolkits) {
      if (toolkit.chosen && loading(toolkit.targets, device.capability).empty()) {
        findings.push_back(fmt::format("nvcc {} compiles for nothing that {} ({}) loads", toolkit.release, device.name,
                                       to_string(device.capability)));
      }
    }
  }
}

}  // namespace

void add_doctor(Report& report) {
  const std::vector<CudaToolkit> toolkits = find_cuda_toolkits();
  const CudaDriver driver = find_cuda_driver();
  std::vector<std::string> findings = toolkit_complaints(toolkits);
  compare(toolkits, driver, findings);
  const CpuInfo cpu = cpu_info();
  report.json["doctor"] = {{"toolkits", toolkits_json(toolkits)},
                           {"driver", driver_json(driver)},
                           {"build", build_json(cpu)},
                           {"findings", findings}};
  if (toolkits.empty()) {
    report.sections.emplace_back(Text{"CUDA compilers: no nvcc in PATH, CUDA_HOME, CUDA_PATH, CUDACXX or /usr/local."});
  } else {
    report.sections.emplace_back(toolkit_table(toolkits));
  }
  report.sections.emplace_back(driver_facts(driver));
  report.sections.emplace_back(
      Facts{"This build",
            {{"CPU kernels", fmt::format("{}; runs {} here", fmt::join(cpu.tiers, ", "), cpu.tiers.back())},
             {"CUDA kernels", cuda_words()},
             {"SM12x kernels", sm12x_words()}}});
  std::string lines = findings.empty() ? "Findings: nothing contradicts." : "Findings:";
  for (const std::string& finding : findings) lines += "\n- " + finding;
  report.sections.emplace_back(Text{lines});
}

}  // namespace tilewright::cli
