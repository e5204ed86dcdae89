// Safetensors files built byte by byte, the broken ones too.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::testing {

using Bytes = std::vector<std::uint8_t>;

// A file with this header text and so many bytes of data: 0, 1, 2, ...
inline Bytes file_with(const std::string& header, std::size_t data_bytes) {
  Bytes file;
  for (unsigned i = 0; i < 8; ++i) file.push_back(static_cast<std::uint8_t>(header.size() >> (8 * i)));
  file.insert(file.end(), header.begin(), header.end());
  for (std::size_t i = 0; i < data_bytes; ++i) file.push_back(static_cast<std::uint8_t>(i));
  return file;
}

}  // namespace tilewright::testing
