#include "inspect/verdict_image.hpp"

#include <map>
#include <tuple>

namespace tilewright::inspect {
namespace {

// Larger is nearer to the device.
using Rank = std::tuple<bool, int, int>;

Rank rank_of(const CodeTarget& target) {
  const int features = target.features == TargetFeatures::architecture ? 2
                       : target.features == TargetFeatures::family     ? 1
                                                                       : 0;
  return {!target.ptx, target.major * 10 + target.minor, features};
}

}  // namespace

CodeTarget code_target(const CodeImage& image) {
  CodeTarget target{image.target.number / 10, image.target.number % 10, TargetFeatures::base,
                    image.kind != ImageKind::cubin};
  if (image.target.suffix == 'a') target.features = TargetFeatures::architecture;
  if (image.target.suffix == 'f') target.features = TargetFeatures::family;
  return target;
}

std::string target_name(const CodeImage& image) { return to_string(image.target, image.kind); }

std::vector<Module> modules_of(const BinaryReport& report) {
  std::vector<Module> modules;
  std::map<std::pair<std::string, std::int64_t>, std::size_t> known;
  for (std::size_t i = 0; i < report.images.size(); ++i) {
    const CodeImage& image = report.images[i];
    if (image.container < 0) {
      modules.push_back({image.member, {i}});
      continue;
    }
    const auto [entry, added] = known.emplace(std::pair(image.member, image.container), modules.size());
    if (added) modules.push_back({image.member, {}});
    modules[entry->second].images.push_back(i);
  }
  return modules;
}

std::optional<std::size_t> loaded_image(const BinaryReport& report, const Module& module, ComputeCapability device) {
  std::optional<std::size_t> best;
  for (const std::size_t i : module.images) {
    const CodeImage& image = report.images[i];
    if (image.kind == ImageKind::lto_ir || !loadable(code_target(image), device).loads) continue;
    if (!best || rank_of(code_target(image)) > rank_of(code_target(report.images[*best]))) best = i;
  }
  return best;
}

}  // namespace tilewright::inspect
