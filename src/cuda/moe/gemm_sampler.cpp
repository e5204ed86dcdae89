#include "cuda/moe/gemm_sampler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "cuda/cuda_error.hpp"
#include "cuda/device.hpp"
#include "cuda/moe/gemm_check.hpp"
#include "cuda/moe/gemm_operands.hpp"
#include "cuda/runtime_handles.hpp"
#include "cuda/sm90/grouped_gemm.hpp"
#include "cuda/timed.hpp"

namespace tilewright::cuda {
namespace {

constexpr const char* kTiming = "timing a GEMM";
constexpr const char* kChecking = "checking a GEMM";
constexpr int kSamplesOfAnExpert = 32;

}  // namespace

/// A schedule that has been checked, as it is replayed.
struct ReadyGemm {
  Schedule schedule;
  GraphExec graph;
};

struct GemmSampler::State {
  GpuInfo gpu;
  int l2_bytes = 0;
  Stream stream;
  Event begin, end;
  GemmOperands operands;
  DeviceBuffer y, reference, partials, flags, counts;
  bool has_reference = false;
  double reference_rms = 0;
  std::vector<ReadyGemm> ready;

  Status prepare();
  Status load(const SampledGemm& gemm);
  [[nodiscard]] sm90::GemmParams params(const Schedule& schedule, int launch) const;
  [[nodiscard]] Status enqueue(const sm90::BuiltGemm& gemm) const;
  Status replay(const GraphExec& graph) const;
  Status check(const Schedule& schedule);
  [[nodiscard]] Result<CheckCounts> counted(const CheckParams& params, bool all) const;
  [[nodiscard]] Status check_numbers(const Schedule& schedule);
  Result<double> sample(const Schedule& schedule);
};

Status GemmSampler::State::prepare() {
  TILEWRIGHT_ASSIGN(gpu, current_sm90());
  int device = 0;
  TILEWRIGHT_TRY(cuda_status(cudaGetDevice(&device), kTiming));
  TILEWRIGHT_TRY(cuda_status(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, device), kTiming));
  TILEWRIGHT_TRY(cuda_status(prepare_sort(), "preparing the sort by expert"));
  std::int64_t partial = 0;
  std::int64_t flag = 0;
  for (const sm90::BuiltGemm& gemm : sm90::built_gemms()) {
    TILEWRIGHT_TRY(cuda_status(gemm.prepare(), "preparing a grouped GEMM"));
    const int blocks = sm90::launch_blocks(gemm.schedule, gpu.sm_count);
    partial = std::max(partial, partial_bytes(gemm.schedule, blocks));
    flag = std::max(flag, flag_bytes(gemm.schedule, blocks));
  }
  TILEWRIGHT_ASSIGN(stream, make_stream());
  TILEWRIGHT_ASSIGN(begin, make_event());
  TILEWRIGHT_ASSIGN(end, make_event());
  TILEWRIGHT_ASSIGN(partials, DeviceBuffer::allocate(partial));
  TILEWRIGHT_ASSIGN(flags, DeviceBuffer::allocate(flag));
  TILEWRIGHT_ASSIGN(counts, DeviceBuffer::allocate(static_cast<std::int64_t>(sizeof(CheckCounts))));
  return {};
}

Status GemmSampler::State::load(const SampledGemm& gemm) {
  ready.clear();
  has_reference = false;
  TILEWRIGHT_TRY(operands.load(gemm, l2_bytes, stream.get()));
  for (DeviceBuffer* buffer : {&y, &reference}) {
    if (buffer->bytes() >= operands.y_bytes()) continue;
    *buffer = DeviceBuffer();
    TILEWRIGHT_ASSIGN(*buffer, DeviceBuffer::allocate(operands.y_bytes()));
  }
  return {};
}

sm90::GemmParams GemmSampler::State::params(const Schedule& schedule, int launch) const {
  sm90::GemmParams p = operands.params(launch);
  if (operands.first() && schedule.token_load == TokenLoad::tile_order) p.x = operands.tiles();
  p.y = y.as();
  p.partials = partials.as<float>();
  p.flags = flags.as<unsigned>();
  return p;
}

Status GemmSampler::State::enqueue(const sm90::BuiltGemm& gemm) const {
  const int blocks = sm90::launch_blocks(gemm.schedule, gpu.sm_count);
  for (int i = 0; i < operands.launches(); ++i) {
    if (operands.first() && gemm.schedule.token_load == TokenLoad::tile_order) {
      TILEWRIGHT_TRY(cuda_status(enqueue_arrange(operands.arrangement(i), stream.get()), kTiming));
    }
    TILEWRIGHT_TRY(sm90::launch_gemm(gemm, params(gemm.schedule, i), operands.slots(), blocks, true, stream.get()));
  }
  return {};
}

