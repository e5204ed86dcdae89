#include "checkpoint/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace tilewright {

Status for_each_parallel(int count, const std::function<Status(int)>& work) {
  std::atomic<int> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  int error_index = count;
  std::optional<Error> error;
  const auto run = [&] {
    while (!failed.load()) {
      const int index = next.fetch_add(1);
      if (index >= count) return;
      const Status status = work(index);
      if (status) continue;
      const std::lock_guard<std::mutex> lock(mutex);
      failed.store(true);
      if (index < error_index) {
        error_index = index;
        error = status.error();
      }
    }
  };
  const int threads = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, std::max(count, 1));
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(run);
  run();
  for (std::thread& thread : others) thread.join();
  if (error) return tl::unexpected<Error>(*error);
  return {};
}

}  // namespace tilewright
