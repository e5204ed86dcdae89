#include "gemm_timer.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <stdexcept>

#include "cuda/sm90/weight_order.hpp"

namespace tilewright::cuda {
namespace {

constexpr int kCopies = 2;

/// Random slabs: any codes, scales of 1/8 to 4.
std::vector<std::uint32_t> random_matrix(std::int64_t bytes) {
  std::mt19937 random(7);
  std::vector<std::uint32_t> words(static_cast<std::size_t>(bytes / 4));
  constexpr std::size_t kSlabWords = sm90::kSlabBytes / 4;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto bits = static_cast<std::uint32_t>(random());
    words[i] = bits;
    if (i % kSlabWords < sm90::kSlabCodeBytes / 4) continue;
    words[i] = 0;
    for (int j = 0; j < 4; ++j) words[i] |= sm90::place_scale(0x40 + (bits >> (8 * j) & 31U), j % 2, j / 2);
  }
  return words;
}

DeviceMemory random_rows(std::int64_t values) {
  std::mt19937 random(9);
  std::vector<std::uint16_t> block(std::size_t{1} << 20U);
  for (auto& bits : block) bits = static_cast<std::uint16_t>((random() & 0x807FU) | (0x3E80U + (random() & 0x0180U)));
  DeviceMemory rows(values * 2);
  for (std::int64_t at = 0; at < values; at += static_cast<std::int64_t>(block.size())) {
    const auto count = std::min<std::int64_t>(values - at, static_cast<std::int64_t>(block.size()));
    require(cudaMemcpy(rows.as<std::uint16_t>() + at, block.data(), static_cast<std::size_t>(count) * 2,
                       cudaMemcpyHostToDevice));
  }
  return rows;
}

struct Routed {
  std::vector<RowRange> ranges;
  std::vector<std::int32_t> sources;    ///< token of each grouped row
  std::vector<std::int32_t> slots;      ///< slot of each grouped row
  std::vector<std::int32_t> slot_rows;  ///< grouped row of each slot
  int active = 0;
};

Routed route(const BenchModel& model, int tokens, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<std::int32_t>> slots(static_cast<std::size_t>(model.experts));
  std::vector<int> ids(static_cast<std::size_t>(model.experts));
  std::iota(ids.begin(), ids.end(), 0);
  for (int t = 0; t < tokens; ++t) {
    for (int j = 0; j < model.top_k; ++j) {
      std::swap(ids[j], ids[j + static_cast<int>(random() % static_cast<unsigned>(model.experts - j))]);
      slots[ids[j]].push_back(t * model.top_k + j);
    }
  }
  Routed routed;
  routed.slot_rows.resize(static_cast<std::size_t>(tokens) * model.top_k);
  for (const auto& of_expert : slots) {
    routed.active += of_expert.empty() ? 0 : 1;
    const auto begin = static_cast<std::int32_t>(routed.slots.size());
    routed.ranges.push_back({begin, static_cast<std::int32_t>(of_expert.size())});
    for (const std::int32_t slot : of_expert) {
      routed.slot_rows[slot] = static_cast<std::int32_t>(routed.slots.size());
      routed.slots.push_back(slot);
      routed.sources.push_back(slot / model.top_k);
    }
    routed.slots.resize((routed.slots.size() + 7) / 8 * 8, 0);
    routed.sources.resize(routed.slots.size(), 0);
  }
  return routed;
}

}  // namespace

GemmTimer::GemmTimer(const BenchModel& model, bool first, int sm_count)
    : model_(model),
      first_(first),
      sm_count_(sm_count),
      n_(first ? 2 * model.intermediate : model.hidden),
      k_(first ? model.hidden : model.intermediate),
      expert_bytes_(sm90::matrix_bytes(n_, k_)),
      weights_(expert_bytes_ * model.experts * kCopies),
      scales_(std::vector<float>(static_cast<std::size_t>(2 * model.experts), 0.01F * sm90::kWeightUnbias)) {
  const auto words = random_matrix(expert_bytes_);
  for (std::int64_t at = 0; at < weights_.bytes(); at += expert_bytes_) {
    require(cudaMemcpy(weights_.as<std::uint8_t>() + at, words.data(), words.size() * 4, cudaMemcpyHostToDevice));
  }
}

bool GemmTimer::suits(const Schedule& schedule, int tokens) const {
  if (schedule.epilogue != (first_ ? Epilogue::gated_bf16 : Epilogue::finalize)) return false;
  const double rows = static_cast<double>(tokens) * model_.top_k / model_.experts;
  const int n = schedule.tile_n;
  return (n >= 0.8 * rows || n >= 112) && (n == 8 || n <= 4 * rows + 16);
}

