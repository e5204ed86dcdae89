#include "tune/cache_key.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright::tune {

bool same_problem(const GemmProblem& a, const GemmProblem& b) {
  const auto same_bin = [](const RowsHistogram::Bin& x, const RowsHistogram::Bin& y) {
    return x.rows == y.rows && x.experts == y.experts;
  };
  return a.gemm == b.gemm && a.n == b.n && a.k == b.k && a.tokens == b.tokens && a.precision == b.precision &&
         a.epilogue == b.epilogue &&
         std::equal(a.rows.bins.begin(), a.rows.bins.end(), b.rows.bins.begin(), b.rows.bins.end(), same_bin);
}

std::uint64_t hash_of(const GemmProblem& problem) {
  std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a, a word at a time
  const auto mix = [&](std::int64_t value) {
    hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x100000001B3U;
    hash ^= hash >> 29U;
  };
  for (const std::int64_t value :
       {static_cast<std::int64_t>(problem.gemm), problem.n, problem.k, problem.tokens,
        static_cast<std::int64_t>(problem.precision), static_cast<std::int64_t>(problem.epilogue)}) {
    mix(value);
  }
  for (const auto& bin : problem.rows.bins) {
    mix(bin.rows);
    mix(bin.experts);
  }
  return hash;
}

bool same_device(const TunedOn& question, const TunedOn& on) {
  if (question.arch != on.arch || question.sm_count != on.sm_count) return false;
  if (question.device == on.device) return true;
  const Result<Device> known = device_of_gpu(on.device, on.arch, on.sm_count);
  return known && known->note.empty() && known->name == question.device;
}

std::string stale_reason(const TunedOn& question, const TunedOn& on) {
  if (question.version != on.version) {
    return fmt::format("it was tuned with tilewright {}, and this is {}", on.version, question.version);
  }
  if (!question.driver.empty() && question.driver != on.driver) {
    return fmt::format("it was tuned under driver {}, and this is {}", on.driver, question.driver);
  }
  return {};
}

}  // namespace tilewright::tune
