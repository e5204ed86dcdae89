#include "schedule/busiest_sm.hpp"

#include <algorithm>
#include <cstddef>

namespace tilewright::schedule {
namespace {

// Units of `run` on SM number `sm`, when the first of them goes to SM number `first`.
std::int64_t units_in_turn(const WorkRun& run, std::int64_t first, std::int64_t sm, std::int64_t sms) {
  const std::int64_t places_after = (sm - first % sms + sms) % sms;
  return run.units / sms + (places_after < run.units % sms ? 1 : 0);
}

}  // namespace

std::vector<std::int64_t> busiest_in_turn(const std::vector<WorkRun>& runs, int sm_count) {
  const std::int64_t sms = sm_count;
  if (runs.size() == 1) return {(runs[0].units + sms - 1) / sms};
  // What is left of each run after whole rounds goes to neighbours: cycles gained and lost from one SM to the next.
  std::vector<double> steps(static_cast<std::size_t>(sms) + 1, 0.0);
  std::int64_t first = 0;
  for (const WorkRun& run : runs) {
    const auto begin = static_cast<std::size_t>(first % sms);
    const auto end = begin + static_cast<std::size_t>(run.units % sms);
    steps[begin] += run.cycles;
    if (end <= static_cast<std::size_t>(sms)) {
      steps[end] -= run.cycles;
    } else {
      steps[0] += run.cycles;
      steps[end - static_cast<std::size_t>(sms)] -= run.cycles;
    }
    first += run.units;
  }
  std::int64_t busiest = 0;
  double most = 0;
  double cycles = 0;
  for (std::int64_t sm = 0; sm < sms; ++sm) {
    cycles += steps[static_cast<std::size_t>(sm)];
    if (cycles <= most * (1.0 + 1e-12)) continue;  // sums of the same cycles in another order are the same
    most = cycles;
    busiest = sm;
  }
  std::vector<std::int64_t> units;
  first = 0;
  for (const WorkRun& run : runs) {
    units.push_back(units_in_turn(run, first, busiest, sms));
    first += run.units;
  }
  return units;
}

std::vector<std::int64_t> busiest_of_even_shares(const std::vector<WorkRun>& runs, int sm_count) {
  std::int64_t total = 0;
  for (const WorkRun& run : runs) total += run.units;
  const std::int64_t busy = std::min<std::int64_t>(total, sm_count);
  if (runs.size() == 1 && busy > 0) return {(total + busy - 1) / busy};
  std::vector<std::int64_t> best(runs.size(), 0);
  double most = 0;
  std::size_t at = 0;     // run in which the share begins,
  std::int64_t from = 0;  // and how many of its units are before the share
  std::int64_t begin = 0;
  for (std::int64_t sm = 0; sm < busy; ++sm) {
    const std::int64_t end = total / busy * (sm + 1) + total % busy * (sm + 1) / busy;
    std::size_t run = at;
    std::int64_t before = from;
    double cycles = 0;
    for (std::int64_t left = end - begin; left > 0;) {
      const std::int64_t taken = std::min(left, runs[run].units - before);
      cycles += static_cast<double>(taken) * runs[run].cycles;
      left -= taken;
      before += taken;
      if (before < runs[run].units) break;
      ++run;
      before = 0;
    }
    if (cycles > most * (1.0 + 1e-12)) {
      most = cycles;
      std::fill(best.begin(), best.end(), 0);
      std::int64_t left = end - begin;
      for (std::size_t i = at; i < runs.size() && left > 0; ++i) {
        best[i] = std::min(left, runs[i].units - (i == at ? from : 0));
        left -= best[i];
      }
    }
    at = run;
    from = before;
    begin = end;
  }
  return best;
}

}  // namespace tilewright::schedule
