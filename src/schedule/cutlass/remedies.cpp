// cutlass_remedies: changes that make a kernel build and fit, each resolved through the oracle itself.
#include <algorithm>
#include <utility>

#include "schedule/cutlass/remedy_changes.hpp"

namespace tilewright {
namespace {

namespace cutlass = schedule::cutlass;
using cutlass::Change;

class RemedySearch {
 public:
  /// Of `changes`, in their order: up to `most` that build and fit, or else the first that builds.
  void add(const std::vector<Change>& changes, int most = 1) {
    int found = 0;
    std::optional<CutlassRemedy> over;
    for (const Change& change : changes) {
      const auto kernel = resolve_cutlass(change.request);
      if (!kernel || !kernel->builds()) continue;
      CutlassRemedy remedy{change.text, change.request, kernel->stages, kernel->total, kernel->fits(), change.cost};
      if (!remedy.fits) {
        if (!over) over = std::move(remedy);
        continue;
      }
      remedies_.push_back(std::move(remedy));
      if (++found == most) return;
    }
    if (found == 0 && over) remedies_.push_back(std::move(*over));
  }

  [[nodiscard]] bool any_fits() const {
    return std::any_of(remedies_.begin(), remedies_.end(), [](const CutlassRemedy& r) { return r.fits; });
  }

  /// Those that fit, then the others; each part by rising cost.
  std::vector<CutlassRemedy> take() {
    std::stable_partition(remedies_.begin(), remedies_.end(), [](const CutlassRemedy& r) { return r.fits; });
    return std::move(remedies_);
  }

 private:
  std::vector<CutlassRemedy> remedies_;
};

// Each of `first` with each of `second` on top: SM100 wants the cluster with the tag, for one.
template <typename Second>
std::vector<Change> both(const std::vector<Change>& first, Second second) {
  std::vector<Change> changes;
  for (const Change& one : first) {
    for (const Change& other : second(one.request)) {
      changes.push_back({one.text + ", " + other.text, one.cost + "; " + other.cost, other.request});
    }
  }
  return changes;
}

}  // namespace

Result<std::vector<CutlassRemedy>> cutlass_remedies(const CutlassKernel& kernel) {
  const CutlassRequest& request = kernel.request;
  if (kernel.builds() && kernel.fits()) return std::vector<CutlassRemedy>();
  RemedySearch search;
  if (!kernel.builds()) {
    search.add(cutlass::other_tags(request));
    search.add(cutlass::plainer_requests(request), 2);
  }
  search.add(cutlass::fewer_stages(kernel));
  search.add(cutlass::without_c(request));
  search.add(cutlass::smaller_epilogue_tiles(kernel));
  search.add(cutlass::swapped(request));
  constexpr int kTiles = 2;
  search.add(cutlass::other_tiles(request), search.any_fits() ? 1 : kTiles);
  if (!search.any_fits() && !kernel.builds()) {
    search.add(both(cutlass::other_tags(request), cutlass::plainer_requests));
    search.add(both(cutlass::other_tags(request), cutlass::other_tiles));
  }
  return search.take();
}

}  // namespace tilewright
