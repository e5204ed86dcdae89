#include "schedule/why_not.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/cost_model.hpp"
#include "schedule/format.hpp"
#include "tilewright/catalogue.hpp"

namespace tilewright::schedule {
namespace {

bool matches(const TileSpec& tile, const Schedule& s) {
  return tile.m == s.tile_m && tile.n == s.tile_n && tile.k == s.tile_k &&
         (tile.stages == 0 || tile.stages == s.stages);
}

// The term that grew most from `best` to `other`.
Bound grown_most(const Cost& best, const Cost& other) {
  Bound grown = Bound::dram;
  double most = -1.0;
  for (const Bound bound : {Bound::dram, Bound::mma, Bound::decode, Bound::smem, Bound::l2, Bound::latency}) {
    const double growth = term(other, bound) - term(best, bound);
    if (growth > most) {
      most = growth;
      grown = bound;
    }
  }
  return grown;
}

std::string slower_message(const Candidate& best, const Candidate& other, Bound differs) {
  const double slower = other.cost.predicted_us / best.cost.predicted_us - 1.0;
  std::string message = fmt::format(
      "{} is legal ({} B): {} us against {} us of {}, {}% slower; {} is {} us against {} us", describe(other.schedule),
      grouped(shared_memory(other.schedule).total), microseconds(other.cost.predicted_us),
      microseconds(best.cost.predicted_us), describe(best.schedule), percent(slower), to_string(differs),
      microseconds(term(other.cost, differs)), microseconds(term(best.cost, differs)));
  if (other.cost.token_fill < best.cost.token_fill) {
    message += fmt::format("; {}% of its token columns hold rows, against {}%", percent(other.cost.token_fill),
                           percent(best.cost.token_fill));
  }
  return message;
}

}  // namespace

WhyNot why_not(const Device& device, const GemmPlan& plan, const TileSpec& tile) {
  WhyNot answer;
  answer.tile = tile;
  const auto found = std::find_if(plan.ranked.begin(), plan.ranked.end(),
                                  [&](const Candidate& c) { return matches(tile, c.schedule); });
  if (found == plan.ranked.end()) {
    answer.rejection = reject(device, plan.problem, schedule_for_tile(device, plan.problem, tile));
    if (answer.rejection) {
      answer.message = answer.rejection->message;
      return answer;
    }
    // Legal and not listed: a stage count that was asked for and is not among the variants of its roles.
    const Schedule asked = schedule_for_tile(device, plan.problem, tile);
    answer.candidate = Candidate{asked, predict(device, plan.problem, asked)};
  } else {
    answer.candidate = *found;
  }
  const Candidate* best = plan.chosen();
  if (best == nullptr) return answer;
  answer.is_chosen = answer.candidate->schedule == best->schedule;
  if (answer.is_chosen) {
    answer.message = fmt::format("{} is the chosen schedule", describe(best->schedule));
    return answer;
  }
  answer.differs = grown_most(best->cost, answer.candidate->cost);
  answer.message = slower_message(*best, *answer.candidate, answer.differs);
  return answer;
}

}  // namespace tilewright::schedule
