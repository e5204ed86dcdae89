#include "tilewright/tuner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

#include "tune/statistics.hpp"

namespace tilewright {
namespace {

// How sure a difference has to be, in standard errors, to be one.
constexpr double kSure = 3.0;
// The standard error of a median of n samples, over deviation / sqrt(n): sqrt(pi / 2), of normal noise.
constexpr double kMedianError = 1.2533;
// No measurement is quieter than its clock: events resolve half a microsecond of a replay of some hundred.
constexpr double kLeastNoise = 0.002;
// Deviations count up to this: one hiccup is not the noise.
constexpr double kLargestDeviation = 0.12;
// A single sample is this many times too long at most.
constexpr double kNoHiccup = 3.0;

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool competes(const Trial& trial) { return trial.error.empty() && trial.samples > 0; }

/// What a difference of two medians, as a share, is uncertain by.
double uncertainty(const Trial& a, const Trial& b, double noise) {
  return kSure * noise * kMedianError * std::sqrt(1.0 / a.samples + 1.0 / b.samples);
}

const Trial* fastest_of(std::span<const Trial> trials) {
  const Trial* fastest = nullptr;
  for (const Trial& trial : trials) {
    if (competes(trial) && (fastest == nullptr || trial.us < fastest->us)) fastest = &trial;
  }
  return fastest;
}

class Runner {
 public:
  Runner(const std::vector<Candidate>& ranked, ScheduleMeasurer& measurer, const RaceOptions& options)
      : measurer_(measurer), options_(options), samples_(ranked.size()), racing_(ranked.size(), true) {
    for (const Candidate& candidate : ranked) {
      const auto rank = static_cast<int>(race_.trials.size());
      race_.trials.push_back({candidate.schedule, rank, candidate.cost.predicted_us, 0, 0, {}});
    }
  }

  Race run() {
    deadline_ = now() + options_.budget_s;
    for (std::size_t i = 0; i < race_.trials.size() && goes_on(); ++i) {
      if (check(i)) sample(i);
    }
    race_.rounds = 1;
    look_again();
    drop_slow();
    race_.noise = kLargestDeviation;
    while (goes_on()) {
      if (race_.rounds >= options_.least_rounds) {
        race_.noise = noise();
        drop_slower();
        if (decided()) break;
      }
      if (race_.rounds >= options_.most_rounds || left() == 0) {
        race_.end = left() == 0 ? RaceEnd::decided : RaceEnd::rounds;
        break;
      }
      round();
    }
    if (race_.rounds > 1) race_.noise = noise();
    race_.chosen = choose(race_.trials, race_.noise);
    return std::move(race_);
  }

 private:
  [[nodiscard]] double now() const { return options_.seconds ? options_.seconds() : steady_seconds(); }

  /// Whether a sample may begin.
  bool goes_on() {
    if (options_.stopped && options_.stopped()) {
      race_.end = RaceEnd::stopped;
      return false;
    }
    if (now() < deadline_) return true;
    race_.end = RaceEnd::budget;
    return false;
  }

  void fail_trial(std::size_t i, const Error& error) {
    race_.trials[i].error = fmt::format("{}: {}", describe(race_.trials[i].schedule), error.message());
    racing_[i] = false;
  }

  bool check(std::size_t i) {
    const Status checked = measurer_.check(race_.trials[i].schedule);
    if (!checked) fail_trial(i, checked.error());
    return checked.has_value();
  }

  void sample(std::size_t i) {
    Trial& trial = race_.trials[i];
    const Result<double> us = measurer_.sample(trial.schedule);
    if (!us) return fail_trial(i, us.error());
    if (!(*us > 0) || !std::isfinite(*us)) {
      return fail_trial(i, {ErrorCode::mismatch, fmt::format("it took {} us", *us), {}});
    }
    samples_[i].push_back(*us);
    trial.us = tune::median(samples_[i]);
    trial.samples = static_cast<int>(samples_[i].size());
  }

  /// One sample of each that is still racing, from another one on in every round.
  void round() {
    const std::size_t count = race_.trials.size();
    bool whole = true;
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t i = (k + static_cast<std::size_t>(race_.rounds)) % count;
      if (!racing_[i]) continue;
      if (!goes_on()) {
        whole = false;
        break;
      }
      sample(i);
    }
    if (whole) ++race_.rounds;
  }

