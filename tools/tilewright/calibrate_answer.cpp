#include "tools/tilewright/calibrate_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "schedule/cost_constants.hpp"

namespace tilewright::cli {
namespace {

constexpr const char* kConstants = "src/schedule/cost_constants.hpp";
constexpr const char* kDevices = "src/schedule/devices.cpp";
constexpr double kStepWeights = 1024.0;  // of an m64k16 step

/// The cycles that decoding alone takes of a step, as the model joins the two.
double decode_cycles(const cuda::Calibration& measured) {
  const double order = schedule::kDecodeOverlapOrder;
  const double rest = std::pow(measured.decode_step_cycles, order) - std::pow(measured.step_cycles, order);
  return std::pow(std::max(rest, 0.0), 1.0 / order);
}

std::string difference_words(const CalibratedConstant& constant) {
  return constant.model > 0 ? fmt::format("{:+.1f}", 100.0 * (constant.measured / constant.model - 1.0))
                            : std::string();
}

}  // namespace

std::vector<CalibratedConstant> constants_of(const cuda::Calibration& measured, const Device& device) {
  const double decode = decode_cycles(measured);
  const double peak = device.peak_tflops(device.flop_per_clk.bf16);
  return {
      {"dram_read_GBps", "GB/s", measured.read_GBps, device.dram_read_GBps,
       "every SM reads 2 GiB once, best of 7 passes", kDevices},
      {"mma_share", "of the dense bf16 peak", peak > 0 ? measured.matrix_tflops / peak : 0.0, device.mma_share,
       "wgmma m64n256k16 without a pause on random operands, median of 5", kDevices},
      {"clock_mhz", "MHz", measured.clock_mhz, static_cast<double>(device.clock_mhz),
       "clock64 over the global timer while decoding and multiplying 8 tokens; the model's is the data sheet's",
       kDevices},
      {"l2_bytes_per_clk", "bytes a clock",
       measured.l2_clock_mhz > 0 ? 1e3 * measured.l2_GBps / measured.l2_clock_mhz : 0.0, device.l2_bytes_per_clk,
       "every SM reads 24 MiB 64 times, best of 5", kDevices},
      {"l2_bytes", "bytes", static_cast<double>(measured.l2_bytes), static_cast<double>(device.l2_bytes),
       "cudaDevAttrL2CacheSize", kDevices},
      {"kDramLatencyNs", "ns", measured.dram_latency_ns, schedule::kDramLatencyNs,
       "dependent loads over 512 MiB by one thread; the model's is under load", kConstants},
      {"kDecodedWeightsPerClk", "weights a clock and SM", decode > 0 ? kStepWeights / decode : 0.0,
       schedule::kDecodedWeightsPerClk,
       fmt::format("m64n8k16 steps of four warpgroups: {:.1f} cycles, with decoding {:.1f}", measured.step_cycles,
                   measured.decode_step_cycles),
       kConstants},
      {"kGraphKernelUs", "us", measured.launch_us, schedule::kGraphKernelUs,
       "an empty kernel among 512 of a CUDA graph; the model's includes the drain of a small kernel", kConstants},
      {"kDependentLaunchUs", "us", measured.dependent_launch_us, schedule::kDependentLaunchUs,
       "the same by programmatic dependent launch", kConstants},
  };
}

Report calibrate_report(const CalibrateAnswer& answer) {
  Report report("calibrate");
  report.json["device"] = answer.on.device;
  report.json["sm_count"] = answer.on.sm_count;
  report.json["driver"] = answer.on.driver;
  report.json["version"] = answer.on.version;
  report.json["planned_as"] = answer.device.name;
  report.json["constants"] = Json::array();
  report.sections.emplace_back(
      Facts{"",
            {{"device", fmt::format("{}, {} SMs, driver {}; planned as {}", answer.on.device, answer.on.sm_count,
                                    answer.on.driver, answer.device.name)}}});
  Table table{"",
              {{"constant"}, {"measured", true}, {"model", true}, {"difference %", true}, {"unit"}, {"how"}, {"where"}},
              {}};
  for (const CalibratedConstant& constant : answer.constants) {
    report.json["constants"].push_back({{"name", constant.name},
                                        {"unit", constant.unit},
                                        {"measured", rounded(constant.measured)},
                                        {"model", constant.model > 0 ? Json(rounded(constant.model)) : Json()},
                                        {"how", constant.how},
                                        {"where", constant.where}});
    table.rows.push_back({constant.name, significant(constant.measured, 4),
                          constant.model > 0 ? significant(constant.model, 4) : std::string(),
                          difference_words(constant), constant.unit, constant.how, constant.where});
  }
  report.sections.emplace_back(table);
  report.sections.emplace_back(Text{
      "Nothing is changed: a constant of the model is changed in its source, with what it was measured on beside it,\n"
      "when 'tilewright regret' says that predictions of the fitting half gain by it."});
  return report;
}

}  // namespace tilewright::cli
