#include "schedule/why_not.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/cost_model.hpp"
#include "schedule/format.hpp"
#include "schedule/plan_words.hpp"
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

// The answer for a legal tile: how much slower, and by what.
std::string legal_message(const GemmPlan& plan, const Candidate& other, Bound differs) {
  const Candidate& best = *plan.chosen();
  const Schedule& s = other.schedule;
  std::string message = fmt::format("legal with {} stages ({} B) and {}: {} us against {} us", s.stages,
                                    grouped(shared_memory(s).total), speed_words(best.cost, other.cost),
                                    microseconds(other.cost.predicted_us), microseconds(best.cost.predicted_us));
  if (on_cpu(s.mma)) message = fmt::format("{}, {}", to_string(s.mma), message);
  if (term(other.cost, differs) > term(best.cost, differs)) {
    message += fmt::format("; {} takes {} us instead of {}", to_string(differs),
                           microseconds(term(other.cost, differs)), microseconds(term(best.cost, differs)));
  }
  if (other.cost.token_fill < best.cost.token_fill) {
    message += fmt::format("; {}% of its token columns hold rows instead of {}%", percent(other.cost.token_fill),
                           percent(best.cost.token_fill));
  }
  if (other.cost.predicted_us < best.cost.predicted_us) {
    message += "; " + chosen_though_slower(plan);
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
    answer.message = answer.rejection ? answer.rejection->message : "not a variant that the catalogue offers";
    return answer;
  }
  answer.candidate = *found;
  const Candidate* best = plan.chosen();
  answer.is_chosen = answer.candidate->schedule == best->schedule;
  if (answer.is_chosen) {
    answer.message = fmt::format("{} is the chosen schedule", describe(best->schedule));
    return answer;
  }
  answer.differs = grown_most(best->cost, answer.candidate->cost);
  answer.message = legal_message(plan, *answer.candidate, answer.differs);
  return answer;
}

}  // namespace tilewright::schedule
