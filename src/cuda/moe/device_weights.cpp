#include "cuda/moe/device_weights.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "cuda/cuda_error.hpp"

namespace tilewright::cuda {
namespace {

constexpr int kMostThreads = 16;

/// Packs experts as long as there are any, and keeps the first error.
class Packer {
 public:
  Packer(const ExpertWeights& weights, WeightOrder order, DeviceWeights& to, int device)
      : weights_(weights), order_(order), to_(to), device_(device) {}

  void work() {
    const Status ready = cuda_status(cudaSetDevice(device_), "choosing the device");
    if (!ready) return report(ready);
    std::vector<std::uint8_t> staging(static_cast<std::size_t>(std::max(to_.stride1, to_.stride2)));
    const int count = static_cast<int>(weights_.experts.size());
    for (int e = next_++; e < count && !failed_; e = next_++) {
      const Nvfp4Expert& expert = weights_.experts[static_cast<std::size_t>(e)];
      const Nvfp4Matrix& gate = weights_.gated ? expert.gate : expert.up;
      // pack_matrix takes a matrix for a plain one where both are the same object.
      report(put(gate, weights_.gated ? expert.up : gate, to_.gemm1.as<std::uint8_t>(e * to_.stride1), staging));
      report(put(expert.down, expert.down, to_.gemm2.as<std::uint8_t>(e * to_.stride2), staging));
      const std::lock_guard lock(mutex_);
      if (weights_.release_pages) weights_.release_pages(e);
    }
  }

  [[nodiscard]] const Status& status() const { return status_; }

 private:
  Status put(const Nvfp4Matrix& lower, const Nvfp4Matrix& upper, std::uint8_t* to,
             std::vector<std::uint8_t>& staging) const {
    TILEWRIGHT_TRY(pack_matrix(lower, upper, staging.data(), order_));
    const auto bytes = static_cast<std::size_t>(packed_bytes(lower, upper, order_));
    return cuda_status(cudaMemcpy(to, staging.data(), bytes, cudaMemcpyHostToDevice), "copying weights to the device");
  }

  void report(const Status& status) {
    if (status) return;
    const std::lock_guard lock(mutex_);
    if (!failed_.exchange(true)) status_ = status;
  }

  const ExpertWeights& weights_;
  WeightOrder order_;
  DeviceWeights& to_;
  int device_;
  std::atomic<int> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  Status status_;
};

}  // namespace

Result<DeviceBuffer> upload(const std::vector<float>& values) {
  const std::size_t bytes = values.size() * sizeof(float);
  TILEWRIGHT_ASSIGN(DeviceBuffer buffer, DeviceBuffer::allocate(static_cast<std::int64_t>(bytes)));
  TILEWRIGHT_TRY(cuda_status(cudaMemcpy(buffer.as(), values.data(), bytes, cudaMemcpyHostToDevice), "copying scales"));
  return buffer;
}

Result<DeviceWeights> DeviceWeights::pack(const ExpertWeights& weights, WeightOrder order, float factor1,
                                          const std::vector<float>& factors2) {
  const auto count = static_cast<std::int64_t>(weights.experts.size());
  const Nvfp4Expert& first = weights.experts.front();
  DeviceWeights to;
  to.stride1 = packed_bytes(weights.gated ? first.gate : first.up, first.up, order);
  to.stride2 = packed_bytes(first.down, first.down, order);
  TILEWRIGHT_ASSIGN(to.gemm1, DeviceBuffer::allocate(to.stride1 * count));
  TILEWRIGHT_ASSIGN(to.gemm2, DeviceBuffer::allocate(to.stride2 * count));
  std::vector<float> scales1;
  std::vector<float> scales2;
  for (std::size_t e = 0; e < weights.experts.size(); ++e) {
    const Nvfp4Expert& expert = weights.experts[e];
    const Nvfp4Matrix& lower = weights.gated ? expert.gate : expert.up;
    for (const float scale : {lower.global_scale, expert.up.global_scale}) scales1.push_back(scale * factor1);
    scales2.insert(scales2.end(), 2, expert.down.global_scale * factors2[e]);
  }
  TILEWRIGHT_ASSIGN(to.scales1, upload(scales1));
  TILEWRIGHT_ASSIGN(to.scales2, upload(scales2));

  int device = 0;
  TILEWRIGHT_TRY(cuda_status(cudaGetDevice(&device), "looking for the device"));
  Packer packer(weights, order, to, device);
  const int threads = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMostThreads);
  std::vector<std::thread> pool;
  for (int i = 1; i < std::min<std::int64_t>(threads, count); ++i) pool.emplace_back([&] { packer.work(); });
  packer.work();
  for (std::thread& thread : pool) thread.join();
  TILEWRIGHT_TRY(packer.status());
  return to;
}

}  // namespace tilewright::cuda
