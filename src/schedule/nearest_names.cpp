#include "schedule/nearest_names.hpp"

#include <algorithm>
#include <numeric>

namespace tilewright::schedule {
namespace {

// Levenshtein distance, one row at a time.
std::size_t edits(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

std::vector<std::string> nearest_names(const std::string& name, const std::vector<std::string>& known,
                                       std::size_t count) {
  struct Scored {
    std::size_t score;
    std::string name;
  };
  std::vector<Scored> scored;
  for (const std::string& candidate : known) {
    const bool related = !name.empty() && (contains(candidate, name) || contains(name, candidate));
    scored.push_back({related ? 0 : edits(name, candidate), candidate});
  }
  std::stable_sort(scored.begin(), scored.end(), [](const Scored& a, const Scored& b) { return a.score < b.score; });
  std::vector<std::string> nearest;
  for (const Scored& entry : scored) {
    if (nearest.size() == count) break;
    nearest.push_back(entry.name);
  }
  return nearest;
}

}  // namespace tilewright::schedule
