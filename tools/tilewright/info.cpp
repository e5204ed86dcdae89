// tilewright info: this build and this machine, and the devices and models known by name.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "tilewright/cpu_backend.hpp"
#include "tilewright/device.hpp"
#include "tilewright/model.hpp"
#include "tools/tilewright/build_backends.hpp"
#include "tools/tilewright/doctor.hpp"
#include "tools/tilewright/verb.hpp"

namespace tilewright::cli {
namespace {

struct Options {
  bool devices = false;
  bool models = false;
  bool doctor = false;
  Format format = Format::text;
};

constexpr const char* kExamples =
    "  tilewright info\n"
    "  tilewright info --devices --format md\n"
    "  tilewright info --models\n"
    "  tilewright info --doctor";

Table device_table() {
  Table table{"Devices",
              {{"name"},
               {"arch"},
               {"SMs", true},
               {"smem/block B", true},
               {"L2 MiB", true},
               {"DRAM GB/s", true},
               {"bf16 TFLOP/s", true},
               {"fp4 TFLOP/s", true}},
              {}};
  for (const Device& device : known_devices()) {
    const auto peak = [&](int rate) {
      return rate == 0 ? std::string("-") : fmt::format("{:.0f}", device.peak_tflops(rate));
    };
    table.rows.push_back({device.name, to_string(device.arch), fmt::to_string(device.sm_count),
                          fmt::to_string(device.smem_per_block), fmt::to_string(device.l2_bytes >> 20),
                          fmt::format("{:.0f}", device.dram_GBps), peak(device.flop_per_clk.bf16),
                          peak(device.flop_per_clk.fp4)});
  }
  return table;
}

Table model_table() {
  Table table{"Models",
              {{"name"}, {"H", true}, {"I", true}, {"experts", true}, {"top-k", true}, {"routing"}, {"activation"}},
              {}};
  for (const ModelFacts& model : known_models()) {
    table.rows.push_back({model.name, fmt::to_string(model.hidden), fmt::to_string(model.intermediate),
                          fmt::to_string(model.experts), fmt::to_string(model.routing.top_k),
                          to_string(model.routing.scoring), to_string(model.activation.kind)});
  }
  return table;
}

Json device_json() {
  Json list = Json::array();
  for (const Device& device : known_devices()) {
    list.push_back({{"name", device.name},
                    {"title", device.title},
                    {"arch", to_string(device.arch)},
                    {"sm_count", device.sm_count},
                    {"smem_per_block", device.smem_per_block},
                    {"l2_bytes", device.l2_bytes},
                    {"dram_GBps", device.dram_GBps}});
  }
  return list;
}

Json model_json() {
  Json list = Json::array();
  for (const ModelFacts& model : known_models()) {
    list.push_back({{"name", model.name},
                    {"hidden", model.hidden},
                    {"intermediate", model.intermediate},
                    {"experts", model.experts},
                    {"top_k", model.routing.top_k},
                    {"scoring", to_string(model.routing.scoring)},
                    {"activation", to_string(model.activation.kind)},
                    {"source", model.source}});
  }
  return list;
}

Facts build_facts() {
  return {"",
          {{"tilewright", TILEWRIGHT_VERSION},
           {"backends", fmt::format("{}", fmt::join(backends_json().get<std::vector<std::string>>(), ", "))},
           {"precisions", "w4a16, w4a4"},
           {"CUDA kernels", cuda_words()},
           {"SM12x kernels", sm12x_words()}}};
}

std::string cache(std::int64_t bytes) { return bytes == 0 ? "not known" : readable_bytes(static_cast<double>(bytes)); }

Facts cpu_facts(const CpuInfo& cpu) {
  return {"This CPU",
          {{"model", cpu.model},
           {"cores", fmt::to_string(cpu.cores)},
           {"kernels", fmt::format("{} (runs {})", fmt::join(cpu.tiers, ", "), cpu.tiers.back())},
           {"L1 data, a core", cache(cpu.l1_bytes)},
           {"L2, a core", cache(cpu.l2_bytes)},
           {"L3", cache(cpu.l3_bytes)}}};
}

Json cpu_json(const CpuInfo& cpu) {
  return {{"model", cpu.model},       {"cores", cpu.cores},       {"isa", cpu.tiers.back()}, {"isa_tiers", cpu.tiers},
          {"l1_bytes", cpu.l1_bytes}, {"l2_bytes", cpu.l2_bytes}, {"l3_bytes", cpu.l3_bytes}};
}

Outcome run(const Options& options) {
  Report report("info");
  const CpuInfo cpu = cpu_info();
  report.json["version"] = TILEWRIGHT_VERSION;
  report.json["backends"] = backends_json();
  report.json["cpu"] = cpu_json(cpu);
  report.json["devices"] = device_json();
  report.json["models"] = model_json();
  if (options.devices) report.sections.emplace_back(device_table());
  if (options.models) report.sections.emplace_back(model_table());
  if (options.doctor) add_doctor(report);
  if (!options.devices && !options.models && !options.doctor) {
    report.sections.emplace_back(build_facts());
    report.sections.emplace_back(cpu_facts(cpu));
    report.sections.emplace_back(
        Text{fmt::format("{} devices and {} models are known by name; --devices and --models list them.",
                         known_devices().size(), known_models().size())});
  }
  return {render(report, options.format)};
}

}  // namespace

Verb add_info(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      declare_verb(app, "info", "Tell about this build, this CPU, and the devices and models known by name", kExamples,
                   options->format);
  command->add_flag("--devices", options->devices, "List the devices that can be planned for");
  command->add_flag("--models", options->models, "List the models whose sizes are known");
  command->add_flag("--doctor", options->doctor,
                    "Look for every nvcc, the driver and its devices, and say which targets they allow");
  return {command, [options] { return Result<Outcome>(run(*options)); }};
}

}  // namespace tilewright::cli
