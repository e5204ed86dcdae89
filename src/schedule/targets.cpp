#include "tilewright/targets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

namespace tilewright {
namespace {

// A family's first member and the minor versions in it. CUDA programming guide, "family-specific features": 100f runs
// on 10.0 and 10.3, 110f on 11.0, 120f on 12.0 and 12.1. 9.0 has an architecture target and no family.
struct Version {
  int major;
  int minor;
  bool architecture;  ///< has an `a` target
  bool family;        ///< has an `f` target
};

constexpr std::array<Version, 20> kVersions = {
    {{5, 0, false, false}, {5, 2, false, false}, {5, 3, false, false}, {6, 0, false, false}, {6, 1, false, false},
     {6, 2, false, false}, {7, 0, false, false}, {7, 2, false, false}, {7, 5, false, false}, {8, 0, false, false},
     {8, 6, false, false}, {8, 7, false, false}, {8, 8, false, false}, {8, 9, false, false}, {9, 0, true, false},
     {10, 0, true, true},  {10, 3, true, true},  {11, 0, true, true},  {12, 0, true, true},  {12, 1, true, true}}};

const Version* find_version(int major, int minor) {
  for (const Version& known : kVersions) {
    if (known.major == major && known.minor == minor) return &known;
  }
  return nullptr;
}

std::string lower_case(const std::string& text) {
  std::string lower;
  for (const char c : text) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

bool take_prefix(std::string& text, const std::string& prefix) {
  if (text.compare(0, prefix.size(), prefix) != 0) return false;
  text.erase(0, prefix.size());
  return true;
}

// "120" and "12.0": the last digit is the minor version.
std::optional<ComputeCapability> parse_digits(std::string digits) {
  const std::size_t dot = digits.find('.');
  if (dot != std::string::npos) {
    if (dot + 2 != digits.size()) return std::nullopt;
    digits.erase(dot, 1);
  }
  const bool numeric = std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  if (!numeric || digits.size() < 2 || digits.size() > 3 || digits.front() == '0') return std::nullopt;
  const int number = std::stoi(digits);
  return ComputeCapability{number / 10, number % 10};
}

std::string members(int major, int from) {
  std::string text;
  for (const Version& known : kVersions) {
    if (known.major != major || known.minor < from || !known.family) continue;
    text += fmt::format("{}{}.{}", text.empty() ? "" : " and ", known.major, known.minor);
  }
  return text;
}

Loadable feature_image(const CodeTarget& image, ComputeCapability device) {
  const std::string name = to_string(image);
  if (image.features == TargetFeatures::architecture) {
    const bool same = image.major == device.major && image.minor == device.minor;
    return {same, same ? fmt::format("{} is this device's own architecture target", name)
                       : fmt::format("{} runs on {}.{} only: an architecture target (a) fits one compute capability",
                                     name, image.major, image.minor)};
  }
  const Version* version = find_version(device.major, device.minor);
  const bool member =
      version != nullptr && version->family && image.major == device.major && image.minor <= device.minor;
  return {member, fmt::format("{} runs on {}, its family{}", name, members(image.major, image.minor),
                              member ? "" : fmt::format("; this device is {}", to_string(device)))};
}

Loadable base_image(const CodeTarget& image, ComputeCapability device) {
  const std::string name = to_string(image);
  if (image.ptx) {
    const bool older = image.major * 10 + image.minor <= device.major * 10 + device.minor;
    return {older,
            older ? fmt::format("the driver compiles {} for any device from {}.{} on", name, image.major, image.minor)
                  : fmt::format("{} is newer than this device, {}", name, to_string(device))};
  }
  const bool same_major = image.major == device.major && image.minor <= device.minor;
  if (same_major)
    return {true,
            fmt::format("machine code of {} runs on {}.x from {}.{} on", name, image.major, image.major, image.minor)};
  return {false, fmt::format("image targets {}, device is {}: machine code never runs on another major version, or on "
                             "an older minor one",
                             name, to_string(device))};
}

}  // namespace

std::string to_string(ComputeCapability capability) { return fmt::format("{}.{}", capability.major, capability.minor); }

Result<ComputeCapability> find_compute_capability(const std::string& text) {
  std::string digits = lower_case(text);
  if (!take_prefix(digits, "sm_")) take_prefix(digits, "sm");
  const std::optional<ComputeCapability> capability = parse_digits(digits);
  if (!capability || find_version(capability->major, capability->minor) == nullptr) {
    return fail(ErrorCode::invalid_argument, fmt::format("\"{}\" is not a known compute capability", text),
                "known: 5.0 to 9.0, 10.0, 10.3, 11.0, 12.0, 12.1; 'nvidia-smi --query-gpu=compute_cap --format=csv' "
                "prints a device's");
  }
  return *capability;
}

std::string short_name(const CodeTarget& target) {
  constexpr std::array<const char*, 3> kSuffixes = {"", "f", "a"};
  return fmt::format("{}{}{}", target.major, target.minor, kSuffixes[static_cast<std::size_t>(target.features)]);
}

std::vector<std::string> short_names(const std::vector<CodeTarget>& targets) {
  std::vector<std::string> names;
  names.reserve(targets.size());
  for (const CodeTarget& target : targets) names.push_back(short_name(target));
  return names;
}

std::string to_string(const CodeTarget& target) { return (target.ptx ? "compute_" : "sm_") + short_name(target); }

Result<CodeTarget> find_target(const std::string& name) {
  CodeTarget target;
  std::string digits = lower_case(name);
  target.ptx = take_prefix(digits, "compute_");
  if (!target.ptx && !take_prefix(digits, "sm_")) take_prefix(digits, "sm");
  if (!digits.empty() && (digits.back() == 'a' || digits.back() == 'f')) {
    target.features = digits.back() == 'a' ? TargetFeatures::architecture : TargetFeatures::family;
    digits.pop_back();
  }
  const std::optional<ComputeCapability> number = parse_digits(digits);
  if (!number) {
    return fail(ErrorCode::invalid_argument, fmt::format("\"{}\" is not a code target", name),
                "write it as sm_120f, compute_90a or 120a");
  }
  target.major = number->major;
  target.minor = number->minor;
  const Version* known = find_version(target.major, target.minor);
  const bool has_suffix =
      known != nullptr && ((target.features == TargetFeatures::base) ||
                           (target.features == TargetFeatures::family ? known->family : known->architecture));
  if (!has_suffix) {
    return fail(ErrorCode::invalid_argument, fmt::format("no toolkit compiles for {}", to_string(target)),
                "'a' targets exist from 90a on, 'f' targets from 100f on (CUDA 12.9)");
  }
  return target;
}

const std::vector<CodeTarget>& known_targets() {
  static const std::vector<CodeTarget> targets = [] {
    std::vector<CodeTarget> list;
    for (const Version& known : kVersions) {
      if (known.major < 8) continue;
      list.push_back({known.major, known.minor, TargetFeatures::base, false});
      if (known.family) list.push_back({known.major, known.minor, TargetFeatures::family, false});
      if (known.architecture) list.push_back({known.major, known.minor, TargetFeatures::architecture, false});
    }
    return list;
  }();
  return targets;
}

Loadable loadable(const CodeTarget& image, ComputeCapability device) {
  return image.features == TargetFeatures::base ? base_image(image, device) : feature_image(image, device);
}

std::string nvcc_flags(const CodeTarget& target) {
  const std::string name = short_name(target);
  return fmt::format("-gencode arch=compute_{0},code={1}_{0}", name, target.ptx ? "compute" : "sm");
}

CodeTarget recommended_target(ComputeCapability device) {
  CodeTarget target{device.major, device.minor, TargetFeatures::base, false};
  const Version* known = find_version(device.major, device.minor);
  if (known == nullptr) return target;
  if (!known->family) {
    if (known->architecture) target.features = TargetFeatures::architecture;
    return target;
  }
  target.features = TargetFeatures::family;
  for (const Version& other : kVersions) {  // the family's first member: every later one runs its images
    if (other.major == device.major && other.family) target.minor = std::min(target.minor, other.minor);
  }
  return target;
}

}  // namespace tilewright
