// Streams, events and graphs, given back when its owner ends.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>

#include "tilewright/result.hpp"

namespace tilewright::cuda {

template <auto kRelease>
struct Release {
  template <typename T>
  void operator()(T* handle) const {
    (void)kRelease(handle);
  }
};

using Stream = std::unique_ptr<CUstream_st, Release<cudaStreamDestroy>>;
using Event = std::unique_ptr<CUevent_st, Release<cudaEventDestroy>>;
using Graph = std::unique_ptr<CUgraph_st, Release<cudaGraphDestroy>>;
using GraphExec = std::unique_ptr<CUgraphExec_st, Release<cudaGraphExecDestroy>>;

Result<Stream> make_stream();
Result<Event> make_event();

/// What `enqueue` puts on the stream, as a graph. A failure of it ends the capture all the same.
Result<GraphExec> captured(const Stream& stream, const char* doing, const std::function<Status()>& enqueue);

/// Microseconds from one recorded event to another that has happened.
Result<double> elapsed_us(const Event& begin, const Event& end);

}  // namespace tilewright::cuda
