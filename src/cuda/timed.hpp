// Timing what is put on a stream.
#pragma once

#include <algorithm>
#include <array>

#include "cuda/cuda_error.hpp"
#include "cuda/runtime_handles.hpp"

namespace tilewright::cuda {

/// Microseconds of what `enqueue` puts on the stream, between events on it; its Status is passed on.
template <typename Enqueue>
Result<double> timed_us(const Event& begin, const Event& end, cudaStream_t stream, const char* doing,
                        const Enqueue& enqueue) {
  TILEWRIGHT_TRY(cuda_status(cudaEventRecord(begin.get(), stream), doing));
  TILEWRIGHT_TRY(enqueue());
  TILEWRIGHT_TRY(cuda_status(cudaEventRecord(end.get(), stream), doing));
  TILEWRIGHT_TRY(cuda_status(cudaStreamSynchronize(stream), doing));
  return elapsed_us(begin, end);
}

/// The median of 5 runs, after one that warms up.
template <typename Enqueue>
Result<double> median_us(cudaStream_t stream, const char* doing, const Enqueue& enqueue) {
  constexpr int kRuns = 5;
  TILEWRIGHT_ASSIGN(const Event begin, make_event());
  TILEWRIGHT_ASSIGN(const Event end, make_event());
  std::array<double, kRuns + 1> us{};
  for (double& run : us) {
    TILEWRIGHT_ASSIGN(run, timed_us(begin, end, stream, doing, enqueue));
  }
  std::sort(us.begin() + 1, us.end());
  return us[1 + kRuns / 2];
}

}  // namespace tilewright::cuda
