// Names of models: one spelling for all the ways in which people write them.
#pragma once

#include <string>
#include <string_view>

namespace tilewright {

/// Lower case, without an organisation ("zai-org/", "nvidia--") and without "nvidia-".
std::string plain_model_name(std::string_view name);

/// Levenshtein distance.
int edit_distance(std::string_view a, std::string_view b);

}  // namespace tilewright
