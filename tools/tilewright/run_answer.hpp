// What `tilewright run` found out, and how that is told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tilewright/cpu_backend.hpp"
#include "tilewright/moe_layer.hpp"
#include "tools/tilewright/backend_options.hpp"
#include "tools/tilewright/cache_options.hpp"
#include "tools/tilewright/layer_timing.hpp"
#include "tools/tilewright/loaded_layer.hpp"
#include "tools/tilewright/report.hpp"
#include "tools/tilewright/verification.hpp"

namespace tilewright::cli {

struct RunOptions {
  LayerSource source;
  std::string tokens;
  std::string precision;
  BackendOptions backend;
  CpuOptions cpu;
  bool verify = false;
  std::uint64_t seed = 1;
  double seconds = 0.5;
  std::string input;
  std::string output;
  CacheOptions cache;
  Format format = Format::text;
};

// One (precision, tokens) of the answer.
struct RunRow {
  Precision precision = Precision::w4a16;
  int tokens = 0;
  LayerTiming timing;
  std::optional<Verification> verification;
};

struct RunAnswer {
  MoeLayerOptions how;  ///< backend and kernels; of the last precision
  std::string machine;  ///< the CPU or the GPU, as the system names it
  std::string isa;      ///< of a CPU
  int threads = 0;      ///< of a CPU
  int sm_count = 0;     ///< of a GPU
  std::int64_t packed_bytes = 0;
  double pack_ms = 0;
  std::vector<RunRow> rows;

  [[nodiscard]] bool verified() const;  ///< no row has numbers that do not match
};

Report run_report(const RunOptions& options, const LoadedLayer& layer, const RunAnswer& answer);

}  // namespace tilewright::cli
