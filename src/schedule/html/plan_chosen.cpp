// Which schedule runs for which tokens, and why; the answers to --why-not; every candidate.
#include <fmt/format.h>

#include "schedule/format.hpp"
#include "schedule/html/markup.hpp"
#include "schedule/html/page.hpp"
#include "schedule/html/plan_sections.hpp"
#include "schedule/html/table.hpp"
#include "schedule/plan_words.hpp"

namespace tilewright::html {
namespace {

using schedule::grouped;
using schedule::microseconds;

bool same_choice(const GemmPlan& a, const GemmPlan& b) {
  if (a.chosen() == nullptr || b.chosen() == nullptr) return a.chosen() == b.chosen();
  return a.chosen()->schedule == b.chosen()->schedule;
}

// Plans from `at` on that have the same schedule: a bucket of token counts.
int bucket_size(const GemmGroup& group, std::size_t at) {
  std::size_t end = at + 1;
  while (end < group.plans.size() && same_choice(*group.plans[at], *group.plans[end])) ++end;
  return static_cast<int>(end - at);
}

void add_plan(Table& table, const Device& device, const GemmPlan& plan, int bucket) {
  const Candidate* chosen = plan.chosen();
  const std::string schedule = chosen == nullptr ? std::string("none") : describe(chosen->schedule);
  const std::string rows = fmt::format("{:.1f}", plan.problem.rows.mean_active());
  if (chosen == nullptr) {
    const std::string reason = plan.rejected.empty() ? std::string() : plan.rejected.front().message;
    table.add({{schedule, false, bucket},
               {grouped(plan.problem.tokens)},
               {rows},
               {"none"},
               {microseconds(plan.floor.us())},
               {""},
               {""},
               {reason}});
    return;
  }
  std::string why = schedule::bound_words(device, chosen->cost);
  if (plan.tuned) why = schedule::tuned_words(chosen->schedule, *plan.tuned) + ". As predicted: " + why;
  table.add({{schedule, false, bucket},
             {grouped(plan.problem.tokens)},
             {rows},
             {microseconds(chosen->cost.predicted_us)},
             {microseconds(plan.floor.us())},
             {schedule::percent(plan.floor.us() / chosen->cost.predicted_us)},
             {to_string(chosen->cost.bound)},
             {why}});
}

}  // namespace

std::string chosen_section(const Plan& plan, const std::vector<GemmGroup>& groups) {
  std::string body = paragraph(
      "A bucket is a run of token counts with the same schedule. The floor is the time of the bytes at the specified "
      "bandwidth "
      "or of the multiply-adds at the dense peak, whichever is longer.");
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const GemmGroup& group = groups[i];
    Table table{fmt::format("{}: {}", to_string(group.plans.front()->problem.gemm), group.sizes),
                {{"schedule"},
                 {"tokens", Column::number},
                 {"rows an expert", Column::number},
                 {"predicted us", Column::number},
                 {"floor us", Column::number},
                 {"% of the floor's speed", Column::number},
                 {"bound by"},
                 {"why", Column::sentence}},
                {}};
    for (std::size_t at = 0; at < group.plans.size();) {
      const int bucket = bucket_size(group, at);
      for (int row = 0; row < bucket; ++row, ++at)
        add_plan(table, plan.device, *group.plans[at], row == 0 ? bucket : 0);
    }
    body += render(table, fmt::format("chosen-{}", i + 1));
  }
  return body;
}

std::string why_not_section(const std::vector<GemmGroup>& groups) {
  Table table{"Tiles that were asked about",
              {{"tile"}, {"GEMM"}, {"tokens", Column::number}, {"answer", Column::sentence}},
              {}};
  for (const GemmGroup& group : groups) {
    for (const GemmPlan* plan : group.plans) {
      for (const WhyNot& answer : plan->why_not) {
        table.add({{to_string(answer.tile)}, {group.name}, {grouped(plan->problem.tokens)}, {answer.message}});
      }
    }
  }
  return table.rows.empty() ? std::string() : render(table, "why-not-answers");
}

std::string candidates_section(const std::vector<GemmGroup>& groups) {
  Table table{"Best first for each token count",
              {{"candidate"}, {"predicted us", Column::number}, {"bound by"}, {"bytes", Column::number}},
              {}};
  for (const GemmGroup& group : groups) {
    for (const GemmPlan* plan : group.plans) {
      table.add_heading(fmt::format("{}, {}", group.name, schedule::tokens_words(plan->problem.tokens)));
      for (const Candidate& candidate : plan->ranked) {
        table.add({{describe(candidate.schedule), &candidate == plan->chosen()},
                   {microseconds(candidate.cost.predicted_us)},
                   {to_string(candidate.cost.bound)},
                   {grouped(shared_memory(candidate.schedule).total)}});
      }
    }
  }
  return render(table, "every-candidate");
}

}  // namespace tilewright::html
