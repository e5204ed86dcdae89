#include "cpu/cpu_experts.hpp"

#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "cpu/kernels.hpp"
#include "cpu/packed_experts.hpp"
#include "cpu/row_kernels.hpp"
#include "cpu/slots.hpp"
#include "cpu/strip_dot.hpp"
#include "numerics/input_scales.hpp"
#include "tilewright/catalogue.hpp"

namespace tilewright::cpu {
namespace {

static_assert(kStripRows == kCpuTileM && kGroupK == kCpuStreamK, "the planner's strips and groups are these");

// A streaming GEMM's tasks: this many a thread, so that the last ones end together; each walks through no fewer bytes
// than pay for its start, and no more strips than results are kept of (kMostStrips).
constexpr std::int64_t kStreamTasks = 8;
constexpr std::int64_t kLeastTaskBytes = 128 * 1024;
// GEMM2's tasks take their strips from one expert after the other: few of them, for long runs of memory.
constexpr std::int64_t kCombineTasks = 2;
// Tasks a thread that expanding GEMMs are cut into: their rows are gathered once a task.
constexpr std::int64_t kPanelTasks = 8;
// Strips whose results wait for their use: as many as stay in L1 beside everything else, within limits.
constexpr std::int64_t kResultBytes = 16 * 1024;
constexpr std::int64_t kLeastStrips = 8;
constexpr std::int64_t kMostStrips = 32;

/// Strips [begin, end) of one expert with rows [row_begin, row_end) of its slots.
struct Task {
  int expert;
  std::int64_t begin;
  std::int64_t end;
  std::int64_t row_begin;
  std::int64_t row_end;
};

struct ThreadScratch {
  explicit ThreadScratch(const KernelSet& kernels, int panel_k) : dot(kernels, panel_k) {}
  StripDot dot;
  RowList rows;
  std::vector<float> row;
  std::vector<float> gate;
  std::vector<float> up;
  std::vector<float> gate_factors;
  std::vector<float> up_factors;
  std::vector<float*> out;
};

/// Strips of a task where `strips` of K are to be dealt to `threads`, `tasks` for each.
std::int64_t stream_task_strips(std::int64_t k, std::int64_t strips, int threads, std::int64_t tasks) {
  const std::int64_t least = std::clamp<std::int64_t>(kLeastTaskBytes / strip_bytes(k), 1, kLeastStrips);
  return std::clamp(strips / (threads * tasks), least, kMostStrips);
}

std::int64_t strips_at_once(int rows) {
  const std::int64_t strip_results = std::int64_t{rows} * kStripRows * static_cast<std::int64_t>(sizeof(float));
  return std::clamp(kResultBytes / strip_results, kLeastStrips, kMostStrips);
}

/// Strips of a task, in whole pairs, where `strips` are to be dealt to `threads`.
std::int64_t panel_task_strips(std::int64_t strips, int threads, std::int64_t most) {
  const std::int64_t share =
      std::clamp<std::int64_t>(strips / (threads * kPanelTasks), 2, std::max<std::int64_t>(2, most));
  return (share + 1) / 2 * 2;
}

}  // namespace

struct CpuExperts::State {
  PackedExperts packed;
  Activation activation;
  CpuExpertsOptions options;
  const KernelSet* kernels = nullptr;
  const RowKernels* rows = nullptr;
  std::optional<float> gemm1_scale;
  int first_expert = 0;
  int global_experts = 0;

  tbb::task_arena arena;
  tbb::enumerable_thread_specific<ThreadScratch> scratch;
  SlotsByExpert slots;
  DotRows inputs;  ///< a row a token, or a slot where the router weight scales the input
  bool slot_inputs = false;
  WeightWalk walk = WeightWalk::stream;
  std::vector<bf16> middle;  ///< [slot, I]: the activation's output
  DotRows middles;
  std::vector<Task> tasks;

  State(PackedExperts experts, const Activation& act, const CpuExpertsOptions& opts)
      : packed(std::move(experts)),
        activation(act),
        options(opts),
        kernels(&cpu::kernels(opts.tier).of(opts.precision)),
        rows(&cpu::kernels(opts.tier).rows),
        arena(opts.threads),
        scratch([this] { return ThreadScratch(*kernels, options.panel_k); }) {}

