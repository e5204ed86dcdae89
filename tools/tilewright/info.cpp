// tilewright info: this build and this machine, and the devices and models known by name.
#include <fmt/format.h>

#include <memory>

#include "tilewright/device.hpp"
#include "tilewright/model.hpp"
#include "tools/tilewright/verb.hpp"

namespace tilewright::cli {
namespace {

struct Options {
  bool devices = false;
  bool models = false;
  Format format = Format::text;
};

constexpr const char* kExamples =
    "  tilewright info\n"
    "  tilewright info --devices --format md\n"
    "  tilewright info --models";

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
