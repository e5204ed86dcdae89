// The JSON grammar of a safetensors header, read event by event: a header of 100 MB never becomes a tree, and a
// repeated name is seen, which a tree would hide.
#pragma once

#include <string>
#include <string_view>

#include "checkpoint/safetensors_header.hpp"

namespace tilewright {

/// Reads the tensors and metadata of a header's JSON text. Dtypes, shapes and offsets are taken as they stand, apart
/// from being of the right JSON type and not negative. The error is the cause alone, without a file name.
tl::expected<SafetensorsHeader, std::string> read_header_json(std::string_view text);

}  // namespace tilewright