  bool set_row(DotRows& out, std::int64_t index, std::optional<float> fixed_scale, ThreadScratch& t) const;
  Status quantize_inputs(const bf16* x, const RoutedTokens& routed);
  void choose_walk();
  void plan_gemm1();
  void gemm1(const Task& task, ThreadScratch& t);
  void activate_strips(const Task& task, std::int64_t begin, std::int64_t end, ThreadScratch& t);
  Status quantize_middles();
  void gemm2(std::int64_t begin, std::int64_t end, int tokens, float* y, ThreadScratch& t);
  void combine_strips(std::int64_t begin, std::int64_t end, std::int64_t first, float* y, ThreadScratch& t);
};

/// Sets a row of `out` from t.row, by the recipe of the precision. False when a value is not finite.
bool CpuExperts::State::set_row(DotRows& out, std::int64_t index, std::optional<float> fixed_scale,
                                ThreadScratch& t) const {
  if (options.precision == Precision::w4a16) return out.set_wide(index, t.row);
  return out.set_nvfp4(index, t.row, row_input_scale(fixed_scale, t.row));
}

Status CpuExperts::State::quantize_inputs(const bf16* x, const RoutedTokens& routed) {
  const auto hidden = static_cast<std::size_t>(packed.hidden());
  slot_inputs = routed.scale_input;
  const std::int64_t count = slot_inputs ? static_cast<std::int64_t>(slots.sorted.size()) : routed.tokens;
  inputs.reset(count, packed.hidden(), row_format(*kernels, walk), *rows);
  std::atomic<std::int64_t> bad = -1;
  tbb::parallel_for(std::int64_t{0}, count, [&](std::int64_t i) {
    ThreadScratch& t = scratch.local();
    t.row.resize(hidden);
    const std::int64_t token = slot_inputs ? slots.sorted[i].token : i;
    const bf16* from = x + token * packed.hidden();
    rows->widen(from, packed.hidden(), t.row.data());
    if (slot_inputs) {
      const float weight = routed.weights[slots.sorted[i].index];
      for (std::size_t k = 0; k < hidden; ++k) t.row[k] = to_float(scaled_input(from[k], weight));
    }
    if (!set_row(inputs, i, gemm1_scale, t)) bad = token;
  });
  if (bad >= 0) {
    return fail(ErrorCode::invalid_argument, fmt::format("the activations of token {} are not finite", bad.load()),
                "check the layer before this one");
  }
  return {};
}

void CpuExperts::State::choose_walk() {
  std::int64_t active = 0;
  for (int e = 0; e < packed.size(); ++e) active += slots.rows(e) > 0 ? 1 : 0;
  const bool streams = walks_of(*kernels).streams(static_cast<std::int64_t>(slots.sorted.size()), active);
  walk = streams ? WeightWalk::stream : WeightWalk::panel;
}

void CpuExperts::State::plan_gemm1() {
  tasks.clear();
  const std::int64_t pass = StripDot::rows_a_pass(*kernels, inputs.row_bytes());
  std::int64_t all = 0;
  std::int64_t most = 0;
  for (int e = 0; e < packed.size(); ++e) {
    const std::int64_t strips = packed[e].gemm1.strip_count;
    all += (slots.rows(e) + pass - 1) / pass * strips;
    most = std::max(most, strips);
  }
  const std::int64_t step = walk == WeightWalk::stream
                                ? stream_task_strips(packed.hidden(), all, options.threads, kStreamTasks)
                                : panel_task_strips(all, options.threads, most);
  for (int e = 0; e < packed.size(); ++e) {
    const std::int64_t strips = packed[e].gemm1.strip_count;
    for (std::int64_t r = 0; r < slots.rows(e); r += pass) {
      const std::int64_t row_end = std::min(slots.rows(e), r + pass);
      for (std::int64_t s = 0; s < strips; s += step) tasks.push_back({e, s, std::min(strips, s + step), r, row_end});
    }
  }
}

void CpuExperts::State::gemm1(const Task& task, ThreadScratch& t) {
  t.rows.clear();
  for (std::int64_t r = task.row_begin; r < task.row_end; ++r) {
    const std::int64_t at = slots.start[task.expert] + r;
    t.rows.add(inputs, slot_inputs ? at : slots.sorted[at].token);
  }
  const PackedMatrix& matrix = packed[task.expert].gemm1;
  t.dot.set_rows(t.rows, matrix.groups(), walk);
  t.gate_factors.resize(static_cast<std::size_t>(t.rows.size()));
  t.up_factors.resize(t.gate_factors.size());
  for (int r = 0; r < t.rows.size(); ++r) {
    t.gate_factors[r] = t.rows.unit(r) * matrix.half_scale[0];
    t.up_factors[r] = t.rows.unit(r) * matrix.half_scale[1];
  }
  const std::int64_t at_once = strips_at_once(t.rows.size());
  for (std::int64_t s = task.begin; s < task.end; s += at_once) {
    const std::int64_t end = std::min(task.end, s + at_once);
    t.dot.multiply(matrix, s, end);
    activate_strips(task, s, end, t);
  }
}

/// Global scales, activation and rounding to bf16 of the last product's strips [begin, end).
void CpuExperts::State::activate_strips(const Task& task, std::int64_t begin, std::int64_t end, ThreadScratch& t) {
  const int count = t.rows.size();
  const int strips = static_cast<int>(end - begin);
  const int channels = packed.gated() ? kHalfStrip : kStripRows;
  const int width = strips * channels;
  t.gate.resize(static_cast<std::size_t>(count) * width);
  t.up.resize(t.gate.size());
  rows->split_strips(t.dot.result(0, 0), t.dot.strip_stride(), strips, packed.gated(), t.gate_factors.data(),
                     t.up_factors.data(), count, t.gate.data(), t.up.data());
  rows->activate(activation, t.gate.data(), t.up.data(), count * width, t.up.data());
  const std::int64_t first = begin * channels;
  const auto valid = static_cast<int>(std::min<std::int64_t>(width, packed.intermediate() - first));
  bf16* out = middle.data() + (slots.start[task.expert] + task.row_begin) * packed.intermediate() + first;
  rows->round_rows(t.up.data(), count, width, valid, out, packed.intermediate());
}

Status CpuExperts::State::quantize_middles() {
  const std::int64_t width = packed.intermediate();
  middles.reset(static_cast<std::int64_t>(slots.sorted.size()), width, row_format(*kernels, walk), *rows);
  std::atomic<int> bad = -1;
  tbb::parallel_for(std::int64_t{0}, middles.rows(), [&](std::int64_t i) {
    const std::int32_t e = slots.sorted[i].expert;
    ThreadScratch& t = scratch.local();
    t.row.resize(static_cast<std::size_t>(width));
    rows->widen(middle.data() + i * width, width, t.row.data());
    if (!set_row(middles, i, packed[e].gemm2.input_scale, t)) bad = e;
  });
  if (bad >= 0) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("the intermediate of expert {} is not finite in bf16", first_expert + bad.load()),
        "the activations are too large for this layer: check the checkpoint's scales with `tilewright inspect`");
  }
  return {};
}

