// JSON -> Plan. Nothing in the text is believed: names, ranges, bytes and sums are checked.
#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "schedule/schedule_json.hpp"
#include "schedule/size_limits.hpp"
#include "tilewright/plan_render.hpp"

namespace tilewright {
namespace {

using schedule::Fields;
using schedule::kMostRows;
using schedule::read_problem;
using schedule::read_schedule;

constexpr std::int64_t kAnySize = std::numeric_limits<std::int64_t>::max();

Result<std::optional<Schedule>> read_optional_schedule(const Fields& fields, const char* key) {
  if (!fields.given(key)) return std::optional<Schedule>();
  TILEWRIGHT_ASSIGN(const Fields object, fields.object(key));
  TILEWRIGHT_ASSIGN(const Schedule schedule, read_schedule(object));
  return std::optional<Schedule>(schedule);
}

// The bytes in the text have to be those of the schedule beside them: a plan made by other rules is no plan here.
Status check_bytes(const Fields& memory, const Schedule& schedule) {
  TILEWRIGHT_ASSIGN(const std::int64_t total, memory.integer("total", 0, kAnySize));
  std::int64_t sum = 0;
  TILEWRIGHT_TRY(memory.each("buffers", [&](const Fields& buffer) -> Status {
    TILEWRIGHT_ASSIGN(const std::int64_t bytes, buffer.integer("bytes", 0, kAnySize - sum));
    sum += bytes;
    return {};
  }));
  const std::int64_t expected = shared_memory(schedule).total;
  if (sum != total || total != expected) {
    return fail(ErrorCode::corrupt,
                fmt::format("{}: buffers sum to {} B, total is {} B, and the schedule needs {} B", memory.path(), sum,
                            total, expected),
                "make the plan again with this version");
  }
  return {};
}

Result<Cost> read_cost(const Fields& fields) {
  TILEWRIGHT_ASSIGN(const Fields terms, fields.object("terms"));
  Cost cost;
  TILEWRIGHT_ASSIGN(cost.predicted_us, fields.amount("predicted_us"));
  TILEWRIGHT_ASSIGN(cost.bound, fields.name<Bound>("bound", parse_bound));
  TILEWRIGHT_ASSIGN(cost.dram_us, terms.amount("dram_us"));
  TILEWRIGHT_ASSIGN(cost.mma_us, terms.amount("mma_us"));
  TILEWRIGHT_ASSIGN(cost.decode_us, terms.amount("decode_us"));
  TILEWRIGHT_ASSIGN(cost.smem_us, terms.amount("smem_us"));
  TILEWRIGHT_ASSIGN(cost.l2_us, terms.amount("l2_us"));
  TILEWRIGHT_ASSIGN(cost.latency_us, terms.amount("latency_us"));
  TILEWRIGHT_ASSIGN(cost.launch_us, terms.amount("launch_us"));
  TILEWRIGHT_ASSIGN(cost.overhead_us, terms.amount("overhead_us"));
  TILEWRIGHT_ASSIGN(cost.epilogue_us, terms.amount("epilogue_us"));
  TILEWRIGHT_ASSIGN(cost.tail_us, terms.amount("tail_us"));
  TILEWRIGHT_ASSIGN(cost.sm_us, terms.amount("sm_us"));
  TILEWRIGHT_ASSIGN(cost.tiles, terms.integer("tiles", 0, kAnySize));
  TILEWRIGHT_ASSIGN(cost.waves, terms.amount("waves"));
  TILEWRIGHT_ASSIGN(cost.wave_efficiency, terms.amount("wave_efficiency"));
  TILEWRIGHT_ASSIGN(cost.token_fill, terms.amount("token_fill"));
  TILEWRIGHT_ASSIGN(cost.weight_fill, terms.amount("weight_fill"));
  TILEWRIGHT_ASSIGN(cost.dram_bytes, terms.integer("dram_bytes", 0, kAnySize));
  TILEWRIGHT_ASSIGN(cost.weight_bytes, terms.integer("weight_bytes", 0, kAnySize));
  return cost;
}

Result<Candidate> read_candidate(const Fields& fields) {
  Candidate candidate;
  TILEWRIGHT_ASSIGN(const Fields schedule, fields.object("schedule"));
  TILEWRIGHT_ASSIGN(candidate.schedule, read_schedule(schedule));
  TILEWRIGHT_ASSIGN(const Fields memory, fields.object("shared_memory"));
  TILEWRIGHT_TRY(check_bytes(memory, candidate.schedule));
  TILEWRIGHT_ASSIGN(candidate.cost, read_cost(fields));
  return candidate;
}

Result<Rejection> read_rejection(const Fields& fields) {
  Rejection rejection;
  TILEWRIGHT_ASSIGN(rejection.schedule, read_optional_schedule(fields, "schedule"));
  TILEWRIGHT_ASSIGN(rejection.code, fields.name<RejectionCode>("code", parse_rejection_code));
  TILEWRIGHT_ASSIGN(rejection.needs, fields.integer("needs", 0, kAnySize));
  TILEWRIGHT_ASSIGN(rejection.limit, fields.integer("limit", 0, kAnySize));
  TILEWRIGHT_ASSIGN(rejection.message, fields.text("message"));
  TILEWRIGHT_ASSIGN(rejection.nearest, read_optional_schedule(fields, "nearest"));
  return rejection;
}

Result<WhyNot> read_why_not(const Fields& fields) {
  WhyNot answer;
  TILEWRIGHT_ASSIGN(answer.tile, fields.name<TileSpec>("tile", parse_tile));
  TILEWRIGHT_ASSIGN(answer.is_chosen, fields.boolean("is_chosen"));
  TILEWRIGHT_ASSIGN(answer.differs, fields.name<Bound>("differs", parse_bound));
  TILEWRIGHT_ASSIGN(answer.message, fields.text("message"));
  if (fields.given("rejection")) {
    TILEWRIGHT_ASSIGN(const Fields object, fields.object("rejection"));
    TILEWRIGHT_ASSIGN(answer.rejection, read_rejection(object));
  }
  if (fields.given("candidate")) {
    TILEWRIGHT_ASSIGN(const Fields object, fields.object("candidate"));
    TILEWRIGHT_ASSIGN(answer.candidate, read_candidate(object));
  }
  return answer;
}

Status read_ranked(const Fields& fields, std::vector<Candidate>& ranked) {
  if (fields.has("candidates")) {
    return fields.each("candidates", [&](const Fields& entry) -> Status {
      TILEWRIGHT_ASSIGN(const Candidate candidate, read_candidate(entry));
      ranked.push_back(candidate);
      return {};
    });
  }
  for (const char* key : {"chosen", "runner_up"}) {
    if (!fields.given(key)) break;
    TILEWRIGHT_ASSIGN(const Fields object, fields.object(key));
    TILEWRIGHT_ASSIGN(const Candidate candidate, read_candidate(object));
    ranked.push_back(candidate);
  }
  return {};
}

Result<std::optional<TunedChoice>> read_tuned(const Fields& fields) {
  if (!fields.given("tuned")) return std::optional<TunedChoice>();
  TILEWRIGHT_ASSIGN(const Fields object, fields.object("tuned"));
  TunedChoice tuned;
  TILEWRIGHT_ASSIGN(tuned.us, object.amount("us"));
  TILEWRIGHT_ASSIGN(const Fields model, object.object("model_choice"));
  TILEWRIGHT_ASSIGN(tuned.model_choice, read_schedule(model));
  TILEWRIGHT_ASSIGN(tuned.model_us, object.amount("model_us"));
  TILEWRIGHT_ASSIGN(tuned.pinned, object.boolean("pinned"));
  TILEWRIGHT_ASSIGN(tuned.source, object.text("source"));
  return std::optional<TunedChoice>(tuned);
}

Result<GemmPlan> read_gemm_plan(const Device& device, const Fields& fields) {
  GemmPlan plan;
  TILEWRIGHT_ASSIGN(plan.problem, read_problem(fields));
  plan.floor = roofline(device, plan.problem);
  TILEWRIGHT_TRY(read_ranked(fields, plan.ranked));
  TILEWRIGHT_ASSIGN(plan.tuned, read_tuned(fields));
  if (plan.tuned && plan.ranked.empty()) {
    return fail(ErrorCode::corrupt, fields.path() + ".tuned says how a schedule was chosen, and none is");
  }
  TILEWRIGHT_TRY(fields.each("rejected", [&](const Fields& entry) -> Status {
    TILEWRIGHT_ASSIGN(Rejection rejection, read_rejection(entry));
    plan.rejected.push_back(std::move(rejection));
    return {};
  }));
  TILEWRIGHT_TRY(fields.each("why_not", [&](const Fields& entry) -> Status {
    TILEWRIGHT_ASSIGN(WhyNot answer, read_why_not(entry));
    plan.why_not.push_back(std::move(answer));
    return {};
  }));
  return plan;
}

Result<CpuWalks> read_walks(const Fields& fields) {
  CpuWalks walks;
  TILEWRIGHT_ASSIGN(walks.stream_rows, fields.small("stream_rows", 1, 1 << 10));
  TILEWRIGHT_ASSIGN(walks.stream_limit, fields.small("stream_limit", 1, 1 << 10));
  TILEWRIGHT_ASSIGN(walks.panel_rows, fields.small("panel_rows", 1, 1 << 10));
  TILEWRIGHT_ASSIGN(walks.panel_k, fields.small("panel_k", 1, 1 << 20));
  return walks;
}

Result<Device> read_cpu(const Fields& fields) {
  TILEWRIGHT_ASSIGN(const Fields cpu, fields.object("cpu"));
  CpuFacts facts;
  TILEWRIGHT_ASSIGN(facts.isa, cpu.text("isa"));
  TILEWRIGHT_ASSIGN(facts.cores, cpu.small("cores", 1, 1 << 20));
  TILEWRIGHT_ASSIGN(facts.l1_bytes, cpu.integer("l1_bytes", 1, kAnySize));
  TILEWRIGHT_ASSIGN(facts.l2_bytes, cpu.integer("l2_bytes", 1, kAnySize));
  TILEWRIGHT_ASSIGN(facts.read_GBps, cpu.number("read_GBps", 1e-3, 1e9));
  TILEWRIGHT_ASSIGN(facts.macs_w4a4, cpu.number("macs_w4a4", 1.0, 1e18));
  TILEWRIGHT_ASSIGN(facts.macs_w4a16, cpu.number("macs_w4a16", 1.0, 1e18));
  TILEWRIGHT_ASSIGN(const Fields w4a4, cpu.object("walks_w4a4"));
  TILEWRIGHT_ASSIGN(facts.walks_w4a4, read_walks(w4a4));
  TILEWRIGHT_ASSIGN(const Fields w4a16, cpu.object("walks_w4a16"));
  TILEWRIGHT_ASSIGN(facts.walks_w4a16, read_walks(w4a16));
  return cpu_device(facts);
}

Result<Device> read_device(const Fields& fields) {
  TILEWRIGHT_ASSIGN(const Arch arch, fields.name<Arch>("arch", find_arch));
  TILEWRIGHT_ASSIGN(const std::string name, fields.text("name"));
  TILEWRIGHT_ASSIGN(Device device, arch == Arch::cpu ? read_cpu(fields) : find_device(name));
  TILEWRIGHT_ASSIGN(const int sm_count, fields.small("sm_count", 1, 1 << 20));
  TILEWRIGHT_ASSIGN(const std::int64_t per_block, fields.integer("smem_per_block", 0, kAnySize));
  if (device.arch != arch || device.sm_count != sm_count || device.smem_per_block != per_block) {
    return fail(
        ErrorCode::mismatch,
        fmt::format("device {} is {} with {} SMs and {} B a block here, and {} with {} SMs and {} B in the plan", name,
                    to_string(device.arch), device.sm_count, device.smem_per_block, to_string(arch), sm_count,
                    per_block),
        "make the plan again with this version");
  }
  TILEWRIGHT_ASSIGN(device.note, fields.text("note"));
  return device;
}

Result<LayerTime> read_layer(const Fields& fields) {
  LayerTime layer;
  TILEWRIGHT_ASSIGN(layer.tokens, fields.integer("tokens", 1, kMostRows));
  if (fields.given("predicted_us")) {
    TILEWRIGHT_ASSIGN(layer.predicted_us, fields.amount("predicted_us"));
  }
  TILEWRIGHT_ASSIGN(layer.floor_us, fields.amount("floor_us"));
  TILEWRIGHT_TRY(fields.each("steps", [&](const Fields& entry) -> Status {
    LayerStep step;
    TILEWRIGHT_ASSIGN(step.name, entry.text("name"));
    TILEWRIGHT_ASSIGN(step.bytes, entry.integer("bytes", 0, kAnySize));
    TILEWRIGHT_ASSIGN(step.us, entry.amount("us"));
    layer.steps.push_back(std::move(step));
    return {};
  }));
  return layer;
}

}  // namespace

Result<Plan> parse_plan_json(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return fail(ErrorCode::corrupt, "the text is no JSON");
  TILEWRIGHT_ASSIGN(const Fields fields, Fields::of(json, ""));
  TILEWRIGHT_ASSIGN(const std::string schema, fields.text("schema"));
  if (schema != "tilewright.plan/1") {
    return fail(ErrorCode::corrupt, fmt::format("schema is \"{}\"", schema), "only tilewright.plan/1 is read");
  }
  Plan plan;
  TILEWRIGHT_ASSIGN(const Fields device, fields.object("device"));
  TILEWRIGHT_ASSIGN(plan.device, read_device(device));
  TILEWRIGHT_ASSIGN(plan.subject, fields.text("subject"));
  TILEWRIGHT_TRY(fields.each("plans", [&](const Fields& entry) -> Status {
    TILEWRIGHT_ASSIGN(GemmPlan gemm, read_gemm_plan(plan.device, entry));
    plan.plans.push_back(std::move(gemm));
    return {};
  }));
  TILEWRIGHT_TRY(fields.each("layers", [&](const Fields& entry) -> Status {
    TILEWRIGHT_ASSIGN(LayerTime layer, read_layer(entry));
    plan.layers.push_back(std::move(layer));
    return {};
  }));
  return plan;
}

}  // namespace tilewright
