// The known names that an unknown one may have meant.
#pragma once

#include <string>
#include <vector>

namespace tilewright::schedule {

/// Up to `count` of `known`, the nearest to `name` first: names that contain it or that it contains, then by the number
/// of single-character edits.
std::vector<std::string> nearest_names(const std::string& name, const std::vector<std::string>& known,
                                       std::size_t count);

}  // namespace tilewright::schedule
