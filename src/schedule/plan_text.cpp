// Plan -> text for a terminal.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "schedule/format.hpp"
#include "schedule/plan_words.hpp"
#include "tilewright/plan_render.hpp"

namespace tilewright {
namespace {

using Out = std::back_insert_iterator<std::string>;
using schedule::append_wrapped;

void add_memory(std::string& text, const Device& device, const Schedule& schedule) {
  const SharedMemoryPlan memory = shared_memory(schedule);
  append_wrapped(text, "memory",
                 fmt::format("{} of {} B of {}, {} left", schedule::grouped(memory.total),
                             schedule::grouped(device.smem_per_block), schedule::memory_name(device),
                             schedule::grouped(device.smem_per_block - memory.total)));
  for (const SharedBuffer& buffer : memory) {
    fmt::format_to(Out(text), "            {:<16}{:>12}{:>10}\n", to_string(buffer.id),
                   schedule::stage_words(schedule, buffer), schedule::grouped(buffer.bytes));
  }
}

void add_candidates(std::string& text, const GemmPlan& plan) {
  append_wrapped(text, "all",
                 plan.ranked.size() == 1 ? std::string("1 legal candidate")
                                         : fmt::format("{} legal candidates, best first", plan.ranked.size()));
  for (const Candidate& candidate : plan.ranked) {
    fmt::format_to(Out(text), "            {:>10} us  {:<8}{:>9} B  {}\n",
                   schedule::microseconds(candidate.cost.predicted_us), to_string(candidate.cost.bound),
                   schedule::grouped(shared_memory(candidate.schedule).total), describe(candidate.schedule));
  }
}

void add_rejections(std::string& text, const GemmPlan& plan) {
  for (const auto& group : schedule::group_rejections(plan.rejected)) {
    append_wrapped(text, "rejected", fmt::format("{}: {}", to_string(group.code), group.meaning));
    for (const std::string& entry : group.lines) {
      if (entry.size() > 88) {
        append_wrapped(text, "", entry);
      } else {
        fmt::format_to(Out(text), "            {}\n", entry);
      }
    }
  }
}

// An earlier plan of the document that rejected the same schedules, for other tokens; null when there is none.
const GemmPlan* same_rejections(const Plan& plan, std::size_t at) {
  for (std::size_t i = 0; i < at; ++i) {
    const auto& earlier = plan.plans[i].rejected;
    const auto& later = plan.plans[at].rejected;
    const auto same = [](const Rejection& a, const Rejection& b) { return a.message == b.message; };
    if (std::equal(earlier.begin(), earlier.end(), later.begin(), later.end(), same)) return &plan.plans[i];
  }
  return nullptr;
}

void add_chosen(std::string& text, const Device& device, const GemmPlan& plan) {
  const Candidate& chosen = *plan.chosen();
  append_wrapped(text, "chosen", describe(chosen.schedule));
  if (plan.tuned) append_wrapped(text, "tuned", schedule::tuned_words(chosen.schedule, *plan.tuned));
  append_wrapped(text, "time", schedule::time_words(chosen.cost, plan.floor));
  append_wrapped(text, "why", schedule::bound_words(device, chosen.cost));
  append_wrapped(text, "", schedule::sm_words(chosen.schedule, chosen.cost));
  append_wrapped(text, "tiles", schedule::tile_words(chosen.schedule, chosen.cost));
  if (const Candidate* other = plan.runner_up()) {
    append_wrapped(text, "runner-up", schedule::runner_up_words(plan, *other));
  }
  add_memory(text, device, chosen.schedule);
}

std::string title(const GemmProblem& problem) {
  return fmt::format("{}, {}", to_string(problem.gemm), schedule::tokens_words(problem.tokens));
}

void add_gemm(std::string& text, const Plan& document, std::size_t at, const RenderOptions& options) {
  const GemmPlan& plan = document.plans[at];
  const GemmProblem& problem = plan.problem;
  const Device& device = document.device;
  fmt::format_to(Out(text), "\n{}: N {}, K {}, {}, {}\n", title(problem), problem.n, problem.k,
                 to_string(problem.precision), to_string(problem.epilogue));
  append_wrapped(text, "rows", schedule::rows_words(problem.rows));
  append_wrapped(text, "floor", schedule::floor_words(device, plan.floor));
  if (plan.chosen() != nullptr) {
    add_chosen(text, device, plan);
  } else {
    append_wrapped(text, "chosen", "none");
  }
  for (const WhyNot& answer : plan.why_not) {
    append_wrapped(text, "why not", fmt::format("{}? {}", to_string(answer.tile), answer.message));
  }
  if (options.all) add_candidates(text, plan);
  if (const GemmPlan* earlier = same_rejections(document, at)) {
    if (!plan.rejected.empty()) append_wrapped(text, "rejected", "as for " + title(earlier->problem));
  } else {
    add_rejections(text, plan);
  }
}

void add_layer(std::string& text, const LayerTime& layer) {
  fmt::format_to(Out(text), "\nlayer, {}: ", schedule::tokens_words(layer.tokens));
  if (layer.predicted_us > 0) {
    fmt::format_to(Out(text), "{} us predicted, ", schedule::microseconds(layer.predicted_us));
  }
  fmt::format_to(Out(text), "floor {} us\n", schedule::microseconds(layer.floor_us));
  if (layer.predicted_us <= 0) return;
  for (const LayerStep& step : layer.steps) {
    fmt::format_to(Out(text), "  {:<10}{:>10} us  {:>10}\n", step.name, schedule::microseconds(step.us),
                   schedule::bytes(step.bytes));
  }
}

}  // namespace

std::string render_plan_text(const Plan& plan, const RenderOptions& options) {
  std::string text = fmt::format("{} on {} ({})\n", plan.subject, plan.device.name, to_string(plan.device.arch));
  append_wrapped(text, "device", plan.device.title);
  append_wrapped(text, "", schedule::device_words(plan.device));
  if (!plan.device.note.empty()) append_wrapped(text, "note", plan.device.note);
  append_wrapped(text, "note", schedule::kPredictionNote);
  for (std::size_t i = 0; i < plan.plans.size(); ++i) add_gemm(text, plan, i, options);
  for (const LayerTime& layer : plan.layers) add_layer(text, layer);
  return text;
}

}  // namespace tilewright
