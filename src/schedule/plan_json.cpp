// Plan -> JSON, schema "tilewright.plan/1".
#include <cmath>
#include <nlohmann/json.hpp>

#include "schedule/schedule_json.hpp"
#include "tilewright/plan_render.hpp"

namespace tilewright {
namespace {

using Json = nlohmann::ordered_json;
using schedule::schedule_json;

// Nanoseconds: finer than any prediction.
double rounded_us(double us) { return std::round(us * 1e3) / 1e3; }
double rounded_share(double share) { return std::round(share * 1e6) / 1e6; }

Json shared_memory_json(const Device& device, const Schedule& schedule) {
  const SharedMemoryPlan memory = shared_memory(schedule);
  Json buffers = Json::array();
  for (const SharedBuffer& buffer : memory) {
    buffers.push_back({{"name", to_string(buffer.id)},
                       {"offset", buffer.offset},
                       {"bytes", buffer.bytes},
                       {"stage_stride", buffer.stage_stride},
                       {"alignment", buffer.alignment}});
  }
  return {{"total", memory.total},
          {"limit", device.smem_per_block},
          {"stage_bytes", memory.stage_bytes},
          {"buffers", std::move(buffers)}};
}

Json to_json(const Cost& cost) {
  return {{"dram_us", rounded_us(cost.dram_us)},
          {"mma_us", rounded_us(cost.mma_us)},
          {"decode_us", rounded_us(cost.decode_us)},
          {"smem_us", rounded_us(cost.smem_us)},
          {"l2_us", rounded_us(cost.l2_us)},
          {"latency_us", rounded_us(cost.latency_us)},
          {"launch_us", rounded_us(cost.launch_us)},
          {"overhead_us", rounded_us(cost.overhead_us)},
          {"epilogue_us", rounded_us(cost.epilogue_us)},
          {"tail_us", rounded_us(cost.tail_us)},
          {"sm_us", rounded_us(cost.sm_us)},
          {"tiles", cost.tiles},
          {"waves", rounded_share(cost.waves)},
          {"wave_efficiency", rounded_share(cost.wave_efficiency)},
          {"token_fill", rounded_share(cost.token_fill)},
          {"weight_fill", rounded_share(cost.weight_fill)},
          {"dram_bytes", cost.dram_bytes},
          {"weight_bytes", cost.weight_bytes}};
}

Json to_json(const Device& device, const Candidate& candidate) {
  return {{"schedule", schedule_json(candidate.schedule)},
          {"shared_memory", shared_memory_json(device, candidate.schedule)},
          {"predicted_us", rounded_us(candidate.cost.predicted_us)},
          {"bound", to_string(candidate.cost.bound)},
          {"terms", to_json(candidate.cost)}};
}

Json or_null(const Device& device, const Candidate* candidate) {
  return candidate == nullptr ? Json() : to_json(device, *candidate);
}

Json or_null(const std::optional<Schedule>& schedule) { return schedule ? schedule_json(*schedule) : Json(); }

Json to_json(const Rejection& rejection) {
  return {{"schedule", or_null(rejection.schedule)},
          {"code", to_string(rejection.code)},
          {"needs", rejection.needs},
          {"limit", rejection.limit},
          {"message", rejection.message},
          {"nearest", or_null(rejection.nearest)}};
}

Json to_json(const Device& device, const WhyNot& answer) {
  return {{"tile", to_string(answer.tile)},
          {"is_chosen", answer.is_chosen},
          {"rejection", answer.rejection ? to_json(*answer.rejection) : Json()},
          {"candidate", answer.candidate ? to_json(device, *answer.candidate) : Json()},
          {"differs", to_string(answer.differs)},
          {"message", answer.message}};
}

Json to_json(const TunedChoice& tuned) {
  return {{"us", rounded_us(tuned.us)},
          {"model_choice", schedule_json(tuned.model_choice)},
          {"model_us", rounded_us(tuned.model_us)},
          {"pinned", tuned.pinned},
          {"source", tuned.source}};
}

Json to_json(const Roofline& floor) {
  return {{"us", rounded_us(floor.us())},
          {"bound", to_string(floor.bound)},
          {"dram_us", rounded_us(floor.dram_us)},
          {"mma_us", rounded_us(floor.mma_us)},
          {"activation_bytes", floor.activation_bytes},
          {"flops", floor.flops},
          {"rows_at_ridge", rounded_share(floor.rows_at_ridge)}};
}

Json to_json(const Device& device, const GemmPlan& plan, bool all) {
  const GemmProblem& problem = plan.problem;
  Json rejected = Json::array();
  for (const Rejection& rejection : plan.rejected) rejected.push_back(to_json(rejection));
  Json json = {{"gemm", to_string(problem.gemm)},
               {"tokens", problem.tokens},
               {"n", problem.n},
               {"k", problem.k},
               {"precision", to_string(problem.precision)},
               {"epilogue", to_string(problem.epilogue)},
               {"rows_per_expert", rounded_share(problem.rows.mean_active())},
               {"active_experts", problem.rows.active()},
               {"experts", problem.rows.experts()},
               {"rows", schedule::rows_json(problem.rows)},
               {"weight_bytes", plan.floor.weight_bytes},
               {"floor", to_json(plan.floor)},
               {"chosen", or_null(device, plan.chosen())},
               {"runner_up", or_null(device, plan.ranked.empty() ? nullptr : plan.runner_up())},
               {"rejected", std::move(rejected)}};
  if (plan.tuned) json["tuned"] = to_json(*plan.tuned);
  if (all) {
    json["candidates"] = Json::array();
    for (const Candidate& candidate : plan.ranked) json["candidates"].push_back(to_json(device, candidate));
  }
  json["why_not"] = Json::array();
  for (const WhyNot& answer : plan.why_not) json["why_not"].push_back(to_json(device, answer));
  return json;
}

Json to_json(const CpuWalks& walks) {
  return {{"stream_rows", walks.stream_rows},
          {"stream_limit", walks.stream_limit},
          {"panel_rows", walks.panel_rows},
          {"panel_k", walks.panel_k}};
}

Json to_json(const Device& device) {
  Json json = {{"name", device.name},
               {"title", device.title},
               {"arch", to_string(device.arch)},
               {"sm_count", device.sm_count},
               {"smem_per_block", device.smem_per_block},
               {"clock_mhz", device.clock_mhz},
               {"l2_bytes", device.l2_bytes},
               {"dram_GBps", device.dram_GBps},
               {"dram_read_GBps", device.dram_read_GBps},
               {"dram_read_measured", device.dram_read_measured},
               {"note", device.note}};
  if (device.arch == Arch::cpu) {
    const CpuFacts& cpu = device.cpu;
    json["cpu"] = {{"isa", cpu.isa},
                   {"cores", cpu.cores},
                   {"l1_bytes", cpu.l1_bytes},
                   {"l2_bytes", cpu.l2_bytes},
                   {"read_GBps", cpu.read_GBps},
                   {"macs_w4a4", cpu.macs_w4a4},
                   {"macs_w4a16", cpu.macs_w4a16},
                   {"walks_w4a4", to_json(cpu.walks_w4a4)},
                   {"walks_w4a16", to_json(cpu.walks_w4a16)}};
  }
  return json;
}

Json to_json(const LayerTime& layer) {
  Json steps = Json::array();
  for (const LayerStep& step : layer.steps) {
    steps.push_back({{"name", step.name}, {"bytes", step.bytes}, {"us", rounded_us(step.us)}});
  }
  return {{"tokens", layer.tokens},
          {"predicted_us", layer.predicted_us > 0 ? Json(rounded_us(layer.predicted_us)) : Json()},
          {"floor_us", rounded_us(layer.floor_us)},
          {"steps", std::move(steps)}};
}

}  // namespace

std::string render_plan_json(const Plan& plan, const RenderOptions& options) {
  Json json = {{"schema", "tilewright.plan/1"}, {"device", to_json(plan.device)}, {"subject", plan.subject}};
  json["plans"] = Json::array();
  for (const GemmPlan& gemm : plan.plans) json["plans"].push_back(to_json(plan.device, gemm, options.all));
  json["layers"] = Json::array();
  for (const LayerTime& layer : plan.layers) json["layers"].push_back(to_json(layer));
  // A subject or a note that is not UTF-8 must not end the program.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tilewright