/// Output features of strips [begin, end), all experts: a thread owns its columns of y, so that the sum over experts
/// has one order whatever the threads do.
void CpuExperts::State::gemm2(std::int64_t begin, std::int64_t end, int tokens, float* y, ThreadScratch& t) {
  const std::int64_t hidden = packed.hidden();
  const std::int64_t columns = std::min(hidden, end * kStripRows) - begin * kStripRows;
  for (int token = 0; token < tokens; ++token) std::fill_n(y + token * hidden + begin * kStripRows, columns, 0.0F);
  const std::int64_t pass = StripDot::rows_a_pass(*kernels, middles.row_bytes());
  for (int e = 0; e < packed.size(); ++e) {
    const PackedMatrix& matrix = packed[e].gemm2;
    for (std::int64_t first = slots.start[e]; first < slots.start[e + 1]; first += pass) {
      const std::int64_t last = std::min(slots.start[e + 1], first + pass);
      t.rows.clear();
      for (std::int64_t i = first; i < last; ++i) t.rows.add(middles, i);
      t.dot.set_rows(t.rows, matrix.groups(), walk);
      t.row.resize(static_cast<std::size_t>(t.rows.size()));
      for (int r = 0; r < t.rows.size(); ++r) {
        t.row[r] = slots.sorted[first + r].weight * (t.rows.unit(r) * matrix.half_scale[0]);
      }
      const std::int64_t at_once = strips_at_once(t.rows.size());
      for (std::int64_t s = begin; s < end; s += at_once) {
        const std::int64_t strips_end = std::min(end, s + at_once);
        t.dot.multiply(matrix, s, strips_end);
        combine_strips(s, strips_end, first, y, t);
      }
    }
  }
}

