#include "tilewright/planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>

#include "schedule/format.hpp"
#include "schedule/layer_time.hpp"
#include "schedule/size_limits.hpp"
#include "schedule/why_not.hpp"
#include "tilewright/catalogue.hpp"

namespace tilewright {
namespace {

Status check(const GemmProblem& problem) {
  for (const auto& [name, value] : {std::pair("N", problem.n), std::pair("K", problem.k)}) {
    if (value < 1 || value > schedule::kLargestMatrix) {
      return fail(ErrorCode::invalid_argument, fmt::format("{} is {}", name, value),
                  fmt::format("give 1 to {}", schedule::grouped(schedule::kLargestMatrix)));
    }
  }
  if (problem.rows.total() < 1) {
    return fail(ErrorCode::invalid_argument, "no expert has a row", "there is nothing to plan");
  }
  if (gated(problem.epilogue) && problem.n % 2 != 0) {
    return fail(ErrorCode::invalid_argument, fmt::format("N is {} and holds gate and up", problem.n),
                "a gated N is even");
  }
  return {};
}

// Times within this factor are the same to a model that is right to some per cent.
constexpr double kSameTime = 1.005;

// What a schedule asks of the kernel beyond the plain one: two consumer groups, or, more than that, dividing K.
int complexity(const Schedule& s) {
  return (s.split.kind != SplitKind::none ? 2 : 0) + (s.roles.consumers == Consumers::pingpong ? 1 : 0);
}

// Best first: by time in steps of kSameTime from the fastest on; within a step the plainer one, then the one that
// leaves the SMs more time to spare, then the deeper ring. The catalogue's order decides the rest, since the sort is
// stable.
void rank(std::vector<Candidate>& candidates) {
  if (candidates.empty()) return;
  const auto faster = [](const Candidate& a, const Candidate& b) { return a.cost.predicted_us < b.cost.predicted_us; };
  const double fastest = std::min_element(candidates.begin(), candidates.end(), faster)->cost.predicted_us;
  const auto step = [&](const Candidate& c) {
    return std::floor(std::log(c.cost.predicted_us / fastest) / std::log(kSameTime));
  };
  const auto key = [&](const Candidate& c) {
    return std::tuple(step(c), complexity(c.schedule), c.cost.sm_us, -c.schedule.stages);
  };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](const Candidate& a, const Candidate& b) { return key(a) < key(b); });
}

GemmPlan plan_gemm(const Device& device, GemmProblem problem, const PlanOptions& options) {
  GemmPlan plan;
  plan.problem = std::move(problem);
  plan.floor = roofline(device, plan.problem);
  if (auto rejection = reject(device, plan.problem)) {
    plan.rejected.push_back(std::move(*rejection));
  } else {
    for (const Schedule& schedule : candidates(device, plan.problem)) {
      if (auto broken = reject(device, plan.problem, schedule)) {
        plan.rejected.push_back(std::move(*broken));
      } else {
        plan.ranked.push_back({schedule, predict(device, plan.problem, schedule)});
      }
    }
    rank(plan.ranked);
  }
  for (const TileSpec& tile : options.why_not) plan.why_not.push_back(schedule::why_not(device, plan, tile));
  return plan;
}

std::string subject_of(const LayerProblem& problem) {
  std::string text = problem.model.name.empty() ? std::string("layer") : problem.model.name;
  if (problem.tp > 1) text += fmt::format(", tp {}", problem.tp);
  if (problem.ep > 1) text += fmt::format(", ep {}", problem.ep);
  text += fmt::format(", {}", to_string(problem.precision));
  if (!problem.counts.empty()) return text + ", rows as given";
  text += fmt::format(", {} rows", to_string(problem.rows.distribution));
  if (problem.rows.distribution == RowDistribution::power_law) text += fmt::format(" (alpha {})", problem.rows.alpha);
  return text;
}

}  // namespace

const Candidate* GemmPlan::runner_up() const {
  const auto differs = [&](const Candidate& candidate) {
    Schedule same_stages = candidate.schedule;
    same_stages.stages = ranked.front().schedule.stages;
    return same_stages != ranked.front().schedule;
  };
  const auto found = std::find_if(ranked.begin(), ranked.end(), differs);
  return found == ranked.end() ? nullptr : &*found;
}

Result<Plan> plan(const Device& device, const GemmProblem& problem, const PlanOptions& options) {
  TILEWRIGHT_TRY(check(problem));
  Plan result;
  result.device = device;
  result.subject = fmt::format("grouped GEMM of {} groups, {}", problem.rows.experts(), to_string(problem.precision));
  result.plans.push_back(plan_gemm(device, problem, options));
  return result;
}

Result<Plan> plan(const Device& device, const LayerProblem& problem, const PlanOptions& options) {
  TILEWRIGHT_ASSIGN(LayerGemms gemms, layer_gemms(problem));
  TILEWRIGHT_TRY(check(gemms.gemm1));
  TILEWRIGHT_TRY(check(gemms.gemm2));
  Plan result;
  result.device = device;
  result.subject = subject_of(problem);
  result.plans.push_back(plan_gemm(device, std::move(gemms.gemm1), options));
  result.plans.push_back(plan_gemm(device, std::move(gemms.gemm2), options));
  result.layers.push_back(schedule::layer_time(device, problem, result.plans[0], result.plans[1]));
  return result;
}

void append(Plan& into, Plan more) {
  std::move(more.plans.begin(), more.plans.end(), std::back_inserter(into.plans));
  std::move(more.layers.begin(), more.layers.end(), std::back_inserter(into.layers));
}

}  // namespace tilewright