  [[nodiscard]] std::size_t left() const {
    return static_cast<std::size_t>(std::count(racing_.begin(), racing_.end(), true));
  }

  [[nodiscard]] bool slow(const Trial& trial, double than_us) const {
    return !competes(trial) || trial.us > options_.dropped_above * than_us;
  }

  /// A second sample of what would be dropped, unless it is so slow that no hiccup explains it.
  void look_again() {
    const Trial* fastest = fastest_of(race_.trials);
    const double fastest_us = fastest == nullptr ? 0.0 : fastest->us;
    for (std::size_t i = 0; i < racing_.size(); ++i) {
      const Trial& trial = race_.trials[i];
      if (competes(trial) && slow(trial, fastest_us) && trial.us < kNoHiccup * fastest_us && goes_on()) sample(i);
    }
  }

  void drop_slow() {
    const Trial* fastest = fastest_of(race_.trials);
    for (std::size_t i = 0; i < racing_.size(); ++i) {
      if (slow(race_.trials[i], fastest == nullptr ? 0.0 : fastest->us)) racing_[i] = false;
    }
  }

  void drop_slower() {
    const Trial* fastest = fastest_of(race_.trials);
    for (std::size_t i = 0; i < racing_.size(); ++i) {
      const Trial& trial = race_.trials[i];
      if (!racing_[i] || !competes(trial)) continue;
      const double margin = std::max(kSameTime, uncertainty(trial, *fastest, race_.noise));
      // Twice the margin: what is dropped can never be the choice, whatever the samples to come say of the fastest.
      if (trial.us > fastest->us * (1.0 + 2.0 * margin)) racing_[i] = false;
    }
  }

  /// Whether more samples would change nothing: every difference that is left is known to within kSameTime.
  [[nodiscard]] bool decided() const {
    const Trial* fastest = fastest_of(race_.trials);
    if (fastest == nullptr || left() <= 1) return true;
    for (std::size_t i = 0; i < racing_.size(); ++i) {
      const Trial& trial = race_.trials[i];
      if (racing_[i] && &trial != fastest && uncertainty(trial, *fastest, race_.noise) > kSameTime) return false;
    }
    return true;
  }

  /// Deviation of all samples from their candidates' medians, as shares, of all candidates together.
  [[nodiscard]] double noise() const {
    double squares = 0;
    int freedom = 0;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      if (samples_[i].size() < 2) continue;
      for (const double us : samples_[i]) {
        const double deviation = std::min(std::abs(us / race_.trials[i].us - 1.0), kLargestDeviation);
        squares += deviation * deviation;
      }
      freedom += static_cast<int>(samples_[i].size()) - 1;
    }
    return freedom == 0 ? kLargestDeviation : std::max(kLeastNoise, std::sqrt(squares / freedom));
  }

  ScheduleMeasurer& measurer_;
  const RaceOptions& options_;
  Race race_;
  std::vector<std::vector<double>> samples_;
  std::vector<bool> racing_;
  double deadline_ = 0;
};

}  // namespace

const char* to_string(RaceEnd end) {
  switch (end) {
    case RaceEnd::decided: return "decided";
    case RaceEnd::rounds: return "rounds";
    case RaceEnd::budget: return "budget";
    case RaceEnd::stopped: break;
  }
  return "stopped";
}

bool Race::failed() const {
  return std::any_of(trials.begin(), trials.end(), [](const Trial& trial) { return !trial.error.empty(); });
}

std::optional<std::size_t> choose(std::span<const Trial> trials, double noise) {
  const Trial* fastest = fastest_of(trials);
  if (fastest == nullptr) return std::nullopt;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const Trial& trial = trials[i];
    if (!competes(trial)) continue;
    const double margin = std::max(kSameTime, uncertainty(trial, *fastest, noise));
    if (&trial == fastest || trial.us <= fastest->us * (1.0 + margin)) return i;
  }
  return std::nullopt;
}

Race race(const std::vector<Candidate>& ranked, ScheduleMeasurer& measurer, const RaceOptions& options) {
  return Runner(ranked, measurer, options).run();
}

}  // namespace tilewright
