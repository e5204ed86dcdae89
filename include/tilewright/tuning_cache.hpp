// TuningCache: what was measured of schedules, by problem and machine, as one text file that can be merged.
//
// An entry holds every candidate of one problem with its time, on one GPU under one driver and one version of this
// library; nothing about it depends on where the file is read. The choice is not stored: it follows from the times
// (choose() in tuner.hpp), from pins and from bans. Format: docs/tuning.md.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tilewright/arch.hpp"
#include "tilewright/cuda_layer.hpp"
#include "tilewright/planner.hpp"
#include "tilewright/problem.hpp"
#include "tilewright/result.hpp"
#include "tilewright/schedule_pattern.hpp"
#include "tilewright/tuner.hpp"

namespace tilewright {

/// Where times hold. Of an entry every field is given. Of a question, `device` may also be the name of a known device
/// ("h200"), and an empty `driver` is any.
struct TunedOn {
  std::string device;  ///< as the driver names it: "NVIDIA H200"
  Arch arch = Arch::cpu;
  int sm_count = 0;
  std::string driver;   ///< of the kernel module: "580.65.06"
  std::string version;  ///< of this library

  friend bool operator==(const TunedOn&, const TunedOn&) = default;
};

/// One problem on one machine. Trials are in the model's order.
struct TuningEntry {
  TunedOn on;
  GemmProblem problem;
  double noise = 0;
  std::vector<Trial> trials;
  std::optional<SchedulePattern> pin;
};

/// A schedule that must not run on a device, whatever its time.
struct ScheduleBan {
  std::string device;
  SchedulePattern pattern;
};

/// What a cache answers. The trials are the entry's; the pointer holds as long as the cache is not changed.
struct TunedSchedule {
  Schedule schedule;
  double us = 0;  ///< measured; 0 where it is pinned and was not
  bool pinned = false;
  const TuningEntry* entry = nullptr;
};

class TuningCache {
 public:
  /// Reads what text() wrote. Names, sizes and numbers are checked: `corrupt` with the place that is wrong. Entries of
  /// other versions and drivers, and with schedules that this version has no kernels for, are kept.
  static Result<TuningCache> parse(std::string_view text);
  /// parse() of a file; an empty cache where there is none.
  static Result<TuningCache> load(const std::string& path);

  /// JSON, schema "tilewright.cache/1". Entries and fields are in a fixed order.
  [[nodiscard]] std::string text() const;

  /// Adds an entry. With one of the same problem and machine it becomes one that has the trials of both: of the same
  /// schedule the one with an error, or else with more samples, and of as many the faster one. So the order in which
  /// entries are added does not matter, and adding one twice changes nothing. A pin of `entry` replaces the other's.
  void add(TuningEntry entry);
  /// Adds everything of `other`.
  void merge(const TuningCache& other);

  void ban(const ScheduleBan& ban);
  /// Whether there was such a ban.
  bool unban(const ScheduleBan& ban);
  void pin(const TunedOn& on, const GemmProblem& problem, const std::optional<SchedulePattern>& pattern);

  [[nodiscard]] bool banned(const std::string& device, const Schedule& schedule) const;
  [[nodiscard]] const std::vector<TuningEntry>& entries() const { return entries_; }
  [[nodiscard]] const std::vector<ScheduleBan>& bans() const { return bans_; }

  /// The choice for a problem. `not_found` where nothing was measured of it on this device; `mismatch`, with the
  /// reason, where all that was measured is stale: under another driver or version, with a kernel that is not built any
  /// more, or with nothing left that is not banned or wrong.
  [[nodiscard]] Result<TunedSchedule> find(const TunedOn& on, const GemmProblem& problem) const;

 private:
  /// The trials of an entry that may be chosen now, in the model's order.
  [[nodiscard]] std::vector<Trial> eligible(const TuningEntry& entry) const;
  [[nodiscard]] Result<TunedSchedule> answer(const TuningEntry& entry) const;
  [[nodiscard]] TuningEntry* entry_of(const TunedOn& on, const GemmProblem& problem);

  std::vector<TuningEntry> entries_;
  std::vector<ScheduleBan> bans_;
  std::unordered_multimap<std::uint64_t, std::size_t> by_problem_;
};

/// Changes the cache at `path` in one step: reads it under a lock, lets `change` change it, and replaces the file.
/// Folders are made. A file that cannot be read is not replaced.
Status update_tuning_cache(const std::string& path, const std::function<void(TuningCache&)>& change);

/// Puts the measured choice of each GEMM first in its plan and says so there (GemmPlan::tuned). Returns why entries
/// were not used, a line each: those that are stale, not those that are absent.
std::vector<std::string> use_tuning_cache(Plan& plan, const TuningCache& cache, const TunedOn& on);

/// The rungs of a layer that the cache has both GEMMs of, among the token counts that `tilewright tune` measures;
/// tokens of `layer` are not looked at. `kernels` are those that the layer runs on (CudaLayerInfo::arch): schedules of
/// others are not its. For CudaLayer::use_schedules().
std::vector<ScheduleRung> tuned_rungs(const TuningCache& cache, const TunedOn& on, const LayerProblem& layer,
                                      Arch kernels);

}  // namespace tilewright
