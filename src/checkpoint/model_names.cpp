#include "checkpoint/model_names.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tilewright/model.hpp"

namespace tilewright {
namespace {

constexpr std::size_t kNearestShown = 3;

// Endings that do not change the shape of an expert layer: how the weights are stored, how the model was tuned, and
// the sizes that some publishers write after the name.
constexpr std::array<std::string_view, 26> kNeutralEndings = {
    "nvfp4",    "nvfp4a16", "fp4",      "mxfp4", "fp8",  "bf16",      "int4",    "awq",  "w4a16",
    "instruct", "it",       "thinking", "chat",  "base", "reasoning", "preview", "v0.1", "v2",
    "2507",     "2512",     "0528",     "0324",  "17b",  "16e",       "128e",    "a17b"};

constexpr std::array<std::pair<std::string_view, std::string_view>, 1> kUnsupported = {
    {{"kimi-k3", "its experts use the situ activation (config.json of moonshotai/Kimi-K3)"}}};

const ModelFacts* find_exact(const std::string& name) {
  for (const ModelFacts& facts : known_models()) {
    if (facts.name == name) return &facts;
  }
  return nullptr;
}

bool drop_neutral_ending(std::string& name) {
  const std::size_t dash = name.rfind('-');
  if (dash == std::string::npos) return false;
  const std::string_view ending = std::string_view(name).substr(dash + 1);
  if (std::find(kNeutralEndings.begin(), kNeutralEndings.end(), ending) == kNeutralEndings.end()) return false;
  name.resize(dash);
  return true;
}

std::string nearest_names(const std::string& name) {
  std::vector<std::pair<int, std::string_view>> ranked;
  for (const ModelFacts& facts : known_models()) ranked.emplace_back(edit_distance(name, facts.name), facts.name);
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string list;
  for (std::size_t i = 0; i < std::min(kNearestShown, ranked.size()); ++i) {
    list += (i == 0 ? "" : ", ") + std::string(ranked[i].second);
  }
  return list;
}

}  // namespace

std::string plain_model_name(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  if (slash != std::string_view::npos) name.remove_prefix(slash + 1);
  const std::size_t dashes = name.rfind("--");  // Hugging Face's cache: models--zai-org--GLM-5
  if (dashes != std::string_view::npos) name.remove_prefix(dashes + 2);
  std::string plain(name);
  std::transform(plain.begin(), plain.end(), plain.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  constexpr std::string_view kVendor = "nvidia-";
  if (plain.rfind(kVendor, 0) == 0) plain.erase(0, kVendor.size());
  return plain;
}

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    int diagonal = std::exchange(row[0], static_cast<int>(i));
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int substitution = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substitution, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

Result<ModelFacts> find_model(const std::string& name) {
  std::string candidate = plain_model_name(name);
  do {
    if (const ModelFacts* facts = find_exact(candidate)) return *facts;
    for (const auto& [unsupported, reason] : kUnsupported) {
      if (candidate == unsupported) {
        return fail(ErrorCode::unsupported, fmt::format("{} is not supported: {}", unsupported, reason));
      }
    }
  } while (drop_neutral_ending(candidate));
  return fail(ErrorCode::not_found, fmt::format("no model is known as \"{}\"", name),
              fmt::format("nearest are {}; or give the path of a config.json", nearest_names(plain_model_name(name))));
}

}  // namespace tilewright