Status GemmSampler::State::replay(const GraphExec& graph) const {
  TILEWRIGHT_TRY(cuda_status(cudaGraphLaunch(graph.get(), stream.get()), kTiming));
  return cuda_status(cudaStreamSynchronize(stream.get()), kTiming);
}

Status GemmSampler::State::check(const Schedule& schedule) {
  TILEWRIGHT_ASSIGN(const sm90::BuiltGemm* gemm, sm90::find_gemm(schedule));
  TILEWRIGHT_ASSIGN(GraphExec graph, captured(stream, kTiming, [&] { return enqueue(*gemm); }));
  const auto fill = [&](const DeviceBuffer& buffer, int byte, std::int64_t bytes) {
    return cuda_status(cudaMemsetAsync(buffer.as(), byte, static_cast<std::size_t>(bytes), stream.get()), kChecking);
  };
  TILEWRIGHT_TRY(fill(flags, 0, flags.bytes()));  // a candidate before may have been wrong about them too
  TILEWRIGHT_TRY(fill(y, 0xFF, operands.y_bytes()));
  TILEWRIGHT_TRY(replay(graph));
  TILEWRIGHT_TRY(check_numbers(schedule));
  ready.push_back({schedule, std::move(graph)});
  return {};
}

Result<CheckCounts> GemmSampler::State::counted(const CheckParams& check, bool all) const {
  CheckCounts found;
  TILEWRIGHT_TRY(cuda_status(cudaMemsetAsync(counts.as(), 0, sizeof(CheckCounts), stream.get()), kChecking));
  TILEWRIGHT_TRY(cuda_status(all ? enqueue_compare_outputs(check, stream.get())
                                 : enqueue_check_samples(check, kSamplesOfAnExpert, stream.get()),
                             kChecking));
  TILEWRIGHT_TRY(cuda_status(cudaMemcpyAsync(&found, counts.as(), sizeof(found), cudaMemcpyDeviceToHost, stream.get()),
                             kChecking));
  TILEWRIGHT_TRY(cuda_status(cudaStreamSynchronize(stream.get()), kChecking));
  return found;
}

Status GemmSampler::State::check_numbers(const Schedule& schedule) {
  const auto refuse = [](const CheckCounts& found, const char* than) {
    return fail(ErrorCode::mismatch,
                fmt::format("{} of {} values are wrong against {}, {} of them not written or not finite", found.wrong,
                            found.values, than, found.not_finite),
                "report it; the schedule is left out");
  };
  CheckParams check;
  check.gemm = params(schedule, operands.launches() - 1);
  check.gemm.x = operands.params(operands.launches() - 1).x;
  check.epilogue = schedule.epilogue;
  check.counts = counts.as<CheckCounts>();
  TILEWRIGHT_ASSIGN(const CheckCounts samples, counted(check, false));
  if (samples.wrong > 0) return refuse(samples, "sums in double");
  check.reference = has_reference ? reference.as() : nullptr;
  check.reference_rms = reference_rms;
  TILEWRIGHT_ASSIGN(const CheckCounts all, counted(check, true));
  if (all.wrong > 0) return refuse(all, has_reference ? "another schedule" : "being written");
  if (has_reference) return {};
  reference_rms = std::sqrt(all.squares / static_cast<double>(std::max(all.values, 1ULL)));
  has_reference = true;
  return cuda_status(cudaMemcpyAsync(reference.as(), y.as(), static_cast<std::size_t>(operands.y_bytes()),
                                     cudaMemcpyDeviceToDevice, stream.get()),
                     kChecking);
}

Result<double> GemmSampler::State::sample(const Schedule& schedule) {
  const auto found =
      std::find_if(ready.begin(), ready.end(), [&](const ReadyGemm& gemm) { return gemm.schedule == schedule; });
  if (found == ready.end()) {
    return fail(ErrorCode::invalid_argument, "the schedule has not been checked", "check it before it is timed");
  }
  TILEWRIGHT_ASSIGN(const double us, timed_us(begin, end, stream.get(), kTiming, [&] {
                      return cuda_status(cudaGraphLaunch(found->graph.get(), stream.get()), kTiming);
                    }));
  return us / operands.launches();
}

GemmSampler::GemmSampler(std::unique_ptr<State> state) : state_(std::move(state)) {}
GemmSampler::GemmSampler(GemmSampler&&) noexcept = default;
GemmSampler& GemmSampler::operator=(GemmSampler&&) noexcept = default;
GemmSampler::~GemmSampler() = default;

Result<GemmSampler> GemmSampler::create() {
  auto state = std::make_unique<State>();
  TILEWRIGHT_TRY(state->prepare());
  return GemmSampler(std::move(state));
}

Status GemmSampler::load(const SampledGemm& gemm) { return state_->load(gemm); }
Status GemmSampler::check(const Schedule& schedule) { return state_->check(schedule); }
Result<double> GemmSampler::sample(const Schedule& schedule) { return state_->sample(schedule); }

}  // namespace tilewright::cuda
