// Plan -> Markdown.
#include <fmt/format.h>

#include <iterator>

#include "schedule/format.hpp"
#include "schedule/plan_words.hpp"
#include "tilewright/plan_render.hpp"

namespace tilewright {
namespace {

using Out = std::back_insert_iterator<std::string>;
using schedule::grouped;
using schedule::microseconds;

void add_chosen(std::string& text, const Device& device, const GemmPlan& plan) {
  const Candidate& chosen = *plan.chosen();
  fmt::format_to(Out(text), "- **chosen:** {}\n- **time:** {}\n- **why:** {}\n- **terms:** {}\n- **tiles:** {}\n",
                 describe(chosen.schedule), schedule::time_words(chosen.cost, plan.floor),
                 schedule::bound_words(device, chosen.cost), schedule::sm_words(chosen.schedule, chosen.cost),
                 schedule::tile_words(chosen.schedule, chosen.cost));
  if (plan.tuned) {
    fmt::format_to(Out(text), "- **tuned:** {}\n", schedule::tuned_words(chosen.schedule, *plan.tuned));
  }
  if (const Candidate* other = plan.runner_up()) {
    fmt::format_to(Out(text), "- **runner-up:** {}\n", schedule::runner_up_words(plan, *other));
  }
}

void add_memory(std::string& text, const Device& device, const Schedule& schedule) {
  const SharedMemoryPlan memory = shared_memory(schedule);
  fmt::format_to(Out(text), "\n| {} | stages | bytes |\n|---|---:|---:|\n", schedule::memory_name(device));
  for (const SharedBuffer& buffer : memory) {
    fmt::format_to(Out(text), "| {} | {} | {} |\n", to_string(buffer.id), schedule::stage_words(schedule, buffer),
                   grouped(buffer.bytes));
  }
  fmt::format_to(Out(text), "| **total** | limit {} | **{}** |\n", grouped(device.smem_per_block),
                 grouped(memory.total));
}

void add_candidates(std::string& text, const GemmPlan& plan) {
  text += "\n| us | bound | bytes | candidate |\n|---:|---|---:|---|\n";
  for (const Candidate& candidate : plan.ranked) {
    fmt::format_to(Out(text), "| {} | {} | {} | {} |\n", microseconds(candidate.cost.predicted_us),
                   to_string(candidate.cost.bound), grouped(shared_memory(candidate.schedule).total),
                   describe(candidate.schedule));
  }
}

void add_rejections(std::string& text, const GemmPlan& plan) {
  if (plan.rejected.empty()) return;
  text += "\n| rejected | code | needs | limit | nearest |\n|---|---|---:|---:|---|\n";
  for (const Rejection& rejection : plan.rejected) {
    fmt::format_to(Out(text), "| {} | {} | {} | {} | {} |\n",
                   rejection.schedule ? describe(*rejection.schedule) : rejection.message, to_string(rejection.code),
                   grouped(rejection.needs), grouped(rejection.limit),
                   rejection.nearest ? describe(*rejection.nearest) : std::string("none"));
  }
}

void add_gemm(std::string& text, const Device& device, const GemmPlan& plan, const RenderOptions& options) {
  const GemmProblem& problem = plan.problem;
  fmt::format_to(Out(text), "\n## {}, {}: N {}, K {}, {}, {}\n\n- **rows:** {}\n- **floor:** {}\n",
                 to_string(problem.gemm), schedule::tokens_words(problem.tokens), problem.n, problem.k,
                 to_string(problem.precision), to_string(problem.epilogue), schedule::rows_words(problem.rows),
                 schedule::floor_words(device, plan.floor));
  if (plan.chosen() != nullptr) {
    add_chosen(text, device, plan);
  } else {
    text += "- **chosen:** none\n";
  }
  for (const WhyNot& answer : plan.why_not) {
    fmt::format_to(Out(text), "- **why not {}?** {}\n", to_string(answer.tile), answer.message);
  }
  if (plan.chosen() != nullptr) add_memory(text, device, plan.chosen()->schedule);
  if (options.all) add_candidates(text, plan);
  add_rejections(text, plan);
}

void add_layers(std::string& text, const std::vector<LayerTime>& layers) {
  if (layers.empty()) return;
  text += "\n## Layer\n\n| tokens | predicted us | floor us | steps, us |\n|---:|---:|---:|---|\n";
  for (const LayerTime& layer : layers) {
    std::string steps;
    for (const LayerStep& step : layer.steps) {
      if (layer.predicted_us > 0)
        fmt::format_to(Out(steps), "{}{} {}", steps.empty() ? "" : ", ", step.name, microseconds(step.us));
    }
    fmt::format_to(Out(text), "| {} | {} | {} | {} |\n", grouped(layer.tokens),
                   layer.predicted_us > 0 ? microseconds(layer.predicted_us) : std::string("none"),
                   microseconds(layer.floor_us), steps);
  }
}

}  // namespace

std::string render_plan_markdown(const Plan& plan, const RenderOptions& options) {
  std::string text = fmt::format("# {} on {} ({})\n\n{}: {}.\n", plan.subject, plan.device.name,
                                 to_string(plan.device.arch), plan.device.title, schedule::device_words(plan.device));
  if (!plan.device.note.empty()) fmt::format_to(Out(text), "Note: {}.\n", plan.device.note);
  fmt::format_to(Out(text), "Note: {}.\n", schedule::kPredictionNote);
  for (const GemmPlan& gemm : plan.plans) add_gemm(text, plan.device, gemm, options);
  add_layers(text, plan.layers);
  return text;
}

}  // namespace tilewright
