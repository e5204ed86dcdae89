// Images among other bytes: arrays in a program's data, or a file that lost its section table.
#pragma once

#include <cstdint>
#include <functional>

#include "inspect/byte_view.hpp"

namespace tilewright::inspect {

/// Calls `visit` with the offset and the bytes of each fat binary and each cubin that stands in `bytes` as a whole,
/// until it answers false. What only looks like the beginning of one is passed over.
void for_each_embedded(ByteView bytes, const std::function<bool(std::uint64_t offset, ByteView image)>& visit);

}  // namespace tilewright::inspect
