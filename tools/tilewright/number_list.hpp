// Lists and ranges of whole numbers, as the command line writes them.
#pragma once

#include <string>
#include <vector>

#include "tilewright/result.hpp"

namespace tilewright::cli {

/// "8", "1,8,64", "1..64" (every number), "1..1024x2" (each the double of the one before; the last is not past 1024),
/// and any of them joined by commas. Numbers lie in [lowest, 2^31 - 1]; at most 4096 of them. `option` is named in
/// errors.
Result<std::vector<int>> parse_number_list(const std::string& text, const std::string& option, int lowest);

}  // namespace tilewright::cli
