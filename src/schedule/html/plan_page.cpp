// Plan -> one HTML page.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "schedule/format.hpp"
#include "schedule/html/page.hpp"
#include "schedule/html/plan_sections.hpp"
#include "schedule/html/table.hpp"
#include "schedule/plan_words.hpp"

namespace tilewright::html {
namespace {

bool same_gemm(const GemmProblem& a, const GemmProblem& b) {
  return a.gemm == b.gemm && a.n == b.n && a.k == b.k && a.precision == b.precision && a.epilogue == b.epilogue &&
         a.rows.experts() == b.rows.experts();
}

// What a GEMM is, part by part; the groups of one plan differ in some of them.
std::vector<std::string> parts_of(const GemmProblem& problem) {
  return {fmt::format("N {}", problem.n), fmt::format("K {}", problem.k), to_string(problem.precision),
          to_string(problem.epilogue), fmt::format("{} experts", schedule::grouped(problem.rows.experts()))};
}

std::string sizes_of(const GemmProblem& problem) { return fmt::format("{}", fmt::join(parts_of(problem), ", ")); }

// The parts that tell a group from the others of the same GEMM, but not the epilogue, which follows from the precision.
std::string variant_of(const GemmGroup& group, const std::vector<GemmGroup>& groups) {
  const GemmProblem& problem = group.plans.front()->problem;
  const auto parts = parts_of(problem);
  std::vector<std::string> telling;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool differs = std::any_of(groups.begin(), groups.end(), [&](const GemmGroup& other) {
      const GemmProblem& p = other.plans.front()->problem;
      return p.gemm == problem.gemm && parts_of(p)[i] != parts[i];
    });
    if (differs && parts[i] != to_string(problem.epilogue)) telling.push_back(parts[i]);
  }
  return fmt::format("{}", fmt::join(telling, ", "));
}

std::string lead_of(const Plan& plan) {
  std::vector<std::pair<std::string, std::string>> facts = {
      {"device", fmt::format("{} ({}), {}", plan.device.title, to_string(plan.device.arch), plan.device.name)},
      {"facts", schedule::device_words(plan.device)}};
  if (!plan.device.note.empty()) facts.emplace_back("note", plan.device.note);
  facts.emplace_back("note", schedule::kPredictionNote);
  return render_facts(facts);
}

}  // namespace

std::vector<GemmGroup> group_gemms(const Plan& plan) {
  std::vector<GemmGroup> groups;
  for (const GemmPlan& gemm : plan.plans) {
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const GemmGroup& g) { return same_gemm(g.plans.front()->problem, gemm.problem); });
    if (group == groups.end()) {
      group = groups.insert(groups.end(), {to_string(gemm.problem.gemm), sizes_of(gemm.problem), {}, {}});
    }
    group->plans.push_back(&gemm);
  }
  for (GemmGroup& group : groups) {
    std::stable_sort(group.plans.begin(), group.plans.end(),
                     [](const GemmPlan* a, const GemmPlan* b) { return a->problem.tokens < b->problem.tokens; });
  }
  for (GemmGroup& group : groups) {
    group.variant = variant_of(group, groups);
    if (!group.variant.empty()) group.name += ", " + group.variant;
  }
  return groups;
}

std::vector<double> token_marks(const GemmGroup& group) {
  std::vector<double> marks;
  for (const GemmPlan* plan : group.plans) {
    const auto tokens = static_cast<double>(plan->problem.tokens);
    if (marks.empty() || marks.back() != tokens) marks.push_back(tokens);
  }
  return marks;
}

std::string token_list(const std::vector<std::int64_t>& tokens) {
  if (tokens.size() == 1) return schedule::tokens_words(tokens.front());
  if (tokens.size() > 4) {
    return fmt::format("{} to {} tokens", schedule::grouped(tokens.front()), schedule::grouped(tokens.back()));
  }
  std::string words;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const char* between = i == 0 ? "" : i + 1 == tokens.size() ? " and " : ", ";
    words += between + schedule::grouped(tokens[i]);
  }
  return words + " tokens";
}

}  // namespace tilewright::html

namespace tilewright {

std::string render_plan_html(const Plan& plan, const RenderOptions& options) {
  const auto groups = html::group_gemms(plan);
  html::Page page;
  page.title = fmt::format("{} on {}", plan.subject, plan.device.name);
  page.lead = html::lead_of(plan);
  page.sections = {
      {"chosen", "Chosen schedules", html::chosen_section(plan, groups)},
      {"why-not", "Why not?", html::why_not_section(groups)},
      {"layer", "The layer", html::layer_section(plan, groups)},
      {"roofline", "Roofline", html::roofline_section(plan, groups)},
      {"times", "Time against tokens", html::times_section(plan, groups)},
      {"terms", "What a predicted time is made of", html::terms_section(groups)},
      {"memory", plan.device.arch == Arch::cpu ? "Working set of a core" : "Shared memory",
       html::memory_section(plan, groups)},
      {"candidates", "Every legal candidate", options.all ? html::candidates_section(groups) : std::string()},
      {"rejected", "Rejected schedules", html::rejections_section(groups)},
  };
  return render(page);
}

}  // namespace tilewright