/// Adds the last product's strips [begin, end) to the tokens of the slots from `first` on, each row times its factor in
/// t.row.
void CpuExperts::State::combine_strips(std::int64_t begin, std::int64_t end, std::int64_t first, float* y,
                                       ThreadScratch& t) {
  const std::int64_t hidden = packed.hidden();
  const auto last = static_cast<int>(std::min<std::int64_t>(kStripRows, hidden - (end - 1) * kStripRows));
  t.out.resize(t.row.size());
  for (int r = 0; r < t.rows.size(); ++r) {
    t.out[r] = y + slots.sorted[first + r].token * hidden + begin * kStripRows;
  }
  rows->add_strips(t.dot.result(0, 0), t.dot.strip_stride(), static_cast<int>(end - begin), last, t.row.data(),
                   t.rows.size(), t.out.data());
}

CpuExperts::CpuExperts(std::unique_ptr<State> state) : state_(std::move(state)) {}
CpuExperts::CpuExperts(CpuExperts&&) noexcept = default;
CpuExperts& CpuExperts::operator=(CpuExperts&&) noexcept = default;
CpuExperts::~CpuExperts() = default;

std::int64_t CpuExperts::hidden() const { return state_->packed.hidden(); }
std::span<const std::uint8_t> CpuExperts::packed_memory() const { return state_->packed.memory(); }

Result<CpuExperts> CpuExperts::create(const ExpertWeights& weights, const Activation& activation,
                                      const CpuExpertsOptions& options) {
  if (activation.gated() != weights.gated) {
    return fail(
        ErrorCode::mismatch,
        fmt::format("activation {} on {} experts", to_string(activation.kind), weights.gated ? "gated" : "non-gated"),
        "check hidden_act in config.json against the tensors");
  }
  CpuExpertsOptions usable = options;
  usable.threads = std::min(options.threads, tbb::info::default_concurrency());
  if (options.threads < 1 || options.panel_k < kGroupK || options.panel_k % kGroupK != 0) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} threads and a panel of K {}", options.threads, options.panel_k),
                fmt::format("threads must be at least 1 and the panel a multiple of {}", kGroupK));
  }
  if (options.precision == Precision::w4a4) {
    TILEWRIGHT_TRY(check_input_scales(weights));
  }
  TILEWRIGHT_ASSIGN(PackedExperts packed, PackedExperts::pack(weights, usable.threads));
  auto state = std::make_unique<State>(std::move(packed), activation, usable);
  state->gemm1_scale = gemm1_input_scale(weights);
  state->first_expert = weights.first_expert;
  state->global_experts =
      std::max(weights.global_experts, weights.first_expert + static_cast<int>(weights.experts.size()));
  return CpuExperts(std::move(state));
}

Status CpuExperts::run(const bf16* x, const RoutedTokens& routed, float* y) {
  State& s = *state_;
  TILEWRIGHT_TRY(sort_slots(routed, s.first_expert, s.packed.size(), s.global_experts, s.slots));
  Status status;
  s.choose_walk();
  s.arena.execute([&] {
    status = s.quantize_inputs(x, routed);
    if (!status) return;
    s.middle.resize(s.slots.sorted.size() * static_cast<std::size_t>(s.packed.intermediate()));
    s.plan_gemm1();
    tbb::parallel_for(
        std::size_t{0}, s.tasks.size(), [&](std::size_t i) { s.gemm1(s.tasks[i], s.scratch.local()); },
        tbb::simple_partitioner());
    status = s.quantize_middles();
    if (!status) return;
    const std::int64_t strips = (s.packed.hidden() + kStripRows - 1) / kStripRows;
    // Every task reads all intermediates, so that few tasks read them few times.
    const std::int64_t step = s.walk == WeightWalk::stream ? stream_task_strips(s.packed.intermediate(), strips,
                                                                                s.options.threads, kCombineTasks)
                                                           : panel_task_strips(strips * 4, s.options.threads, strips);
    tbb::parallel_for(
        std::int64_t{0}, (strips + step - 1) / step,
        [&](std::int64_t i) {
          s.gemm2(i * step, std::min(strips, (i + 1) * step), routed.tokens, y, s.scratch.local());
        },
        tbb::simple_partitioner());
  });
  return status;
}

}  // namespace tilewright::cpu
