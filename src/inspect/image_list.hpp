// Finding the GPU images of a file, without reading them.
#pragma once

#include "inspect/byte_view.hpp"
#include "inspect/notes.hpp"
#include "tilewright/binary_images.hpp"
#include "tilewright/result.hpp"

namespace tilewright::inspect {

/// Fills kind, containers and images (without kernels) of `report` from the bytes of the file that it names.
Status list_images(ByteView file, BinaryReport& report, Notes& notes);

/// Whether a file that begins with `head` may be one of BinaryKind.
bool begins_like_binary(ByteView head);

}  // namespace tilewright::inspect
