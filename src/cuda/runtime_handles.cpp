#include "cuda/runtime_handles.hpp"

#include "cuda/cuda_error.hpp"

namespace tilewright::cuda {

Result<Stream> make_stream() {
  cudaStream_t stream = nullptr;
  TILEWRIGHT_TRY(cuda_status(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream"));
  return Stream(stream);
}

Result<Event> make_event() {
  cudaEvent_t event = nullptr;
  TILEWRIGHT_TRY(cuda_status(cudaEventCreate(&event), "making an event"));
  return Event(event);
}

Result<GraphExec> captured(const Stream& stream, const char* doing, const std::function<Status()>& enqueue) {
  TILEWRIGHT_TRY(cuda_status(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), doing));
  const Status enqueued = enqueue();
  cudaGraph_t recorded = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream.get(), &recorded);
  const Graph graph(recorded);
  TILEWRIGHT_TRY(enqueued);
  TILEWRIGHT_TRY(cuda_status(ended, doing));
  cudaGraphExec_t instance = nullptr;
  TILEWRIGHT_TRY(cuda_status(cudaGraphInstantiate(&instance, graph.get(), 0), doing));
  return GraphExec(instance);
}

Result<double> elapsed_us(const Event& begin, const Event& end) {
  float ms = 0.0F;
  TILEWRIGHT_TRY(cuda_status(cudaEventElapsedTime(&ms, begin.get(), end.get()), "reading a time"));
  return 1e3 * static_cast<double>(ms);
}

}  // namespace tilewright::cuda
