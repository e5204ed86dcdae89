#include "cuda/moe/layer_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cuda/cuda_error.hpp"
#include "cuda/device_buffer.hpp"
#include "cuda/runtime_handles.hpp"
#include "cuda/timed.hpp"

namespace tilewright::cuda {
namespace {

constexpr const char* kDoing = "timing a layer";
constexpr int kWarmups = 2;
constexpr int kFewestLayers = 4;
constexpr int kMostLayers = 512;  // nodes of a graph cost memory, and 2 ms hold no more

/// A copy of host values on the device.
template <typename T>
Result<DeviceBuffer> on_device(std::span<const T> values) {
  const auto bytes = static_cast<std::int64_t>(values.size_bytes());
  TILEWRIGHT_ASSIGN(DeviceBuffer buffer, DeviceBuffer::allocate(bytes));
  if (bytes > 0) {
    TILEWRIGHT_TRY(
        cuda_status(cudaMemcpy(buffer.as(), values.data(), values.size_bytes(), cudaMemcpyHostToDevice), kDoing));
  }
  return buffer;
}

class Replays {
 public:
  Replays(std::span<const CudaLayer* const> copies, std::span<const bf16> x, int tokens,
          const std::function<RoutedTokens(int)>& routing, const ReplayOptions& options)
      : copies_(copies), host_x_(x), tokens_(tokens), routing_(routing), options_(options) {}

  Result<ReplayTimes> run() {
    ReplayTimes times;
    TILEWRIGHT_TRY(prepare());
    TILEWRIGHT_TRY(route(kFewestLayers));
    // Twice as many layers as a first look calls for: launches, which it includes, cost a graph less.
    for (int i = 0; i <= kWarmups; ++i) {
      TILEWRIGHT_ASSIGN(const double us, timed_us(begin_, end_, stream_.get(), kDoing, [this] { return enqueue(); }));
      const double layers = std::ceil(2.0 * options_.least_us * kFewestLayers / std::max(us, 1.0));
      times.layers = static_cast<int>(std::clamp<double>(layers, kFewestLayers, kMostLayers));
    }
    TILEWRIGHT_TRY(route(times.layers));
    times.schedules = schedules_;
    GraphExec graph;
    if (options_.graph) {
      TILEWRIGHT_ASSIGN(graph, captured(stream_, kDoing, [this] { return enqueue(); }));
    }
    for (int i = 0; i < kWarmups + options_.replays; ++i) {
      TILEWRIGHT_ASSIGN(const double us, timed_us(begin_, end_, stream_.get(), kDoing, [&] {
                          return graph ? cuda_status(cudaGraphLaunch(graph.get(), stream_.get()), kDoing) : enqueue();
                        }));
      if (i >= kWarmups) times.us.push_back(us / times.layers);
    }
    TILEWRIGHT_TRY(check_outputs());
    return times;
  }

 private:
  [[nodiscard]] std::int64_t values() const { return tokens_ * copies_.front()->info().hidden; }

  Status prepare() {
    const RoutedTokens first = routing_(0);
    top_k_ = first.top_k;
    scale_input_ = first.scale_input;
    schedules_ = copies_.front()->schedules(tokens_);
    TILEWRIGHT_ASSIGN(stream_, make_stream());
    TILEWRIGHT_ASSIGN(begin_, make_event());
    TILEWRIGHT_ASSIGN(end_, make_event());
    const std::int64_t workspace = copies_.front()->workspace_bytes(tokens_, top_k_);
    TILEWRIGHT_ASSIGN(x_, on_device(host_x_));
    TILEWRIGHT_ASSIGN(y_, DeviceBuffer::allocate(2 * values()));
    TILEWRIGHT_ASSIGN(workspace_, DeviceBuffer::allocate(workspace));
    TILEWRIGHT_TRY(cuda_status(cudaMemset(y_.as(), 0xFF, static_cast<std::size_t>(2 * values())), kDoing));
    TILEWRIGHT_TRY(cuda_status(cudaMemset(workspace_.as(), 0xFF, static_cast<std::size_t>(workspace)), kDoing));
    return cuda_status(cudaDeviceSynchronize(), kDoing);
  }

  /// Experts and weights of the next replays' layers.
  Status route(int layers) {
    layers_ = layers;
    std::vector<std::int32_t> ids;
    std::vector<float> weights;
    for (int i = 0; i < layers; ++i) {
      const RoutedTokens routed = routing_(i);
      ids.insert(ids.end(), routed.ids.begin(), routed.ids.end());
      weights.insert(weights.end(), routed.weights.begin(), routed.weights.end());
    }
    TILEWRIGHT_ASSIGN(ids_, on_device<std::int32_t>(ids));
    TILEWRIGHT_ASSIGN(weights_, on_device<float>(weights));
    return cuda_status(cudaDeviceSynchronize(), kDoing);  // the stream does not wait for copies of the default stream
  }

  Status enqueue() const {
    const std::int64_t slots = std::int64_t{tokens_} * top_k_;
    for (int i = 0; i < layers_; ++i) {
      CudaBatch batch;
      batch.x = x_.as();
      batch.tokens = tokens_;
      batch.ids = ids_.as<std::int32_t>() + i * slots;
      batch.weights = weights_.as<float>() + i * slots;
      batch.top_k = top_k_;
      batch.scale_input = scale_input_;
      batch.y = y_.as();
      batch.y_bf16 = true;
      const CudaLayer& layer = *copies_[static_cast<std::size_t>(i) % copies_.size()];
      TILEWRIGHT_TRY(layer.run(batch, schedules_, workspace_.as(), stream_.get()));
    }
    return {};
  }

  [[nodiscard]] Status check_outputs() const {
    std::vector<bf16> y(static_cast<std::size_t>(values()));
    TILEWRIGHT_TRY(cuda_status(cudaMemcpy(y.data(), y_.as(), y.size() * sizeof(bf16), cudaMemcpyDeviceToHost), kDoing));
    const auto bad = std::count_if(y.begin(), y.end(), [](bf16 value) { return !std::isfinite(to_float(value)); });
    if (bad == 0) return {};
    return fail(ErrorCode::mismatch,
                fmt::format("{} of {} outputs of {} tokens are not written, or not finite", bad, y.size(), tokens_),
                "check the kernels with 'tilewright verify --backend cuda'");
  }

  std::span<const CudaLayer* const> copies_;
  std::span<const bf16> host_x_;
  int tokens_;
  const std::function<RoutedTokens(int)>& routing_;
  ReplayOptions options_;
  int top_k_ = 0;
  bool scale_input_ = false;
  int layers_ = 0;
  LayerSchedules schedules_;
  // Freed before the stream is: cudaFree waits for what still runs.
  Stream stream_;
  Event begin_, end_;
  DeviceBuffer x_, y_, workspace_, ids_, weights_;
};

}  // namespace

Result<ReplayTimes> time_replays(std::span<const CudaLayer* const> copies, std::span<const bf16> x, int tokens,
                                 const std::function<RoutedTokens(int)>& routing, const ReplayOptions& options) {
  return Replays(copies, x, tokens, routing, options).run();
}

}  // namespace tilewright::cuda