Timing GemmTimer::time(const sm90::BuiltGemm& gemm, int tokens) {
  const std::int64_t rows = std::int64_t{tokens} * model_.top_k;
  const int launches = tokens >= 2048 ? 4 : tokens >= 512 ? 8 : 16;
  const int blocks = sm90::launch_blocks(gemm.schedule, sm_count_);
  const int channels = first_ ? n_ / 2 : n_;
  const std::int64_t grouped = grouped_rows(rows, model_.experts);
  const bool arranges = first_ && gemm.schedule.token_load == TokenLoad::tile_order;
  const DeviceMemory x = random_rows(first_ ? tokens * std::int64_t{k_} : sm90::tile_order_bytes(grouped, k_) / 2);
  const DeviceMemory tiles(arranges ? sm90::tile_order_bytes(grouped, k_) : 0);
  const DeviceMemory y(first_ ? sm90::tile_order_bytes(grouped, channels) : rows * channels * 2);
  const DeviceMemory partials(partial_bytes(gemm.schedule, blocks));
  const DeviceMemory flags(flag_bytes(gemm.schedule, blocks));
  flags.fill(0);
  const DeviceMemory row_weights(std::vector<float>(static_cast<std::size_t>(grouped), 0.3F));
  std::vector<DeviceMemory> tables;
  std::vector<sm90::GemmParams> params;
  std::vector<ArrangeParams> arrangements;
  double active = 0.0;
  for (int i = 0; i < launches; ++i) {
    const Routed routed = route(model_, tokens, static_cast<unsigned>(7 * i + tokens));
    active += routed.active;
    sm90::GemmParams p;
    p.weights = weights_.as<std::uint8_t>() + expert_bytes_ * model_.experts * (i % kCopies);
    p.expert_stride = expert_bytes_;
    p.row_scales = scales_.as<float>();
    p.x = arranges ? tiles.as<void>() : x.as<void>();
    p.x_stride = k_;
    p.group_rows = grouped;
    p.ranges_ready = 1;
    tables.emplace_back(routed.ranges);
    p.row_ranges = tables.back().as<RowRange>();
    tables.emplace_back(first_ ? routed.sources : routed.slots);
    (first_ ? p.row_source : p.row_dest) = tables.back().as<std::int32_t>();
    if (arranges) {
      tables.emplace_back(routed.slot_rows);
      arrangements.push_back({x.as<void>(), tokens, model_.top_k, k_, model_.experts, tables.back().as<std::int32_t>(),
                              p.row_ranges, grouped, tiles.as<void>()});
    }
    p.row_weights = row_weights.as<float>();
    p.y = y.as<void>();
    p.y_stride = channels;
    p.experts = model_.experts;
    p.weight_rows = n_;
    p.k = k_;
    p.gated = gated_formula({ActivationKind::silu_gated, 0.0F});
    p.partials = partials.as<float>();
    p.flags = flags.as<unsigned>();
    params.push_back(p);
  }
  const std::vector<double> times = replay(gemm, params, arrangements, rows, blocks);
  Timing timing;
  timing.us = times[times.size() / 2];
  timing.spread = (times[times.size() - 2] - times[1]) / timing.us;
  timing.weight_GBps = active / launches * static_cast<double>(n_) * k_ * 0.5625 / timing.us * 1e-3;
  timing.tflops = 2.0 * static_cast<double>(rows) * n_ * k_ / timing.us * 1e-6;
  return timing;
}

std::vector<double> GemmTimer::replay(const sm90::BuiltGemm& gemm, const std::vector<sm90::GemmParams>& params,
                                      const std::vector<ArrangeParams>& arrangements, std::int64_t rows, int blocks) {
  require(gemm.prepare());
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t instance = nullptr;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  require(cudaStreamCreate(&stream));
  require(cudaEventCreate(&begin));
  require(cudaEventCreate(&end));
  require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (!arrangements.empty()) require(enqueue_arrange(arrangements[i], stream));
    const Status status = sm90::launch_gemm(gemm, params[i], rows, blocks, true, stream);
    if (!status) throw std::runtime_error(status.error().message());
  }
  require(cudaStreamEndCapture(stream, &graph));
  require(cudaGraphInstantiate(&instance, graph, 0));
  std::vector<double> times;
  for (int i = 0; i < 11; ++i) {
    require(cudaEventRecord(begin, stream));
    require(cudaGraphLaunch(instance, stream));
    require(cudaEventRecord(end, stream));
    require(cudaStreamSynchronize(stream));
    float ms = 0.0F;
    require(cudaEventElapsedTime(&ms, begin, end));
    if (i >= 2) times.push_back(1e3 * static_cast<double>(ms) / static_cast<double>(params.size()));  // 2 warm up
  }
  require(cudaGraphExecDestroy(instance));
  require(cudaGraphDestroy(graph));
  require(cudaEventDestroy(begin));
  require(cudaEventDestroy(end));
  require(cudaStreamDestroy(stream));
  std::sort(times.begin(), times.end());
  return times;
}

/// GB/s of a device-to-device copy of 2 GiB, bytes read and written.
double copy_GBps() {
  const DeviceMemory from(std::int64_t{1} << 31U);
  const DeviceMemory to(std::int64_t{1} << 31U);
  from.fill(1);
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  require(cudaEventCreate(&begin));
  require(cudaEventCreate(&end));
  float best = 1e9F;
  for (int i = 0; i < 5; ++i) {
    require(cudaEventRecord(begin));
    require(cudaMemcpyAsync(to.as<void>(), from.as<void>(), static_cast<std::size_t>(from.bytes()),
                            cudaMemcpyDeviceToDevice));
    require(cudaEventRecord(end));
    require(cudaDeviceSynchronize());
    float ms = 0.0F;
    require(cudaEventElapsedTime(&ms, begin, end));
    best = std::min(best, ms);
  }
  return 2.0 * static_cast<double>(from.bytes()) / static_cast<double>(best) * 1e-6;
}

}  // namespace tilewright::cuda
