#include "tilewright/tuning_cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "schedule/token_buckets.hpp"
#include "tilewright/catalogue.hpp"
#include "tune/cache_key.hpp"

namespace tilewright {
namespace {

/// Of two trials of one schedule the one that says more: a failure, then more samples, then the shorter time.
bool outweighs(const Trial& a, const Trial& b) {
  const auto weight = [](const Trial& t) {
    return std::tuple(!t.error.empty(), t.samples, -t.us, -t.rank, -t.predicted_us, t.error);
  };
  return weight(a) > weight(b);
}

void add_trial(std::vector<Trial>& trials, Trial trial) {
  const auto same = [&](const Trial& t) { return t.schedule == trial.schedule; };
  const auto found = std::find_if(trials.begin(), trials.end(), same);
  if (found == trials.end()) {
    trials.push_back(std::move(trial));
  } else if (outweighs(trial, *found)) {
    *found = std::move(trial);
  }
}

/// The model's order, and the name where two were given one place.
void put_in_order(std::vector<Trial>& trials) {
  std::stable_sort(trials.begin(), trials.end(), [](const Trial& a, const Trial& b) {
    return a.rank != b.rank ? a.rank < b.rank : describe(a.schedule) < describe(b.schedule);
  });
}

}  // namespace

TuningEntry* TuningCache::entry_of(const TunedOn& on, const GemmProblem& problem) {
  const auto [begin, end] = by_problem_.equal_range(tune::hash_of(problem));
  for (auto found = begin; found != end; ++found) {
    TuningEntry& entry = entries_[found->second];
    if (entry.on == on && tune::same_problem(entry.problem, problem)) return &entry;
  }
  return nullptr;
}

void TuningCache::add(TuningEntry entry) {
  TuningEntry* into = entry_of(entry.on, entry.problem);
  if (into == nullptr) {
    by_problem_.emplace(tune::hash_of(entry.problem), entries_.size());
    entries_.push_back({entry.on, entry.problem, entry.noise, {}, {}});
    into = &entries_.back();
  }
  into->noise = std::max(into->noise, entry.noise);
  for (Trial& trial : entry.trials) add_trial(into->trials, std::move(trial));
  put_in_order(into->trials);
  if (entry.pin) into->pin = entry.pin;
}

void TuningCache::merge(const TuningCache& other) {
  for (const TuningEntry& entry : other.entries_) add(entry);
  for (const ScheduleBan& each : other.bans_) ban(each);
}

void TuningCache::ban(const ScheduleBan& ban) {
  unban(ban);  // no ban twice
  bans_.push_back(ban);
}

bool TuningCache::unban(const ScheduleBan& ban) {
  const auto same = [&](const ScheduleBan& b) {
    return b.device == ban.device && to_string(b.pattern) == to_string(ban.pattern);
  };
  return std::erase_if(bans_, same) > 0;
}

void TuningCache::pin(const TunedOn& on, const GemmProblem& problem, const std::optional<SchedulePattern>& pattern) {
  if (TuningEntry* entry = entry_of(on, problem)) entry->pin = pattern;
}

bool TuningCache::banned(const std::string& device, const Schedule& schedule) const {
  return std::any_of(bans_.begin(), bans_.end(),
                     [&](const ScheduleBan& ban) { return ban.device == device && ban.pattern.matches(schedule); });
}

std::vector<Trial> TuningCache::eligible(const TuningEntry& entry) const {
  std::vector<Trial> trials;
  for (const Trial& trial : entry.trials) {
    if (!trial.error.empty() || banned(entry.on.device, trial.schedule)) continue;
    if (in_catalogue(Device{}, trial.schedule)) trials.push_back(trial);
  }
  return trials;
}

Result<TunedSchedule> TuningCache::answer(const TuningEntry& entry) const {
  const std::vector<Trial> trials = eligible(entry);
  if (entry.pin) {
    const auto pinned =
        std::find_if(trials.begin(), trials.end(), [&](const Trial& t) { return entry.pin->matches(t.schedule); });
    if (pinned != trials.end()) return TunedSchedule{pinned->schedule, pinned->us, true, &entry};
    return fail(ErrorCode::mismatch,
                fmt::format("no kernel that may run here is {}, which is pinned", to_string(*entry.pin)),
                "tune again, with --unpin");
  }
  const auto chosen = choose(trials, entry.noise);
  if (chosen) return TunedSchedule{trials[*chosen].schedule, trials[*chosen].us, false, &entry};
  return fail(ErrorCode::mismatch,
              fmt::format("of {} schedules that were tuned, none is built, right and not banned", entry.trials.size()),
              "run 'tilewright tune' again");
}

Result<TunedSchedule> TuningCache::find(const TunedOn& on, const GemmProblem& problem) const {
  std::string stale;
  const TuningEntry* newest = nullptr;
  const auto [begin, end] = by_problem_.equal_range(tune::hash_of(problem));
  for (auto found = begin; found != end; ++found) {
    const TuningEntry& entry = entries_[found->second];
    if (!tune::same_problem(entry.problem, problem) || !tune::same_device(on, entry.on)) continue;
    std::string reason = tune::stale_reason(on, entry.on);
    if (!reason.empty()) {
      if (reason > stale) stale = std::move(reason);
    } else if (newest == nullptr || entry.on.driver > newest->on.driver) {
      newest = &entry;
    }
  }
  if (newest != nullptr) return answer(*newest);
  if (!stale.empty()) return fail(ErrorCode::mismatch, stale, "run 'tilewright tune' again");
  return fail(ErrorCode::not_found, "nothing was measured of this problem on this device", "run 'tilewright tune'");
}

std::vector<ScheduleRung> tuned_rungs(const TuningCache& cache, const TunedOn& on, const LayerProblem& layer,
                                      Arch kernels) {
  const auto runs = [kernels](const Result<TunedSchedule>& tuned) { return tuned && tuned->schedule.arch == kernels; };
  std::vector<ScheduleRung> rungs;
  if (cache.entries().empty()) return rungs;
  LayerProblem problem = layer;
  for (const int tokens : schedule::kTokenBuckets) {
    problem.tokens = tokens;
    const Result<LayerGemms> gemms = layer_gemms(problem);
    if (!gemms) continue;
    const auto gemm1 = cache.find(on, gemms->gemm1);
    const auto gemm2 = cache.find(on, gemms->gemm2);
    if (runs(gemm1) && runs(gemm2)) rungs.push_back({tokens, {gemm1->schedule, gemm2->schedule}});
  }
  return rungs;
}

}  // namespace tilewright
